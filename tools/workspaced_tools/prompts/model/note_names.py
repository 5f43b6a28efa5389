"""The notes that a part of a conversation names.

A name is that of the time when it was given; the note may have another one now, which counts as well. What is
attached as a note names one. Whether an address that a runtime gave, a folder or a file is a note at all cannot be
told: it names what would be notes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, note_id

NOTE_KINDS: Final = frozenset({"note", "active_note"})
"""Kinds of what is a note: the id is its path, or another name of it."""
_IN_NOTES: Final = frozenset({"selected_text", "dataview"})
"""Kinds of what is in a note: the id is its path, `#`, and something of it."""
NAMED_BY_NOTES: Final = NOTE_KINDS | _IN_NOTES | {"image", "file", "pdf", "folder"}
"""Kinds of what may have a path as its id, some with `#` and more behind."""

IsWithheld = Callable[[NoteId], bool]


class NoteNames(NamedTuple):
    """The notes that something names."""

    notes: frozenset[NoteId] = frozenset()
    """Paths of notes."""
    perhaps: frozenset[NoteId] = frozenset()
    """What would be paths of notes."""

    def __or__(self, other: object) -> "NoteNames":
        assert isinstance(other, NoteNames)
        return NoteNames(self.notes | other.notes, self.perhaps | other.perhaps)

    @property
    def every(self) -> frozenset[NoteId]:
        """All of them."""
        return self.notes | self.perhaps

    def is_hidden(self, withheld: IsWithheld, withdrew: IsWithheld) -> bool:
        """Whether what has these names is left out.

        It is where a note of these is withheld. Of what only would be a note it takes more, that it could be shown
        earlier: else leaving out a guessed name would tell that there is a note of that name.
        """
        return any(map(withheld, self.notes)) or any(map(withdrew, self.perhaps))


def notes_of(kind: str, id: str) -> NoteNames:  # noqa: A002
    """The notes that something of that kind and id names; of a URL none."""
    if kind not in NAMED_BY_NOTES or not id or "://" in id:
        return NoteNames()
    names = [id, path_in(id)] if kind in _IN_NOTES else [id] if kind in NOTE_KINDS else []
    return NoteNames(frozenset(note for name in names for note in _paths(name))) | notes_at(id)


def path_in(id: str) -> str:  # noqa: A002
    """The id without the last `#` and what stands behind it, such as lines."""
    return id.rpartition("#")[0] or id


def notes_at(address: str) -> NoteNames:
    """The files that the address of a source may mean, with its ending or without; of a URL none."""
    path = address.removeprefix("./").lstrip("/")
    names = dict.fromkeys((path, path.partition("#")[0], path_in(path)))
    return NoteNames(
        perhaps=frozenset(note for name in names for each in (name, f"{name}.md") for note in _paths(each))
    )


def _paths(name: str) -> Iterator[NoteId]:
    with suppress(WorkspacedError):  # it is no path of a note
        yield note_id(name)


def then_and_now(notes: Iterable[NoteId], former: Mapping[NoteId, NoteId]) -> set[NoteId]:
    """The notes under these names and those that they have now. `former`: former paths to present ones."""
    names = set(notes)
    return names | {former[name] for name in names if name in former}
