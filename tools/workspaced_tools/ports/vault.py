"""The values that questions to a vault ask for and are answered with."""

import msgspec

from workspaced_events.ids import NoteId


class NoteRef(msgspec.Struct, frozen=True, rename="camel"):
    """A note by its names."""

    id: NoteId
    title: str
    path: str


class Resolution(msgspec.Struct, frozen=True, rename="camel"):
    """What a reference means. Exactly one of `note`, `candidates` and `near` tells.

    note: the only hit of the first stage that had one; `resolved_by` names that stage.
    candidates: several hits in one stage, workspace members first: ambiguous, never guessed.
    near: no hit at all; up to 5 notes with near titles.
    """

    note: NoteRef | None = None
    resolved_by: str | None = None
    candidates: tuple[NoteRef, ...] = ()
    near: tuple[NoteRef, ...] = ()
    heading: str | None = None
    block: str | None = None


class LinkName(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A link's target as written: without alias, heading and block, percent-decoded."""

    target: str
    wiki: bool
    """`[[target]]`; else `[text](target)`."""


class LinkTarget(msgspec.Struct, frozen=True, rename="camel"):
    """Where a link found in a note leads: `note` is None where nothing is there, or where several notes are."""

    note: NoteRef | None
    ambiguous: bool = False


class IncomingLink(msgspec.Struct, frozen=True, rename="camel"):
    """One occurrence of a link to a note."""

    source: NoteRef
    context: str
    line: int


class IncomingLinks(msgspec.Struct, frozen=True, rename="camel"):
    """Links to a note: at most the asked-for number, and how many there are. No self-links."""

    links: tuple[IncomingLink, ...]
    total: int


class SearchQuery(msgspec.Struct, frozen=True, rename="camel"):
    """What to look for in the text of notes."""

    words: str
    """As the user typed them; every word must occur. Never a query language."""
    limit: int
    among: tuple[NoteId, ...] | None = None
    """Only these notes; None: the whole vault."""
    tags: tuple[str, ...] = ()
    """Only notes with all of these tags, case-folded; `design` takes in `design/type`."""
    folder: str | None = None
    """Only notes below this folder, a vault-relative path without slashes at its ends."""
    names_only: bool = False
    """Look in titles and paths only."""


class SearchHit(msgspec.Struct, frozen=True, rename="camel"):
    """One note that holds all the words."""

    note: NoteRef
    line: int
    """The 1-based raw line that the snippet is from; 1 where the words occur in names only."""
    snippet: str
    """That line, trimmed, at most 240 characters around the first word; empty where only names hold the words."""
    score: float
    """Higher is better; to be compared within one answer only."""


class Found(msgspec.Struct, frozen=True, rename="camel"):
    """The best hits, best first, and how many notes there are in all."""

    hits: tuple[SearchHit, ...]
    total: int
    complete: bool
    """Whether the text of every note is indexed by now."""


class SimilarNote(msgspec.Struct, frozen=True, rename="camel"):
    """A note whose text has telling words in common with another's."""

    note: NoteRef
    score: float
    """Higher is better."""
    words: tuple[str, ...]
    """Words they share, the most telling first."""


class TaggedNote(msgspec.Struct, frozen=True, rename="camel"):
    """A note that shares tags with another."""

    note: NoteRef
    tags: tuple[str, ...]
    """The shared ones, rarest first."""
    weight: float
    """Sum over the shared tags of ln(notes / notes with the tag)."""


class MemberNotes(msgspec.Struct, frozen=True, rename="camel"):
    """Notes of a folder, or with a tag: the first by path, and how many there are in all."""

    notes: tuple[NoteRef, ...]
    total: int


class VaultOverview(msgspec.Struct, frozen=True, rename="camel"):
    """A vault in numbers."""

    notes: int
    links: int
    tags: tuple[tuple[str, int], ...]
    """The most used tags with the number of notes that have them, most used first."""
    changed: tuple[tuple[NoteRef, int], ...]
    """The notes changed last with their mtime in ns, newest first."""
