"""`Mask`: what the inspector's views show of a log, without the notes that are withheld from agents.

A live daemon's log names notes that its user keeps from agents. Whoever looks at the page, or over the shoulder,
is not to see them; so all that a view shows goes through a mask, which the daemon's present answers decide. Over a
file, or with `--reveal`, the mask hides nothing.

The unit is what was shown at once: a call's text is replaced as a whole, because an answer mixes what it read; a
prompt loses its parts that name a hidden note. What cannot be known, because a recording is gone or a name in it
was found nowhere, is hidden. Two things show all the same, as they are shown to agents: a name that stands in the
text of a note which may be shown, and the words of people and agents that name no note.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.schema.catalogue import Event, PromptAssembled, ToolCalled
from workspaced_tools.ports.prompts import ShownManifest
from workspaced_tools.prompts.audit.manifests import stored_manifest
from workspaced_tools.prompts.model.note_names import NoteNames
from workspaced_tools.prompts.model.stored_inputs import texts_in
from workspaced_tools.prompts.model.types import Envelope
from workspaced_tools.recording.reading import Blob

from . import masked_events, masked_prompts, recorded_names
from .masked_events import NOTHING, Hidden, Json
from .masked_prompts import Withheld
from .withheld_notes import Ask, WithheldNotes

T = TypeVar("T")
_RECORDED_MAX: Final = 4_096
"""Calls and prompts of which the names are remembered; beyond it they are read again."""


_OF_SELECTION: Final = frozenset({"note", "at"})
"""What stays of a selection in a hidden note."""


class Mask:
    """One for each inspector. Safe from any thread, if `blob` is. Methods raise what `ask` raises."""

    def __init__(self, ask: Ask | None, blob: Blob, clock_s: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            ask: answers whether notes are withheld (`withheld_notes.asking`); None: nothing is hidden.
            blob: the blobs of the log, for what calls and prompts name.
            clock_s: as of `WithheldNotes`.
        """
        self._notes = WithheldNotes(ask, clock_s) if ask is not None else None
        self._blob = blob
        self._texts = texts_in(blob)
        self._recorded: dict[tuple[int, str], NoteNames] = {}

    @property
    def reveals(self) -> bool:
        """Whether nothing is hidden."""
        return self._notes is None

    def forget(self, vault: VaultId | None = None, notes: Iterable[NoteId] | None = None) -> None:
        """Takes that these notes may be withheld, or shown, from now on; default: all."""
        if self._notes is not None:
            self._notes.forget(vault, notes)

    def forget_named(self, event: Event) -> None:
        """`forget` for the notes that a new event names: it may tell that they changed, moved or went."""
        if self._notes is not None and (names := masked_events.names_in(event).every):
            self._notes.forget(event.vault, names)

    # -- names --

    def hides(self, vault: VaultId | None, note: NoteId) -> bool:
        """Whether the note must not show."""
        return self._notes is not None and bool(self._notes.hidden(vault, NoteNames(frozenset({note}))))

    def path(self, vault: VaultId | None, note: NoteId) -> str:
        """The note's path, or what stands for it."""
        return self.paths(vault, [note])[0]

    def paths(self, vault: VaultId | None, notes: Sequence[NoteId]) -> list[str]:
        """`path` of several notes, with one question."""
        if self._notes is None:
            return list(notes)
        hidden = self._notes.hidden(vault, NoteNames(frozenset(notes)))
        return [self._notes.pseudonym(vault, note) if note in hidden else note for note in notes]

    # -- events --

    def event(self, event: Event) -> Json:
        """An event's JSON: with pseudonyms for hidden paths, and null for all that belongs to their notes.

        Then it has `withheld` {`notes`, `reason`} beside its own fields.
        """
        return self.events([event])[0]

    def events(self, events: Sequence[Event]) -> list[Json]:
        """`event` of several events, with one question for each vault."""
        notes = self._notes
        if notes is None:
            return [masked_events.to_json(event) for event in events]
        named: dict[VaultId, set[NoteId]] = {}
        for event in events:
            if event.vault is not None:
                names = masked_events.names_in(event) | (self._names_recorded(event) or NoteNames())
                named.setdefault(event.vault, set()).update(names.every)
        for vault, each in named.items():
            notes.learn(vault, sorted(each))
        return [masked_events.masked(event, notes, self._recorded_hidden(event)) for event in events]

    # -- states --

    def state(self, state: Json, vault: VaultId | None = None) -> Json:
        """A state as `state_json` gives it, of `vault` or else of its current one."""
        notes = self._notes
        if notes is None:
            return state
        of = vault if vault is not None else state.get("currentVaultId")
        hidden = notes.hidden(of, NoteNames(frozenset(_notes_of(state))))
        if not hidden:
            return state
        return {name: self._in_state(value, of, hidden) for name, value in state.items()} | {
            "withheld": {"notes": len(hidden), "reason": masked_events.REASON}
        }

    def _in_state(self, value: Any, vault: VaultId | None, hidden: frozenset[NoteId]) -> Any:
        """A field of the state. The names of its notes are the only texts that equal a hidden note's path."""
        assert self._notes is not None
        if isinstance(value, str):
            return self._notes.pseudonym(vault, NoteId(value)) if value in hidden else value
        if isinstance(value, list):
            return [self._in_state(each, vault, hidden) for each in value]
        if not isinstance(value, dict):
            return value
        if value.get("note") in hidden:
            value = {name: each if name in _OF_SELECTION else None for name, each in value.items()}
        return {name: self._in_state(each, vault, hidden) for name, each in value.items()}

    # -- calls and prompts --

    def withheld_in(self, event: Event) -> Withheld | None:
        """What a recorded call or prompt has of hidden notes; None: it may be shown."""
        hidden = self._recorded_hidden(event)
        return Withheld(hidden.number) if hidden else None

    def text(self, event: Event, text: T) -> T | Withheld:
        """A text of a call or prompt (its arguments, answer, reads, body), or what stands for it."""
        return self.withheld_in(event) or text

    def manifest(self, event: Event) -> ShownManifest | Withheld:
        """A prompt's manifest: without the entries of hidden notes, and sizes only of what no such note is in.

        Raises:
            NotRecorded, LogDamaged: it is not kept.
        """
        stored = stored_manifest(event.seq, event.data, self._texts)
        hidden = self._recorded_hidden(event)
        if not hidden:
            return ShownManifest(stored.seq, stored.manifest)
        return self._shown(event.vault).manifest(stored) if hidden.known else Withheld(None)

    def envelope(self, event: Event, envelope: Envelope) -> Json:
        """A prompt rebuilt: without the texts of parts that hidden notes are in, or may be in.

        If there are any, its messages, hashes and sums are withheld as well, which hold all parts.
        """
        hidden = self._recorded_hidden(event)
        plain: Json = msgspec.to_builtins(envelope)
        if not hidden:
            return plain
        manifest = self.manifest(event) if hidden.known else Withheld(None)
        return masked_prompts.envelope(self._shown(event.vault), envelope, manifest, hidden.number)

    def _shown(self, vault: VaultId | None) -> masked_prompts.ShownParts:
        assert self._notes is not None
        return masked_prompts.ShownParts(self._notes, vault)

    def _recorded_hidden(self, event: Event) -> Hidden:
        if self._notes is None or not isinstance(event.data, ToolCalled | PromptAssembled):
            return NOTHING
        names = self._names_recorded(event)
        if names is None:
            return Hidden(frozenset(), known=False)
        return Hidden(self._notes.hidden(event.vault, names))

    def _names_recorded(self, event: Event) -> NoteNames | None:
        """The notes that a call or prompt names; None: not known. Nothing for other events."""
        data = event.data
        if not isinstance(data, ToolCalled | PromptAssembled):
            return NoteNames()
        key = (event.seq, event.id)
        if (names := self._recorded.get(key)) is not None:
            return names
        try:
            if isinstance(data, ToolCalled):
                names = recorded_names.of_call(data, self._blob)
            else:
                names = recorded_names.of_prompt(data, self._texts)
        except recorded_names.NotKnown:
            return None  # and not remembered: a recording may be written a moment after its event
        if len(self._recorded) >= _RECORDED_MAX:
            self._recorded.clear()
        self._recorded[key] = names
        return names


def _notes_of(state: Json) -> list[NoteId]:
    """The notes that a state names (`StateJson`)."""
    active, selection = state["activeNote"], state["selection"]
    lists = (state["pinnedNotes"], state["recentNotes"])
    return [
        *([active["id"]] if active is not None else ()),
        *([selection["note"]] if selection is not None else ()),
        *(each["id"] for listed in lists for each in listed),
        *(each["noteId"] for each in state["temporaryTabs"]),
        *state["archived"],
    ]
