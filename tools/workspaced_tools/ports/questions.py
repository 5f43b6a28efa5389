"""The questions that a tool may ask through its View.

A question is a value, so a recorder, a replay or the gate needs no separate method for each kind. A recording
stores a question as its `name` and the JSON array of its fields, so neither may change.

Each says the type of its answer, whether the answer may wait, and what a client gets that is shown names only:
paths and titles, and only notes found by them.
"""

from collections.abc import Sequence
from typing import ClassVar, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

from ..code.outline import CodeOutline
from ..notes.name_keys import stem, without_case, without_ending
from ..notes.name_only import name_known, name_only
from ..notes.note import Note, NoteFailure
from .history import ChangedLines, VersionAt
from .manifest import ShownManifest
from .memory import MemoryAnswer, MemoryVerb
from .peers import LinkedMachines
from .vault import (
    Found,
    IncomingLinks,
    LinkTarget,
    MemberNotes,
    NamesFound,
    NoteImages,
    NoteRef,
    Resolution,
    SearchQuery,
    SimilarNote,
    TaggedNote,
    VaultOverview,
)

R = TypeVar("R")
_Answer_co = TypeVar("_Answer_co", covariant=True)


class Ask(Protocol):
    """Answers questions as for a client that is shown texts."""

    def __call__(self, question: "Question[R]", /) -> R: ...


class Question(msgspec.Struct, Generic[_Answer_co], frozen=True, array_like=True):
    """A question, generic in the type of its answer."""

    name: ClassVar[str]
    """The question's name in recordings."""
    blocks: ClassVar[bool] = True
    """Whether its answer may wait for a file or the index whatever the cache holds."""

    def of_names(self, ask: Ask) -> _Answer_co:
        """The answer for a client that is shown names only."""
        raise AssertionError(f"No rule decides what a client with `names` gets for {self.name!r}.")


_BY_NAME: Final = frozenset({"path", "title", "foldedTitle", "filename", "pathSuffix", "formerPath"})


# -- to the vault --


class Read(Question[list[Note | NoteFailure]], frozen=True, array_like=True):
    """Each note's present version, in the order of `notes`. Each distinct note is read once, concurrently."""

    name: ClassVar[str] = "read"
    blocks: ClassVar[bool] = False
    notes: Sequence[NoteId]

    def of_names(self, ask: Ask) -> list[Note | NoteFailure]:
        return [_only_name(each) for each in ask(self)]


class Resolve(Question[Resolution], frozen=True, array_like=True):
    """The notes that an agent's reference means, by the general order of vault/links/resolver.py.

    Raises:
        ReferenceOutsideVault: the reference is absolute, or contains `..` or NUL.
        SymlinkNotFollowed: it is the path of a symlink, or leads through one.
        ArgumentInvalid: the reference is empty after trimming, or is no text.
    """

    name: ClassVar[str] = "resolve"
    blocks: ClassVar[bool] = False
    reference: str

    def of_names(self, ask: Ask) -> Resolution:
        return _resolved_by_name(self.reference, ask(self))


class ResolveFrom(Question[Resolution], frozen=True, array_like=True):
    """The meaning of `reference` as a link in the note `source`, by the rule of `LinkTargets`.

    Raises:
        ReferenceOutsideVault, SymlinkNotFollowed, ArgumentInvalid: as `Resolve`, of either; `..` may lead up
            within the vault.
        NoteNotFound: there is no note `source`.
    """

    name: ClassVar[str] = "resolve_from"
    blocks: ClassVar[bool] = False
    reference: str
    source: str

    def of_names(self, ask: Ask) -> Resolution:
        return _resolved_by_name(self.reference, ask(self))


class LinkTargets(Question[list[LinkTarget]], frozen=True, array_like=True):
    """The targets of links in the note `source`, by Obsidian's rule first, in the order of `links`."""

    name: ClassVar[str] = "link_targets"
    source: NoteId
    links: Sequence[str]
    """The targets as the note has them: without alias, heading and block, percent-decoded."""

    def of_names(self, ask: Ask) -> list[LinkTarget]:
        return [LinkTarget(None) for _ in self.links]


