"""`Mask`: what the inspector's views show of a log, without the notes that are withheld from agents.

A live daemon's log names notes that its user keeps from agents. Whoever looks at the page, or over the shoulder,
is not to see them; so all that a view shows goes through a mask, which the daemon's present answers decide. Over a
file, or with `--reveal`, the mask hides nothing.

The unit is what was shown at once: a call's text is replaced as a whole, because an answer mixes what it read; a
prompt loses its parts that name a hidden note. What cannot be known, because a recording is gone or a name in it
was found nowhere, is hidden. Two things show all the same, as they are shown to agents: a name that stands in the
text of a note which may be shown, and the words of people and agents that name no note.
"""

import functools
import operator
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.conversations import Message
from workspaced_events.projections.workspace_state import Selection, StateJson
from workspaced_events.schema.catalogue import (
    Data,
    Event,
    MessageData,
    PromptAnswered,
    PromptAssembled,
    ToolCalled,
    UsageReported,
)
from workspaced_events.schema.sentences import notes_named
from workspaced_tools.ports.prompts import ShownManifest
from workspaced_tools.prompts.audit.manifests import stored_manifest
from workspaced_tools.prompts.model.note_names import NoteNames
from workspaced_tools.prompts.model.stored_inputs import texts_in
from workspaced_tools.prompts.model.types import Envelope
from workspaced_tools.recording.reading import Blob

from . import masked_events, masked_prompts, recorded_names
from .masked_events import NOTHING, Hidden, Json, ShownEvent
from .masked_prompts import Withheld
from .withheld_notes import Ask, WithheldNotes, may_be_in_pseudonym

T = TypeVar("T")


class Conversations(Protocol):
    """What a mask reads of a log's conversations. Raises what reading a log raises."""

    def prompts_before(self, seq: int) -> Iterable[Event]:
        """The prompts before a sequence, the latest first; as many as may be searched for one."""

    def stood_in(self, answered: PromptAnswered) -> Iterable[Event] | None:
        """What was put into a chat up to a request that was answered; None: the log does not have all of it."""

    def messages_of(self, prompt: Event) -> Iterable[Message] | None:
        """The messages of its conversation that a prompt was made of; None: the log begins after them."""


_RECORDED: Final = (ToolCalled, PromptAssembled, MessageData)
_RECORDED_MAX: Final = 4_096
"""Calls, prompts and messages of which the names are remembered; beyond it they are read again."""


