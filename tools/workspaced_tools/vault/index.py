"""`Index`: what a vault remembers of its notes, so that names and links are found without reading files.

A port: `MemoryIndex` keeps it in the process; another may keep it on disk. It is disposable, always rebuilt from
the files, and holds no note text.
"""

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from workspaced_events.ids import NoteId

from ..view import LinkName, NoteRef
from .names import key, stem
from .note import Note, StatKey


class IndexEntry(msgspec.Struct, frozen=True):
    """What the index keeps of one version of a note."""

    id: NoteId
    title: str
    stat: StatKey
    front_matter_id: str | None = None
    aliases: tuple[str, ...] = ()
    links: tuple[LinkName, ...] = ()
    """One per occurrence, in the order of the text; links within the note itself left out."""

    @property
    def ref(self) -> NoteRef:
        return NoteRef(self.id, self.title, self.id)

    def name_keys(self) -> set[str]:
        """The keys under which a reference or link could mean this note."""
        found = {key(self.title), key(stem(self.id)), *map(key, self.aliases)}
        if self.front_matter_id is not None:
            found.add(key(self.front_matter_id))
        return found

    def link_keys(self) -> set[str]:
        """The keys of the notes its links could mean: of the whole target, and of its last component."""
        return {each for link in self.links for each in target_keys(link.target)}


def target_keys(target: str) -> tuple[str, ...]:
    """The keys among which every note that `target` could mean has at least one."""
    whole = key(target)
    last = key(stem(target))
    return (whole,) if last == whole else (whole, last)


def entry_of(note: Note) -> IndexEntry:
    """The entry of `note`; parses its text."""
    names = note.names
    links = tuple(LinkName(sys.intern(target), wiki) for target, wiki in names.links)
    return IndexEntry(
        note.id,
        note.titled(lambda: names.title),
        note.stat,
        _front_matter_id(note.fields),
        aliases_of(note.fields),
        links,
    )


def aliases_of(fields: dict[str, Any]) -> tuple[str, ...]:
    """Front-matter `aliases` (or `alias`): a list, or one string."""
    given = fields.get("aliases", fields.get("alias"))
    names = given if isinstance(given, list) else [given]
    return tuple(name for each in names if (name := _scalar(each)) is not None)


def _front_matter_id(fields: dict[str, Any]) -> str | None:
    return _scalar(fields.get("id"))


def _scalar(value: object) -> str | None:
    """A name as text: strings trimmed, numbers as written; None for anything else and for the empty string."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return None


class Index(Protocol):
    """Entries by id, by name key and by link key. Every method is atomic and safe from any thread."""

    def upsert(self, entry: IndexEntry) -> None:
        """Puts `entry` in the place of the note's former one."""
        ...

    def remove(self, note: NoteId) -> None:
        """Forgets the note; unknown: nothing."""
        ...

    def entry(self, note: NoteId) -> IndexEntry | None:
        """What is known of the note."""
        ...

    def named(self, name_key: str) -> Sequence[IndexEntry]:
        """The notes with this key among their `name_keys()`, in no particular order."""
        ...

    def linking(self, keys: Iterable[str]) -> Sequence[IndexEntry]:
        """The notes with one of these among their `link_keys()`, each once, ordered by id."""
        ...

    def near(self, name: str, limit: int) -> Sequence[IndexEntry]:
        """The notes with the titles most like `name`, best first; only such as deserve to be called near."""
        ...

    def ids(self) -> Sequence[NoteId]:
        """Every note."""
        ...

    def count(self) -> int:
        """How many notes."""
        ...
