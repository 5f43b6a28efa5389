"""The gate: what of a workspace one client of the tools is shown.

Every `View` is made here. Two things are decided elsewhere and applied here: which notes are withheld from
everybody (`vault/files/ignore_rules.py`; the vault itself gives no such note), and how much this client is shown
(`all`, `names`, `none`). A withheld note is taken out of the state and of the visits, so that no tool learns of
it; how many were taken out of the lists is all that is told. A client with `names` gets answers of paths and
titles and nothing else.
"""

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing

from ..errors import NotRecorded, ReadFailed, SharingOff, ToolError
from ..notes.name_keys import fold, key, slug, stem, without_ending
from ..notes.name_only import name_only
from ..notes.note import Note
from ..ports.asking import VaultSource
from ..ports.history import SWITCHED_ON, HistoryPort, PastPort, VersionAt
from ..ports.prompts import NO_PROMPT_HINT, PromptSource, ShownManifest
from ..ports.questions import (
    Incoming,
    IndexState,
    LinkTargets,
    ManifestOf,
    Members,
    Names,
    NoteCount,
    Overview,
    Question,
    R,
    Read,
    Resolve,
    Search,
    SharingTags,
    Similar,
    VersionOf,
    Visits,
)
from ..ports.vault import Found, IncomingLinks, LinkTarget, MemberNotes, NoteRef, Resolution, VaultOverview
from ..ports.view import View
from .manifests import SharedPrompts

CALLER_SHOWN_CHARS_MAX: Final = 64

IsWithheld = Callable[[NoteId], bool]


class Withheld(Protocol):
    """Whether a note that the log names is withheld from everybody, by a path that it has or had."""

    def __call__(self, name: NoteId, /) -> bool: ...

    def withdrew(self, name: NoteId, /) -> bool:
        """Whether it is withheld, and that tells nobody whether there is such a note: its path is denied, or it
        was shown earlier."""
        ...


class AllWithheld:
    """Implements `Withheld` where no folder is served: nothing is known of any note."""

    def __call__(self, _name: NoteId) -> bool:
        return True

    def withdrew(self, _name: NoteId) -> bool:
        return True


class KnownLists:
    """Which entries of a vault's long lists (archived, former paths) are withheld.

    Worked out anew only where a list is another one, or `version` another value: no note is then withheld that was
    not, or the other way round.
    """

    def __init__(self, version: Callable[[], object] = object) -> None:
        self._version = version
        self._known: dict[str, tuple[object, object, frozenset[NoteId]]] = {}

    def gone(self, state: VaultState, withheld: IsWithheld) -> tuple[frozenset[NoteId], frozenset[NoteId]]:
        """The archived notes and the former paths that are withheld, or lead to what is."""
        version = self._version() if state.archived or state.former else None
        archived = self._of("archived", state.archived, version, withheld)
        former = self._of(
            "former", state.former, version, lambda old: withheld(old) or withheld(state.former[old])
        )
        return archived, former

    def _of(self, name: str, items: dict[NoteId, Any], version: object, is_gone: IsWithheld) -> frozenset[NoteId]:
        if not items:
            return frozenset()
        known = self._known.get(name)
        if known is None or known[0] is not items or known[1] != version:
            gone = frozenset(note for note in items if is_gone(note))
            known = self._known[name] = (items, version, gone)
        return known[2]


def shared_view(
    state: WorkspaceState,
    now: str,
    vault: VaultSource | None,
    history: HistoryPort | None = None,
    past: PastPort | None = None,
    prompts: PromptSource | None = None,
    *,
    level: Sharing,
    withheld: IsWithheld,
    withdrew: IsWithheld | None = None,
    lists: KnownLists | None = None,
) -> View:
    """The view of a client that is shown `level`.

    Args:
        vault: gives no withheld note itself; None: no folder is served.
        history: of the current vault; None: nothing is remembered.
        past, prompts: likewise.
        withheld: whether a note of the current vault is withheld.
        withdrew: as `Withheld.withdrew`; None: as `withheld`.
        lists: remembers for this vault from call to call.

    Raises:
        SharingOff: nothing is shared with this client.
    """
    if level == "none":
        raise sharing_off("CLIENT")
    shared, count = _shared_state(state, level, withheld, lists or KnownLists())
    former = state.of(state.current).former
    return View(
        state=shared,
        now=now,
        vault=SharedVault(
            vault,
            shared.of(shared.current),
            level,
            SharedHistory(history, withheld) if history is not None else None,
            past if level == "all" else None,
            SharedPrompts(prompts, former, level=level, withheld=withheld, withdrew=withdrew or withheld)
            if prompts is not None
            else None,
        ),
        served=vault is not None,
        sharing=level,
        withheld=count,
    )


