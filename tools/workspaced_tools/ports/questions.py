"""The questions that a tool may ask through its View.

A question is a value: what asks, records, answers again or narrows it needs no method of its own for each. In a
recording a question is its `name` and the JSON array of its fields, so neither may change.
"""

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

from ..notes.note import Note, NoteFailure
from .history import VersionAt
from .prompts import ShownManifest
from .vault import (
    Found,
    IncomingLinks,
    LinkName,
    LinkTarget,
    MemberNotes,
    NoteRef,
    Resolution,
    SearchQuery,
    SimilarNote,
    TaggedNote,
    VaultOverview,
)

R = TypeVar("R")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class Question(msgspec.Struct, Generic[_Answer_co], frozen=True, array_like=True):
    """A question, generic in the type of its answer."""

    name: ClassVar[str]
    """Names the question in recordings."""


# -- to the vault --


class Read(Question[list[Note | NoteFailure]], frozen=True, array_like=True):
    """Each note's present version, in the order of the question. Distinct notes are read once, concurrently."""

    name: ClassVar[str] = "read"
    notes: Sequence[NoteId]


class Resolve(Question[Resolution], frozen=True, array_like=True):
    """What an agent's reference means: the one resolver's general order (vault/links/resolver.py).

    Raises:
        ReferenceOutsideVault: absolute, with `..` as a component, with NUL, or through a symlink.
        ArgumentInvalid: names nothing after trimming, or is no text.
    """

    name: ClassVar[str] = "resolve"
    reference: str


class LinkTargets(Question[list[LinkTarget]], frozen=True, array_like=True):
    """Where links written in `source` lead, by Obsidian's rule first, in the order of the question."""

    name: ClassVar[str] = "link_targets"
    source: NoteId
    links: Sequence[LinkName]


class Incoming(Question[IncomingLinks], frozen=True, array_like=True):
    """Links from other notes to `note`, ordered by source path and line."""

    name: ClassVar[str] = "incoming"
    note: NoteId
    limit: int


class Names(Question[list[NoteRef | None]], frozen=True, array_like=True):
    """What the notes are called now, in the order of the question; None where there is no such note. Cheaper than
    `Read`."""

    name: ClassVar[str] = "names"
    notes: Sequence[NoteId]


class Search(Question[Found], frozen=True, array_like=True):
    """The notes that hold all the words, ranked by BM25; names count more than text."""

    name: ClassVar[str] = "search"
    query: SearchQuery


class Members(Question[MemberNotes], frozen=True, array_like=True):
    """The notes below `folder` that have `tag`, sorted by path; both as in a `SearchQuery`, None: any."""

    name: ClassVar[str] = "members"
    folder: str | None
    tag: str | None
    limit: int


class Similar(Question[list[SimilarNote]], frozen=True, array_like=True):
    """Notes with text like that of `note`, best first, without `note`."""

    name: ClassVar[str] = "similar"
    note: NoteId
    limit: int


class SharingTags(Question[list[TaggedNote]], frozen=True, array_like=True):
    """Notes with tags of `note`, greatest weight first, without `note`."""

    name: ClassVar[str] = "sharing_tags"
    note: NoteId
    limit: int


class Overview(Question[VaultOverview], frozen=True, array_like=True):
    """The vault in numbers, with at most `limit` tags and notes."""

    name: ClassVar[str] = "overview"
    limit: int


class NoteCount(Question[int | None], frozen=True, array_like=True):
    """How many notes the vault holds, as far as known; never waits. None: of a moment where nobody asked."""

    name: ClassVar[str] = "note_count"


class IndexState(Question[str], frozen=True, array_like=True):
    """`building` or `ready`."""

    name: ClassVar[str] = "index_state"


# -- to the log --


class Visits(Question[Sequence[Visit]], frozen=True, array_like=True):
    """The remembered visits of notes of the current vault, oldest first, up to the view's sequence. The visits of
    withheld notes are left out."""

    name: ClassVar[str] = "visits"


class VersionOf(Question[VersionAt], frozen=True, array_like=True):
    """What the note that is called `note` now was at the sequence or time `since`; with None the last version that
    was recorded and whose file had another sha256 than `current`.

    Raises:
        NotRecorded: no such version is kept.
        ArgumentInvalid: `since` is no moment of the log up to the view's own.
    """

    name: ClassVar[str] = "version"
    note: NoteId
    since: int | str | None
    current: str


class ManifestOf(Question[ShownManifest], frozen=True, array_like=True):
    """The manifest of a conversation's last prompt, or of the last one for `message`; without a conversation, of
    the one in the current vault that was spoken of last.

    Raises:
        ArgumentInvalid: there is no such conversation, or no prompt of it for that message.
        NotRecorded: no prompt was assembled, or its manifest is not kept.
    """

    name: ClassVar[str] = "manifest"
    conversation: str | None
    message: str | None
