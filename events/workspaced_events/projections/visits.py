"""Visits: which notes the user looked at and for how long, folded from the log.

A visit begins with `active_note_set` and continues while the same note is set again. It ends when another note of
its vault is set, the vault's active note is cleared or deleted, the vault is closed or another one switched to, or
the daemon stops or is paused. If a daemon did not stop in good order, its visits end at its last event.

The visits at a sequence are a function of the log and that sequence alone: for each vault the last VISITS_MAX
visits in the last HISTORY_EVENTS_MAX events, as if there were none before. An older visit that continues therefore
begins where its note was first set again within those events, and is dropped if it never was. `VisitLog` keeps the
fold at the log's end, and holds slightly more than it shows, so that a question about a recent sequence gets the
same answer without a read.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..clock import ClockStep, clock_advance_us
from ..ids import NoteId, VaultId
from ..limits import CLOCK_STEPS_MAX, HISTORY_EVENTS_MAX, HISTORY_SLACK_EVENTS, READ_EVENTS_MAX, VISITS_MAX
from ..log.segments import SegmentLog
from ..schema import catalogue as c
from ..schema.catalogue import Event

_CATCH_UPS_MAX: Final = 8
"""How often a reader checks whether the log grew while it read."""
_OWN_SOURCE: Final = "workspaced"
"""The source of events that the daemon itself appends."""


class Visit(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One visit to a note."""

    note: NoteId
    """The note's present path, as far as the log records its renames."""
    seq: int
    """The event that began the visit."""
    at: str
    until: str | None
    """The end; None: the visit continues."""
    set_since_at_us: int = 0
    """How far the clock was set forward between the beginning and the queried sequence."""
    set_since_until_us: int = 0
    """Likewise since the end."""


class Bounds(msgspec.Struct, frozen=True):
    """Limits of the history; tests use smaller ones."""

    events: int = HISTORY_EVENTS_MAX
    visits: int = VISITS_MAX
    slack: int = HISTORY_SLACK_EVENTS


DEFAULT_BOUNDS: Final = Bounds()


def visits_of(events: Iterable[Event], vault: VaultId, bounds: Bounds = DEFAULT_BOUNDS) -> list[Visit]:
    """The visits in these consecutive events, as if there were none before; oldest first."""
    fold = visits_from(0)
    fold.feed(events)
    visits = fold.visits(vault, 0, fold.seq, bounds.visits)
    assert visits is not None
    return visits


# -- one vault --


class Stay(msgspec.Struct, gc=False):
    """A visit, with the details needed to show it as of an earlier sequence."""

    visit: Visit
    resumed: list[tuple[int, str]] = []
    """Sequence and time of every later event that set the same note."""
    ended_seq: int = 0
    """The event that ended it; 0 while it continues."""
    until_seq: int = 0
    """The last event before its end, if that is earlier than the event that ended it."""


