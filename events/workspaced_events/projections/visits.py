"""Visits: what the user looked at and for how long, folded from the log.

A visit begins with `active_note_set` and goes on while the same note is set again. It ends when another note of
its vault is set, the vault's active note is cleared or deleted, the vault is closed or another one switched to, or
the daemon stops. A daemon that did not stop in good order gave its last sign of life with its last event: a visit
that was going on ends with that.

What is remembered at a sequence is a function of the log and that sequence alone: of each vault the last
VISITS_MAX visits that the last HISTORY_EVENTS_MAX events tell of, as if there were none before. A visit that is
older and goes on therefore begins where its note was first set again within those events, and is forgotten where
it never was. `VisitLog` keeps the fold at the log's end, and holds a little more than it shows, so that whoever
asks about a sequence that has just passed gets the same answer without reading.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from ..ids import NoteId, VaultId
from ..limits import CLOCK_STEPS_MAX, HISTORY_EVENTS_MAX, HISTORY_SLACK_EVENTS, READ_EVENTS_MAX, VISITS_MAX
from ..schema import catalogue as c
from ..schema.catalogue import Event
from .clock_steps import ClockStep, set_by_us

_CATCH_UPS_MAX: Final = 8
"""How often a reader looks whether the log grew while it read."""
_OWN_SOURCE: Final = "workspaced"
"""The publisher of what the daemon itself appends."""


class Visit(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One stay at a note."""

    note: NoteId
    """Its present path where the log knows of renames."""
    seq: int
    """Of the event that began it."""
    at: str
    until: str | None
    """When it ended, as far as the log knows; None: it goes on."""
    set_since_at_us: int = 0
    """By how much the clock was set forward since it began, up to the moment of asking."""
    set_since_until_us: int = 0
    """Likewise since it ended."""


class Bounds(msgspec.Struct, frozen=True):
    """How much is remembered; a test may want less than the limits say."""

    events: int = HISTORY_EVENTS_MAX
    visits: int = VISITS_MAX
    slack: int = HISTORY_SLACK_EVENTS


DEFAULT_BOUNDS: Final = Bounds()


class ReadableLog(Protocol):
    """What is needed of a log (log/segments.SegmentLog)."""

    @property
    def tail(self) -> Any:
        """Its `seq` is the last one that can be read; it moves before anybody is told."""

    def read(self, first: int, limit: int) -> list[Event]:
        """Some events from `first` on, at least one where there is one. Blocks."""


def visits_of(events: Iterable[Event], vault: VaultId, bounds: Bounds = DEFAULT_BOUNDS) -> list[Visit]:
    """The visits that these consecutive events tell of, as if there were none before; oldest first."""
    fold = visits_from(0)
    fold.feed(events)
    found = fold.visits(vault, 0, fold.seq, bounds.visits)
    assert found is not None
    return found


# -- one vault --


class Stay(msgspec.Struct):
    """A visit, and what is needed to tell of it as of another sequence."""

    visit: Visit
    resumed: list[tuple[int, str]] = []
    """Sequence and time of every later event that set the same note."""
    ended_seq: int = 0
    """Of the event that ended it; 0 while it goes on."""
    until_seq: int = 0
    """Of the last event before its end, where that is earlier than the event that tells of it."""


