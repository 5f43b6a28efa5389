"""`IndexedNote`: the index's values of one version of a note, and how they are made from the text.

They suffice for look-ups, links and search, so that none of these reads a file to find a note. For a note that is
withheld they are only the path, the file's identity and hashes of the names of the images that it embeds: text
that is not stored cannot leak. A note for explicit requests only is withheld in the vault's index, and has all its
values in an index beside it, of such notes alone (see indexer).
"""

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import msgspec

from workspaced_events.ids import NoteId

from ...notes.images.names import name_hashes
from ...notes.markdown import link_contexts
from ...notes.name_keys import key, stem, without_ending
from ...notes.note import Level, Note, StatKey
from ...notes.privacy_flag import level_of
from ...notes.properties import aliases_of, named, scalar_text, tags_of
from ...notes.search_text import FIELD_END, NAME_END, search_form
from ...ports.vault import NoteRef
from ..files.ignore_rules import Policy


class Withheld(IntEnum):
    """Whether and why a note is withheld from what is shown unasked."""

    NO = 0
    BY_RULE = 1
    PRIVATE = 2
    """Withheld by the note's front matter."""
    HELD = 3
    """Withheld until the version has settled (see note_levels)."""
    REQUESTED_BY_RULE = 4
    """For explicit requests only, by a rule."""
    REQUESTED = 5
    """For explicit requests only, by the note's front matter."""

    @property
    def is_for_requests(self) -> bool:
        return self in (Withheld.REQUESTED_BY_RULE, Withheld.REQUESTED)

    @property
    def is_bare(self) -> bool:
        """Whether neither the vault's index nor the one beside it has more of the note than its identity."""
        return self is not Withheld.NO and not self.is_for_requests

    @property
    def ruled(self) -> Level:
        """The level that rules give, as far as this says."""
        return _RULED.get(self, Level.VOLUNTEER)

    @property
    def flagged(self) -> Level:
        """The level that the front matter gives, as far as this says."""
        return _FLAGGED.get(self, Level.VOLUNTEER)

    @classmethod
    def of(cls, ruled: Level, flagged: Level, level: Level) -> "Withheld":
        """Of a note that may go as far as `level` at present."""
        if level is Level.VOLUNTEER:
            return cls.NO
        if ruled is Level.NEVER:
            return cls.BY_RULE
        if flagged is Level.NEVER:
            return cls.PRIVATE
        if level is Level.ON_REQUEST and flagged is level:
            return cls.REQUESTED
        return cls.REQUESTED_BY_RULE if level is Level.ON_REQUEST and ruled is level else cls.HELD

    def follows(self, ruled: Level) -> bool:
        """Whether an entry that is withheld so was made by rules that gave the note this level."""
        if ruled is Level.ON_REQUEST:
            return self not in (Withheld.NO, Withheld.BY_RULE)
        return self.ruled is ruled


_RULED = {Withheld.BY_RULE: Level.NEVER, Withheld.REQUESTED_BY_RULE: Level.ON_REQUEST}
_FLAGGED = {Withheld.PRIVATE: Level.NEVER, Withheld.REQUESTED: Level.ON_REQUEST}


class IndexedLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One occurrence of a link to another note."""

    target: str
    heading: str | None
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
    PROPERTIES = 4
    """The lines of the front matter."""
    BODY = 5


TextFields = tuple[tuple[str, ...], ...]
"""The names in each `Field` of a note, not normalised."""


class IndexedNote(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The values written into the index. `text` may follow later."""

    entry: IndexEntry
    keys: tuple[str, ...] = ()
    """The name keys, computed in advance too."""
    links: tuple[IndexedLink, ...] = ()
    """In the order of the text, without links within the note itself."""
    tags: tuple[str, ...] = ()
    text: str | None = None
    """For search, normalised (notes/search_text.py): the fields in the order of `Field`, a FIELD_END behind each
    and one more at the end; NAME_END between the names of one field."""
    images: tuple[bytes, ...] | None = None
    """The `name_hashes` of the images that the note embeds, also of a withheld note; None: as before, because the
    text was not read."""
    is_whole: bool = True
    """Whether these are all links and tags (`Markdown.complete`)."""


