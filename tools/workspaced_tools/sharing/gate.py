"""The gate: limits a workspace to what one client of the tools may see.

The gate creates every `View`. It applies two decisions that are made elsewhere: which notes are withheld from
the call (`vault/files/note_levels.py`; the vault itself never returns such a note), and the client's level (`all`,
`names`, `none`). The gate removes withheld notes from the state and from the visits, so that no tool learns of
them; only the number of notes removed from the lists is in the view, and of those that are shown on request not
even that. A client with `names` gets only paths and titles.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId
from workspaced_events.projections.peers import NO_PEERS
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing

from ..errors import NotRecorded, ReadFailed, SharingOff
from ..ports import questions as q
from ..ports.asking import Audience, VaultSource, check_may_wait
from ..ports.history import SWITCHED_ON, ChangedLines, VersionAt
from ..ports.manifest import NO_PROMPT_HINT, Manifest, ManifestEntry, ManifestLayer, ShownManifest
from ..ports.memory import MemoryAnswer
from ..ports.peers import LinkedMachines
from ..ports.view import View
from ..prompts.model.note_names import names_of, path_in, then_and_now
from .machines import linked_machines
from .verdicts import IsWithheld, Verdicts

CALLER_SHOWN_CHARS_MAX: Final = 64


def shared_view(
    state: WorkspaceState,
    now: str,
    vault: VaultSource | None,
    visits: Callable[[], Sequence[Visit]] | None = None,
    version: Callable[[NoteId, int | str | None, str], VersionAt] | None = None,
    prompts: Callable[[str | None, str | None], ShownManifest] | None = None,
    *,
    level: Sharing,
    withheld: Verdicts | IsWithheld,
    memory: Callable[[q.UseMemory], MemoryAnswer] | None = None,
    lines_changed: Callable[[NoteId, str], ChangedLines | None] | None = None,
    refresh_flags: Callable[[list[NoteId]], object] = lambda _notes: None,
) -> View:
    """The view of a client with the level `level`.

    Args:
        vault: never returns a withheld note. None: no folder is served.
        visits: gives the remembered visits of the current vault, oldest first. None: there are none.
        version: answers `VersionOf`; may block. None: none is recorded.
        prompts: gives the whole manifest that `ManifestOf` asks for. None: there are none.
        withheld: whether a note of the current vault is withheld.
        memory: carries out a command on the memory folder. None: the call is about the past.
        lines_changed: answers `LinesChanged`. None: no version is recorded.
        refresh_flags: reads the files of the notes where needed, so that it is known which of them their front
            matter withholds. By default the caller already has.

    Raises:
        SharingOff: the level is `none`.
    """
    if level == "none":
        raise sharing_off("CLIENT")
    verdicts = withheld if isinstance(withheld, Verdicts) else Verdicts(withheld)
    shared, count = _shared_state(state, level, verdicts)
    former = state.of(state.current).former
    return View(
        state=shared,
        now=now,
        vault=SharedVault(
            vault,
            shared.of(shared.current),
            level,
            SharedHistory(visits, verdicts) if visits is not None else None,
            version if level == "all" else None,
            lines_changed if level == "all" else None,
            prompts and partial(_shown_manifest, prompts, refresh_flags, former, level, verdicts),
            memory,
            partial(linked_machines, state, level, verdicts),
            verdicts,
        ),
        served=vault is not None,
        sharing=level,
        withheld=count,
    )


def sharing_off(client: str) -> SharingOff:
    """The error for a client with the level `none`."""
    name = shlex.quote(client[:CALLER_SHOWN_CHARS_MAX])
    return SharingOff(
        "The user shares nothing with this client",
        hint=f"Ask the user to run `workspaced share {name} all`, or `names` for names only.",
    )


def refusal(error: WorkspacedError, as_of_seq: int) -> dict[str, Any]:
    """The result of a refused call, which runs no tool."""
    return {
        "success": False,
        "error": error.message,
        "code": error.code,
        "message": error.hint,
        "asOfSeq": as_of_seq,
    }


def policy_kept_changing() -> ReadFailed:
    """The error of a call that was tried several times while notes became private."""
    return ReadFailed("The notes' share policy kept changing", hint="Try again.")


# -- the state --


def _shared_state(state: WorkspaceState, level: Sharing, verdicts: Verdicts) -> tuple[WorkspaceState, int]:
    """The state that this client may see, and the number of notes removed from its lists that count."""
    current = state.current
    before = state.of(current)
    after, hidden = _without(before, verdicts)
    count = sum(1 for note in hidden if not verdicts.uncounted(note))
    if level != "all" and after.selection is not None:
        after = msgspec.structs.replace(after, selection=None)
    if (seen := after.latest_time) != after.last_updated:  # which moves with withheld notes, too
        after = msgspec.structs.replace(after, last_updated=seen)
    is_alone = len(state.by_vault) <= 1 and state.peers is NO_PEERS
    if after is before and is_alone and not (state.sharing or state.volunteering):
        return state, 0
    by_vault = {current: after} if current is not None else {}
    # The state of other vaults and the levels of other clients do not concern this call; of peers it is to ask.
    changes = {"by_vault": by_vault, "sharing": {}, "volunteering": {}, "peers": NO_PEERS}
    return msgspec.structs.replace(state, **changes), count


def _without(state: VaultState, verdicts: Verdicts) -> tuple[VaultState, set[NoteId]]:
    active = state.active.id if state.active is not None else None
    listed = {*state.pins, *state.tabs, *state.recents}
    if active is not None:
        listed.add(active)
    hidden = set(filter(verdicts, listed))
    archived, former = verdicts.in_lists(state)
    if not hidden and not archived and not former:
        return state, hidden
    hides_active = active in hidden
    selection = state.selection
    return (
        VaultState(
            active=None if hides_active else state.active,
            pins=_remaining(state.pins, hidden),
            tabs=_remaining(state.tabs, hidden),
            recents=_remaining(state.recents, hidden),
            selection=None if hides_active or (selection is not None and selection.note in hidden) else selection,
            archived=_remaining(state.archived, archived),
            former=_remaining(state.former, former),
            last_updated=state.last_updated,
        ),
        hidden,
    )


def _remaining(items: dict[NoteId, Any], hidden: Iterable[NoteId]) -> dict[NoteId, Any]:
    """`items` without `hidden`; the same object if `hidden` is empty."""
    return {note: value for note, value in items.items() if note not in hidden} if hidden else items


# -- the answers --


class SharedVault:
    """Implements `VaultPort` for one client, over the vault, its history, its past and its prompts."""

    def __init__(
        self,
        vault: VaultSource | None,
        state: VaultState,
        level: Sharing,
        history: "SharedHistory | None",
        version: Callable[[NoteId, int | str | None, str], VersionAt] | None,
        lines_changed: Callable[[NoteId, str], ChangedLines | None] | None,
        manifest: Callable[[q.ManifestOf], ShownManifest] | None,
        memory: Callable[[q.UseMemory], MemoryAnswer] | None,
        machines: Callable[[], LinkedMachines | None],
        audience: Audience,
    ) -> None:
        """
        Args:
            state: the state that the client may see, so that references and links never mean a withheld note.
            history: None: there are no visits.
            version, lines_changed: None: no version is recorded.
            manifest: answers `ManifestOf`; None: no prompt was assembled.
            memory: None: there is no memory folder at this moment.
            machines: what the machines of the link share.
        """
        self._vault = vault
        self._state = state
        self._names_only = level != "all"
        self.history: Final = history
        self._version = version
        self._lines_changed = lines_changed
        self._manifest = manifest
        self._memory = memory
        self._machines = machines
        self._audience = audience

    def ask(self, question: q.Question[q.R]) -> q.R:
        answer: Any
        match question:
            case q.Visits():
                answer = self.history.visits() if self.history is not None else ()
            case q.VersionOf():
                if self._version is None:
                    raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)
                check_may_wait()
                answer = self._version(question.note, question.since, question.current)
            case q.LinesChanged():
                answer = self._lines_changed and self._lines_changed(question.note, question.before_sha256)
            case q.ManifestOf():
                if self._manifest is None:
                    raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)
                check_may_wait()
                answer = self._manifest(question)
            case q.UseMemory():
                if self._names_only:
                    raise SharingOff(
                        "The user shares only names with this client",
                        hint="Ask the user to run `workspaced share CLIENT all`.",
                    )
                if self._memory is None:
                    raise NotRecorded("The memory folder has no past", hint="Ask without `at`.")
                answer = self._memory(question)
            case q.SharedBy():
                answer = self._machines()
            case _ if self._names_only:
                answer = question.of_names(self._ask_vault)
            case _:
                return self._ask_vault(question)
        found: q.R = answer
        return found

    def _ask_vault(self, question: q.Question[q.R]) -> q.R:
        assert self._vault is not None, "A tool checks first that the vault is served."
        return self._vault.ask(question, self._state, self._audience)


class SharedHistory:
    """The visits of a vault, without those of withheld notes."""

    def __init__(self, visits: Callable[[], Sequence[Visit]], withheld: IsWithheld) -> None:
        self._visits = visits
        self._withheld = withheld
        self.last_answer: tuple[Sequence[Visit], Sequence[Visit]] | None = None
        """All visits, and the shared ones, at the last question."""

    def visits(self) -> Sequence[Visit]:
        every = self._visits()
        hidden = set(filter(self._withheld, {visit.note for visit in every}))
        shared = [visit for visit in every if visit.note not in hidden] if hidden else every
        self.last_answer = every, shared
        return shared


def _shown_manifest(
    prompts: Callable[[str | None, str | None], ShownManifest],
    refresh_flags: Callable[[list[NoteId]], object],
    former: dict[NoteId, NoteId],
    level: Sharing,
    verdicts: Verdicts,
    question: q.ManifestOf,
) -> ShownManifest:
    """A prompt's manifest, without the entries that a client may not see.

    `former` maps former paths to present ones; a manifest holds the paths at the time of the prompt.
    """
    stored = prompts(question.conversation, question.message)
    named = [(entry, names_of(entry)) for entry in stored.manifest.entries]
    refresh_flags(sorted(then_and_now({name for _, names in named for name in names.every}, former)))
    shown, hidden, counted = [], [], 0
    for entry, names in named:
        if names.is_hidden(verdicts, verdicts.withdrew):
            hidden.append(entry)
            counted += not any(map(verdicts.uncounted, names.every))
        else:
            shown.append(entry)
    manifest = _without_entries(stored.manifest, shown, hidden)
    sized = level == "all"
    return ShownManifest(stored.seq, manifest if sized else _names_only(manifest), counted, sized)


def _without_entries(manifest: Manifest, shown: list[ManifestEntry], hidden: list[ManifestEntry]) -> Manifest:
    """The manifest with the entries `shown`, and without the sizes of the `hidden` ones in its sums."""
    if not hidden:
        return manifest
    tokens: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in hidden:
        tokens[entry.layer] += entry.tokens
        size[entry.layer] += entry.bytes

    def reduced(layer: ManifestLayer) -> ManifestLayer:
        if layer.id not in tokens:
            return layer
        return replace(layer, hash="", tokens=layer.tokens - tokens[layer.id], bytes=layer.bytes - size[layer.id])

    return replace(
        manifest,
        layers=tuple(map(reduced, manifest.layers)),
        entries=tuple(shown),
        estimate=manifest.estimate - tokens.total(),
    )


def _names_only(manifest: Manifest) -> Manifest:
    """The manifest without anything that depends on texts: no sizes, hashes or places in notes."""
    return replace(
        manifest,
        layers=tuple(replace(each, hash="", tokens=0, bytes=0) for each in manifest.layers),
        entries=tuple(
            replace(each, id=_path(each), tokens=0, bytes=0, revision=None, detail=None)
            for each in manifest.entries
        ),
        estimate=0,
        tool_tokens=0,
    )


def _path(entry: ManifestEntry) -> str:
    return path_in(entry.id) if entry.kind in ("selected_text", "dataview") else entry.id
