"""The catalogue: every type of action and event, one data struct each.

An action is `{"type", "data", "id"?, "vault"?}`. Once appended it is an event, which adds `seq`, `time` and
`source` and always has `id` and `vault`. Both share the data structs below, each under its row (`Entry`), which
says all other facts about the type. The event structs are tagged unions made from the registry, so that one
decoder reads a line of the log at once.

Evolution, from the first release on: every addition raises CATALOGUE_VERSION, which starts a new segment, and gets
a golden log of its own (tests/data/logs). A new type or a new optional field needs nothing more; any other change
needs a function that makes the present form of a former event while the log is read. Readers keep unknown events
as `UnknownEvent`.
"""

from functools import partial
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from ..ids import NoteId, TabId, VaultId
from ..limits import NOTES_PER_ACTION_MAX, SELECTION_CHARS_MAX, SHARING_CLIENT_CHARS_MAX, TITLE_CHARS_MAX
from .call_events import *  # noqa: F403 - the catalogue is one module for those who read it
from .conversation_events import *  # noqa: F403
from .memory_events import *  # noqa: F403
from .peer_events import LinkChanged as LinkChanged
from .peer_events import RemoteEventsApplied as RemoteEventsApplied
from .registry import CATALOGUE as CATALOGUE
from .registry import ENTRY_OF as ENTRY_OF
from .registry import Data as Data
from .registry import Entry as Entry
from .registry import Event as Event
from .registry import Lane as Lane
from .registry import Number as Number
from .registry import Redact as Redact
from .registry import Sha256 as Sha256
from .registry import UnknownEvent as UnknownEvent
from .registry import record

CATALOGUE_VERSION: Final = 1

TabSource = Literal["search", "wikilink", "navigation", "history"]
Sharing = Literal["all", "names", "none"]
"""How much of the vault a client of the tools may see."""
Confidence = Literal["inferred"]
Volunteering = Literal["on", "selection-off", "off"]
"""Whether a client is told of the workspace without asking; `selection-off`: of all but what is selected."""
Line = Annotated[Number, Meta(ge=1, description="1-based line of the raw file")]
Notes = Annotated[tuple[NoteId, ...], Meta(max_length=NOTES_PER_ACTION_MAX)]
_NAMES_SHOWN: Final = 3


class NoteData(Data, frozen=True, gc=False, kw_only=True):
    """Data about one note."""

    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX), Redact.CONTENT] | None = None
    """For people who read logs; the fold ignores it, because a stored title goes out of date."""


# -- vaults --


@Entry("vault_opened", says="opened the vault {0.name}", lane="log", in_pause=True)
class VaultOpened(Data, frozen=True, gc=False):
    """Registers the vault; it becomes current when none is."""

    vault_id: VaultId
    name: Annotated[str, Redact.CONTENT]
    path: Annotated[str, Redact.SECRET]
    files: Annotated[tuple[str, ...], Redact.CONTENT] = ()
    """Globs of the files that are notes beside Markdown."""


@Entry("vault_closed", says="closed the vault {0.vault_id}", lane="log", in_pause=True)
class VaultClosed(Data, frozen=True, gc=False):
    """Hides the vault; its state stays for a later reopening."""

    vault_id: VaultId


@Entry("vault_switched", by_ui=True, says="switched to the vault {0.vault_id}")
class VaultSwitched(Data, frozen=True, gc=False):
    """Makes another open vault the current one; its active note is null until the next set."""

    vault_id: VaultId


# -- the active note --


@Entry("active_note_set", by_ui=True, says="opened {0.note}", brings="note")
class ActiveNoteSet(NoteData, frozen=True, gc=False):
    """The user looks at this note. With null it becomes `active_note_cleared` before it is appended."""

    note: NoteId | None


@Entry("active_note_cleared", by_ui=True, says="left the active note")
class ActiveNoteCleared(Data, frozen=True, gc=False):
    """The user looks at no note."""


def _selected(data: "SelectionChanged") -> str:
    if data.text == "":
        return f"put the cursor in line {data.start_line} of {data.note}"
    if data.start_line == data.end_line:
        return f"selected line {data.start_line} of {data.note}"
    return f"selected lines {data.start_line} to {data.end_line} of {data.note}"


@Entry("selection_changed", by_ui=True, says=_selected, brings="note", names_texts=True)
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


