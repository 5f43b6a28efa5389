"""What is known to have happened to a vault by a moment, newest first: notes that changed, calls that were made.

A call stands where it was made, and not where it was recorded: that comes after it, and notes may have changed in
between of which it did not see anything.
"""

from bisect import insort
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, Protocol

from workspaced_events.ids import VaultId
from workspaced_events.replay.log_cursor import Moment
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Event, ToolCalled

SCAN_EVENTS_MAX: Final = 100_000
"""How far back a question about the past looks."""
LATE_EVENTS_MAX: Final = 5_000
"""How many events later a call may be recorded than it was made, to be found."""
_MOVES: Final = (c.NoteFile, c.NoteRenamed, c.NoteDeleted, c.NoteArchived, c.NoteUnarchived)
_SWITCHES: Final = (c.VaultSwitched, c.VaultOpened, c.VaultClosed)


class PastEvents(Protocol):
    """The events of a log around a moment. Safe from any thread; may block."""

    @property
    def tail(self) -> int:
        """The last sequence there is."""
        ...

    def before(self, seq: int) -> Iterator[Event]:
        """The events from `seq` on back, newest first."""
        ...

    def after(self, seq: int) -> Iterator[Event]:
        """The events after `seq`, oldest first."""
        ...

    def moment(self, at: int | str) -> Moment:
        """The moment that a sequence or an ISO 8601 time names.

        Raises:
            InvalidArgument: none of this log.
        """
        ...


def backwards(
    events: PastEvents, vault: VaultId, moment: Moment, ended: Callable[[Event], object]
) -> Iterator[Event]:
    """The changes of notes and the calls, in the reverse order of their happening.

    `ended` is given the last event that is looked at where that is not the log's first.

    Calls about other moments (`at`) are left out, and those during which the current vault may have become another
    one: their events are of the vault that was current when they were recorded.
    """
    until = _quiet_until(events, moment)
    waiting: list[tuple[int, str, int, Event]] = []
    """Calls that were made before the event looked at, by when that was."""
    looked = 0
    for event in islice(events.before(min(until + LATE_EVENTS_MAX, events.tail)), SCAN_EVENTS_MAX):
        looked += 1
        if looked == SCAN_EVENTS_MAX and event.seq > 1:
            ended(event)
        while waiting and waiting[-1][0] >= event.seq:
            yield waiting.pop()[-1]
        data = event.data
        if isinstance(data, _SWITCHES):
            waiting.clear()
        elif event.vault != vault:
            continue
        elif isinstance(data, ToolCalled):
            if "at" not in data.arguments and _was_made(event, data, moment, until):
                insort(waiting, (data.tail, data.now, event.seq, event))
        elif event.seq <= moment.seq and isinstance(data, _MOVES):
            yield event
    yield from (call for *_, call in reversed(waiting))


def _was_made(event: Event, called: ToolCalled, moment: Moment, until: int) -> bool:
    """Whether the call was made by the moment."""
    if called.tail > until:
        return False
    if moment.lasts or called.tail < moment.since or called.now < moment.time:
        return True
    return called.now == moment.time and (not moment.call or event.seq <= moment.call)


def _quiet_until(events: PastEvents, moment: Moment) -> int:
    """The last sequence before something else happened: so long a moment lasts, whatever calls were recorded."""
    until = moment.seq
    if moment.lasts:
        for event in islice(events.after(until), LATE_EVENTS_MAX):
            entry = CATALOGUE.get(event.type)
            if entry is None or entry.changes_state or isinstance(event.data, c.NoteFile):
                break
            until = event.seq
    return until