@lru_cache(maxsize=16_384)
def target_keys(target: str) -> tuple[str, ...]:
    """Index keys for `target`: every note that it could mean has at least one of them."""
    whole = key(target)
    last = key(stem(target))
    return (whole,) if last == whole else (whole, last)


def withheld_by(policy: Policy, note: Note) -> Withheld:
    """Whether and why rules or front matter withhold this version of a note."""
    ruled, flagged = policy.level(note.id), level_of(note)
    return Withheld.of(ruled, flagged, min(ruled, flagged))


def indexed(note: Note, policy: Policy, *, certain: bool, with_text: bool = True) -> IndexedNote:
    """Parses the index's values of `note`; one for explicit requests has them all. `certain`: see `IndexEntry`."""
    withheld, images = withheld_by(policy, note), embedded_by(note)
    if withheld.is_bare:
        return bare(note.id, note.stat, note.sha256, withheld, certain=certain, images=images)
    found = note.markdown
    title = next((each.text for each in found.headings if each.level == 1 and each.text), None)
    own_id = named(note.fields, "id")
    entry = IndexEntry(
        note.id,
        note.titled(lambda: title),
        scalar_text(own_id[1]) if own_id is not None else None,
        aliases_of(note.fields),
        stat=note.stat,
        sha256=note.sha256,
        certain=certain,
        withheld=withheld,
    )
    contexts = link_contexts(note.text, found.links)
    links = tuple(
        IndexedLink(link.target, link.heading, link.line, context, target_keys(link.target))
        for link, context in zip(found.links, contexts, strict=True)
        if link.target
    )
    tags = tags_of(note.fields, found.tags)
    text = fields_for_search(text_fields(note, entry, tags)) if with_text else None
    return IndexedNote(entry, tuple(entry.name_keys()), links, tags, text, images, found.complete)


def text_fields(note: Note, names: NamedNote, tags: Sequence[str]) -> TextFields:
    """What `IndexedNote.text` is made of."""
    headings = (*(each.text for each in note.markdown.headings), *tags)
    title = names.title, stem(names.id)
    body = note.front_matter.body_offset
    properties, text = (note.text[:body],), (note.text[body:],)
    return title, (without_ending(names.id),), names.aliases, headings, properties, text


def fields_for_search(fields: TextFields) -> str:
    """The text for search; see `IndexedNote.text`."""
    texts = (NAME_END.join(map(search_form, each)) for each in fields)
    return "".join(f"{text}{FIELD_END}" for text in texts) + FIELD_END


def embedded_by(note: Note) -> tuple[bytes, ...]:
    """The `name_hashes` of the images that a note embeds."""
    if not note.is_markdown:
        return ()
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


class LevelledNote(NamedTuple):
    """A note's values, and how far it may go at present."""

    note: IndexedNote
    level: Level
    withheld: Withheld
    """Why no further."""

    @property
    def entry(self) -> IndexEntry:
        """The entry with its names, and why it is withheld."""
        return msgspec.structs.replace(self.note.entry, withheld=self.withheld)

    @property
    def own(self) -> IndexedNote:
        """For the vault's own index: nothing but the identity of a note that may not be shown unasked."""
        entry = self.entry
        if not entry.withheld:
            return msgspec.structs.replace(self.note, entry=entry)
        return bare(
            *(entry.id, entry.stat, entry.sha256, entry.withheld), certain=entry.certain, images=self.note.images
        )

    @property
    def whole(self) -> IndexedNote:
        """For the index of notes for explicit requests only."""
        return msgspec.structs.replace(
            self.note, entry=msgspec.structs.replace(self.note.entry, withheld=Withheld.NO)
        )