@Entry("note_pinned", by_ui=True, says="pinned {0.note}", brings="note")
class NotePinned(NoteData, frozen=True, gc=False):
    """Appended to the pins, or inserted at `index`; a temporary tab of that note goes."""

    note: NoteId
    index: Annotated[Number, Meta(ge=0)] | None = None


@Entry("note_unpinned", by_ui=True, says="unpinned {0.note}")
class NoteUnpinned(NoteData, frozen=True, gc=False):
    """Removed from the pins, and becomes the last temporary tab."""

    note: NoteId


@Entry("pinned_notes_reordered", by_ui=True, says="put the pins into another order")
class PinnedNotesReordered(Data, frozen=True, gc=False):
    """The new order of the pins: a permutation of them."""

    notes: Notes


# -- temporary tabs --


@Entry("temporary_tab_opened", by_ui=True, says="opened a tab of {0.note} (by {0.source})", brings="note")
class TemporaryTabOpened(NoteData, frozen=True, gc=False):
    """A preview of a note. An existing tab is only touched; a pinned note gets none."""

    note: NoteId
    source: TabSource


@Entry(
    "temporary_tab_closed",
    by_ui=True,
    says=lambda data: f"closed the tab {data.note if data.note is not None else data.tab_id}",
)
class TemporaryTabClosed(Data, frozen=True, gc=False):
    """Closes one tab, named by its id or by its note."""

    tab_id: TabId | None = None
    note: NoteId | None = None

    def __post_init__(self) -> None:
        if (self.tab_id is None) == (self.note is None):
            raise ValueError("Expected exactly one of `tabId` and `note`")


@Entry("temporary_tabs_reordered", by_ui=True, says="put the tabs into another order")
class TemporaryTabsReordered(Data, frozen=True, gc=False):
    """The new order of the tabs: a permutation of their ids."""

    tab_ids: Annotated[tuple[TabId, ...], Meta(max_length=NOTES_PER_ACTION_MAX)]


@Entry("temporary_tabs_cleared", by_ui=True, says="closed all tabs")
class TemporaryTabsCleared(Data, frozen=True, gc=False):
    """All temporary tabs go; pins stay."""


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


@Entry(
    "temporary_tabs_expired",
    says=lambda data: f"let tabs go that were not used for 24 hours: {_some(data.tab_ids)}",
)
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


@Entry("note_created", says="found the new file {0.note}", lane="files", changes_state=False)
class NoteCreated(NoteFile, frozen=True, gc=False):
    """The file of a note of the workspace appeared."""


@Entry("note_changed", says="found other text in {0.note}", lane="files", changes_state=False)
class NoteChanged(NoteFile, frozen=True, gc=False):
    """The file of a note of the workspace has other bytes."""


@Entry("note_shown", says="found that agents may see {0.note}", lane="sharing", changes_state=False)
class NoteShown(Data, frozen=True, gc=False):
    """The front matter of a note that the log names does not withhold it; see visibility.py."""

    note: NoteId


@Entry(
    "note_withheld",
    says="found that agents may not see {0.note}",
    lane="sharing",
    changes_state=False,
    in_pause=True,
)
class NoteWithheld(Data, frozen=True, gc=False):
    """The front matter of a note that the log names withholds it from every agent."""

    note: NoteId


@Entry("note_renamed", by_ui=True, says="renamed {0.from_} to {0.to}", lane="files", brings="to")
class NoteRenamed(Data, frozen=True, gc=False):
    """The note moved; every mention follows, and the old path still resolves."""

    from_: NoteId = msgspec.field(name="from")
    to: NoteId


@Entry("note_deleted", by_ui=True, says="deleted {0.note}", lane="files")
class NoteDeleted(NoteData, frozen=True, gc=False):
    """The user deleted the note: it leaves active, pins and tabs."""

    note: NoteId


@Entry("note_archived", by_ui=True, says="archived {0.note}", lane="files", brings="note")
class NoteArchived(NoteData, frozen=True, gc=False):
    """Flags the note; its entries stay."""

    note: NoteId


@Entry("note_unarchived", by_ui=True, says="took out of the archive {0.note}", lane="files")
class NoteUnarchived(NoteData, frozen=True, gc=False):
    """Takes the flag away."""

    note: NoteId


# -- the share policy --


@Entry(
    "sharing_set",
    says="set what {0.client} is shown to “{0.level}”",
    lane="sharing",
    of_vault=False,
    in_pause=True,
)
class SharingSet(Data, frozen=True, gc=False):
    """How much a client of the tools is shown from now on. Belongs to the workspace, to no vault."""

    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX), Redact.CLIENT]
    """The name the client reports, compared case-folded; `*` means every client without a level of its own."""
    level: Sharing


