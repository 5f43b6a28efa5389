"""The catalogue: every type of action and event, one data struct each.

An action is `{"type", "data", "id"?, "vault"?}`. Once appended it is an event, which adds `seq`, `time` and
`source` and always has `id` and `vault`. Both share the data structs below, registered under their wire name
with who may publish them. The event structs are tagged unions made from the registry, so that one decoder reads
a line of the log at once.

Evolution: whatever is added raises CATALOGUE_VERSION, which starts a new segment. A new type or a new optional
field needs nothing more; anything else needs an upcaster (upcast.py), and every version a golden log
(tests/data/logs). Readers keep what they do not know as `UnknownEvent`.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta

from .ids import ConversationId, EventId, MessageId, NoteId, TabId, VaultId
from .limits import NOTES_PER_ACTION_MAX, SELECTION_CHARS_MAX, SHARING_CLIENT_CHARS_MAX, TITLE_CHARS_MAX

CATALOGUE_VERSION: Final = 4


class Redact(StrEnum):
    """What a field may tell, and so what becomes of it in a redacted export (redact.py).

    Every field has such a tag, in an `Annotated` or by its type (redact.TAG_OF_TYPE).
    """

    PUBLIC = "public"
    """Numbers, times and words of this program: stays."""
    PATH = "path"
    """The path of a note."""
    CONTENT = "content"
    """What people wrote or named."""
    CLIENT = "client"
    """The name of a client of the tools, compared case-folded."""
    ID = "id"
    """An identifier: stays where its form shows that a program made it up, else it may be anything."""
    HASH = "hash"
    """The hash of a content, by which a guess could be confirmed."""
    FIELDS = "fields"
    """A struct, whose fields have tags of their own; or several."""
    SECRET = "secret"  # noqa: S105 (a tag)
    """Says something of the machine or the person, and nothing of the workspace."""


TabSource = Literal["search", "wikilink", "navigation", "history"]
Sharing = Literal["all", "names", "none"]
"""How much of the vault a client of the tools is shown."""
Number = Annotated[int, Redact.PUBLIC]
Line = Annotated[Number, Meta(ge=1, description="1-based line of the raw file")]
Notes = Annotated[tuple[NoteId, ...], Meta(max_length=NOTES_PER_ACTION_MAX)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$"), Redact.HASH]


class Publisher(StrEnum):
    """Who publishes a type. What is a UI's the daemon may append too; what is the daemon's no UI may."""

    UI = "U"
    DAEMON = "D"
    BOTH = "UD"


class Data(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """The `data` of an action or event."""


class NoteData(Data, frozen=True, gc=False, kw_only=True):
    """Data about one note."""

    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX), Redact.CONTENT] | None = None
    """A hint for people who read logs; never folded, since stored titles rot."""


class Entry(msgspec.Struct, frozen=True):
    """One row of the catalogue."""

    name: str
    data: type[Data]
    publisher: Publisher
    changes_state: bool
    """Whether an event of this type could change the state, and so moves `asOfSeq`."""
    event: Callable[..., Any]
    """Makes the `Event`: (seq, id, time, source, vault, data)."""
    fields: frozenset[str]
    """Wire names of the data's fields."""

    @property
    def by_ui(self) -> bool:
        """Whether a UI may publish it."""
        return self.publisher is not Publisher.DAEMON


class Event(msgspec.Struct, frozen=True, tag_field="type", rename="camel"):
    """What was appended. `time` is UTC with six fractional digits and `Z`, never decreasing along `seq`."""

    seq: Number
    id: EventId
    time: Annotated[str, Redact.PUBLIC]
    source: Annotated[str, Redact.CONTENT]
    vault: VaultId | None

    if TYPE_CHECKING:

        @property
        def data(self) -> Any:
            """A field of the subclasses made from the registry, each of its own type."""

    @property
    def type(self) -> str:
        """The type's name on the wire."""
        return str(self.__struct_config__.tag)


class UnknownEvent(Event, frozen=True, tag=False, tag_field=None, rename={"kind": "type"}):
    """An event of a type, or with data, that only a newer version knows: kept, counted, folded as a no-op."""

    kind: str
    data: msgspec.Raw

    @property
    def type(self) -> str:
        return self.kind