class _Stays(msgspec.Struct):
    """The visits of one vault."""

    kept_after: int
    """Visits that begin after this sequence are all here."""
    renamed_seq: int = 0
    """Of the last rename: as of an earlier sequence the notes had other names."""
    stays: list[Stay] = []
    renames: list[tuple[NoteId, NoteId]] = []
    """Not yet applied: a renamed folder is a thousand of them in a row."""

    def enter(self, event: Event, note: NoteId) -> None:
        """The note is set: a visit begins, or goes on."""
        self._apply_renames()  # they are of the visits so far, not of this one
        current = self._current()
        if current is not None and current.visit.note == note:
            current.resumed.append((event.seq, event.time))
            return
        self.leave(event.seq, event.time)
        self.stays.append(Stay(Visit(note, event.seq, event.time, None)))

    def leave(self, seq: int, at: str, note: NoteId | None = None, alive_seq: int = 0) -> None:
        """Ends the visit that goes on; with `note`, only if it is one of that note. `alive_seq`: at the time of
        that earlier event."""
        current = self._current()
        if note is not None:
            self._apply_renames()
        if current is not None and note in (None, current.visit.note):
            current.visit, current.ended_seq, current.until_seq = replace(current.visit, until=at), seq, alive_seq

    def rename(self, seq: int, old: NoteId, new: NoteId) -> None:
        if self.stays:
            self.renames.append((old, new))
            self.renamed_seq = seq

    def visits(self, after: int, until: int, steps: Sequence[ClockStep]) -> list[Visit]:
        """Those begun after `after`, as they were at `until`, which no rename may have followed."""
        assert until >= self.renamed_seq
        self._apply_renames()
        stays = _since(self.stays, after)
        del stays[bisect_right(stays, until, key=_begin) :]
        found = [stay.visit for stay in stays]
        if stays and stays[-1].ended_seq > until:
            found[-1] = replace(found[-1], until=None)
        return _with_steps(found, stays, until, steps) if steps else found

    def forget(self, after: int, visits_max: int) -> None:
        """Keeps those begun after `after`, and of them the last `visits_max`."""
        self._apply_renames()
        if len(self.stays) > visits_max:
            after = max(after, self.stays[-visits_max - 1].visit.seq)
        if after > self.kept_after:
            self.stays = _since(self.stays, after)
            self.kept_after = after

    def _current(self) -> Stay | None:
        """The visit that goes on."""
        return self.stays[-1] if self.stays and not self.stays[-1].ended_seq else None

    def _apply_renames(self) -> None:
        if not self.renames:
            return
        names: dict[NoteId, NoteId] = {}
        # The last one first: what an earlier one leads to is then known by its present name already.
        for old, new in reversed(self.renames):
            names[old] = names.get(new, new)
        self.renames.clear()
        for stay in self.stays:
            if (name := names.get(stay.visit.note)) is not None:
                stay.visit = replace(stay.visit, note=name)


def _with_steps(
    visits: Sequence[Visit], stays: Sequence[Stay], until: int, steps: Sequence[ClockStep]
) -> list[Visit]:
    """`visits`, those of `stays` as of `until`, with how far the clock was set up to then."""

    def set_since(seq: int) -> int:
        return set_by_us(steps, seq, until)

    return [
        replace(
            visit,
            set_since_at_us=set_since(visit.seq),
            set_since_until_us=set_since(stay.until_seq or stay.ended_seq) if visit.until is not None else 0,
        )
        for visit, stay in zip(visits, stays, strict=True)
    ]


def _begin(stay: Stay) -> int:
    return stay.visit.seq


def _since(stays: list[Stay], after: int) -> list[Stay]:
    """The visits that events after `after` tell of. One that began earlier begins where it was taken up again."""
    first = bisect_right(stays, after, key=_begin)
    found = stays[first:]
    if first:
        earlier = stays[first - 1]
        index = bisect_right(earlier.resumed, after, key=lambda each: each[0])
        if index < len(earlier.resumed):
            seq, at = earlier.resumed[index]
            begun_later = replace(earlier.visit, seq=seq, at=at)
            found.insert(0, Stay(begun_later, earlier.resumed[index + 1 :], earlier.ended_seq, earlier.until_seq))
    return found


# -- all vaults --