class Mask:
    """One for each inspector. Safe from any thread, if `blob` and `conversations` are."""

    def __init__(
        self,
        ask: Ask | None,
        blob: Blob,
        conversations: Conversations | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            ask: answers whether notes are withheld (`withheld_notes.asking`); None: nothing is hidden. While it
                raises a `WorkspacedError`, all that is named is hidden.
            blob: the blobs of the log, for what calls and prompts name.
            conversations: for the prompt or request that reported usage is of, and for what tools were asked and
                answered in the messages of a prompt; None: neither counts.
            clock_s: as of `WithheldNotes`.
        """
        self._notes = WithheldNotes(ask, clock_s) if ask is not None else None
        self._blob = blob
        self._conversations = conversations
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

    def hidden(self, vault: VaultId | None, notes: Iterable[NoteId]) -> frozenset[NoteId]:
        """Those of the notes that must not show, with one question."""
        if self._notes is None:
            return frozenset()
        return self._notes.hidden(vault, NoteNames(frozenset(filter(masked_events.is_in_vault, notes))))

    def hides(self, vault: VaultId | None, note: NoteId) -> bool:
        """Whether the note must not show."""
        return bool(self.hidden(vault, [note]))

    def hides_named(self, vault: VaultId | None, data: Data) -> bool:
        """Whether the data of an event names a note that must not show."""
        return self._notes is not None and bool(self._notes.hidden(vault, masked_events.names_of(data)))

    def path(self, vault: VaultId | None, note: NoteId) -> str:
        """The note's path, or what stands for it."""
        return self.paths(vault, [note])[0]

    def paths(self, vault: VaultId | None, notes: Sequence[NoteId]) -> list[str]:
        """`path` of several notes, with one question."""
        if self._notes is None:
            return list(notes)
        hidden = self.hidden(vault, notes)
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
        self._learn(notes, events)
        return [masked_events.masked(event, notes, self._recorded_hidden(event)) for event in events]

    def shown(self, events: Sequence[Event]) -> list[ShownEvent]:
        """Events as a view shows them, with one question for each vault."""
        if self._notes is not None:
            self._learn(self._notes, events)
        return [masked_events.shown(event, self._notes, self._recorded_hidden(event)) for event in events]

    def notes_named(self, event: Event, part: str) -> list[str]:
        """The notes that an event names, as views show them. Those without `part` in any case may be left out, so
        that a search among many events asks about few."""
        names = notes_named(event)
        if self._notes is None or not names:
            return names
        if not may_be_in_pseudonym(part) and not any(part.casefold() in name.casefold() for name in names):
            return []
        return self.shown([event])[0].notes

    def _learn(self, notes: WithheldNotes, events: Sequence[Event]) -> None:
        """Asks for all notes that the events name."""
        named: dict[VaultId, set[NoteId]] = {}
        for event in events:
            if event.vault is not None:
                names = masked_events.names_in(event) | (self._names_recorded(event) or NoteNames())
                named.setdefault(event.vault, set()).update(names.every)
        for vault, each in named.items():
            notes.learn(vault, sorted(each))

    # -- states --

    def state(self, state: StateJson, vault: VaultId | None = None) -> StateJson:
        """A state of `vault`, or else of its current one, with pseudonyms for hidden notes.

        Of a selection in a hidden note only its time stays; its lines are 0, which no line is.
        """
        notes = self._notes
        if notes is None:
            return state
        of = vault if vault is not None else state.current_vault_id
        hidden = self.hidden(of, _notes_of(state))

        def path(note: NoteId) -> NoteId:
            return NoteId(notes.pseudonym(of, note)) if note in hidden else note

        active, selection = state.active_note, state.selection
        if selection is not None and selection.note in hidden:
            selection = Selection(path(selection.note), 0, 0, selection.at)
        return replace(
            state,
            active_note=replace(active, id=path(active.id)) if active is not None else None,
            pinned_notes=[replace(each, id=path(each.id)) for each in state.pinned_notes],
            temporary_tabs=[replace(each, note_id=path(each.note_id)) for each in state.temporary_tabs],
            recent_notes=[replace(each, id=path(each.id)) for each in state.recent_notes],
            selection=selection,
            archived=list(map(path, state.archived)),
        )

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
        if self._notes is None:
            return NOTHING
        if isinstance(event.data, UsageReported):
            return self._usage_hidden(event)
        if isinstance(event.data, PromptAnswered):
            return self._answered_hidden(event.data)
        if not isinstance(event.data, _RECORDED):
            return NOTHING
        names = self._names_recorded(event)
        if names is None:
            return Hidden(frozenset(), known=False)
        return masked_events.hidden_among(self._notes, event.vault, names)

    def _usage_hidden(self, event: Event) -> Hidden:
        """What the prompt has of hidden notes that the usage was reported of: its tokens tell of their sizes."""
        if self._conversations is None:
            return NOTHING
        of = event.data.conversation, event.data.message
        for prompt in self._conversations.prompts_before(event.seq):
            if (prompt.data.conversation, prompt.data.message) == of:
                return self._recorded_hidden(prompt)
        return Hidden(frozenset(), known=False)

    def _answered_hidden(self, answered: PromptAnswered) -> Hidden:
        """Likewise of what was put into the request that was answered."""
        if self._conversations is None:
            return NOTHING
        stood = self._conversations.stood_in(answered)
        if stood is None:
            return Hidden(frozenset(), known=False)
        return functools.reduce(operator.or_, map(self._recorded_hidden, stood), NOTHING)

    def _names_recorded(self, event: Event) -> NoteNames | None:
        """The notes that the texts of a call, prompt or message name; None: unknown. Nothing for other events."""
        data = event.data
        if not isinstance(data, _RECORDED):
            return NoteNames()
        key = (event.seq, event.id)
        if (names := self._recorded.get(key)) is not None:
            return names
        try:
            if isinstance(data, ToolCalled):
                names = recorded_names.of_call(data, self._blob)
            elif isinstance(data, PromptAssembled):
                names = recorded_names.of_prompt(data, self._texts) | self._names_in_messages(event)
            else:
                names = recorded_names.of_tools(data, self._texts)
        except recorded_names.NotKnown:
            return None  # and not remembered: a recording may be written a moment after its event
        self._remember(key, names)
        return names

    def _names_in_messages(self, prompt: Event) -> NoteNames:
        """
        Raises:
            NotKnown: the messages are not in the log, or a text of theirs is not kept.
        """
        names = NoteNames()
        if self._conversations is None:
            return names
        messages = self._conversations.messages_of(prompt)
        if messages is None:
            raise recorded_names.NotKnown
        for message in messages:
            key = (message.seq, f"message {message.id}")
            found = self._recorded.get(key)
            if found is None:
                found = recorded_names.of_tools(message, self._texts)
                self._remember(key, found)
            names |= found
        return names

    def _remember(self, key: tuple[int, str], names: NoteNames) -> None:
        if len(self._recorded) >= _RECORDED_MAX:
            self._recorded.clear()
        self._recorded[key] = names


def _notes_of(state: StateJson) -> list[NoteId]:
    """The notes that a state names."""
    active, selection = state.active_note, state.selection
    return [
        *([active.id] if active is not None else ()),
        *([selection.note] if selection is not None else ()),
        *(each.id for each in state.pinned_notes),
        *(each.id for each in state.recent_notes),
        *(each.note_id for each in state.temporary_tabs),
        *state.archived,
    ]
