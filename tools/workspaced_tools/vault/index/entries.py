"""`IndexedNote`: the index's values of one version of a note, and how they are made from the text.

They suffice for look-ups, links and search, so that none of these reads a file to find a note. For a note that the
share policy withholds they are only the path, the file's identity and hashes of the names of the images that it
embeds: text that is not stored cannot leak.
"""

from enum import IntEnum
from functools import lru_cache

import msgspec

from workspaced_events.ids import NoteId

from ...limits import INDEXED_CHARS_MAX
from ...notes.images.names import name_hashes
from ...notes.markdown import link_contexts
from ...notes.name_keys import key, stem, without_ending
from ...notes.note import Note, StatKey
from ...notes.properties import aliases_of, scalar_text, tags_of
from ...notes.search_text import FIELD_END, NAME_END, folded
from ...ports.vault import NoteRef
from ..files.ignore_rules import Policy


class Withheld(IntEnum):
    """Whether and why the share policy withholds a note."""

    NO = 0
    BY_RULE = 1
    PRIVATE = 2
    """Withheld by the note's front matter."""
    HELD = 3
    """Withheld until the version has settled (see note_visibility)."""


class IndexedLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One occurrence of a link to another note."""

    target: str
    wiki: bool
    heading: str | None
    embed: bool
    line: int
    context: str
    keys: tuple[str, ...]
    """`target_keys`, computed where the note is parsed, to save the writer's time."""


class NamedNote(msgspec.Struct, frozen=True, gc=False):
    """A note with all its names."""

    id: NoteId
    title: str
    front_matter_id: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def ref(self) -> NoteRef:
        return NoteRef(self.id, self.title, self.id)

    def name_keys(self) -> set[str]:
        """The keys under which a reference or link could mean this note."""
        found = {key(self.title), key(stem(self.id)), *map(key, self.aliases)}
        if self.front_matter_id is not None:
            found.add(key(self.front_matter_id))
        return found


class IndexEntry(NamedNote, frozen=True, gc=False, kw_only=True):
    """A note's names and the version that they are from. The title of a withheld note is empty."""

    stat: StatKey
    sha256: str
    certain: bool = True
    """False: read so soon after the last change that the file may change again under an equal stat."""
    withheld: Withheld = Withheld.NO


class Field(IntEnum):
    """The fields of a note's text for search, in order."""

    TITLE = 0
    """The title and the file's name."""
    PATH = 1
    ALIASES = 2
    HEADINGS = 3
    """Headings and tags."""
    BODY = 4


class IndexedNote(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The values written into the index. `text` may follow later."""

    entry: IndexEntry
    keys: tuple[str, ...] = ()
    """The name keys, computed in advance too."""
    links: tuple[IndexedLink, ...] = ()
    """In the order of the text, without links within the note itself."""
    tags: tuple[str, ...] = ()
    text: str | None = None
    """For search, folded (notes/search_text.py): the fields in the order of `Field`, a FIELD_END behind each and
    one more at the end; NAME_END between the names of one field."""
    images: tuple[bytes, ...] | None = None
    """The `name_hashes` of the images that the note embeds, also of a withheld note; None: as before, because the
    text was not read."""


@lru_cache(maxsize=16_384)
def target_keys(target: str) -> tuple[str, ...]:
    """Index keys for `target`: every note that it could mean has at least one of them."""
    whole = key(target)
    last = key(stem(target))
    return (whole,) if last == whole else (whole, last)


def withheld_by(policy: Policy, note: Note) -> Withheld:
    """Whether and why `policy` withholds this version of a note."""
    if policy.denies(note.id):
        return Withheld.BY_RULE
    return Withheld.PRIVATE if policy.is_private(note) else Withheld.NO


def indexed(note: Note, policy: Policy, *, certain: bool) -> IndexedNote:
    """Parses the index's values of `note`. `certain`: see `IndexEntry`."""
    withheld, images = withheld_by(policy, note), embedded_by(note)
    if withheld:
        return bare(note.id, note.stat, note.sha256, withheld, certain=certain, images=images)
    body, found = note.body, note.markdown
    title = next((each.text for each in found.headings if each.level == 1 and each.text), None)
    entry = IndexEntry(
        note.id,
        note.titled(lambda: title),
        scalar_text(note.fields.get("id")),
        aliases_of(note.fields),
        stat=note.stat,
        sha256=note.sha256,
        certain=certain,
    )
    contexts = link_contexts(body, found.links, note.front_matter.body_line)
    links = tuple(
        IndexedLink(
            *(link.target, link.wiki, link.heading, link.embed, link.line), context, target_keys(link.target)
        )
        for link, context in zip(found.links, contexts, strict=True)
        if link.target
    )
    tags = tags_of(note.fields, found.tags)
    text = _text(entry, [*(each.text for each in found.headings), *tags], body)
    return IndexedNote(entry, tuple(entry.name_keys()), links, tags, text, images)


def _text(entry: NamedNote, headings: list[str], body: str) -> str:
    path = without_ending(entry.id)
    names = ([entry.title, stem(entry.id)], [path], entry.aliases, headings, [body[:INDEXED_CHARS_MAX]])
    # Folded text may be 18 times as long.
    fields = (NAME_END.join(map(folded, each))[:INDEXED_CHARS_MAX] for each in names)
    return "".join(f"{field}{FIELD_END}" for field in fields) + FIELD_END


def embedded_by(note: Note) -> tuple[bytes, ...]:
    """The `name_hashes` of the images that a note embeds."""
    return name_hashes(note.text, note.body)


def bare(
    note: NoteId,
    stat: StatKey,
    sha256: str,
    withheld: Withheld,
    *,
    certain: bool,
    images: tuple[bytes, ...] | None = None,
) -> IndexedNote:
    """The index's values of a withheld note. `images`: see `IndexedNote`."""
    entry = IndexEntry(note, "", stat=stat, sha256=sha256, certain=certain, withheld=withheld)
    return IndexedNote(entry, images=images)
