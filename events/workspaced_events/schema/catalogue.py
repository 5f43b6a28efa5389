"""The catalogue: every type of action and event, one data struct each.

An action is `{"type", "data", "id"?, "vault"?}`. Once appended it is an event, which adds `seq`, `time` and
`source` and always has `id` and `vault`. Both share the data structs below, registered under their wire name
with who may publish them. The event structs are tagged unions made from the registry, so that one decoder reads
a line of the log at once.

Evolution, from the first release on: every addition raises CATALOGUE_VERSION, which starts a new segment, and gets
a golden log of its own (tests/data/logs). A new type or a new optional field needs nothing more; any other change
needs a function that makes the present form of a former event while the log is read. Readers keep unknown events
as `UnknownEvent`.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from ..ids import NoteId, TabId, VaultId
from ..limits import (
    JUDGEMENT_CHARS_MAX,
    NOTES_PER_ACTION_MAX,
    SELECTION_CHARS_MAX,
    SHARING_CLIENT_CHARS_MAX,
    TITLE_CHARS_MAX,
)
from .conversation_events import ArtifactKind as ArtifactKind
from .conversation_events import ArtifactRecorded as ArtifactRecorded
from .conversation_events import Attachment as Attachment
from .conversation_events import AttachmentKind as AttachmentKind
from .conversation_events import CacheTime as CacheTime
from .conversation_events import ContextFolded as ContextFolded
from .conversation_events import ContextNearLimit as ContextNearLimit
from .conversation_events import ContextPinned as ContextPinned
from .conversation_events import ContextUnpinned as ContextUnpinned
from .conversation_events import ConversationBranched as ConversationBranched
from .conversation_events import ConversationData as ConversationData
from .conversation_events import ConversationEnded as ConversationEnded
from .conversation_events import ConversationStarted as ConversationStarted
from .conversation_events import Form as Form
from .conversation_events import LayerHashes as LayerHashes
from .conversation_events import LeftOut as LeftOut
from .conversation_events import LibraryEntry as LibraryEntry
from .conversation_events import MessageAdded as MessageAdded
from .conversation_events import MessageData as MessageData
from .conversation_events import MessageRemoved as MessageRemoved
from .conversation_events import MessageReplaced as MessageReplaced
from .conversation_events import PartKind as PartKind
from .conversation_events import Pipeline as Pipeline
from .conversation_events import Promotion as Promotion
from .conversation_events import PromptAssembled as PromptAssembled
from .conversation_events import PromptTotals as PromptTotals
from .conversation_events import ProviderKind as ProviderKind
from .conversation_events import ResultImage as ResultImage
from .conversation_events import Role as Role
from .conversation_events import Section as Section
from .conversation_events import Shape as Shape
from .conversation_events import SummarySet as SummarySet
from .conversation_events import Text as Text
from .conversation_events import Thinking as Thinking
from .conversation_events import ToolCall as ToolCall
from .conversation_events import ToolResult as ToolResult
from .conversation_events import UsageReported as UsageReported
from .memory_events import BESIDE_VAULTS as BESIDE_VAULTS
from .memory_events import MemoryCommand as MemoryCommand
from .memory_events import MemoryOutcome as MemoryOutcome
from .memory_events import MemoryWriteEnded as MemoryWriteEnded
from .memory_events import MemoryWritten as MemoryWritten
from .peer_events import LinkChanged as LinkChanged
from .peer_events import RemoteEventsApplied as RemoteEventsApplied
from .registry import (
    CATALOGUE as CATALOGUE,
)
from .registry import (
    Data as Data,
)
from .registry import (
    Entry as Entry,
)
from .registry import (
    Event as Event,
)
from .registry import (
    Number as Number,
)
from .registry import (
    Publisher as Publisher,
)
from .registry import (
    Redact as Redact,
)
from .registry import (
    Sha256 as Sha256,
)
from .registry import (
    UnknownEvent as UnknownEvent,
)
from .registry import (
    entry as entry,
)

CATALOGUE_VERSION: Final = 1

TabSource = Literal["search", "wikilink", "navigation", "history"]
Sharing = Literal["all", "names", "none"]
"""How much of the vault a client of the tools may see."""
Confidence = Literal["inferred"]
Verdict = Literal["right", "wrong"]
Volunteering = Literal["on", "selection-off", "off"]
"""Whether a client is told of the workspace without asking; `selection-off`: of all but what is selected."""
Line = Annotated[Number, Meta(ge=1, description="1-based line of the raw file")]
Notes = Annotated[tuple[NoteId, ...], Meta(max_length=NOTES_PER_ACTION_MAX)]


class NoteData(Data, frozen=True, gc=False, kw_only=True):
    """Data about one note."""

    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX), Redact.CONTENT] | None = None
    """For people who read logs; the fold ignores it, because a stored title goes out of date."""


# -- vaults --


@entry("vault_opened", Publisher.DAEMON)
class VaultOpened(Data, frozen=True, gc=False):
    """Registers the vault; it becomes current when none is."""

    vault_id: VaultId
    name: Annotated[str, Redact.CONTENT]
    path: Annotated[str, Redact.SECRET]
    files: Annotated[tuple[str, ...], Redact.CONTENT] = ()
    """Globs of the files that are notes beside Markdown."""


@entry("vault_closed", Publisher.DAEMON)
class VaultClosed(Data, frozen=True, gc=False):
    """Hides the vault; its state stays for a later reopening."""

    vault_id: VaultId


@entry("vault_switched", Publisher.UI)
class VaultSwitched(Data, frozen=True, gc=False):
    """Makes another open vault the current one; its active note is null until the next set."""

    vault_id: VaultId


# -- the active note --


@entry("active_note_set", Publisher.UI)
class ActiveNoteSet(NoteData, frozen=True, gc=False):
    """The user looks at this note. With null it becomes `active_note_cleared` before it is appended."""

    note: NoteId | None


@entry("active_note_cleared", Publisher.UI)
class ActiveNoteCleared(Data, frozen=True, gc=False):
    """The user looks at no note."""


@entry("selection_changed", Publisher.UI)
class SelectionChanged(NoteData, frozen=True, gc=False):
    """What is selected in the active note; of another note it changes nothing."""

    note: NoteId
    start_line: Line
    end_line: Line
    text: Annotated[str, Meta(max_length=SELECTION_CHARS_MAX), Redact.CONTENT] | None = None
    text_sha256: Sha256 | None = None
    """The daemon sets it instead of a long `text`, and keeps the text as the blob of this hash."""

    def __post_init__(self) -> None:
        if self.end_line < self.start_line:
            raise ValueError(f"Expected endLine >= startLine, got {self.end_line} < {self.start_line}")


# -- pins --


@entry("note_pinned", Publisher.UI)
class NotePinned(NoteData, frozen=True, gc=False):
    """Appended to the pins, or inserted at `index`; a temporary tab of that note goes."""

    note: NoteId
    index: Annotated[Number, Meta(ge=0)] | None = None


@entry("note_unpinned", Publisher.UI)
class NoteUnpinned(NoteData, frozen=True, gc=False):
    """Removed from the pins, and becomes the last temporary tab."""

    note: NoteId


@entry("pinned_notes_reordered", Publisher.UI)
class PinnedNotesReordered(Data, frozen=True, gc=False):
    """The new order of the pins: a permutation of them."""

    notes: Notes


# -- temporary tabs --


@entry("temporary_tab_opened", Publisher.UI)
class TemporaryTabOpened(NoteData, frozen=True, gc=False):
    """A preview of a note. An existing tab is only touched; a pinned note gets none."""

    note: NoteId
    source: TabSource


@entry("temporary_tab_closed", Publisher.UI)
class TemporaryTabClosed(Data, frozen=True, gc=False):
    """Closes one tab, named by its id or by its note."""

    tab_id: TabId | None = None
    note: NoteId | None = None

    def __post_init__(self) -> None:
        if (self.tab_id is None) == (self.note is None):
            raise ValueError("Expected exactly one of `tabId` and `note`")


@entry("temporary_tabs_reordered", Publisher.UI)
class TemporaryTabsReordered(Data, frozen=True, gc=False):
    """The new order of the tabs: a permutation of their ids."""

    tab_ids: Annotated[tuple[TabId, ...], Meta(max_length=NOTES_PER_ACTION_MAX)]


@entry("temporary_tabs_cleared", Publisher.UI)
class TemporaryTabsCleared(Data, frozen=True, gc=False):
    """All temporary tabs go; pins stay."""


@entry("temporary_tabs_expired", Publisher.DAEMON)
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


@entry("note_created", Publisher.DAEMON, changes_state=False)
class NoteCreated(NoteFile, frozen=True, gc=False):
    """The file of a note of the workspace appeared."""


@entry("note_changed", Publisher.DAEMON, changes_state=False)
class NoteChanged(NoteFile, frozen=True, gc=False):
    """The file of a note of the workspace has other bytes."""


@entry("note_shown", Publisher.DAEMON, changes_state=False)
class NoteShown(Data, frozen=True, gc=False):
    """The front matter of a note that the log names does not withhold it; see visibility.py."""

    note: NoteId


@entry("note_withheld", Publisher.DAEMON, changes_state=False)
class NoteWithheld(Data, frozen=True, gc=False):
    """The front matter of a note that the log names withholds it from every agent."""

    note: NoteId


@entry("note_renamed", Publisher.BOTH)
class NoteRenamed(Data, frozen=True, gc=False):
    """The note moved; every mention follows, and the old path still resolves."""

    from_: NoteId = msgspec.field(name="from")
    to: NoteId


@entry("note_deleted", Publisher.UI)
class NoteDeleted(NoteData, frozen=True, gc=False):
    """The user deleted the note: it leaves active, pins and tabs."""

    note: NoteId


@entry("note_archived", Publisher.UI)
class NoteArchived(NoteData, frozen=True, gc=False):
    """Flags the note; its entries stay."""

    note: NoteId


@entry("note_unarchived", Publisher.UI)
class NoteUnarchived(NoteData, frozen=True, gc=False):
    """Takes the flag away."""

    note: NoteId


# -- the share policy --


@entry("sharing_set", Publisher.DAEMON)
class SharingSet(Data, frozen=True, gc=False):
    """How much a client of the tools is shown from now on. Belongs to the workspace, to no vault."""

    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX), Redact.CLIENT]
    """The name the client reports, compared case-folded; `*` means every client without a level of its own."""
    level: Sharing


@entry("volunteering_set", Publisher.DAEMON)
class VolunteeringSet(Data, frozen=True, gc=False):
    """Whether a client is told of the workspace without asking, from now on. Belongs to no vault."""

    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX), Redact.CLIENT]
    """As in `sharing_set`."""
    volunteering: Volunteering


# -- the pause --


@entry("pause_started", Publisher.DAEMON)
class PauseStarted(Data, frozen=True, gc=False):
    """Up to `pause_ended` nothing of what the user does is recorded, and agents are answered nothing. During a
    pause it sets another end. Belongs to the workspace, to no vault."""

    until: Annotated[str, Redact.PUBLIC] | None = None
    """When the daemon ends the pause, in an event's form; null: the user does."""