class Incoming(Question[IncomingLinks], frozen=True, array_like=True):
    """Links from other notes to `note`, ordered by source path and line."""

    name: ClassVar[str] = "incoming"
    note: NoteId
    limit: int

    def of_names(self, ask: Ask) -> IncomingLinks:
        return IncomingLinks((), 0)


class Images(Question[NoteImages], frozen=True, array_like=True):
    """The images that the body of `note` embeds: the first that can be shown, at most IMAGES_SHOWN_MAX of them,
    with their bytes, and those before them that cannot."""

    name: ClassVar[str] = "images"
    note: NoteId

    def of_names(self, ask: Ask) -> NoteImages:
        return NoteImages()


class Outline(Question[CodeOutline], frozen=True, array_like=True):
    """The definitions in `note`, a file that is no Markdown."""

    name: ClassVar[str] = "outline"
    note: NoteId

    def of_names(self, ask: Ask) -> CodeOutline:
        return CodeOutline()


class Names(Question[list[NoteRef | None]], frozen=True, array_like=True):
    """The present names of the notes, in the order of `notes`; None for a missing note. Cheaper than `Read`."""

    name: ClassVar[str] = "names"
    blocks: ClassVar[bool] = False
    notes: Sequence[NoteId]

    def of_names(self, ask: Ask) -> list[NoteRef | None]:
        return ask(self)


class NamesLike(Question[NamesFound], frozen=True, array_like=True):
    """The notes whose name begins with `prefix` or holds its words; for an empty one those of the workspace, then
    those changed last."""

    name: ClassVar[str] = "names_like"
    prefix: str
    limit: int

    def of_names(self, ask: Ask) -> NamesFound:
        found = ask(self)
        return NamesFound(tuple(hit for hit in found.names if hit.kind != "alias"), found.complete)


class Search(Question[Found], frozen=True, array_like=True):
    """The notes that hold all the words, and where they are few, those that hold some. Best first."""

    name: ClassVar[str] = "search"
    query: SearchQuery

    def of_names(self, ask: Ask) -> Found:
        """The hits in titles and paths. A query with tags has none."""
        if self.query.tags:
            return Found((), 0, True)
        found = ask(Search(replace(self.query, names_only=True)))
        hits = tuple(replace(hit, line=1, snippet="", heading=None) for hit in found.hits)
        return Found(hits, found.total, found.complete)


class Members(Question[MemberNotes], frozen=True, array_like=True):
    """The notes below `folder` that have `tag`, sorted by path. Both as in a `SearchQuery`; None: any."""

    name: ClassVar[str] = "members"
    folder: str | None
    tag: str | None
    limit: int

    def of_names(self, ask: Ask) -> MemberNotes:
        return ask(self) if self.tag is None else MemberNotes((), 0)


class Similar(Question[list[SimilarNote]], frozen=True, array_like=True):
    """The notes whose text is similar to that of `note`, best first, without `note`."""

    name: ClassVar[str] = "similar"
    note: NoteId
    limit: int

    def of_names(self, ask: Ask) -> list[SimilarNote]:
        return []


class SharingTags(Question[list[TaggedNote]], frozen=True, array_like=True):
    """The notes that share tags with `note`, greatest weight first, without `note`."""

    name: ClassVar[str] = "sharing_tags"
    note: NoteId
    limit: int

    def of_names(self, ask: Ask) -> list[TaggedNote]:
        return []


class Overview(Question[VaultOverview], frozen=True, array_like=True):
    """The vault in numbers, with at most `limit` tags and notes."""

    name: ClassVar[str] = "overview"
    limit: int

    def of_names(self, ask: Ask) -> VaultOverview:
        return VaultOverview(ask(self).notes, 0, (), ())


class NoteCount(Question[int | None], frozen=True, array_like=True):
    """The number of notes of the vault, as far as known. Never waits. None: unknown, at a past moment."""

    name: ClassVar[str] = "note_count"
    blocks: ClassVar[bool] = False

    def of_names(self, ask: Ask) -> int | None:
        return ask(self)


class IndexState(Question[str], frozen=True, array_like=True):
    """`building` or `ready`."""

    name: ClassVar[str] = "index_state"
    blocks: ClassVar[bool] = False

    def of_names(self, ask: Ask) -> str:
        return ask(self)


