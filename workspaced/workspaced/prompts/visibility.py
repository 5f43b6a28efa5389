"""Notes of a conversation that are withheld from the calling client at present."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import LeftOut, LibraryEntry
from workspaced_tools.ports.questions import Read
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.note_names import NOTE_KINDS, NoteNames, then_and_now
from workspaced_tools.prompts.model.sent_turn import PIN, SentTurn
from workspaced_tools.prompts.sources.attachments import ExplicitNotes

from ..calls.answers import Seen
from ..service.service import Service
from .commands import vault_of

R = TypeVar("R")


class WithheldNotes:
    """The notes that are withheld from one client, as its view and the policy decide."""

    def __init__(
        self, shown: Seen, requested: Seen, conversation: Conversation, former: Mapping[NoteId, NoteId]
    ) -> None:
        """
        Args:
            shown: what may be pushed.
            requested: what an agent is shown that asks for notes explicitly: for attachments that name a note.
            former: former paths to present ones; the views have none that lead to withheld notes.
        """
        self._view = shown.view
        self.requested = requested.view
        self._pushed = shown.withheld
        self._requested = requested.withheld
        self._is_explicit = ExplicitNotes(conversation, requested.view)
        self._former = former

    def _withheld(self, note: NoteId) -> bool:
        """Whether a note is withheld that is there because it was attached."""
        return self._pushed(note) and (self._requested(note) or not self._is_explicit(note))

    def _withdrew(self, note: NoteId) -> bool:
        return self._pushed.withdrew(note) and self._withheld(note)

    def includes_any(self, attached: Iterable[NoteId], pushed: Iterable[NoteId] = ()) -> bool:
        """Whether one of the notes is known to be withheld, under this name or its present one."""
        return any(map(self._withheld, attached)) or any(map(self._pushed, pushed))

    def hides(self, names: NoteNames) -> bool:
        """Whether an attachment or document with these names is known to be hidden."""
        return names.is_hidden(self._withheld, self._withdrew)

    def refresh_flags(self, notes: Iterable[NoteId]) -> None:
        """Reads the notes' files, because only the files hold the notes' flags."""
        if self.requested.served:
            self.requested.vault.ask(Read(sorted(then_and_now(notes, self._former))))

    def refresh(self, library: tuple[LibraryEntry, ...], turns: Iterable[SentTurn] = ()) -> None:
        """Reads the files of the notes that library and turns show, unless all of them are taken out anyway."""
        if self._view.sharing == "all":
            notes = {NoteId(entry.id) for entry in library if entry.kind in NOTE_KINDS}
            self.refresh_flags(notes.union(*(part.notes for turn in turns for part in turn.parts)))

    def parts_withheld(self, turns: Mapping[MessageId, SentTurn]) -> tuple[LeftOut, ...]:
        """The parts of turns that name notes which are known to be withheld."""
        every = self._view.sharing != "all" or not self._view.served
        parts = [(name, part) for name, turn in turns.items() for part in turn.parts if part.notes]
        pinned = {note for _name, part in parts if part.kind == PIN for note in part.notes}
        attached = {note for _name, part in parts if part.kind != PIN for note in part.notes}
        pinned, attached = set(filter(self._pushed, pinned)), set(filter(self._withheld, attached))
        return tuple(
            part.left_out_of(name, "gone" if hidden and all(map(self._pushed.is_gone, hidden)) else "withheld")
            for name, part in parts
            if (hidden := (pinned if part.kind == PIN else attached).intersection(part.notes)) or every
        )

    def without_withheld(self, library: tuple[LibraryEntry, ...]) -> tuple[LibraryEntry, ...]:
        """The library without the notes that are known to be withheld."""
        if self._view.sharing != "all" or not self._view.served:
            return tuple(entry for entry in library if entry.kind not in NOTE_KINDS)
        return tuple(
            entry for entry in library if entry.kind not in NOTE_KINDS or not self.includes_any([NoteId(entry.id)])
        )


async def with_conversation_view(
    service: Service,
    conversation: Conversation,
    make: Callable[[View, WithheldNotes], R],
    caller: str,
    *,
    works_paused: bool = False,
) -> R:
    """The result of `make`, called with the caller's view of the conversation's vault and the withheld notes.

    Raises:
        Paused, SharingOff, ReadFailed: as `Calls.with_view`.
    """
    vault = vault_of(service.tail.state, conversation)

    def made(shown: Seen, requested: Seen) -> R:
        present = shown.view.state.conversations.by_id.get(conversation.id, conversation)
        former = service.tail.state.of(vault).former
        return make(shown.view, WithheldNotes(shown, requested, present, former))

    return await service.calls.with_views(made, caller, vault, works_paused=works_paused)