@entry("pause_ended", Publisher.DAEMON)
class PauseEnded(Data, frozen=True, gc=False):
    """Recording and answering go on; what changed on balance during the pause follows."""


# -- views of publishers --


@entry("view_opened", Publisher.DAEMON)
class ViewOpened(Data, frozen=True, gc=False):
    """The event's source shows its whole view of the vault by snapshots from now on."""

    confidence: Annotated[Confidence, Redact.PUBLIC] | None = None
    """Absent: the source knows what the user looks at. It wins over sources that infer it."""


@entry("view_closed", Publisher.DAEMON)
class ViewClosed(Data, frozen=True, gc=False):
    """The event's source is gone. The events before it close its tabs, and clear the note that it showed."""


# -- erasure (privacy/erasure.py) --


@entry("event_forgotten", Publisher.DAEMON)
class EventForgotten(Data, frozen=True, gc=False):
    """Stands where an event could change the state and told of a note that was forgotten."""

    effect: Annotated[Literal["none", "updated", "left"], Redact.PUBLIC] = "none"
    """The erased event's remaining effect: `updated` moves `lastUpdated`; `left` also clears the active note."""


@entry("record_forgotten", Publisher.DAEMON, changes_state=False)
class RecordForgotten(Data, frozen=True, gc=False):
    """Stands where a change of a file, or the call of a tool, told of a note that was forgotten."""


