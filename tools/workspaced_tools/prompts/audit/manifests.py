"""Manifests of prompts as they are kept, and what of them one client is shown.

A prompt may have been assembled before a note became private, or for another client. So what a manifest tells is
judged again when it is asked for: entries of notes that are withheld by now are left out and counted, with what
they were of the sums.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Protocol

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import ConversationId, NoteId, VaultId
from workspaced_events.projections.conversations import Conversation, Conversations, Prompt
from workspaced_events.schema.catalogue import Sharing

from ...errors import ArgumentInvalid, NotRecorded
from ...limits import ECHO_CHARS_MAX
from ...ports.view import NO_PROMPT_HINT, ShownManifest
from ..model.note_names import NAMED_BY_NOTES, IsWithheld, NoteNames, notes_of, path_in, then_and_now
from ..model.types import Manifest, ManifestEntry, ManifestLayer, Texts
from .rebuild import inputs_of, manifest_of_prompt

_PINNED: Final = "pinned"
_IDS_SHOWN_MAX: Final = 5


class KeptPrompt(msgspec.Struct, frozen=True):
    """A prompt's manifest, and which notes its entries tell of beside those that their ids name."""

    seq: int
    manifest: Manifest
    artifacts: dict[str, NoteId]
    provided: dict[str, tuple[NoteId, ...]]


class PromptSource(Protocol):
    """Prompts, whoever asks for them."""

    def prompt(self, conversation: str | None, message: str | None) -> KeptPrompt:
        """As `PromptsPort.manifest`, with all that is kept."""
        ...

    def look(self, notes: list[NoteId]) -> None:
        """Looks at the notes' files where that tells which of them are withheld: a note's own flag comes to light
        only so."""
        ...


class KeptPrompts:
    """Implements `PromptSource` over the conversations of one vault at one moment."""

    def __init__(
        self,
        conversations: Conversations,
        vault: VaultId | None,
        texts: Texts,
        look: Callable[[list[NoteId]], object] | None = None,
    ) -> None:
        """`look`: as in `PromptSource`; None: whoever says what is withheld has looked."""
        self._look = look
        self._of_vault = {name: each for name, each in conversations.by_id.items() if each.vault == vault}
        self._texts = texts

    def prompt(self, conversation: str | None, message: str | None) -> KeptPrompt:
        prompt = self._prompt(self._conversation(conversation), message)
        try:
            manifest = manifest_of_prompt(prompt.manifest_sha256, self._texts)
            turn = inputs_of(prompt.inputs_sha256, self._texts)
        except (LogDamaged, NotRecorded) as error:
            raise NotRecorded("The prompt's manifest is not kept", hint=error.hint or error.message) from None
        return KeptPrompt(
            prompt.seq,
            manifest,
            {each.id: each.note for each in turn.artifacts if each.note is not None},
            {each.id: each.notes for each in turn.provided},
        )

    def look(self, notes: list[NoteId]) -> None:
        if self._look is not None:
            self._look(notes)

    def _conversation(self, name: str | None) -> Conversation:
        if name is None:
            found = next((each for each in reversed(self._of_vault.values()) if each.prompts), None)
            if found is None:
                raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)
            return found
        try:
            return self._of_vault[ConversationId(name)]
        except KeyError:
            raise ArgumentInvalid(
                f"Argument 'conversation': there is no {name[:ECHO_CHARS_MAX]!r}.",
                hint=f"The latest: {_ids(self._of_vault)}.",
            ) from None

    def _prompt(self, conversation: Conversation, message: str | None) -> Prompt:
        for prompt in reversed(conversation.prompts):
            if message is None or prompt.message == message:
                return prompt
        if message is None:
            raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)
        raise ArgumentInvalid(
            f"Argument 'message': no prompt is remembered for {message[:ECHO_CHARS_MAX]!r}.",
            hint=f"The latest: {_ids(prompt.message for prompt in conversation.prompts)}.",
        )


def _ids(ids: Iterable[str]) -> str:
    return ", ".join(list(dict.fromkeys(ids))[-_IDS_SHOWN_MAX:]) or "none"


class SharedPrompts:
    """Implements `PromptsPort`: what the share policy leaves of manifests."""

    def __init__(
        self,
        prompts: PromptSource,
        former: dict[NoteId, NoteId],
        *,
        level: Sharing,
        withheld: IsWithheld,
        withdrew: IsWithheld,
    ) -> None:
        """
        Args:
            former: former paths to present ones: a manifest names notes as they were called then.
            withheld: whether a note is withheld.
            withdrew: as `Withheld.withdrew`.
        """
        self._prompts = prompts
        self._former = former
        self._level = level
        self._withheld = withheld
        self._withdrew = withdrew
        self._told: list[NoteNames] = []
        """The notes that were told of."""

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:
        kept = self._prompts.prompt(conversation, message)
        named = [(entry, self._names(kept, entry)) for entry in kept.manifest.entries]
        self._prompts.look(
            sorted(then_and_now({name for _, names in named for name in names.every}, self._former))
        )
        shown, gone = [], []
        for entry, names in named:
            if self._hides(names):
                gone.append(entry)
            else:
                shown.append(entry)
                self._told.append(names)
        manifest = _without(kept.manifest, shown, gone)
        sized = self._level == "all"
        return ShownManifest(kept.seq, manifest if sized else _names_only(manifest), len(gone), sized)

    def is_current(self) -> bool:
        """Whether all that was told would be told again."""
        return not any(map(self._hides, self._told))

    def _hides(self, names: NoteNames) -> bool:
        return names.is_hidden(self._withheld, self._withdrew)

    def _names(self, kept: KeptPrompt, entry: ManifestEntry) -> NoteNames:
        """The notes that an entry tells of, as they were called then."""
        if entry.why == _PINNED:
            return NoteNames(frozenset(kept.provided.get(entry.id, ())))
        names = notes_of(entry.kind, entry.id)
        if entry.kind in NAMED_BY_NOTES and (note := kept.artifacts.get(entry.id)) is not None:
            names |= NoteNames(frozenset({note}))
        return names


def _without(manifest: Manifest, shown: list[ManifestEntry], gone: list[ManifestEntry]) -> Manifest:
    """The manifest without `gone`; nothing tells how large they were."""
    if not gone:
        return manifest
    tokens: Counter[str] = Counter()
    size: Counter[str] = Counter()
    for entry in gone:
        tokens[entry.layer] += entry.tokens
        size[entry.layer] += entry.bytes

    def less(layer: ManifestLayer) -> ManifestLayer:
        if layer.id not in tokens:
            return layer
        return replace(layer, hash="", tokens=layer.tokens - tokens[layer.id], bytes=layer.bytes - size[layer.id])

    return replace(
        manifest,
        layers=tuple(map(less, manifest.layers)),
        entries=tuple(shown),
        estimate=manifest.estimate - tokens.total(),
    )


def _names_only(manifest: Manifest) -> Manifest:
    """The manifest with nothing that follows from texts: no sizes, no hashes, no places in notes."""
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