@Entry(
    "volunteering_set",
    says="set what {0.client} is told without asking to “{0.volunteering}”",
    lane="sharing",
    of_vault=False,
    in_pause=True,
)
class VolunteeringSet(Data, frozen=True, gc=False):
    """Whether a client is told of the workspace without asking, from now on. Belongs to no vault."""

    client: Annotated[str, Meta(min_length=1, max_length=SHARING_CLIENT_CHARS_MAX), Redact.CLIENT]
    """As in `sharing_set`."""
    volunteering: Volunteering


# -- the pause --


@Entry(
    "pause_started",
    says=lambda data: f"paused the workspace until {data.until or 'somebody resumes it'}",
    lane="sharing",
    of_vault=False,
    in_pause=True,
)
class PauseStarted(Data, frozen=True, gc=False):
    """Up to `pause_ended` nothing of what the user does is recorded, and agents are answered nothing. During a
    pause it sets another end. Belongs to the workspace, to no vault."""

    until: Annotated[str, Redact.PUBLIC] | None = None
    """When the daemon ends the pause, in an event's form; null: the user does."""


@Entry("pause_ended", says="ended the pause", lane="sharing", of_vault=False, in_pause=True)
class PauseEnded(Data, frozen=True, gc=False):
    """Recording and answering go on; what changed on balance during the pause follows."""


# -- views of publishers --


@Entry("view_opened", says=lambda data: "began to show its view" + (", by inference" if data.confidence else ""))
class ViewOpened(Data, frozen=True, gc=False):
    """The event's source shows its whole view of the vault by snapshots from now on."""

    confidence: Annotated[Confidence, Redact.PUBLIC] | None = None
    """Absent: the source knows what the user looks at. It wins over sources that infer it."""


@Entry("view_closed", says="stopped showing its view")
class ViewClosed(Data, frozen=True, gc=False):
    """The event's source is gone. The events before it close its tabs, and clear the note that it showed."""


# -- erasure (privacy/erasure.py) --


@Entry("event_forgotten", says="had an event here that was forgotten", lane="log", in_pause=True)
class EventForgotten(Data, frozen=True, gc=False):
    """Stands where an event could change the state and told of a note that was forgotten."""

    effect: Annotated[Literal["none", "updated", "left"], Redact.PUBLIC] = "none"
    """The erased event's remaining effect: `updated` moves `lastUpdated`; `left` also clears the active note."""


@Entry(
    "record_forgotten",
    says="had a record here that was forgotten or left out",
    lane="log",
    changes_state=False,
    in_pause=True,
)
class RecordForgotten(Data, frozen=True, gc=False):
    """Stands where a change of a file, or the call of a tool, told of a note that was forgotten."""


# -- records of the daemon --

_record: Final = partial(Entry, changes_state=False, in_pause=True)


@Entry(
    "clock_stepped",
    says="noticed that the clock was set from {0.before} to {0.after}",
    lane="log",
    of_vault=False,
    in_pause=True,
)
class ClockStepped(Data, frozen=True, gc=False):
    """The wall clock was set: times go on from `after`, which may be earlier than those before. So far the log had
    come by then: `before`. Nothing lasted from the one to the other."""

    before: Annotated[str, Redact.PUBLIC]
    after: Annotated[str, Redact.PUBLIC]


@record("log_recovered", says="repaired the log after an unclean stop: {0.bytes} bytes quarantined", lane="log")
class LogRecovered(Data, frozen=True, gc=False):
    """Opening the log after an unclean stop found a torn tail and quarantined it."""

    segment: Annotated[str, Redact.PUBLIC]
    offset: Number
    bytes: Number
    last_seq: Number
    quarantined: Annotated[str, Redact.PUBLIC]


@record("daemon_started", says="started, version {0.version}", lane="log")
class DaemonStarted(Data, frozen=True, gc=False):
    """A daemon opened the log."""

    version: Annotated[str, Redact.PUBLIC]
    pid: Number
    vaults: tuple[VaultId, ...]


@record("daemon_stopped", says="stopped ({0.reason})", lane="log")
class DaemonStopped(Data, frozen=True, gc=False):
    """A daemon closed the log in good order."""

    reason: Annotated[str, Redact.PUBLIC]


STATE_TYPES: Final = frozenset(entry.data for entry in CATALOGUE.values() if entry.changes_state)
