"""The events of a log as a sequence that is read from where they are stored, when somebody asks for them.

Sequences of a log have no gaps, so an event's place follows from its sequence.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from typing import Final, overload

import msgspec

from ..errors import InvalidArgument, LogDamaged
from ..schema.catalogue import Event
from .event_columns import EventColumns
from .event_pages import KeptPages, Pages

PAGES_CACHED: Final = 8
"""Decoded pages in memory: about 3 MB of small events."""


class Index(msgspec.Struct, frozen=True):
    """A verified log that was not kept in memory. With `damage` set, the part before the damage."""

    columns: EventColumns
    pages: Pages
    warnings: list[str]
    """For people."""
    damage: LogDamaged | None = None


class IndexedEvents(Sequence[Event]):
    """Consecutive events, read in pages on demand; the last used pages stay in memory. Not thread-safe.

    Reading raises LogDamaged if the stored bytes changed since they were indexed, and OSError or LogUnreadable if
    they cannot be read. The same event read twice gives equal objects, not the same one.
    """

    def __init__(self, index: Index, before: int) -> None:
        """`before`: the sequence before the first event; counts only if there is none."""
        self.columns = index.columns
        self._stored = index.pages
        self._added = KeptPages()
        self._cached: OrderedDict[int, list[Event]] = OrderedDict()
        firsts = index.pages.firsts
        self._stored_pages = len(firsts)
        self.before = firsts[0] - 1 if firsts else before
        """The sequence before the first event."""

    @property
    def last(self) -> int:
        """The sequence of the last event; `before` if there is none."""
        return self.before + len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> list[Event]: ...
    def __getitem__(self, at: int | slice) -> Event | list[Event]:
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            if step == 1:
                return list(self._between(begin, end))
            return [self[each] for each in range(begin, end, step)]
        if at < 0:
            at += len(self)
        if not 0 <= at < len(self):
            raise IndexError(at)
        seq = self.before + 1 + at
        events = self._page(self._page_of(seq))
        return events[seq - events[0].seq]

    def __iter__(self) -> Iterator[Event]:
        return self._between(0, len(self))

    def __reversed__(self) -> Iterator[Event]:
        return self.backwards(len(self))

    def backwards(self, count: int) -> Iterator[Event]:
        """The first `count` events, the last of them first."""
        seq = self.before + count
        while seq > self.before:
            events = self._page(self._page_of(seq))
            for at in range(seq - events[0].seq, -1, -1):
                yield events[at]
            seq = events[0].seq - 1

    def from_place(self, begin: int) -> Iterator[Event]:
        """The events from a place on; also those that are added while it is read."""
        while begin < len(self):
            for event in self._between(begin, len(self)):
                begin += 1
                yield event

    def count_up_to(self, seq: int) -> int:
        """The number of events up to and including `seq`."""
        return min(max(seq - self.before, 0), len(self))

    def of_types(
        self, types: Collection[str] | None, *, after: int | None = None, before: int | None = None
    ) -> Iterator[Event]:
        """Events of these types (None: all) between two sequences, one by one; reads only pages that hold one.

        In order; but backwards, the last one first, if only `before` is given.
        """
        begin = self.count_up_to(after) if after is not None else 0
        end = self.count_up_to(before - 1) if before is not None else len(self)
        backwards = before is not None and after is None
        return map(self.__getitem__, self.columns.numbers(types, begin, end, backwards=backwards))

    def extend(self, events: Sequence[Event]) -> None:
        """Takes events that continue the log: all of them or, on an error, none.

        Raises:
            InvalidArgument: they do not follow the last event one by one.
        """
        for expected, event in enumerate(events, start=self.last + 1):
            if event.seq != expected:
                raise InvalidArgument(
                    f"Expected event {expected}, which continues the log, got {event.seq}.",
                    hint="Open the log again.",
                )
        if not events:
            return
        # The newest page of added events grows, so what was cached of it is old.
        self._cached.pop(self._stored_pages + len(self._added.firsts) - 1, None)
        self._added.add(events)
        self.columns.take(events)

    def _between(self, begin: int, end: int) -> Iterator[Event]:
        seq, last = self.before + 1 + begin, self.before + end
        while seq <= last:
            events = self._page(self._page_of(seq))
            first = events[0].seq
            yield from events[seq - first : last + 1 - first]
            seq = first + len(events)

    def _page_of(self, seq: int) -> int:
        added = self._added.firsts
        if added and seq >= added[0]:
            return self._stored_pages + bisect_right(added, seq) - 1
        return bisect_right(self._stored.firsts, seq) - 1

    def _page(self, page: int) -> list[Event]:
        """The events of a page, from memory or the disk. They must not be changed."""
        found = self._cached.get(page)
        if found is not None:
            self._cached.move_to_end(page)
            return found
        stored = page < self._stored_pages
        events = self._stored.read(page) if stored else self._added.read(page - self._stored_pages)
        self._cached[page] = events
        if len(self._cached) > PAGES_CACHED:
            self._cached.popitem(last=False)
        return events