class VisitFold(msgspec.Struct):
    """The visits of every vault, from sequence `after` + 1 on. A plain value: its JSON is the whole of it."""

    after: int
    seq: int
    """The last one folded."""
    changed_seq: int
    """Of the last event that could change the state: whoever asks, asks as of this one or of a later one."""
    forgot_at: int
    alive_at: str = ""
    """The time of the last event that a running daemon appended."""
    alive_seq: int = 0
    """Of that event."""
    steps: list[ClockStep] = []
    """Where the clock was set."""
    vaults: dict[VaultId, _Stays] = {}

    def feed(self, events: Iterable[Event]) -> None:
        for event in events:
            self.seq = event.seq
            kind = type(event.data)
            if kind is c.VaultOpened:
                continue  # appended by a daemon that starts: no sign of life of the one before it
            if kind is c.ClockStepped:
                self._stepped(event, event.data)
                continue
            if (change := _CHANGES.get(kind)) is not None:
                change(self, event, event.data)
            if kind in c.STATE_TYPES:
                self.changed_seq = event.seq
            self.alive_at, self.alive_seq = event.time, event.seq

    def visits(self, vault: VaultId, after: int, until: int, visits_max: int) -> list[Visit] | None:
        """Of the visits of `vault` that events after `after` tell of the last `visits_max`, as of `until`.

        None: that is more than is kept.
        """
        stays = self.vaults.get(vault)
        if stays is None:
            return [] if after >= self.after else None
        if until < stays.renamed_seq:
            return None
        found = stays.visits(max(after, stays.kept_after), until, self.steps)
        # Where the first one was taken up again, it is the first only for want of what was forgotten.
        if after < stays.kept_after and len(found) <= visits_max:
            return None
        return found[-visits_max:]

    def forget(self, bounds: Bounds) -> None:
        """Drops, now and then, what nobody will ask for."""
        if self.changed_seq - self.forgot_at < bounds.slack:
            return
        self.forgot_at = self.changed_seq
        for stays in self.vaults.values():
            stays.forget(self.changed_seq - bounds.events - bounds.slack, bounds.visits + bounds.slack)
        oldest = self.changed_seq - bounds.events - bounds.slack
        self.steps = [step for step in self.steps if step.seq > oldest][-CLOCK_STEPS_MAX:]

    def _of(self, vault: VaultId | None) -> _Stays:
        assert vault is not None, "actions.admit gives every UI's event a vault"
        stays = self.vaults.get(vault)
        if stays is None:
            stays = self.vaults[vault] = _Stays(self.after)
        return stays

    def _stepped(self, event: Event, data: c.ClockStepped) -> None:
        # It may be the first event of a daemon, or one in the middle of its life: either way the log had come so
        # far by the old clock.
        self.alive_at, self.alive_seq, self.changed_seq = data.before, event.seq - 1, event.seq
        self.steps.append(ClockStep(event.seq, data.before, data.after))

    def _set(self, event: Event, data: c.ActiveNoteSet) -> None:
        if data.note is None:
            self._cleared(event, data)
        else:
            self._of(event.vault).enter(event, data.note)

    def _cleared(self, event: Event, _data: c.Data) -> None:
        self._of(event.vault).leave(event.seq, event.time)

    def _forgotten(self, event: Event, data: c.EventForgotten) -> None:
        if data.effect == "left":
            self._cleared(event, data)

    def _deleted(self, event: Event, data: c.NoteDeleted) -> None:
        self._of(event.vault).leave(event.seq, event.time, data.note)

    def _renamed(self, event: Event, data: c.NoteRenamed) -> None:
        self._of(event.vault).rename(event.seq, data.from_, data.to)

    def _closed(self, event: Event, data: c.VaultClosed) -> None:
        self._of(data.vault_id).leave(event.seq, event.time)

    def _switched(self, event: Event, data: c.VaultSwitched) -> None:
        # The daemon itself switches only when it starts.
        own = event.source == _OWN_SOURCE
        at, alive_seq = (self.alive_at, self.alive_seq) if own else (event.time, 0)
        for vault, stays in self.vaults.items():
            if vault != data.vault_id:
                stays.leave(event.seq, at, alive_seq=alive_seq)

    def _stopped(self, event: Event, _data: c.Data) -> None:
        for stays in self.vaults.values():
            stays.leave(event.seq, event.time)

    def _started(self, event: Event, _data: c.Data) -> None:
        for stays in self.vaults.values():
            stays.leave(event.seq, self.alive_at, alive_seq=self.alive_seq)


_CHANGES: Final[dict[type, Callable[[VisitFold, Event, Any], None]]] = {
    c.ActiveNoteSet: VisitFold._set,
    c.ActiveNoteCleared: VisitFold._cleared,
    c.EventForgotten: VisitFold._forgotten,
    c.NoteDeleted: VisitFold._deleted,
    c.NoteRenamed: VisitFold._renamed,
    c.VaultClosed: VisitFold._closed,
    c.VaultSwitched: VisitFold._switched,
    c.DaemonStopped: VisitFold._stopped,
    c.DaemonStarted: VisitFold._started,
    c.LogRecovered: VisitFold._started,
}