# -- records of the daemon --


@entry("tool_called", Publisher.DAEMON, changes_state=False)
class ToolCalled(Data, frozen=True):
    """What an agent asked and was shown. The hashes name blobs where recording is on."""

    tool: Annotated[str, Redact.PUBLIC]
    caller: Annotated[str, Redact.CLIENT]
    arguments: Annotated[dict[str, Any], Redact.CONTENT]
    """Empty if `arguments_sha256` is set."""
    as_of_seq: Number
    result_sha256: Annotated[str, Redact.HASH]
    bytes: Number
    duration_us: Number
    ok: bool
    now: Annotated[str, Redact.PUBLIC]
    """The present time as the tool saw it, in an event's form."""
    tail_seq: Number | None = None
    """The log's tail at the call, the end of the history it saw. Absent: equal to `asOfSeq`."""
    inputs_sha256: Annotated[str, Redact.HASH] | None = None
    """Names the recording of the call's reads; absent if they were not recorded."""
    arguments_sha256: Annotated[str, Redact.HASH] | None = None
    """Names the JSON of arguments too long for a line of the log."""
    answer_version: Number = 1
    """ANSWER_VERSION at the call; answers of different versions are not compared byte for byte."""
    traceparent: Annotated[str, Redact.ID] | None = None
    """The client's span that it was a part of, as W3C Trace Context writes it."""

    @property
    def names_moment(self) -> bool:
        """Whether the arguments name the moment that the call is about. Null, kept as it came, is none."""
        return self.arguments.get("at") is not None

    @property
    def tail(self) -> int:
        """The last sequence the call could see."""
        return self.as_of_seq if self.tail_seq is None else max(self.tail_seq, self.as_of_seq)


