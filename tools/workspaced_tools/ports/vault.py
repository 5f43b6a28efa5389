"""The values in questions to a vault and in their answers."""

from typing import Final, Literal

import msgspec

from workspaced_events.ids import NoteId


class NoteRef(msgspec.Struct, frozen=True, rename="camel"):
    """A note by its names."""

    id: NoteId
    title: str
    path: str


class Resolution(msgspec.Struct, frozen=True, rename="camel"):
    """The notes that a reference means. At most one of `note`, `candidates` and `near` is set.

    note: the only hit of the first stage with a hit; `resolved_by` names that stage.
    candidates: several hits in one stage, notes of the workspace first. The reference is ambiguous.
    near: without any hit, up to 5 notes with similar titles.
    """

    note: NoteRef | None = None
    resolved_by: str | None = None
    candidates: tuple[NoteRef, ...] = ()
    near: tuple[NoteRef, ...] = ()
    heading: str | None = None
    block: str | None = None
    complete: bool = True
    """False if the index was incomplete and the whole reference is no exact path: others may have the name."""


class LinkTarget(msgspec.Struct, frozen=True, rename="camel"):
    """The target of a link in a note. `note` is None if no note matches, or several (`ambiguous`)."""

    note: NoteRef | None
    ambiguous: bool = False


class NameHit(msgspec.Struct, frozen=True, rename="camel"):
    """A note found by what the user has written of one of its names."""

    note: NoteRef
    name: str
    """The name that fits best: the file's name (its path, where a folder was written), the title or an alias."""
    kind: Literal["file", "title", "alias"]


class NamesFound(msgspec.Struct, frozen=True, rename="camel"):
    """The notes that a few characters may mean, best first."""

    names: tuple[NameHit, ...]
    """At most the question's `limit`; each note once."""
    complete: bool
    """Whether every name was looked through, not only the beginnings."""


class IncomingLink(msgspec.Struct, frozen=True, rename="camel"):
    """One occurrence of a link to a note."""

    source: NoteRef
    context: str
    line: int
    heading: str | None = None
    """The heading in the link."""


class IncomingLinks(msgspec.Struct, frozen=True, rename="camel"):
    """Links from other notes to a note."""

    links: tuple[IncomingLink, ...]
    """At most the question's `limit`."""
    total: int
    """The number of all links."""
    complete: bool = True
    """False: some note has more links than are kept of one, so that there may be more."""


class SearchQuery(msgspec.Struct, frozen=True, rename="camel"):
    """A search in the text of notes."""

    words: str
    """As the user typed them (notes/search_query.py)."""
    limit: int
    among: tuple[NoteId, ...] | None = None
    """Search only these notes; None: the whole vault."""
    tags: tuple[str, ...] = ()
    """Only notes with all of these tags, case-folded; `design` includes `design/type`."""
    folder: str | None = None
    """Only notes below this folder, a vault-relative path without slashes at its ends."""
    names_only: bool = False
    """Search only titles and paths."""


class SearchHit(msgspec.Struct, frozen=True, rename="camel"):
    """One note that holds all the words, or some of them."""

    note: NoteRef
    line: int
    """The 1-based line of the snippet in the file; 1 if the words occur only in names."""
    snippet: str
    """That line, trimmed, at most 240 characters around the first word; empty if the words occur only in names."""
    score: float
    """Higher is better. Comparable only within one answer."""
    heading: str | None = None
    """The heading of the section with the line."""
    missing: tuple[str, ...] | None = None
    """Words of the query that the note holds in no form, normalised; None: it holds all as they are written."""


class Found(msgspec.Struct, frozen=True, rename="camel"):
    """The hits of a search, best first."""

    hits: tuple[SearchHit, ...]
    """At most the query's `limit`."""
    total: int
    """The number of all notes that match."""
    complete: bool
    """Whether the text of every note is indexed."""
    exact: bool = True
    """False: `total` is a lower bound."""
    as_text: bool = False
    """Whether the operators of the query found nothing, so that they were taken as text."""


class SimilarNote(msgspec.Struct, frozen=True, rename="camel"):
    """A note whose text shares distinctive words with another note."""

    note: NoteRef
    score: float
    """Higher is better."""
    words: tuple[str, ...]
    """The shared words, the most distinctive first."""


class TaggedNote(msgspec.Struct, frozen=True, rename="camel"):
    """A note that shares tags with another."""

    note: NoteRef
    tags: tuple[str, ...]
    """The shared tags, the rarest first."""
    weight: float
    """Sum over the shared tags of ln(notes / notes with the tag)."""


class MemberNotes(msgspec.Struct, frozen=True, rename="camel"):
    """The notes of a folder or with a tag, sorted by path."""

    notes: tuple[NoteRef, ...]
    """At most the question's `limit`."""
    total: int
    """The number of all notes that match."""


class VaultOverview(msgspec.Struct, frozen=True, rename="camel"):
    """A vault in numbers."""

    notes: int
    links: int
    tags: tuple[tuple[str, int], ...]
    """The most used tags with the number of notes that have them, most used first."""
    changed: tuple[tuple[NoteRef, int], ...]
    """The last changed notes with their mtime in ns, newest first."""


class NoteImage(msgspec.Struct, frozen=True, rename="camel"):
    """An image with the bytes that an agent gets."""

    path: str
    """The file's path in the vault."""
    media_type: str
    content: bytes
    sha256: str
    """Of `content`."""
    width: int | None = None
    """Pixels as they are stored; None if the header does not say."""
    height: int | None = None
    scaled: bool = False
    """Whether `content` is a smaller version of the file."""


class ImageFailure(msgspec.Struct, frozen=True, omit_defaults=True, tag="failure", tag_field="is"):
    """Why an image is not shown; recordings hold it as it is. Of a withheld image and of one that does not exist
    nothing differs but `address`."""

    address: str
    """The file as the note names it."""
    code: str
    message: str
    path: str | None = None
    """The path of the file that the address means, if there is one; never shown, but checked against the
    policy."""


class NoteImages(msgspec.Struct, frozen=True, rename="camel"):
    """The first images of a note, in document order."""

    images: tuple[NoteImage | ImageFailure, ...] = ()
    total: int = 0
    """The number of all images that the note embeds."""


IMAGE_NOT_FOUND: Final = "IMAGE_NOT_FOUND"
IMAGE_TOO_LARGE: Final = "IMAGE_TOO_LARGE"
IMAGE_NOT_SENT: Final = "IMAGE_NOT_SENT"
"""The file is no image of a type that is sent, or a damaged one."""