def visits_from(after: int) -> VisitFold:
    """No visits yet: what the events after `after` tell of is to be folded."""
    return VisitFold(after=after, seq=after, changed_seq=after, forgot_at=after)


# -- kept while a log is read --


class VisitStream:
    """The visits that a log tells of, while its events are handed over one after the other."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS, start: VisitFold | None = None) -> None:
        """`start`: the visits that events before the first one to be fed tell of. It is changed."""
        self._bounds = bounds
        self.fold = start if start is not None else visits_from(0)

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        self.fold.feed(events)
        self.fold.forget(self._bounds)

    def visits(self, vault: VaultId, until_seq: int) -> list[Visit] | None:
        """As `VisitLog.visits`, for a sequence that has just passed; None where that is too long ago."""
        after = max(0, until_seq - self._bounds.events)
        return self.fold.visits(vault, after, until_seq, self._bounds.visits)


# -- kept beside an open log --


class VisitLog:
    """The visits that an open log tells of. Nothing is read before somebody asks. Safe from any thread."""

    def __init__(self, log: ReadableLog, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self._log = log
        self._bounds = bounds
        self._fold: VisitFold | None = None
        self._reading = threading.Lock()
        """Held while the log is read: one reader is enough."""
        self._folding = threading.Lock()
        """Held for the time of folding what was read; the event loop waits for this one only."""

    def feed(self, events: Sequence[Event]) -> None:
        """Takes what was just appended. What does not follow on what is known is left to be read later."""
        with self._folding:
            if self._fold is not None:
                self._take(self._fold, events)

    def visits(self, vault: VaultId, until_seq: int) -> Sequence[Visit]:
        """What is remembered of `vault` at `until_seq`, oldest first. Reads what it does not know yet.

        Args:
            vault: any; of an unknown one nothing is remembered.
            until_seq: at most the log's tail.

        Raises:
            LogDamaged: what lies on the disk no longer verifies.
        """
        if (found := self.visits_nonblocking(vault, until_seq)) is not None:
            return found
        with self._reading:
            self._catch_up(until_seq)
            if (found := self.visits_nonblocking(vault, until_seq)) is not None:
                return found
        return self._from_scratch(vault, until_seq)

    def visits_nonblocking(self, vault: VaultId, until_seq: int) -> Sequence[Visit] | None:
        """As `visits`, if nothing has to be read; else None."""
        after = max(0, until_seq - self._bounds.events)
        with self._folding:
            if self._fold is None or self._fold.seq < until_seq:
                return None
            return self._fold.visits(vault, after, until_seq, self._bounds.visits)

    def _catch_up(self, until_seq: int) -> None:
        """Folds up to the tail. Only then is nothing missing between what is known and what `feed` will bring."""
        for _ in range(_CATCH_UPS_MAX):
            tail = self._log.tail.seq
            # The present may be asked about as of the last change of state, many calls of tools before the tail.
            present = min(tail, max(until_seq, tail - self._bounds.events))
            oldest = max(0, present - self._bounds.events - self._bounds.slack)
            fold = self._fold
            if fold is None or fold.seq < oldest:
                fold = visits_from(oldest)
            if fold.seq >= tail and fold is self._fold:
                return
            while fold.seq < tail and (events := self._log.read(fold.seq + 1, READ_EVENTS_MAX)):
                with self._folding:
                    self._take(fold, events)
            with self._folding:
                self._fold = fold

    def _take(self, fold: VisitFold, events: Sequence[Event]) -> None:
        if not events or events[0].seq > fold.seq + 1 or events[-1].seq <= fold.seq:
            return
        fold.feed(events[fold.seq + 1 - events[0].seq :])
        fold.forget(self._bounds)

    def _from_scratch(self, vault: VaultId, until_seq: int) -> Sequence[Visit]:
        fold = visits_from(max(0, until_seq - self._bounds.events))
        after = fold.seq
        while fold.seq < until_seq:
            events = self._log.read(fold.seq + 1, min(READ_EVENTS_MAX, until_seq - fold.seq))
            if not events:
                break
            fold.feed(events)
        found = fold.visits(vault, after, until_seq, self._bounds.visits)
        assert found is not None
        return found
