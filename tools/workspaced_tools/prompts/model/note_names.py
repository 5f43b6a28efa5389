"""The notes that a part of a conversation names.

A conversation keeps the name that a note had at that time; if the note has another name now, both count. An
attachment of a note kind names a note for certain. An address from a runtime, a folder or a file may or may not be
a note: it names possible notes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, is_markdown, note_id

from ...ports.manifest import ManifestEntry

NOTE_KINDS: Final = frozenset({"note", "active_note"})
"""Kinds that are a note: the id is the note's path, or another name of the note."""
_IN_NOTES: Final = frozenset({"selected_text", "dataview"})
"""Kinds that are part of a note: the id is the note's path, `#`, and the part."""
NAMED_BY_NOTES: Final = NOTE_KINDS | _IN_NOTES | {"image", "file", "pdf", "folder"}
"""Kinds whose id may be a path, for some kinds followed by `#` and a part."""

IsWithheld = Callable[[NoteId], bool]


class NoteNames(NamedTuple):
    """The notes that one part of a conversation names."""

    notes: frozenset[NoteId] = frozenset()
    """Paths of notes that are named for certain."""
    perhaps: frozenset[NoteId] = frozenset()
    """Paths of possible notes."""

    def __or__(self, other: object) -> "NoteNames":
        assert isinstance(other, NoteNames)
        return NoteNames(self.notes | other.notes, self.perhaps | other.perhaps)

    @property
    def every(self) -> frozenset[NoteId]:
        """Certain and possible notes."""
        return self.notes | self.perhaps

    def is_hidden(self, withheld: IsWithheld, withdrew: IsWithheld) -> bool:
        """Whether the part with these names must be left out.

        One certain note that is withheld suffices. A possible note must in addition have been visible earlier:
        otherwise leaving out a guessed name would reveal that a note of that name exists.
        """
        return any(map(withheld, self.notes)) or any(map(withdrew, self.perhaps))


def notes_of(kind: str, id: str) -> NoteNames:  # noqa: A002
    """The notes that an attachment of this kind and id names; none for a URL."""
    if kind not in NAMED_BY_NOTES or not id or "://" in id:
        return NoteNames()
    names = [id, path_in(id)] if kind in _IN_NOTES else [id] if kind in NOTE_KINDS else []
    # Any other name may be a title as well.
    certain = (note for name in names if is_markdown(name) for note in _paths(name))
    return NoteNames(frozenset(certain)) | notes_at(id)


def names_of(entry: ManifestEntry) -> NoteNames:
    """The notes that an entry of a manifest names or shows, by their paths at the time of the prompt."""
    return notes_of(entry.kind, entry.id) | NoteNames(frozenset(entry.notes))


def path_in(id: str) -> str:  # noqa: A002
    """The id without the last `#` and the part after it, such as lines."""
    return id.rpartition("#")[0] or id


def notes_at(address: str) -> NoteNames:
    """The files that the address of a source may mean, with or without their suffix; none for a URL."""
    path = address.removeprefix("./").lstrip("/")
    names = dict.fromkeys((path, path.partition("#")[0], path_in(path)))
    return NoteNames(
        perhaps=frozenset(note for name in names for each in (name, f"{name}.md") for note in _paths(each))
    )


def _paths(name: str) -> Iterator[NoteId]:
    with suppress(WorkspacedError):  # not a note's path
        yield note_id(name)


def then_and_now(notes: Iterable[NoteId], former: Mapping[NoteId, NoteId]) -> set[NoteId]:
    """These names of notes and the notes' present names. `former` maps former paths to present ones."""
    names = set(notes)
    return names | {former[name] for name in names if name in former}
