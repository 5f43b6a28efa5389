"""Moments of a log: found by sequence and by time, and read from in both directions."""

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.journals import flipped, record
from support.stored_logs import MemoryLog

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay import log_cursor
from workspaced_events.replay.log_cursor import LogMoments, Moment
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Data, Event

V = VaultId("v")
FUTURE = "2100-01-01T00:00:00.000000Z"


def time_of(second: int) -> str:
    return f"2026-03-01T12:{second // 60:02}:{second % 60:02}.000000Z"


def event(seq: int, second: int, data: Data | None = None) -> Event:
    data = data or (c.VaultOpened(V, "v", "/v") if seq == 1 else c.ActiveNoteSet(NoteId(f"{seq % 7}.md")))
    return ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), time_of(second), "ui", V, data)


def called(tail: int, second: int, **arguments: Any) -> c.ToolCalled:
    return c.ToolCalled("t", "agent", arguments, tail, "0" * 64, 1, 1, True, time_of(second), tail)


@st.composite
def logs(draw: st.DrawFn) -> MemoryLog:
    seconds = sorted(draw(st.lists(st.integers(0, 60), max_size=40)))
    return MemoryLog([event(seq, second) for seq, second in enumerate(seconds, 1)], draw(st.integers(1, 50)))


@given(logs(), st.integers(0, 45))
def test_events_are_read_in_both_directions_from_anywhere(log: MemoryLog, seq: int) -> None:
    moments = LogMoments(log)
    assert [each.seq for each in moments.before(min(seq, moments.tail))] == list(
        range(min(seq, moments.tail), 0, -1)
    )
    assert [each.seq for each in moments.after(seq)] == list(range(seq + 1, moments.tail + 1))


@given(logs(), st.integers(-1, 61))
def test_a_time_names_the_last_event_that_is_not_after_it(log: MemoryLog, second: int) -> None:
    time = time_of(second) if second >= 0 else "2026-03-01T11:59:59.999999Z"
    found = LogMoments(log).moment(time)
    assert found == Moment(bisect_right([each.time for each in log.events], time), time)


@given(logs(), st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_the_state_is_the_fold_in_whatever_order_it_is_asked_for(log: MemoryLog, asked: list[int]) -> None:
    moments = LogMoments(log)
    for seq in asked:
        seq = min(seq, moments.tail)
        assert moments.state_at(seq) == fold_all(log.events[:seq], EMPTY)


def test_after_the_first_question_a_state_is_folded_from_one_nearby(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_cursor, "_STRIDE_EVENTS", 20)
    events = [event(seq, 1) for seq in range(1, 301)]
    log = MemoryLog(events, page=10)
    moments = LogMoments(log)
    for seq in (300, 19, 119, 219, 299):
        log.reads = 0
        assert moments.state_at(seq) == fold_all(events[:seq], EMPTY)
        assert log.reads <= 2 or seq == 300


def test_of_an_empty_log_there_is_the_beginning_alone() -> None:
    moments = LogMoments(MemoryLog([]))
    assert moments.moment(0) == Moment(0, "1970-01-01T00:00:00.000000Z", lasts=True)
    assert moments.moment("2026-01-01").seq == 0
    assert moments.state_at(0).seq == 0
    assert not list(moments.before(0)) and not list(moments.after(0))
    with pytest.raises(InvalidArgument):
        moments.moment(1)


@pytest.mark.parametrize("at", [-1, 4, 10**30, "", "yesterday", "-1", "4", FUTURE, "9" * 30, "2026-13-01"])
def test_what_is_no_moment_of_the_log_is_refused(at: int | str) -> None:
    moments = LogMoments(MemoryLog([event(seq, seq) for seq in (1, 2, 3)]))
    with pytest.raises(InvalidArgument):
        moments.moment(at)


def test_a_time_may_have_an_offset_and_is_refused_where_it_is_to_come() -> None:
    moments = LogMoments(MemoryLog([event(1, 1)]), clock=lambda: time_of(30))
    assert moments.moment(time_of(30)).seq == 1
    with pytest.raises(InvalidArgument):
        moments.moment(time_of(31))
    moments = LogMoments(MemoryLog([event(1, 0), event(2, 60)]))
    for text in ("2026-03-01T12:00:30Z", "2026-03-01 12:00:30", "2026-03-01T14:00:30+02:00"):
        assert moments.moment(text) == Moment(1, time_of(30))
    assert moments.moment("2") == moments.moment(2) == Moment(2, time_of(60), lasts=True)


def test_a_recorded_call_names_the_moment_at_which_it_was_made() -> None:
    log = MemoryLog([event(1, 1), event(2, 2), event(3, 9, called(1, 1)), event(4, 9, called(1, 1, at=1))])
    moments = LogMoments(log)
    assert moments.moment(3) == Moment(1, time_of(1), call=3)
    assert moments.moment(4) == Moment(1, time_of(1), lasts=True, call=4)


def test_a_log_that_grows_is_read_to_its_new_end() -> None:
    log = MemoryLog([event(seq, 1) for seq in range(1, 1_200)], page=100)
    reader = LogMoments(log).after(0)
    for _ in range(1_000):
        next(reader)
    log.events += [event(seq, 2) for seq in range(1_200, 1_300)]
    assert [each.seq for each in reader] == list(range(1_001, 1_300))


# -- over a real one --


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Journal]:
    """A log of many segments and lines of several events."""
    (tmp_path / "data").mkdir()
    journal = open_journal(RealDisk(tmp_path / "data"), version="t", segment_bytes_max=4_000)
    actions: list[Data] = [
        c.VaultOpened(V, "v", "/v"),
        *(c.ActiveNoteSet(NoteId(f"{n}.md")) for n in range(1_500)),
    ]
    for start in range(0, len(actions), 5):
        record(journal, *map(Action, actions[start : start + 5]))
    yield journal
    journal.writer.close()


def test_damage_is_said_by_whoever_comes_to_it(real: Journal, tmp_path: Path) -> None:
    moments = LogMoments(real.log)
    first = min((tmp_path / "data" / "log").glob("*.wlog"))
    content = first.read_bytes()
    first.write_bytes(flipped(content, 4 * len(content)))
    assert moments.moment(1_501).seq == 1_501
    assert next(moments.before(1_501)).seq == 1_501
    for read in (lambda: list(moments.before(1_501)), lambda: moments.state_at(1_500)):
        with pytest.raises(LogDamaged):
            read()  # type: ignore[no-untyped-call]


def test_a_time_to_the_second_is_after_all_events_of_its_second() -> None:
    late = msgspec.structs.replace(event(2, 5), time="2026-03-01T12:00:05.700000Z")
    moments = LogMoments(MemoryLog([event(1, 1), late, event(3, 9)]))
    found = moments.moment("2026-03-01T12:00:05Z")
    assert (found.seq, found.time) == (2, late.time), "answers name the time of event 2 so"
    exact = moments.moment("2026-03-01T12:00:05.000000Z")
    assert exact.seq == 1