CATALOGUE: dict[str, Entry] = {}
_D = TypeVar("_D", bound=type[Data])


def _entry(name: str, publisher: Publisher, *, changes_state: bool = True) -> Callable[[_D], _D]:
    def register(data: _D) -> _D:
        event = msgspec.defstruct(
            f"{data.__name__}Event",
            [("data", data)],
            bases=(Event,),
            module=__name__,
            tag=name,
            frozen=True,
            rename="camel",
        )
        fields = frozenset(field.encode_name for field in msgspec.structs.fields(data))
        CATALOGUE[name] = Entry(name, data, publisher, changes_state, event, fields)
        return data

    return register


# -- vaults --


@_entry("vault_opened", Publisher.DAEMON)
class VaultOpened(Data, frozen=True, gc=False):
    """Registers the vault; it becomes current when none is."""

    vault_id: VaultId
    name: Annotated[str, Redact.CONTENT]
    path: Annotated[str, Redact.SECRET]


@_entry("vault_closed", Publisher.DAEMON)
class VaultClosed(Data, frozen=True, gc=False):
    """Hides the vault; its state stays for a later reopening."""

    vault_id: VaultId


@_entry("vault_switched", Publisher.UI)
class VaultSwitched(Data, frozen=True, gc=False):
    """Makes another open vault the current one; its active note is null until the next set."""

    vault_id: VaultId


# -- the active note --


@_entry("active_note_set", Publisher.UI)
class ActiveNoteSet(NoteData, frozen=True, gc=False):
    """The user looks at this note. With null it becomes `active_note_cleared` before it is appended."""

    note: NoteId | None


@_entry("active_note_cleared", Publisher.UI)
class ActiveNoteCleared(Data, frozen=True, gc=False):
    """The user looks at no note."""


@_entry("selection_changed", Publisher.UI)
class SelectionChanged(NoteData, frozen=True, gc=False):
    """What is selected in the active note; of another note it changes nothing."""

    note: NoteId
    start_line: Line
    end_line: Line
    text: Annotated[str, Meta(max_length=SELECTION_CHARS_MAX), Redact.CONTENT] | None = None
    text_sha256: Sha256 | None = None
    """Set instead of a long `text` by the daemon, which keeps the text as a blob of this name."""

    def __post_init__(self) -> None:
        if self.end_line < self.start_line:
            raise ValueError(f"Expected endLine >= startLine, got {self.end_line} < {self.start_line}")


# -- pins --


@_entry("note_pinned", Publisher.UI)
class NotePinned(NoteData, frozen=True, gc=False):
    """Appended to the pins, or inserted at `index`; a temporary tab of that note goes."""

    note: NoteId
    index: Annotated[Number, Meta(ge=0)] | None = None


@_entry("note_unpinned", Publisher.UI)
class NoteUnpinned(NoteData, frozen=True, gc=False):
    """Removed from the pins, and becomes the last temporary tab."""

    note: NoteId


@_entry("pinned_notes_reordered", Publisher.UI)
class PinnedNotesReordered(Data, frozen=True, gc=False):
    """The new order of the pins: a permutation of them."""

    notes: Notes


# -- temporary tabs --


@_entry("temporary_tab_opened", Publisher.UI)
class TemporaryTabOpened(NoteData, frozen=True, gc=False):
    """A preview of a note. An existing tab is only touched; a pinned note gets none."""

    note: NoteId
    source: TabSource


@_entry("temporary_tab_closed", Publisher.UI)
class TemporaryTabClosed(Data, frozen=True, gc=False):
    """Closes one tab, named by its id or by its note."""

    tab_id: TabId | None = None
    note: NoteId | None = None

    def __post_init__(self) -> None:
        if (self.tab_id is None) == (self.note is None):
            raise ValueError("Expected exactly one of `tabId` and `note`")


@_entry("temporary_tabs_reordered", Publisher.UI)
class TemporaryTabsReordered(Data, frozen=True, gc=False):
    """The new order of the tabs: a permutation of their ids."""

    tab_ids: Annotated[tuple[TabId, ...], Meta(max_length=NOTES_PER_ACTION_MAX)]


@_entry("temporary_tabs_cleared", Publisher.UI)
class TemporaryTabsCleared(Data, frozen=True, gc=False):
    """All temporary tabs go; pins stay."""


