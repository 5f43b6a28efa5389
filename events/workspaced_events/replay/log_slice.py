"""A part of a log with everything it needs: the state and the visits before its first event.

A recorded call saw the state of a moment before its event, and a prompt its conversation at one. So a part begins
slightly earlier than requested if a call or prompt in it needs a state from before the requested beginning.
"""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Final, Self

import msgspec

from ..errors import InvalidArgument
from ..projections.visits import VisitFold, VisitStream
from ..projections.workspace_fold import apply, fold_all
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import Event, PromptAssembled, ToolCalled
from .position import Position, also_named, feed_until, place_of
from .source import Progress, Sink, Source, feed_in_chunks

LAST_EVENTS: Final = 200
"""The default number of events in a part."""
LEAD_EVENTS_MAX: Final = 1_000
"""A part begins at most this many events before the requested beginning."""


class Slice:
    """Implements `Source`: some consecutive events, at least one, in memory."""

    def __init__(
        self,
        log_id: str,
        start: WorkspaceState,
        visits: bytes,
        events: Sequence[Event],
        blob: Callable[[str], bytes | None],
        warnings: Sequence[str] = (),
        *,
        redacted: bool = False,
        swept_until: str = "",
    ) -> None:
        """`visits`: the JSON of the `VisitFold` before the first event; the others: as of `Source`."""
        self.log_id = log_id
        self.start = start
        self.visits_json = visits
        self.events = events
        self.warnings = warnings
        self.blob = blob
        self.redacted = redacted
        self.swept_until = swept_until

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    @property
    def first(self) -> int:
        """The sequence of the first event."""
        return self.events[0].seq

    @property
    def last(self) -> int:
        """The sequence of the last event."""
        return self.events[-1].seq

    def start_visits(self) -> VisitFold:
        return msgspec.json.decode(self.visits_json, type=VisitFold)

    def feed(self, sink: Sink, progress: Progress | None = None) -> list[str]:  # noqa: ARG002
        feed_in_chunks(self.events, sink)
        return list(self.warnings)


def cut(
    source: Source,
    *,
    last: int = LAST_EVENTS,
    since: Position | None = None,
    until: Position | None = None,
    progress: Progress | None = None,
) -> Slice:
    """The part of `source` from `since` on, or the `last` events, up to `until` (default: its end).

    The source must stay open while blobs of the part are read.

    Raises:
        InvalidArgument: the log has no such event.
        LogDamaged, OSError: as `Source.feed`.
    """
    place = place_of(source, since) if isinstance(since, str) else None
    window = _Window(source, last, since, place.first_seq if place is not None else None)
    warnings = feed_until(source, until, window.take, progress)
    warnings += also_named(str(since), place.also) if place is not None else []
    window.close()
    return Slice(
        source.log_id,
        window.state,
        msgspec.json.encode(window.visits.fold),
        list(window.kept),
        source.blob,
        warnings,
        redacted=source.redacted,
        swept_until=source.swept_until,
    )


class _Window:
    """A sink that keeps the requested events and LEAD_EVENTS_MAX before them, and folds earlier ones."""

    def __init__(self, source: Source, last: int, since: Position | None, first_seq: int | None) -> None:
        """`first_seq`: the first event at or after the time `since`."""
        self.state = source.start
        self.visits = VisitStream(start=source.start_visits())
        self.kept: deque[Event] = deque()
        self._last = last
        self._since = since
        self._first_seq = first_seq if first_seq is not None else since
        self._requested = 0

    def take(self, events: list[Event]) -> None:
        self.kept.extend(events)
        if not isinstance(self._first_seq, int):
            self._requested = min(len(self.kept), self._last)
        else:
            self._requested += sum(event.seq >= self._first_seq for event in events)
        self._fold(len(self.kept) - self._requested - LEAD_EVENTS_MAX)

    def close(self) -> None:
        """Folds the events that the part does not need.

        Raises:
            InvalidArgument: the part would be empty.
        """
        if not self._requested:
            end = self.kept[-1] if self.kept else None
            ends = f"it ends with event {end.seq} at {end.time}" if end else "it holds none"
            what = "" if self._since is None else f" from {self._since} on"
            raise InvalidArgument(f"The log has no event{what}: {ends}.")
        first = _first_needed(self.state, self.kept, self.kept[-self._requested].seq)
        self._fold(first - self.kept[0].seq)

    def _fold(self, count: int) -> None:
        gone = [self.kept.popleft() for _ in range(count)]
        self.state = fold_all(gone, self.state)
        self.visits.feed(gone)


def _first_needed(state: WorkspaceState, events: Sequence[Event], first: int) -> int:
    """Where a part must begin so that, from `first` on, every call has its state and every prompt its
    conversation, as far as `events` go back.

    Args:
        state: the state before `events`.
    """
    seqs = [state.seq]
    conversations = state.conversations
    conversation_seqs = defaultdict(lambda: [0], {name: [each.seq] for name, each in conversations.by_id.items()})
    for event in events:
        state = apply(state, event)
        if state.seq > seqs[-1]:
            seqs.append(state.seq)
        if state.conversations is not conversations:
            conversations = state.conversations
            conversation_seqs[event.data.conversation].append(event.seq)
    for event in reversed(events):
        if event.seq < first:
            break
        if isinstance(event.data, ToolCalled):
            first = min(first, _end_of(seqs, event.data.as_of_seq) or first)
        elif type(event.data) is PromptAssembled:
            first = min(first, _end_of(conversation_seqs[event.data.conversation], event.data.as_of_seq) or first)
    return first


def _end_of(seqs: list[int], as_of: int) -> int | None:
    """The sequence that ended the state at `as_of`; None if none did, or if it ended before all of `seqs`."""
    index = bisect_right(seqs, as_of)
    return seqs[index] if 0 < index < len(seqs) else None
