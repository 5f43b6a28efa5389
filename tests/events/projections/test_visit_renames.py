"""Renames that wait give the visits that the plain way gives: one pass over all visits for each rename."""

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.projections.visits import (
    Bounds,
    Stay,
    Visit,
    VisitFold,
    VisitStream,
    _Stays,
    visits_from,
    visits_of,
)
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Event
from workspaced_events.schema.decoding import decoded

V1, V2 = VaultId("v1"), VaultId("v2")
NOTES = tuple(NoteId(f"{name}.md") for name in "abcd")


class _FormerStays(_Stays):
    """The visits of one vault, as they were kept before renames waited with positions."""

    def __post_init__(self) -> None:
        """Leaves the renames of JSON alone."""

    def enter(self, event: Event, note: NoteId) -> None:
        self.apply_renames()
        current = self._current()
        if current is not None and current.visit.note == note:
            current.resumed.append((event.seq, event.time))
            return
        self.leave(event.seq, event.time)
        self.stays.append(Stay(Visit(note, event.seq, event.time, None)))

    def leave(self, seq: int, at: str, note: NoteId | None = None, alive_seq: int = 0) -> None:
        if note is not None:
            self.apply_renames()
        super().leave(seq, at, note, alive_seq)

    def rename(self, seq: int, old: NoteId, new: NoteId) -> None:
        if self.stays:
            self.renames.append((old, new))
            self.renamed_seq = seq

    def apply_renames(self) -> None:
        if not self.renames:
            return
        names: dict[NoteId, NoteId] = {}
        for old, new in reversed(self.renames):
            names[old] = names.get(new, new)
        self.renames.clear()
        for stay in self.stays:
            if (name := names.get(stay.visit.note)) is not None:
                stay.visit = replace(stay.visit, note=name)


class _FormerFold(VisitFold):
    def _of(self, vault: VaultId | None) -> _Stays:
        assert vault is not None
        return self.vaults.setdefault(vault, _FormerStays(self.after, 0, [], []))


def former_fold() -> _FormerFold:
    return _FormerFold(after=0, seq=0, changed_seq=0, forgot_at=0)


def events_of(actions: Sequence[tuple[VaultId, c.Data]]) -> list[Event]:
    return [
        ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), f"2026-03-01T00:{seq:06}", "ui", vault, data)
        for seq, (vault, data) in enumerate(actions, start=1)
    ]


notes = st.sampled_from(NOTES)
data: Any = st.one_of(
    st.builds(c.ActiveNoteSet, notes),
    st.builds(c.ActiveNoteSet, notes),
    st.builds(c.ActiveNoteSet, notes),
    st.builds(c.NoteRenamed, notes, notes),
    st.builds(c.NoteRenamed, notes, notes),
    st.builds(c.NoteDeleted, notes),
    st.just(c.ActiveNoteCleared()),
)
actions = st.tuples(st.sampled_from((V1, V1, V1, V2)), data)
sessions = st.integers(0, 40).flatmap(lambda size: st.lists(actions, min_size=size, max_size=size)).map(events_of)
cuts = st.lists(st.integers(1, 9), min_size=1, max_size=40)


def parts(events: Sequence[Event], sizes: Sequence[int]) -> list[list[Event]]:
    found, rest = [], iter(events)
    for size in itertools.cycle(sizes):
        if not (part := list(itertools.islice(rest, size))):
            return found
        found.append(part)
    raise AssertionError("sizes is not empty")


def settled(fold: VisitFold) -> bytes:
    """All that a fold holds, with all renames applied."""
    fold.apply_renames()
    return msgspec.json.encode(fold)


def of(*actions: c.Data) -> list[Event]:
    return events_of([(V1, action) for action in actions])


A, B, C, D = NOTES
RENAMED_TWICE = of(
    c.ActiveNoteSet(A), c.ActiveNoteSet(D), c.NoteRenamed(A, B), c.ActiveNoteSet(C), c.NoteRenamed(A, C)
)
THERE_AND_BACK = of(c.ActiveNoteSet(A), c.ActiveNoteSet(B), c.NoteRenamed(A, B), c.NoteRenamed(B, A))


@settings(max_examples=examples(2_000))
@example(RENAMED_TWICE, [9], Bounds(), False)
@example(THERE_AND_BACK, [9], Bounds(), True)
@given(
    sessions,
    cuts,
    st.just(Bounds()) | st.builds(Bounds, st.integers(1, 30), st.integers(1, 9), st.integers(1, 5)),
    st.booleans(),
)
def test_visits_are_those_of_the_former_way(
    events: list[Event], sizes: list[int], bounds: Bounds, by_json: bool
) -> None:
    """However the events are cut, whatever is forgotten between, and with JSON between, renames still waiting."""
    fold, former = visits_from(0), former_fold()
    for part in parts(events, sizes):
        fold.feed(part)
        former.feed(part)
        fold.forget(bounds)
        former.forget(bounds)
        if by_json:
            fold = decoded(msgspec.json.encode(fold), VisitFold)
    assert settled(fold) == settled(former)


@settings(max_examples=examples(500))
@given(sessions, cuts)
def test_a_stream_gives_its_fold_with_all_renames_applied(events: list[Event], sizes: list[int]) -> None:
    """However the events are cut: the JSON in a bundle depends on them alone."""
    stream, former = VisitStream(), former_fold()
    for part in parts(events, sizes):
        stream.feed(part)
        former.feed(part)
    assert msgspec.json.encode(stream.fold) == settled(former)


def test_the_cost_of_renames_grows_with_their_number() -> None:
    def session(count: int) -> list[Event]:
        each = [
            (c.ActiveNoteSet(NoteId(f"{number % 500}.md")), c.NoteRenamed(NoteId(f"{number % 499}.md"), A))
            for number in range(count)
        ]
        return of(*itertools.chain.from_iterable(each))

    def seconds(count: int) -> float:
        events = session(count)
        return thread_seconds(lambda: visits_of(events, V1))

    assert grows_linearly(seconds, 2_000, 8_000)  # a millisecond is lost in the noise of a busy machine
