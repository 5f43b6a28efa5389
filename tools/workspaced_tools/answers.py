"""What the tools answer. The tools return these structs, the schemas in `schemas/tools` are made from them, and
the Python clients give them to their callers.

The order of the fields is their order in the JSON of an answer, which replay compares to the byte. A field that
has its default is left out, since an agent pays for it: absent means the default, which the schema names; where
that is None the field is never null. msgspec leaves out the very object of a default: a text that may equal one is
made that object. A field without default that allows None is always present and may be null.

A note's `id` is its path in the vault. Times are UTC, to the second.

Imports nothing but msgspec, since clients and hooks must start fast.
"""

from typing import Annotated, Any, Literal

import msgspec

FrontMatter = Annotated[
    Any,
    msgspec.Meta(
        extra_json_schema={"type": ["boolean", "integer", "number", "string", "array", "object", "null"]}
    ),
]
"""A value of a note's front matter: JSON of any depth."""


class Part(msgspec.Struct, omit_defaults=True, rename="camel"):
    """A part of an answer: camelCase on the wire, snake_case in Python."""


class Truncation(Part):
    """Of a text of which a part is returned; lengths in characters. Without one the text is whole."""

    original_length: int
    returned_length: int
    next_offset: int | None = None
    """The `offset` of the next part; absent at the end."""

    @property
    def truncated(self) -> bool:
        """Whether it is a part. An answer of the whole text has no truncation."""
        return self.returned_length < self.original_length


class Result(Part, kw_only=True):
    """The form of every result, success or failure. Results may share parts, so a caller must not change one."""

    success: bool
    data: Any = None
    """Of a success what the tool answers, of a failure what may help, such as the notes that a name may mean."""
    error: str | None = None
    code: str | None = None
    message: str
    as_of_seq: int
    warnings: list[str] | None = None


class PagedResult(Result, kw_only=True):
    """The result of a tool that returns one text, in parts if the text is long."""

    truncation: Truncation | None = None


# -- notes --


class NoteName(Part):
    id: str
    title: str

    @property
    def path(self) -> str:
        """The note's path in the vault, which is its id."""
        return self.id


class NoteType(Part):
    name: str
    schema: FrontMatter | msgspec.UnsetType = msgspec.UNSET


class Metadata(Part):
    """tools.md, decision 13."""

    tags: list[str] = []
    custom_fields: dict[str, FrontMatter] = {}
    """Front matter that is shown nowhere else."""
    created: str | None = None
    last_modified: str | None = None
    word_count: int = 0
    character_count: int = 0
    note_type: NoteType | None = None
    """Of a type with a schema; its name is the note's `type`."""


class NoteEntry(NoteName, kw_only=True):
    """What is shown of a note everywhere."""

    type: str = "note"
    exists: bool = True
    archived: bool = False
    kind: str | None = None
    """Of a file that is no Markdown: `canvas`, `base`, `pdf`, `image`, `audio`, `video`, `document`, `text` or
    `file`."""
    size: int | None = None
    """In bytes; of a file that is no Markdown."""
    language: str | None = None
    """Of a file that is no Markdown, if its name tells it."""
    pages: int | None = None
    """Of a PDF whose text is read."""
    metadata: Metadata | None = None


class OutgoingLink(Part, kw_only=True):
    """One occurrence of a link."""

    target: str
    title: str
    exists: bool = True
    line: int
    id: str | None = None
    heading: str | None = None
    block: str | None = None
    alias: str | None = None
    embed: bool = False
    property: str | None = None
    """The name of the front-matter field that holds the link."""
    ambiguous: bool | None = None


class IncomingLink(Part):
    source: str
    title: str
    context: str
    line: int
    heading: str | None = None


class Links(Part):
    outgoing: list[OutgoingLink]
    outgoing_total: int
    incoming: list[IncomingLink]
    incoming_total: int


class OutlineHeading(Part):
    level: int
    title: str
    line: int
    kind: str | None = None
    """Of a definition in code: the grammar's word, such as `class`."""


class EmbeddedImage(Part):
    """An image that comes with the answer, or one that is only named: then `code` and `error` say why.

    The bytes of those that come stand after the answer's text, in this order.
    """

    path: str
    """In the vault; of an image that is only named as the note has it."""
    media_type: str | None = None
    bytes: int | None = None
    sha256: str | None = None
    """Of the bytes that are sent."""
    width: int | None = None
    height: int | None = None
    scaled: bool | None = None
    """True if the file is larger: what is sent was made smaller."""
    code: str | None = None
    error: str | None = None


class LinkedNote(NoteEntry, kw_only=True):
    """One note: `get_current_note`."""

    content: str | None = None
    """The body, without front matter: untrusted text."""
    sha256: str | None = None
    """Of the file's bytes."""
    links: Links | None = None
    index_state: str | None = None
    """`building` where links may be missing."""
    outline: list[OutlineHeading] | None = None
    images: list[EmbeddedImage] | None = None