class _Stays(msgspec.Struct, omit_defaults=True):
    """The visits of one vault.

    A rename gives all earlier visits of the note another name. Applying each by itself would be a pass over all
    visits. So renames wait, each with how many visits it is about, until somebody wants the visits; then one pass
    applies them all. Only the latest visit, which may continue, has its present name at any time.
    """

    kept_after: int
    """Complete for visits that begin after this sequence."""
    renamed_seq: int
    """The last rename; as of an earlier sequence the notes had other names."""
    stays: list[Stay]
    renames: list[tuple[NoteId, NoteId]]
    """Renames not yet applied, oldest first."""
    renamed_before: list[int] = []
    """For each of `renames`: it is about the visits before this index."""

    def enter(self, event: Event, note: NoteId) -> None:
        """Begins or continues a visit to the note."""
        current = self._current()
        if current is not None and current.visit.note == note:
            current.resumed.append((event.seq, event.time))
            return
        self.leave(event.seq, event.time)
        self.stays.append(Stay(Visit(note, event.seq, event.time, None)))

    def leave(self, seq: int, at: str, note: NoteId | None = None, alive_seq: int = 0) -> None:
        """Ends the current visit; with `note`, only if it is a visit to that note. `alive_seq`: the earlier
        event at whose time the visit ended."""
        current = self._current()
        if current is not None and note in (None, current.visit.note):
            current.visit, current.ended_seq, current.until_seq = replace(current.visit, until=at), seq, alive_seq

    def rename(self, seq: int, old: NoteId, new: NoteId) -> None:
        if not self.stays:
            return
        last = self.stays[-1]
        if last.visit.note == old:
            last.visit = replace(last.visit, note=new)
        self.renames.append((old, new))
        self.renamed_before.append(len(self.stays) - 1)
        self.renamed_seq = seq

    def visits(self, after: int, until: int, steps: Sequence[ClockStep]) -> list[Visit]:
        """The visits begun after `after`, as of `until`, which no rename may have followed."""
        assert until >= self.renamed_seq
        self.apply_renames()
        stays = _since(self.stays, after)
        del stays[bisect_right(stays, until, key=_begin) :]
        visits = [stay.visit for stay in stays]
        if stays and stays[-1].ended_seq > until:
            visits[-1] = replace(visits[-1], until=None)
        return _with_steps(visits, stays, until, steps) if steps else visits

    def forget(self, after: int, visits_max: int) -> None:
        """Drops visits begun up to `after`, and of the others all but the last `visits_max`."""
        self.apply_renames()
        if len(self.stays) > visits_max:
            after = max(after, self.stays[-visits_max - 1].visit.seq)
        if after > self.kept_after:
            self.stays = _since(self.stays, after)
            self.kept_after = after

    def apply_renames(self) -> None:
        """Gives every visit its present name."""
        if not self.renames:
            return
        names: dict[NoteId, NoteId] = {}
        end = len(self.stays)
        # Backwards, so that the target of an earlier rename already has its present name.
        for (old, new), before in zip(reversed(self.renames), reversed(self.renamed_before), strict=True):
            self._rename(before, end, names)
            names[old] = names.get(new, new)
            end = before
        self._rename(0, end, names)
        self.renames.clear()
        self.renamed_before.clear()

    def _rename(self, first: int, end: int, names: dict[NoteId, NoteId]) -> None:
        if names:
            for stay in self.stays[first:end]:
                if (name := names.get(stay.visit.note)) is not None:
                    stay.visit = replace(stay.visit, note=name)

    def _current(self) -> Stay | None:
        """The visit that continues, if any."""
        return self.stays[-1] if self.stays and not self.stays[-1].ended_seq else None


def _with_steps(
    visits: Sequence[Visit], stays: Sequence[Stay], until: int, steps: Sequence[ClockStep]
) -> list[Visit]:
    """The `visits` of `stays` as of `until`, with the steps of the clock since then."""

    def set_since(seq: int) -> int:
        return clock_advance_us(steps, seq, until)

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
    """The visits in the events after `after`; one that began earlier begins where its note was set again."""
    first = bisect_right(stays, after, key=_begin)
    recent = stays[first:]
    if first:
        earlier = stays[first - 1]
        index = bisect_right(earlier.resumed, after, key=lambda each: each[0])
        if index < len(earlier.resumed):
            seq, at = earlier.resumed[index]
            begun_later = replace(earlier.visit, seq=seq, at=at)
            recent.insert(0, Stay(begun_later, earlier.resumed[index + 1 :], earlier.ended_seq, earlier.until_seq))
    return recent


# -- all vaults --


class VisitFold(msgspec.Struct):
    """The visits of every vault from sequence `after` + 1 on. Plain data: its JSON is complete."""

    after: int
    seq: int
    """The last folded sequence."""
    changed_seq: int
    """The last event that could change the state; queries are as of this one or a later one."""
    forgot_at: int
    alive_at: str = ""
    """The time of the last event that a running daemon appended."""
    alive_seq: int = 0
    """The sequence of that event."""
    steps: list[ClockStep] = []
    """The clock steps."""
    vaults: dict[VaultId, _Stays] = {}

    def feed(self, events: Iterable[Event]) -> None:
        for event in events:
            self.seq = event.seq
            kind = type(event.data)
            if kind is c.VaultOpened:
                continue  # a starting daemon appends it, so the former daemon may have ended before
            if kind is c.ClockStepped:
                # The first event of a daemon or a later one: in both cases the old clock had reached `before`.
                self.alive_at, self.alive_seq, self.changed_seq = event.data.before, event.seq - 1, event.seq
                self.steps.append(ClockStep(event.seq, event.data.before, event.data.after))
                continue
            if (change := _CHANGES.get(kind)) is not None:
                change(self, event, event.data)
            if kind in c.STATE_TYPES:
                self.changed_seq = event.seq
            self.alive_at, self.alive_seq = event.time, event.seq

    def visits(self, vault: VaultId, after: int, until: int, visits_max: int) -> list[Visit] | None:
        """The last `visits_max` visits of `vault` in the events after `after`, as of `until`.

        None if the fold no longer holds enough.
        """
        stays = self.vaults.get(vault)
        if stays is None:
            return [] if after >= self.after else None
        if until < stays.renamed_seq:
            return None
        visits = stays.visits(max(after, stays.kept_after), until, self.steps)
        # A first visit that begins at a later set is first only because earlier ones were dropped.
        if after < stays.kept_after and len(visits) <= visits_max:
            return None
        return visits[-visits_max:]

    def apply_renames(self) -> None:
        """Gives every visit its present name now, and not when it is wanted."""
        for stays in self.vaults.values():
            stays.apply_renames()

    def forget(self, bounds: Bounds) -> None:
        """From time to time drops visits beyond the bounds."""
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
            stays = self.vaults[vault] = _Stays(self.after, 0, [], [])
        return stays

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
    c.NoteDeleted: lambda fold, event, data: fold._of(event.vault).leave(event.seq, event.time, data.note),
    c.NoteRenamed: VisitFold._renamed,
    c.VaultClosed: VisitFold._closed,
    c.VaultSwitched: VisitFold._switched,
    c.DaemonStopped: VisitFold._stopped,
    c.PauseStarted: VisitFold._stopped,
    c.DaemonStarted: VisitFold._started,
    c.LogRecovered: VisitFold._started,
}