def is_current(view: View, state: WorkspaceState, withheld: IsWithheld) -> bool:
    """Whether `view`, made of `state`, would be made the same way now: no note was found to be private since."""
    if isinstance(view.vault, SharedVault) and not view.vault.is_current():
        return False
    shared, count = _shared_state(state, view.sharing, withheld, KnownLists())
    return count == view.withheld and (shared is view.state or shared == view.state)


def sharing_off(client: str) -> SharingOff:
    """The refusal of a client that is shown nothing."""
    name = shlex.quote(client[:CALLER_SHOWN_CHARS_MAX])
    return SharingOff(
        "The user shares nothing with this client",
        hint=f"Ask the user to run `workspaced share {name} all`, or `names` for names only.",
    )


def refusal(error: ToolError, as_of_seq: int) -> dict[str, Any]:
    """The result of a call that no tool was run for."""
    return {
        "success": False,
        "error": error.message,
        "code": error.code,
        "message": error.hint,
        "asOfSeq": as_of_seq,
    }


def policy_kept_changing() -> ReadFailed:
    """The failure of a call during which notes kept turning private."""
    return ReadFailed("The notes' share policy kept changing", hint="Try again.")


# -- the state --


def _shared_state(
    state: WorkspaceState, level: Sharing, withheld: IsWithheld, lists: KnownLists
) -> tuple[WorkspaceState, int]:
    """The state with nothing of what this client is not shown, and how many notes are missing from the lists."""
    current = state.current
    before = state.of(current)
    after, count = _without(before, withheld, lists)
    if level != "all" and after.selection is not None:
        after = msgspec.structs.replace(after, selection=None)
    if after is before and len(state.by_vault) <= 1 and not state.sharing:
        return state, 0
    by_vault = {current: after} if current is not None else {}
    # What is folded of other vaults, and for other clients, is no business of this call.
    return msgspec.structs.replace(state, by_vault=by_vault, sharing={}), count


def _without(state: VaultState, withheld: IsWithheld, lists: KnownLists) -> tuple[VaultState, int]:
    active = state.active.id if state.active is not None else None
    listed = {*state.pins, *state.tabs, *state.recents}
    if active is not None:
        listed.add(active)
    gone = {note for note in listed if withheld(note)}
    flagged, moved = lists.gone(state, withheld)
    if not gone and not flagged and not moved:
        return state, 0
    hidden = active in gone
    selection = state.selection
    return (
        VaultState(
            active=None if hidden else state.active,
            pins=_kept(state.pins, gone),
            tabs=_kept(state.tabs, gone),
            recents=_kept(state.recents, gone),
            selection=None if hidden or (selection is not None and selection.note in gone) else selection,
            archived=_kept(state.archived, flagged),
            former=_kept(state.former, moved),
            last_updated=state.last_updated,
        ),
        len(gone),
    )


def _kept(items: dict[NoteId, Any], gone: Iterable[NoteId]) -> dict[NoteId, Any]:
    return {note: value for note, value in items.items() if note not in gone} if gone else items


# -- the answers --


class SharedVault:
    """Implements `VaultPort`: what one client may know of the current vault, from all that answers questions."""

    def __init__(
        self,
        vault: VaultSource | None,
        state: VaultState,
        level: Sharing,
        history: "SharedHistory | None",
        past: PastPort | None,
        prompts: SharedPrompts | None,
    ) -> None:
        """
        Args:
            state: as it is shared: references and links mean nothing that is withheld.
            history: None: there are no visits; `past`, `prompts`: None: nothing was recorded.
        """
        self._vault = vault
        self._state = state
        self._names_only = level != "all"
        self.history: Final = history
        self._past = past
        self._prompts = prompts

    def ask(self, question: Question[R]) -> R:
        answer: Any
        match question:
            case Visits():
                answer = self.history.visits() if self.history is not None else ()
            case VersionOf():
                answer = self._version(question)
            case ManifestOf():
                answer = self._manifest(question)
            case _ if self._names_only:
                answer = names_only(question, self._ask_vault)
            case _:
                return self._ask_vault(question)
        found: R = answer
        return found

    def is_current(self) -> bool:
        """Whether visits and manifests would be answered the same again."""
        if self.history is not None and not self.history.is_current():
            return False
        return self._prompts is None or self._prompts.is_current()

    def _ask_vault(self, question: Question[R]) -> R:
        assert self._vault is not None, "A tool looks first whether the vault is served."
        return self._vault.ask(question, self._state)

    def _version(self, question: VersionOf) -> VersionAt:
        if self._past is None:
            raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)
        return self._past.version(question.note, question.since, question.current)

    def _manifest(self, question: ManifestOf) -> ShownManifest:
        if self._prompts is None:
            raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)
        return self._prompts.manifest(question.conversation, question.message)