# -- to the log --


class Visits(Question[Sequence[Visit]], frozen=True, array_like=True):
    """The remembered visits of notes of the current vault, oldest first, up to the view's sequence.

    Without the visits of withheld notes.
    """

    name: ClassVar[str] = "visits"
    blocks: ClassVar[bool] = False


class VersionOf(Question[VersionAt], frozen=True, array_like=True):
    """The version of a note at a past moment.

    Raises:
        NotRecorded: no such version is kept.
        ArgumentInvalid: `since` is no moment of the log up to the view's sequence.
    """

    name: ClassVar[str] = "version"
    note: NoteId
    """The note's present path."""
    since: int | str | None
    """A sequence or a time; None: the last recorded version whose sha256 differs from `current`."""
    current: str
    """The sha256 of the present file."""


class LinesChanged(Question[ChangedLines | None], frozen=True, array_like=True):
    """How many lines of a note an edit added and removed. None: the text before it is not kept."""

    name: ClassVar[str] = "lines_changed"
    note: NoteId
    before_sha256: str
    """Of the text before the edit."""


class ManifestOf(Question[ShownManifest], frozen=True, array_like=True):
    """The manifest of the last prompt of a conversation, or of its last prompt for `message`.

    Raises:
        ArgumentInvalid: there is no such conversation, or it has no prompt for that message.
        NotRecorded: no prompt was assembled, or its manifest is not kept.
    """

    name: ClassVar[str] = "manifest"
    conversation: str | None
    """None: the conversation of the current vault with the latest event."""
    message: str | None
    """None: any."""


class SharedBy(Question[LinkedMachines | None], frozen=True, array_like=True):
    """What the machines of the link share of the current vault; None: it is not linked."""

    name: ClassVar[str] = "shared_by"
    blocks: ClassVar[bool] = False


# -- to the memory folder --


class UseMemory(Question[MemoryAnswer], frozen=True, array_like=True):
    """Carries out a command of the `memory` tool. The only question that changes something.

    When it answers, the write is in the log, and the file is changed.

    Raises:
        ToolError: the memory's errors in errors.py; ArgumentInvalid for a path that cannot be one.
        SharingOff: the client is not shown the texts of notes.
        NotRecorded: it is asked about a past moment.
        LogError: the write could not be recorded, so nothing changed.
    """

    name: ClassVar[str] = "memory"
    command: MemoryVerb
    path: str
    """As agents name it."""
    to: str = ""
    """rename: the new path."""
    text: str = ""
    """create, insert: the text; str_replace: the new text."""
    old: str = ""
    """str_replace: the text to replace."""
    line: int = 0
    """insert: the line after which the text comes; 0: at the beginning."""


# -- names only --


def _only_name(found: Note | NoteFailure) -> Note | NoteFailure:
    if isinstance(found, Note):
        return name_only(found)
    return name_known(found.id, stem(found.id)) if found.size is not None else found


def _resolved_by_name(reference: str, found: Resolution) -> Resolution:
    """`found` without notes that only front matter or an alias gave, and without near names.

    Near names would reveal aliases: a client would get them for one reference and not for another.
    """
    if found.note is not None:
        by_name = found.resolved_by in _BY_NAME
        shown = Resolution(found.note, found.resolved_by) if by_name else Resolution()
    else:
        by_name = all(_named_like(each, reference) for each in found.candidates)
        shown = Resolution(candidates=found.candidates if by_name else ())
    return replace(shown, complete=found.complete)


def _named_like(note: NoteRef, reference: str) -> bool:
    """Whether the note's path or title alone matches the reference."""
    text = reference.strip().removeprefix("!").removeprefix("[[").removesuffix("]]")
    cuts = [text, *(text[:at] for at, sign in enumerate(text) if sign in "#|^")]
    names = {without_case(each) for each in (note.title, stem(note.id), without_ending(note.id))}
    for cut in cuts:
        name = cut.strip()
        if not name:
            continue
        path = f"/{without_case(without_ending(name))}"
        if f"/{without_case(without_ending(note.id))}".endswith(path):
            return True
        if without_case(name) in names:
            return True
    return False
