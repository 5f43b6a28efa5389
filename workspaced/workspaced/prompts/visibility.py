"""Notes of a conversation that are withheld from the calling client at present."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from workspaced_events.ids import MessageId, NoteId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import LeftOut, LibraryEntry
from workspaced_tools.ports.questions import Read
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.note_names import NOTE_KINDS, NoteNames, notes_at, then_and_now
from workspaced_tools.prompts.model.sent_turn import SentTurn
from workspaced_tools.sharing.gate import Withheld

from ..service.service import Service
from .commands import vault_of

R = TypeVar("R")


class WithheldNotes:
    """The notes that are withheld from one client, as its view and the policy decide."""

    def __init__(self, view: View, withheld: Withheld, former: Mapping[NoteId, NoteId]) -> None:
        """`former`: former paths to present ones; the view has none that lead to withheld notes."""
        self._view = view
        self._withheld = withheld
        self._former = former

    def includes_any(self, notes: Iterable[NoteId]) -> bool:
        """Whether one of the notes is known to be withheld, under this name or its present one."""
        return any(map(self._withheld, notes))

    def hides(self, names: NoteNames) -> bool:
        """Whether an attachment or document with these names is known to be hidden."""
        return names.is_hidden(self._withheld, self._withheld.withdrew)

    def refresh_flags(self, notes: Iterable[NoteId]) -> None:
        """Reads the notes' files, because only the files hold the notes' flags."""
        if self._view.served:
            self._view.vault.ask(Read(sorted(then_and_now(notes, self._former))))

    def refresh_library(self, library: tuple[LibraryEntry, ...]) -> None:
        """Reads the files of the library's notes, unless `without_withheld` removes all of them anyway."""
        if self._view.sharing == "all":
            self.refresh_flags(NoteId(entry.id) for entry in library if entry.kind in NOTE_KINDS)

    def refresh_turns(self, turns: Iterable[SentTurn]) -> None:
        """Reads the files of the notes that turns show, unless `parts_withheld` finds all of them anyway."""
        if self._view.sharing == "all":
            self.refresh_flags(note for turn in turns for part in turn.parts for note in part.notes)

    def parts_withheld(self, turns: Mapping[MessageId, SentTurn]) -> tuple[LeftOut, ...]:
        """The parts of turns that name notes which are known to be withheld."""
        every = self._view.sharing != "all" or not self._view.served
        return tuple(
            part.left_out_of(name, withheld=True)
            for name, turn in turns.items()
            for part in turn.parts
            if part.notes and (every or self.includes_any(part.notes))
        )

    def without_withheld(self, library: tuple[LibraryEntry, ...]) -> tuple[LibraryEntry, ...]:
        """The library without the notes that are known to be withheld."""
        if self._view.sharing != "all" or not self._view.served:
            return tuple(entry for entry in library if entry.kind not in NOTE_KINDS)
        return tuple(
            entry for entry in library if entry.kind not in NOTE_KINDS or not self.includes_any([NoteId(entry.id)])
        )

    def escape_control(self, addresses: Iterable[str]) -> frozenset[str]:
        """The addresses without those of withheld notes. Reads the notes' files first."""
        names = {address: notes_at(address) for address in addresses}
        self.refresh_flags(note for each in names.values() for note in each.every)
        return frozenset(address for address, each in names.items() if not self.hides(each))


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

    def made(view: View, withheld: Withheld) -> R:
        return make(view, WithheldNotes(view, withheld, service.tail.state.of(vault).former))

    return await service.calls.with_view(made, caller, vault, works_paused=works_paused)