@entry("context_volunteered", Publisher.DAEMON, changes_state=False)
class ContextVolunteered(ToolCalled, frozen=True, kw_only=True):
    """What an agent was told without asking.

    The text is the answer of the tool `volunteer_context`, which no list shows, so it is recorded and replayed as
    a call is. Appended after the agent's runtime had taken the text.
    """

    session: Annotated[str, Redact.ID]
    """The runtime's name of the agent's session."""
    event: Annotated[str, Redact.CLIENT]
    """The runtime's name of the moment, such as `UserPromptSubmit`."""
    from_seq: Number | None = None
    """The `asOfSeq` of what the session had been told before; absent: it was told everything."""
    text_sha256: Annotated[str, Redact.HASH]
    """Of the text that the agent was given."""


Insertion = Annotated[str, Redact.PUBLIC]
"""`KEY-NUMBER`: the key of its turn, a keyed hash of the chat so far which confirms no guess; and a number."""


@entry("context_inserted", Publisher.DAEMON, changes_state=False)
class ContextInserted(ContextVolunteered, frozen=True, kw_only=True):
    """What was put into an agent's request to a provider, once the request had left.

    It stands in all later requests of the chat. The session is a keyed hash of the chat's name, or of its first
    words; the event is the request's form, such as `anthropic`.
    """

    near: Annotated[str, Redact.PUBLIC]
    """A keyed hash of the turn's words and of the answer before it: they find a chat whose older words changed."""
    insertion: Insertion
    after: Insertion | None = None
    """The one before it in its chat."""


