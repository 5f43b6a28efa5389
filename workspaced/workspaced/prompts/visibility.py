"""What a client that asks about a conversation may not be shown at present."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from workspaced_events.ids import NoteId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import LibraryEntry
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.note_names import NOTE_KINDS, NoteNames, notes_at, then_and_now
from workspaced_tools.sharing.gate import Withheld

from ..service.service import Service
from .commands import vault_of

R = TypeVar("R")


class WithheldNotes:
    """Of one client, through its view."""

    def __init__(self, view: View, withheld: Withheld, former: Mapping[NoteId, NoteId]) -> None:
        """`former`: former paths to present ones; the view has none that lead to withheld notes."""
        self._view = view
        self._withheld = withheld
        self._former = former

    def includes_any(self, notes: Iterable[NoteId]) -> bool:
        """Whether one of the notes is withheld, under this name or the one that it has now; as far as is known."""
        return any(map(self._withheld, notes))

    def hides(self, names: NoteNames) -> bool:
        """Whether what has these names is left out; as far as is known."""
        return names.is_hidden(self._withheld, self._withheld.withdrew)

    def refresh_flags(self, notes: Iterable[NoteId]) -> None:
        """Looks at the notes' files: only they tell of their flags."""
        if self._view.vault is not None:
            self._view.vault.read(sorted(then_and_now(notes, self._former)))

    def refresh_library(self, library: tuple[LibraryEntry, ...]) -> None:
        """Looks at the library's notes, where `without_withheld` leaves any."""
        if self._view.sharing == "all":
            self.refresh_flags(NoteId(entry.id) for entry in library if entry.kind in NOTE_KINDS)

    def without_withheld(self, library: tuple[LibraryEntry, ...]) -> tuple[LibraryEntry, ...]:
        """The library without notes that may not be shown, as far as is known."""
        if self._view.sharing != "all" or self._view.vault is None:
            return tuple(entry for entry in library if entry.kind not in NOTE_KINDS)
        return tuple(
            entry for entry in library if entry.kind not in NOTE_KINDS or not self.includes_any([NoteId(entry.id)])
        )

    def shown(self, addresses: Iterable[str]) -> frozenset[str]:
        """The addresses of sources without those of withheld notes, at which it looks."""
        names = {address: notes_at(address) for address in addresses}
        self.refresh_flags(note for each in names.values() for note in each.every)
        return frozenset(address for address, each in names.items() if not self.hides(each))


async def with_conversation_view(
    service: Service, conversation: Conversation, make: Callable[[View, WithheldNotes], R], caller: str
) -> R:
    """What `make` makes of the conversation's vault as `caller` may see it, and which notes are withheld
    (`Service.with_view`).

    Raises:
        SharingOff, ReadFailed: as `Service.with_view`.
    """
    vault = vault_of(service.tail.state, conversation)

    def made(view: View, withheld: Withheld) -> R:
        return make(view, WithheldNotes(view, withheld, service.tail.state.of(vault).former))

    return await service.calls.with_view(made, caller, vault)
