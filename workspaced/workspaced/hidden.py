"""What a client that asks about a conversation may not be shown by now."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from workspaced_events.catalogue import LibraryEntry
from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, note_id
from workspaced_tools.sharing import IsWithheld
from workspaced_tools.view import View

OF_NOTES: Final = frozenset({"note", "active_note"})
"""What the library has from the vault, under the note's path."""


class Hidden:
    """Of one client, through its view."""

    def __init__(self, view: View, withheld: IsWithheld, former: Mapping[NoteId, NoteId]) -> None:
        """`former`: former paths to present ones; the view has none that lead to withheld notes."""
        self._view = view
        self._withheld = withheld
        self._former = former

    def any(self, notes: Iterable[NoteId]) -> bool:
        """Whether one of the notes is withheld, under this name or the one that it has now."""
        names = {name for note in notes for name in (note, self._former.get(note)) if name is not None}
        return any(map(self._withheld, names))

    def cleared(self, library: tuple[LibraryEntry, ...]) -> tuple[LibraryEntry, ...]:
        """The library without notes that may not be shown, as far as is known."""
        if self._view.sharing != "all" or self._view.vault is None:
            return tuple(entry for entry in library if entry.kind not in OF_NOTES)
        return tuple(entry for entry in library if entry.kind not in OF_NOTES or not self.any([NoteId(entry.id)]))

    def learn(self, library: tuple[LibraryEntry, ...]) -> None:
        """Looks at the files of the library's notes: only they tell of their flags."""
        if self._view.sharing == "all" and self._view.vault is not None:
            self._view.vault.read([NoteId(entry.id) for entry in library if entry.kind in OF_NOTES])

    def shown(self, addresses: Iterable[str]) -> frozenset[str]:
        """The addresses of sources without those of withheld notes. Looks at the notes' files, as `learn` does."""
        notes = {address: list(_notes_at(address)) for address in addresses}
        if self._view.vault is not None:
            self._view.vault.read([note for each in notes.values() for note in each])
        return frozenset(address for address, each in notes.items() if not self.any(each))


def _notes_at(address: str) -> Iterator[NoteId]:
    """The notes that the address of a source may mean; of a URL none."""
    path = address.removeprefix("./").lstrip("/")
    for name in dict.fromkeys((path, path.partition("#")[0])):
        for each in (name, f"{name}.md"):
            with suppress(WorkspacedError):
                yield note_id(each)