class FoundSection(Part, kw_only=True):
    """What the reference's `#heading` or `^block` names."""

    heading: str | None = None
    level: int | None = None
    block: str | None = None
    start_line: int
    end_line: int
    """The last line of it, in the raw file."""
    offset: int
    """Where it begins in the text."""


class ReferencedNote(LinkedNote, kw_only=True):
    """`get_note_by_reference`."""

    resolved_by: str
    section: FoundSection | None = None


class Suggestions(Part):
    """A failure's data: what the reference may have meant."""

    candidates: list[NoteName] = []
    near: list[NoteName] = []
    index_state: str | None = None
    """`building` where other notes may have the name."""


class MissingSection(Part):
    """The data of `SECTION_NOT_FOUND`."""

    note: NoteName
    outline: list[OutlineHeading]
    outline_total: int


# -- the workspace --


class ContextNote(NoteEntry, kw_only=True):
    """The active note, a pin or a tab. Each of the three has only its own ones of these fields.

    One struct for all three, because every agent pays for the schemas in the list of tools.
    """

    error: str | None = None
    """Why the file cannot be read."""
    since: str | None = None
    """Of the active note."""
    last_modified: str | None = None
    """Of the active note's file, without metadata, which has it. Absent for a client that may see only names."""
    pinned_at: str | None = None
    note_id: str | None = None
    """Of a tab, whose `id` is the tab's own."""
    source: str | None = None
    opened_at: str | None = None
    last_accessed: str | None = None
    """Of a tab, like `openedAt` with `includeDetails` alone."""
    content_ref: str | None = None
    """The list whose entry of the same note holds the content."""
    content: str | None = None
    """The body, without front matter: untrusted text."""
    sha256: str | None = None
    """Of the file's bytes."""
    truncation: Truncation | None = None

    @property
    def path(self) -> str:
        """The note's path in the vault."""
        return self.note_id or self.id

    @property
    def filename(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


class RecentNote(NoteName, kw_only=True):
    exists: bool = True
    at: str


class Selection(Part):
    note: str
    start_line: int
    end_line: int
    at: str
    text: str | None = None
    text_sha256: str | None = None


class VaultInfo(Part, kw_only=True):
    id: str
    name: str
    path: str | None = None
    """The folder on this machine. Absent for a client that may see only names."""
    note_count: int | None
    """Null: unknown, at a past moment."""
    index_state: str = "ready"


class Summary(Part):
    total_notes: int
    """Distinct notes among the active note, pins and tabs."""
    pinned_count: int
    temporary_tabs_count: int
    content_length: int = 0
    """Characters of content in this answer."""
    last_activity: str | None = None
    """The latest time in these lists. Activity on a note that is withheld does not move it."""


class Omission(Part):
    id: str
    part: str
    reason: str


class WorkspaceContext(Part, kw_only=True):
    """`get_workspace_context`."""

    active_note: ContextNote | None
    pinned_notes: list[ContextNote]
    temporary_tabs: list[ContextNote]
    active_tab_id: str | None = None
    recent_notes: list[RecentNote]
    selection: Selection | None = None
    vault_info: VaultInfo
    summary: Summary
    omitted: list[Omission] = []
    omitted_total: int = 0
    withheld: int = 0
    """The number of withheld notes in these lists."""


# -- the workspace of a link's machines --


class MachineInfo(Part, kw_only=True):
    """What one machine shows now."""

    person: str
    machine: str
    here: bool = False
    active_note: str | None = None
    since: str | None = None
    heard_at: str | None = None
    """When the answering machine last heard of it; absent: it is the answering one, or was never heard of."""


class Linked(Part):
    of: str
    person: str | None
    """Whose workspace is shown; null: everyone's."""
    machine: str | None
    """Which machine's active note, tabs and selection are shown."""
    peers_seq: int
    """The sequence of the event that last told of another machine."""
    machines: list[MachineInfo]


class ContextOfMachines(WorkspaceContext, kw_only=True):
    linked: Linked


class NoteOfMachine(LinkedNote, kw_only=True):
    linked: Linked


# -- changes, relations, visits --


class Since(Part):
    seq: int
    at: str
    exists: bool = True
    sha256: str | None = None


class NoteDiff(NoteName, kw_only=True):
    """`get_note_diff`."""

    since: Since
    sha256: str
    changed: bool = True
    added: int = 0
    """Lines."""
    removed: int = 0
    diff: str
    """Unified: untrusted text of both versions."""


Kind = Literal["linksTo", "linkedFrom", "sharedTags", "visitedTogether", "openedNext", "similarText"]


class Reason(Part):
    kind: Kind
    count: int | None = None
    """The number of links, or of visits of the note with a visit of the other note close by, or soon after."""
    tags: list[str] | None = None
    """The rarest first."""
    words: list[str] | None = None
    """The most distinctive first."""


class RelatedNote(NoteName):
    score: float | None = None
    """From 0 to 1. Absent, like the reasons, for a client that may see only names."""
    reasons: list[Reason] | None = None
    """The strongest first."""
    archived: bool = False


class RelatedNotes(Part):
    """`get_related_notes`."""

    note: NoteName
    related: list[RelatedNote]
    total: int
    """The number of related notes found. Each signal compares a limited number of notes."""


class ShownVisit(NoteName, kw_only=True):
    exists: bool = True
    at: str
    until: str | None = None
    """Absent: the visit has not ended."""
    dwell_seconds: float


class NavigationHistory(Part):
    """`get_navigation_history`."""

    visits: list[ShownVisit]
    total: int


# -- the summary --


class ListedNote(NoteName):
    """A note in one of the lists. The list decides which optional fields it has."""

    exists: bool = True
    at: str | None = None
    """The time of the last visit or change."""
    visits: int | None = None
    dwell_seconds: float | None = None


class OpenQuestion(Part):
    """Something in `note` that may need the user's attention. The list names the kind."""

    note: str
    title: str
    target: str | None = None
    """The target of a link, as the note has it."""
    line: int | None = None
    listed_in: list[str] | None = None
    """The lists that name a note without a file."""


class VaultCounts(Part):
    """Of the whole vault."""

    notes: int
    links: int | None = None


class WorkspaceCounts(Part):
    """Of the user's lists."""

    pinned_count: int
    temporary_tabs_count: int
    recent_notes: int
    missing_notes: int
    """The active note, pins and tabs without a file."""


class LinkCounts(Part):
    """Of the links in pins and in the active note only, not of the vault."""

    broken_links: int
    ambiguous_links: int


class VisitCounts(Part):
    """Of the remembered visits."""

    visits: int
    visited_notes: int


class Counts(Part, kw_only=True):
    """Each name says where the counted things are."""

    in_vault: VaultCounts
    in_workspace: WorkspaceCounts
    in_pins_and_active_note: LinkCounts | None = None
    """Absent while the index is being built, and for a client that may see only names."""
    in_history: VisitCounts


class Activity(Part):
    recently_visited: list[ListedNote]
    recently_changed: list[ListedNote]
    most_visited: list[ListedNote]


class OpenQuestions(Part, kw_only=True):
    """`counts` has the number of each."""

    broken_links: list[OpenQuestion] = []
    ambiguous_links: list[OpenQuestion] = []
    missing_notes: list[OpenQuestion] = []


class WorkspaceSummary(Part, kw_only=True):
    """`get_workspace_summary`."""

    counts: Counts
    index_state: str = "ready"
    activity: Activity
    top_tags: dict[str, int] = {}
    """Maps a tag to the number of notes that have it, the most used first."""
    open_questions: OpenQuestions


# -- search, prompts, memory --


class SearchResult(NoteName, kw_only=True):
    line: int = 1
    """The line of the snippet in the file; 1 if the words occur only in names."""
    snippet: str = ""
    """Untrusted text."""
    score: float
    """Higher is better. Comparable only within one answer."""
    heading: str | None = None
    """Of the section with the line: what to read. Untrusted text."""
    missing: list[str] | None = None
    """The words that the note holds in no form. Absent: it holds all as they are written."""


class SearchResults(Part):
    """`search_workspace`."""

    results: list[SearchResult]
    matched: str
    """`all`: each result holds all the words; `some`: one does not."""
    total: int
    complete: bool = True
    """False: more notes may hold the words, `total` is a lower bound."""
    index_state: str = "ready"
    """`building`: the text of some notes is not yet known."""


class ShownEntry(Part, kw_only=True):
    id: str
    kind: str
    state: str
    why: str
    tokens: int | None = None
    """Absent, like all sizes, for a client that may see only names."""
    cached: bool = False
    detail: str | None = None


class ShownLayer(Part, kw_only=True):
    id: str
    tokens: int | None = None
    stable: bool
    """Whether the layer equals that of the prompt before, or only adds to its end."""
    entries: list[ShownEntry]


class ContextManifest(Part, kw_only=True):
    """`get_context_manifest`."""

    conversation: str
    message: str
    estimate: int | None = None
    """Tokens, including the tools' definitions. The limit is in the message."""
    layers: list[ShownLayer]


class MemoryData(Part):
    """What the command says, in the words of Anthropic's tool: a runtime may hand `text` to its model as it is."""

    command: Literal["view", "create", "str_replace", "insert", "delete", "rename"]
    path: str
    text: str