class SharedHistory:
    """Visits without those of withheld notes."""

    def __init__(self, history: HistoryPort, withheld: IsWithheld) -> None:
        self._history = history
        self._withheld = withheld
        self.given: tuple[Sequence[Visit], Sequence[Visit]] | None = None
        """All visits, and those that were given, when last asked."""

    def visits(self) -> Sequence[Visit]:
        every = self._history.visits()
        shared = self._shared(every)
        self.given = every, shared
        return shared

    def is_current(self) -> bool:
        """Whether what was given would be given again."""
        if self.given is None:
            return True
        every, shared = self.given
        return len(self._shared(every)) == len(shared)

    def _shared(self, visits: Sequence[Visit]) -> Sequence[Visit]:
        gone = {note for note in {visit.note for visit in visits} if self._withheld(note)}
        return [visit for visit in visits if visit.note not in gone] if gone else visits


# -- names only --


_BY_NAME: Final = frozenset({"path", "title", "foldedTitle", "filename", "pathSuffix", "formerPath"})


class _Ask(Protocol):
    def __call__(self, question: Question[R], /) -> R: ...


def names_only(question: Question[Any], ask: _Ask) -> Any:
    """The answer of paths and titles: nothing that is found by anything else."""
    match question:
        case Read():
            return [name_only(each) if isinstance(each, Note) else each for each in ask(question)]
        case Resolve():
            return _resolved_by_name(question.reference, ask(question))
        case LinkTargets():
            return [LinkTarget(None) for _ in question.links]
        case Incoming():
            return IncomingLinks((), 0)
        case Search():
            return _searched_by_name(question, ask)
        case Members():
            return ask(question) if question.tag is None else MemberNotes((), 0)
        case Similar() | SharingTags():
            return []
        case Overview():
            return VaultOverview(ask(question).notes, 0, (), ())
        case Names() | NoteCount() | IndexState():
            return ask(question)
    raise AssertionError(f"Nothing says what of {question.name!r} a client with `names` is shown.")


def _resolved_by_name(reference: str, found: Resolution) -> Resolution:
    """`found` without what only front matter or an alias tells, and without near names: a client that got near
    names for one reference and none for another would have found an alias."""
    if found.note is not None:
        by_name = found.resolved_by in _BY_NAME or (
            found.resolved_by == "slug" and _named_like(found.note, reference)
        )
        return Resolution(found.note, found.resolved_by) if by_name else Resolution()
    by_name = all(_named_like(each, reference) for each in found.candidates)
    return Resolution(candidates=found.candidates if by_name else ())


def _searched_by_name(question: Search, ask: _Ask) -> Found:
    """The hits in titles and paths; none where the query asks for tags."""
    if question.query.tags:
        return Found((), 0, True)
    found = ask(Search(msgspec.structs.replace(question.query, names_only=True)))
    hits = tuple(msgspec.structs.replace(hit, line=1, snippet="") for hit in found.hits)
    return Found(hits, found.total, found.complete)


def _named_like(note: NoteRef, reference: str) -> bool:
    """Whether the reference could have been found in the note's path or title."""
    text = reference.strip().removeprefix("!").removeprefix("[[").removesuffix("]]")
    cuts = [text, *(text[:at] for at, sign in enumerate(text) if sign in "#|^")]
    names = {note.title, stem(note.id), without_ending(note.id)}
    for cut in cuts:
        name = cut.strip()
        if not name:
            continue
        path = f"/{fold(without_ending(name))}"
        if f"/{fold(without_ending(note.id))}".endswith(path):
            return True
        if any(key(name) == key(each) or slug(name) == slug(each) != "" for each in names):
            return True
    return False