def visits_from(after: int) -> VisitFold:
    """An empty fold for the events after `after`."""
    return VisitFold(after=after, seq=after, changed_seq=after, forgot_at=after)


# -- while reading a log --


class VisitStream:
    """The visits of a log that is being read."""

    def __init__(self, bounds: Bounds = DEFAULT_BOUNDS, start: VisitFold | None = None) -> None:
        """`start`: the fold of the events before the first `feed`; it is modified."""
        self._bounds = bounds
        self._fold = start if start is not None else visits_from(0)

    @property
    def fold(self) -> VisitFold:
        """The fold, with every visit's present name: to be written as JSON."""
        self._fold.apply_renames()
        return self._fold

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        self._fold.feed(events)
        self._fold.forget(self._bounds)

    def visits(self, vault: VaultId, until_seq: int) -> list[Visit] | None:
        """Like `VisitLog.visits`, for a recent sequence; None if it is too old."""
        after = max(0, until_seq - self._bounds.events)
        return self._fold.visits(vault, after, until_seq, self._bounds.visits)


# -- for an open log --


class VisitLog:
    """The visits of an open log. Reads nothing before the first query. Safe from any thread."""

    def __init__(self, log: SegmentLog, bounds: Bounds = DEFAULT_BOUNDS) -> None:
        self._log = log
        self._bounds = bounds
        self._fold: VisitFold | None = None
        self._reading = threading.Lock()
        """Held while the log is read, so that there is one reader."""
        self._folding = threading.Lock()
        """Held while events are folded; the event loop waits for this lock only."""

    def feed(self, events: Sequence[Event]) -> None:
        """Folds events just appended. Ignores events after a gap; a later query reads them."""
        with self._folding:
            if self._fold is not None:
                self._take(self._fold, events)

    def visits(self, vault: VaultId, until_seq: int) -> Sequence[Visit]:
        """The visits of `vault` at `until_seq`, oldest first. Reads missing events.

        Args:
            vault: any; an unknown one has no visits.
            until_seq: at most the log's tail.

        Raises:
            LogDamaged: the bytes on the disk no longer verify.
        """
        if (visits := self.visits_nonblocking(vault, until_seq)) is not None:
            return visits
        with self._reading:
            self._catch_up(until_seq)
            if (visits := self.visits_nonblocking(vault, until_seq)) is not None:
                return visits
        fold = visits_from(max(0, until_seq - self._bounds.events))
        after = fold.seq
        while fold.seq < until_seq:
            events = self._log.read(fold.seq + 1, min(READ_EVENTS_MAX, until_seq - fold.seq))
            if not events:
                break
            fold.feed(events)
        visits = fold.visits(vault, after, until_seq, self._bounds.visits)
        assert visits is not None
        return visits

    def visits_nonblocking(self, vault: VaultId, until_seq: int) -> Sequence[Visit] | None:
        """Like `visits`, but returns None if the answer needs a read."""
        after = max(0, until_seq - self._bounds.events)
        with self._folding:
            if self._fold is None or self._fold.seq < until_seq:
                return None
            return self._fold.visits(vault, after, until_seq, self._bounds.visits)

    def _catch_up(self, until_seq: int) -> None:
        """Folds up to the tail, so that the next `feed` continues without a gap."""
        for _ in range(_CATCH_UPS_MAX):
            tail = self._log.tail.seq
            # A query about the present may be as of the last state change, many tool calls before the tail.
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