@_entry("temporary_tabs_expired", Publisher.DAEMON)
class TemporaryTabsExpired(Data, frozen=True, gc=False):
    """Tabs not accessed for 24 h go."""

    tab_ids: tuple[TabId, ...]


# -- notes --


class NoteFile(NoteData, frozen=True, gc=False):
    """A note's file as the daemon saw it."""

    note: NoteId
    size: Annotated[Number, Meta(ge=0)]
    mtime_ns: Annotated[
        str, Meta(pattern="^-?[0-9]+$", description="decimal nanoseconds since the epoch"), Redact.PUBLIC
    ]
    sha256: Sha256 | None = None


@_entry("note_created", Publisher.DAEMON, changes_state=False)
class NoteCreated(NoteFile, frozen=True, gc=False):
    """The file of a note of the workspace appeared."""


@_entry("note_changed", Publisher.DAEMON, changes_state=False)
class NoteChanged(NoteFile, frozen=True, gc=False):
    """The file of a note of the workspace has other bytes."""


@_entry("note_renamed", Publisher.BOTH)
class NoteRenamed(Data, frozen=True, gc=False):
    """The note moved; every mention follows, and the old path still resolves."""

    from_: NoteId = msgspec.field(name="from")
    to: NoteId


@_entry("note_deleted", Publisher.UI)
class NoteDeleted(NoteData, frozen=True, gc=False):
    """The user deleted the note: it leaves active, pins and tabs."""

    note: NoteId


@_entry("note_archived", Publisher.UI)
class NoteArchived(NoteData, frozen=True, gc=False):
    """Flags the note; its entries stay."""

    note: NoteId


@_entry("note_unarchived", Publisher.UI)
class NoteUnarchived(NoteData, frozen=True, gc=False):
    """Takes the flag away."""

    note: NoteId


# -- the share policy --


@_entry("sharing_set", Publisher.DAEMON)
class SharingSet(Data, frozen=True, gc=False):
    """How much a client of the tools is shown from now on. Belongs to the workspace, to no vault."""

    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX), Redact.CLIENT]
    """The name the client gives itself, compared case-folded; `*`: every client that none is set for."""
    level: Sharing


# -- conversations and the prompts made of them (conversation.py) --

Text = Annotated[str, Redact.CONTENT]
Role = Literal["user", "assistant", "system"]
ArtifactKind = Literal[
    "note",
    "active_note",
    "url",
    "selected_text",
    "tool_result",
    "image",
    "pdf",
    "file",
    "skill",
    "dataview",
]
AttachmentKind = Literal[ArtifactKind, "folder", "tag"]
ProviderKind = Literal["text", "note", "folder", "workspace", "linked-files", "open-files", "recent-changes"]