@entry("context_withdrawn", Publisher.DAEMON, changes_state=False)
class ContextWithdrawn(Data, frozen=True, gc=False):
    """Insertions that name notes which are withheld by now: no later request has them."""

    insertions: tuple[Insertion, ...]


@entry("prompt_overlaid", Publisher.DAEMON, changes_state=False)
class PromptOverlaid(Data, frozen=True, gc=False):
    """A request left with insertions: the last one, and those before it in its chat."""

    caller: Annotated[str, Redact.CLIENT]
    insertion: Insertion
    body_hash: Annotated[str, Redact.HASH]
    """Of the body as it was sent, keyed as the insertions are."""
    without: tuple[Insertion, ...] = ()
    """Of these insertions those that had been withdrawn."""
    traceparent: Annotated[str, Redact.ID] | None = None
    """As in `tool_called`."""


@entry("prompt_answered", Publisher.DAEMON, changes_state=False)
class PromptAnswered(Data, frozen=True, gc=False):
    """A provider answered a request with insertions."""

    caller: Annotated[str, Redact.CLIENT]
    insertion: Insertion
    body_hash: Annotated[str, Redact.HASH]
    """As in its `prompt_overlaid`."""
    input_tokens: Number | None = None
    """All that were read, those from the cache among them; absent: it reported no count."""
    cached_tokens: Number = 0
    output_tokens: Number = 0
    response: Annotated[str, Redact.PUBLIC] | None = None
    """A keyed hash of the name by which a later request continues the chat without sending it again."""
    without: tuple[Insertion, ...] = ()
    """As in its `prompt_overlaid`."""


@entry("answer_judged", Publisher.DAEMON, changes_state=False)
class AnswerJudged(Data, frozen=True, gc=False):
    """What the user says of the answer to a prompt, or of what a call was answered."""

    of: Number
    """The sequence of the prompt or call. A later judgement of it replaces an earlier one."""
    verdict: Verdict
    wanted: Annotated[str, Meta(max_length=JUDGEMENT_CHARS_MAX), Redact.CONTENT] | None = None
    """What a right answer says. A wrong one must have it."""
    why: Annotated[str, Meta(max_length=JUDGEMENT_CHARS_MAX), Redact.CONTENT] | None = None

    def __post_init__(self) -> None:
        if self.verdict == "wrong" and self.wanted is None:
            raise ValueError("Expected `wanted`, what a right answer says, with the verdict `wrong`")


@entry("clock_stepped", Publisher.DAEMON)
class ClockStepped(Data, frozen=True, gc=False):
    """The wall clock was set: times go on from `after`, which may be earlier than those before. So far the log had
    come by then: `before`. Nothing lasted from the one to the other."""

    before: Annotated[str, Redact.PUBLIC]
    after: Annotated[str, Redact.PUBLIC]


@entry("log_recovered", Publisher.DAEMON, changes_state=False)
class LogRecovered(Data, frozen=True, gc=False):
    """Opening the log after an unclean stop found a torn tail and quarantined it."""

    segment: Annotated[str, Redact.PUBLIC]
    offset: Number
    bytes: Number
    last_seq: Number
    quarantined: Annotated[str, Redact.PUBLIC]


@entry("daemon_started", Publisher.DAEMON, changes_state=False)
class DaemonStarted(Data, frozen=True, gc=False):
    """A daemon opened the log."""

    version: Annotated[str, Redact.PUBLIC]
    pid: Number
    vaults: tuple[VaultId, ...]


@entry("daemon_stopped", Publisher.DAEMON, changes_state=False)
class DaemonStopped(Data, frozen=True, gc=False):
    """A daemon closed the log in good order."""

    reason: Annotated[str, Redact.PUBLIC]


STATE_TYPES: Final = frozenset(entry.data for entry in CATALOGUE.values() if entry.changes_state)
DAEMON_TYPES: Final = frozenset(entry.data for entry in CATALOGUE.values() if not entry.by_ui)
ENTRY_OF: Final[dict[type[Data], Entry]] = {entry.data: entry for entry in CATALOGUE.values()}
