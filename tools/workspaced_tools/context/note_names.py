"""The notes that a part of a conversation tells of, by what it is called.

Names are those of the time when they were said. A note may have another one by now, which counts as well.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, note_id

NOTE_KINDS: Final = frozenset({"note", "active_note"})
"""Kinds of what is a note: the id is its path."""
NAMED_BY_NOTES: Final = NOTE_KINDS | {"selected_text", "dataview", "image", "file", "pdf", "folder"}
"""Kinds of what may have a path as its id, some with `#` and more behind."""


def notes_of(kind: str, id: str) -> set[NoteId]:  # noqa: A002
    """The notes that something of that kind and id may tell of; of a URL none."""
    if kind not in NAMED_BY_NOTES or not id or "://" in id:
        return set()
    return {NoteId(id), NoteId(path_in(id)), *notes_at(id)}


def path_in(id: str) -> str:  # noqa: A002
    """The id without the last `#` and what stands behind it, such as lines."""
    return id.rpartition("#")[0] or id


def notes_at(address: str) -> Iterator[NoteId]:
    """The files that the address of a source may mean, with its ending or without; of a URL none."""
    path = address.removeprefix("./").lstrip("/")
    for name in dict.fromkeys((path, path.partition("#")[0], path_in(path))):
        with suppress(WorkspacedError):  # it is no path
            note = note_id(f"{name}.md")
            yield from (note, NoteId(note.removesuffix(".md")))


def then_and_now(notes: Iterable[NoteId], former: Mapping[NoteId, NoteId]) -> set[NoteId]:
    """The notes under these names and those that they have now. `former`: former paths to present ones."""
    names = set(notes)
    return names | {former[name] for name in names if name in former}
