"""Scans a log backwards from a moment: changed notes and recorded calls of a vault, newest first.

A call is placed at the moment it was made, not at its record: the record comes later, and notes may have changed
in between that the call did not see.
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
"""Events that a question about the past scans at most."""
LATE_EVENTS_MAX: Final = 5_000
"""A call is found if its record comes at most this many events after the call."""
_MOVES: Final = (c.NoteFile, c.NoteRenamed, c.NoteDeleted, c.NoteArchived, c.NoteUnarchived)
SCANNED: Final = (*_MOVES, c.VaultSwitched, c.VaultOpened, c.VaultClosed, ToolCalled)
"""The data of events that a scan looks at; it passes over all others."""


class PastEvents(Protocol):
    """The events of a log around a moment. Safe from any thread; may block."""

    @property
    def tail(self) -> int:
        """The last sequence."""

    def before(self, seq: int) -> Iterator[Event]:
        """The events from `seq` on backwards, newest first."""

    def after(self, seq: int) -> Iterator[Event]:
        """The events after `seq`, oldest first."""

    def moment(self, at: int | str) -> Moment:
        """The moment of a sequence or an ISO 8601 time.

        Raises:
            InvalidArgument: the log has no such moment.
        """


def backwards(
    events: PastEvents, vault: VaultId, moment: Moment, ended: Callable[[Event], object]
) -> Iterator[Event]:
    """The changes of notes and the calls, newest first.

    `ended` gets the last scanned event, unless the scan reaches the log's first.

    Skips calls about other moments (`at`), and calls during which the current vault may have changed: their events
    belong to the vault that was current at the record.
    """
    # The moment lasts until the next change, across records of calls.
    until = moment.seq
    if moment.lasts:
        for event in islice(events.after(until), LATE_EVENTS_MAX):
            entry = CATALOGUE.get(event.type)
            if entry is None or entry.changes_state or isinstance(event.data, c.NoteFile):
                break
            until = event.seq
    waiting: list[tuple[int, str, int, Event]] = []
    """Calls made before the scanned event, by the moment of the call."""
    scanned = 0
    for event in islice(events.before(min(until + LATE_EVENTS_MAX, events.tail)), SCAN_EVENTS_MAX):
        scanned += 1
        if scanned == SCAN_EVENTS_MAX and event.seq > 1:
            ended(event)
        while waiting and waiting[-1][0] >= event.seq:
            yield waiting.pop()[-1]
        data = event.data
        if isinstance(data, (c.VaultSwitched, c.VaultOpened, c.VaultClosed)):
            waiting.clear()
        elif event.vault != vault:
            continue
        elif isinstance(data, ToolCalled):
            if not data.names_moment and _was_made(event, data, moment, until):
                insort(waiting, (data.tail, data.now, event.seq, event))
        elif event.seq <= moment.seq and isinstance(data, _MOVES):
            yield event
    yield from (call for *_, call in reversed(waiting))


def _was_made(event: Event, called: ToolCalled, moment: Moment, until: int) -> bool:
    """Whether the call was made at or before the moment."""
    if called.tail > until:
        return False
    if moment.lasts or called.tail < moment.since or called.now < moment.time:
        return True
    return called.now == moment.time and (not moment.call or event.seq <= moment.call)
