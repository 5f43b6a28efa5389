"""`View`: a tool's only door to the world.

A tool is a function `(View, arguments) -> Result`. All it learns comes through here: the folded state at one
sequence, a clock, and the vault behind a port. The same function therefore answers a live call and a replayed
one, and what passed through the port is what an agent's answer was made from.

Everything the port returns is a plain value, so that it can be recorded and given again.
"""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import Vault, VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing

from ..errors import NotRecorded
from ..notes.note import Note, NoteFailure
from ..prompts.model.types import Manifest


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


class HistoryPort(Protocol):
    """What the log tells of where the user was. Safe from any thread."""

    def visits(self) -> Sequence[Visit]:
        """The remembered visits of notes of the current vault, oldest first, up to the view's sequence. Visits of
        notes that the share policy withholds are not among them."""
        ...


class VersionAt(msgspec.Struct, frozen=True):
    """A note as it was."""

    seq: int
    """The moment: that of the question, or where the version was read last."""
    at: str
    """Its time."""
    note: Note | NoteFailure


class PastPort(Protocol):
    """What log and recordings tell of earlier versions of notes. Safe from any thread; may block."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        """What the note that is called `note` now was at the sequence or time `since`; with None the last version
        that was recorded and whose file had another sha256 than `current`.

        Raises:
            NotRecorded: nobody kept it.
            ArgumentInvalid: `since` is no moment of the log up to the view's own.
        """
        ...


class NoPast:
    """Nothing was recorded."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:  # noqa: ARG002
        raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)


SWITCHED_ON: Final = "With record = served, what tools read is kept; only what some call read can be told."


class NoHistory:
    """Nothing is remembered."""

    def visits(self) -> Sequence[Visit]:
        return ()


class ShownManifest(msgspec.Struct, frozen=True, rename="camel"):
    """What a prompt of a runtime was made of, as far as a client is shown it."""

    seq: int
    """Of the prompt."""
    manifest: Manifest
    withheld: int = 0
    """How many entries are left out because they tell of notes that are withheld by now."""
    sized: bool = True
    """Whether sizes are told; else they are 0."""


class PromptsPort(Protocol):
    """The prompts that were assembled for runtimes. Safe from any thread; may block."""

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:
        """The manifest of a conversation's last prompt, or of the last one for `message`; with None of the
        conversation of the current vault that was spoken of last.

        Raises:
            ArgumentInvalid: there is no such conversation, or no prompt of it for that message.
            NotRecorded: no prompt was assembled, or its manifest is not kept.
        """
        ...


NO_PROMPT_HINT: Final = "A runtime asks for one with workspaced/context/assemble."


class NoPrompts:
    """None was assembled."""

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:  # noqa: ARG002
        raise NotRecorded("No prompt was assembled", hint=NO_PROMPT_HINT)


class View(msgspec.Struct, frozen=True):
    """The world at one moment, as one client may see it."""

    state: WorkspaceState
    """Without what the share policy withholds."""
    now: str
    """UTC, six fractional digits, `Z`: the form of an event's time."""
    vault: VaultPort | None
    """The current vault; None when there is none or its folder is not served."""
    history: HistoryPort = NoHistory()
    past: PastPort = NoPast()
    prompts: PromptsPort = NoPrompts()
    sharing: Sharing = "all"
    """How much this client is shown: `names` means ids and titles only. (`none` gets no view.)"""
    withheld: int = 0
    """How many notes of the current vault's lists the share policy withholds."""
    also_at: tuple[int, ...] = ()
    """Sequences of the other moments that the time asked about names, where the clock was set."""

    @property
    def current(self) -> Vault | None:
        """The current vault's registration."""
        return self.state.vaults.get(self.state.current) if self.state.current is not None else None

    @property
    def vault_state(self) -> VaultState:
        """What is folded for the current vault."""
        return self.state.of(self.state.current)

    @property
    def as_of_seq(self) -> int:
        """The last sequence that could have changed the state."""
        return self.state.seq


__all__ = [
    "Found",
    "HistoryPort",
    "Incoming",
    "IncomingLink",
    "LinkName",
    "LinkTarget",
    "Members",
    "NoteRef",
    "Overview",
    "PastPort",
    "PromptsPort",
    "Resolution",
    "Search",
    "SearchHit",
    "ShownManifest",
    "SimilarNote",
    "TaggedNote",
    "VaultId",
    "VaultPort",
    "VersionAt",
    "View",
]
