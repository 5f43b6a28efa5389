"""The port to a vault, and the values that cross it."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Note, NoteFailure


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


class Incoming(msgspec.Struct, frozen=True, rename="camel"):
    """Links to a note: at most the asked-for number, and how many there are. No self-links."""

    links: tuple[IncomingLink, ...]
    total: int


class Search(msgspec.Struct, frozen=True, rename="camel"):
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


class Members(msgspec.Struct, frozen=True, rename="camel"):
    """Notes of a folder, or with a tag: the first by path, and how many there are in all."""

    notes: tuple[NoteRef, ...]
    total: int


class Overview(msgspec.Struct, frozen=True, rename="camel"):
    """A vault in numbers."""

    notes: int
    links: int
    tags: tuple[tuple[str, int], ...]
    """The most used tags with the number of notes that have them, most used first."""
    changed: tuple[tuple[NoteRef, int], ...]
    """The notes changed last with their mtime in ns, newest first."""


class VaultPort(Protocol):
    """One vault as tools see it. Every method is safe from any thread.

    What needs the index waits for it to be built, at most INDEX_WAIT_S, and then answers from what is there;
    `index_state` tells. A path that names an existing file never waits. Notes that the share policy withholds do
    not exist here.
    """

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        """Each note's present version, in the order asked, each distinct note read once, concurrently."""
        ...

    def resolve(self, reference: str, state: VaultState) -> Resolution:
        """What an agent's reference means: the one resolver's general order (vault/resolver.py).

        Raises:
            ReferenceOutsideVault: absolute, with `..` as a component, with NUL, or through a symlink.
            ArgumentInvalid: names nothing after trimming, or is no text.
        """
        ...

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:
        """Where links written in `source` lead, by Obsidian's rule first, in the order given."""
        ...

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:
        """Links from other notes to `note`, ordered by source path and line."""
        ...

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        """What the notes are called now, in the order asked; None where there is no such note. Cheaper than
        reading them."""
        ...

    def search(self, search: Search) -> Found:
        """The notes that hold all the words, ranked by BM25; names count more than text."""
        ...

    def members(self, folder: str | None, tag: str | None, limit: int) -> Members:
        """The notes below `folder` that have `tag`, sorted by path; both as in a `Search`, None: any."""
        ...

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        """Notes with text like that of `note`, best first, itself left out."""
        ...

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        """Notes with tags of `note`, greatest weight first, itself left out."""
        ...

    def overview(self, limit: int) -> Overview:
        """The vault in numbers, with at most `limit` tags and notes."""
        ...

    def note_count(self) -> int | None:
        """How many notes the vault holds, as far as known; never waits. None: of a moment where nobody asked."""
        ...

    def index_state(self) -> str:
        """`building` or `ready`."""
        ...