class Section(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the first layer."""

    name: Literal["system", "memory", "project", "environment", "skills"]
    text_sha256: Sha256


class Attachment(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a message was given to look at."""

    kind: AttachmentKind
    id: Text
    """note, active_note, folder: path; tag: its name; url: itself; selected_text: `path#Lx-Ly`; otherwise any."""
    text_sha256: Sha256 | None = None
    """Of what the runtime gave itself; a note's text is read when a prompt is made."""
    title: Text | None = None


class ToolCall(msgspec.Struct, frozen=True, rename="camel"):
    id: Annotated[str, Redact.ID]
    name: Text
    arguments_sha256: Sha256
    """Of the JSON text."""


class ToolResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    id: Annotated[str, Redact.ID]
    """Of the call that it answers."""
    name: Text
    text_sha256: Sha256
    is_error: bool = False


class Thinking(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    text_sha256: Sha256
    signature: Annotated[str, Redact.SECRET] | None = None


class MessageData(Data, frozen=True):
    """A message whole; texts are blobs."""

    conversation: Annotated[ConversationId, Redact.ID]
    message: Annotated[MessageId, Redact.ID]
    role: Role
    text_sha256: Sha256 | None = None
    attachments: tuple[Attachment, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()
    """A user's message that begins with these is a carrier: it goes on with the turn before it."""
    thinking: tuple[Thinking, ...] = ()


class ConversationData(Data, frozen=True, kw_only=True):
    """Data about one conversation."""

    conversation: Annotated[ConversationId, Redact.ID]


@_entry("conversation_started", Publisher.DAEMON, changes_state=False)
class ConversationStarted(ConversationData, frozen=True):
    """A runtime begins a conversation; started again, its settings are these from now on."""

    provider: Text
    model: Text
    context_window: Number
    """Tokens."""
    output_reserve: Number
    sections: tuple[Section, ...] = ()
    """Of the first layer, in the order they are given."""
    tools_sha256: Sha256 | None = None
    """Of the JSON text of the tools' definitions, which the runtime sends besides."""
    cached_in_input: bool = True
    """Whether this provider counts cached tokens among the input's."""


@_entry("conversation_ended", Publisher.DAEMON, changes_state=False)
class ConversationEnded(ConversationData, frozen=True):
    """Nothing more will be asked about it."""


@_entry("message_added", Publisher.DAEMON, changes_state=False)
class MessageAdded(MessageData, frozen=True):
    """The next message."""


@_entry("message_replaced", Publisher.DAEMON, changes_state=False)
class MessageReplaced(MessageData, frozen=True):
    """The message of that id is this one now (it was edited, or generated again)."""


@_entry("message_removed", Publisher.DAEMON, changes_state=False)
class MessageRemoved(ConversationData, frozen=True):
    """The message goes, and with `following` all after it."""

    message: Annotated[MessageId, Redact.ID]
    following: bool = False


@_entry("summary_set", Publisher.DAEMON, changes_state=False)
class SummarySet(ConversationData, frozen=True):
    """What the messages up to `up_to`, that one included, come to: it stands for them from now on."""

    text_sha256: Sha256
    up_to: Annotated[MessageId, Redact.ID]


@_entry("context_pinned", Publisher.DAEMON, changes_state=False)
class ContextPinned(ConversationData, frozen=True):
    """A provider gives a text to every prompt; the same id again replaces it in its place."""

    id: Text
    kind: ProviderKind
    path: NoteId | None = None
    """Of `note`: the note; of `linked-files`: the note whose links are followed, default the active one."""
    folder: Annotated[str, Redact.PATH] | None = None
    text_sha256: Sha256 | None = None
    """Of `text`."""


@_entry("context_unpinned", Publisher.DAEMON, changes_state=False)
class ContextUnpinned(ConversationData, frozen=True):
    id: Text


@_entry("artifact_recorded", Publisher.DAEMON, changes_state=False)
class ArtifactRecorded(Data, frozen=True):
    """A version of something was read for a prompt; its text is a blob."""

    id: Text
    kind: ArtifactKind
    revision: Sha256
    """Of the text."""
    bytes: Number


class LibraryEntry(msgspec.Struct, frozen=True, rename="camel"):
    """What the context library holds of one artifact: for ever the same bytes, until the library is rebased."""

    id: Text
    kind: ArtifactKind
    revision: Sha256
    block_sha256: Sha256
    """Of the block as it is rendered: a blob."""
    tokens: Number
    """As the estimator of that prompt saw it."""
    message: Annotated[MessageId, Redact.ID]
    """The first turn it was attached to: it is in the library of later turns only."""


class LayerHashes(msgspec.Struct, frozen=True):
    """Lower-case hex sha256 of each layer's text."""

    L1_SYSTEM: Sha256
    L2_PREVIOUS: Sha256
    L3_TURN: Sha256
    L4_STRIP: Sha256
    L5_USER: Sha256


@_entry("prompt_assembled", Publisher.DAEMON, changes_state=False)
class PromptAssembled(ConversationData, frozen=True):
    """A prompt was made: what it was made from, and what it came to."""

    message: Annotated[MessageId, Redact.ID]
    """The last one of it."""
    as_of_seq: Number
    """The prompt is a function of the conversation folded up to here, and of `inputs_sha256`."""
    inputs_sha256: Sha256
    """Of the JSON of the `Turn` (workspaced_tools.context.model): what was read for it."""
    manifest_sha256: Sha256
    layer_hashes: LayerHashes
    combined_hash: Sha256
    prefix_tokens: Number
    """Of the first two layers."""
    estimate: Number
    """Tokens, calibrated."""
    seed_estimate: Number
    """The same before calibration: what `usage_reported` calibrates."""
    limit: Number
    elided: Number = 0
    """How many parts were left out or shortened for want of room."""
    promoted: tuple[LibraryEntry, ...] = ()
    """What this turn showed first, and the library holds from the next turn on."""
    elided_until: Annotated[MessageId, Redact.ID] | None = None
    """Up to this message whole turns were left out, and are from now on."""


@_entry("library_rebased", Publisher.DAEMON, changes_state=False)
class LibraryRebased(ConversationData, frozen=True):
    """The context library is this one from now on."""

    reason: Literal["replaced", "budget", "asked", "withheld"]
    library: tuple[LibraryEntry, ...]


@_entry("usage_reported", Publisher.DAEMON, changes_state=False)
class UsageReported(ConversationData, frozen=True):
    """What a provider counted of the prompt for `message`."""

    message: Annotated[MessageId, Redact.ID]
    provider: Text
    model: Text
    input_tokens: Number
    cached_tokens: Number = 0
    output_tokens: Number = 0


# -- what was forgotten (forget.py) --


@_entry("event_forgotten", Publisher.DAEMON)
class EventForgotten(Data, frozen=True, gc=False):
    """Stands where an event could change the state and told of a note that was forgotten."""

    effect: Annotated[Literal["none", "updated", "left"], Redact.PUBLIC] = "none"
    """What is left of what it did: `updated` moves `lastUpdated`; `left` clears the active note as well."""


@_entry("record_forgotten", Publisher.DAEMON, changes_state=False)
class RecordForgotten(Data, frozen=True, gc=False):
    """Stands where a change of a file, or the call of a tool, told of a note that was forgotten."""


# -- the daemon's own record --


@_entry("tool_called", Publisher.DAEMON, changes_state=False)
class ToolCalled(Data, frozen=True):
    """What an agent asked and was shown. The hashes name blobs where recording is on."""

    tool: Annotated[str, Redact.PUBLIC]
    caller: Annotated[str, Redact.CLIENT]
    arguments: Annotated[dict[str, Any], Redact.CONTENT]
    """Empty where `arguments_sha256` is given."""
    as_of_seq: Number
    result_sha256: Annotated[str, Redact.HASH]
    bytes: Number
    duration_us: Number
    ok: bool
    now: Annotated[str, Redact.PUBLIC]
    """The clock the tool saw, in the form of an event's time."""
    tail_seq: Number | None = None
    """The log's tail at the call: how far the history went that it saw. Absent: no further than `asOfSeq`."""
    inputs_sha256: Annotated[str, Redact.HASH] | None = None
    """Names what the call read through its View; absent where that was not recorded."""
    arguments_sha256: Annotated[str, Redact.HASH] | None = None
    """Names the JSON of arguments that are too long for a line of the log."""

    @property
    def tail(self) -> int:
        """How far into the log the call saw."""
        return self.as_of_seq if self.tail_seq is None else max(self.tail_seq, self.as_of_seq)


@_entry("log_recovered", Publisher.DAEMON, changes_state=False)
class LogRecovered(Data, frozen=True, gc=False):
    """Opening the log after an unclean stop found a torn tail and quarantined it."""

    segment: Annotated[str, Redact.PUBLIC]
    offset: Number
    bytes: Number
    last_seq: Number
    quarantined: Annotated[str, Redact.PUBLIC]


@_entry("daemon_started", Publisher.DAEMON, changes_state=False)
class DaemonStarted(Data, frozen=True, gc=False):
    """A daemon opened the log."""

    version: Annotated[str, Redact.PUBLIC]
    pid: Number
    vaults: tuple[VaultId, ...]


@_entry("daemon_stopped", Publisher.DAEMON, changes_state=False)
class DaemonStopped(Data, frozen=True, gc=False):
    """A daemon closed the log in good order."""

    reason: Annotated[str, Redact.PUBLIC]


STATE_TYPES: Final = frozenset(entry.data for entry in CATALOGUE.values() if entry.changes_state)
DAEMON_TYPES: Final = frozenset(entry.data for entry in CATALOGUE.values() if not entry.by_ui)
ENTRY_OF: Final[dict[type[Data], Entry]] = {entry.data: entry for entry in CATALOGUE.values()}
