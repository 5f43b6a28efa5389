"""Visits: what begins and ends one, and that what is kept equals what is folded anew."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples
from support.random_log import V as V1
from support.random_log import W as V2
from support.random_log import event_of
from support.stored_logs import MemoryLog

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import Bounds, Visit, VisitLog, VisitStream, visits_from, visits_of
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

NOTES = tuple(NoteId(f"{name}.md") for name in ("a", "b", "c", "日記"))
A, B, C, _ = NOTES


def events_of(*actions: c.Data) -> list[Event]:
    return [event_of(seq, action) for seq, action in enumerate(actions, start=1)]


SET_A, SET_B, CLEARED = c.ActiveNoteSet(A), c.ActiveNoteSet(B), c.ActiveNoteCleared()
STARTED, STOPPED = c.DaemonStarted("1", 1, (V1,)), c.DaemonStopped("SIGTERM")
OPENED, RECOVERED = c.VaultOpened(V2, "v", "/v"), c.LogRecovered("s", 1, 2, 3, "q")
TOOL = c.ToolCalled("t", "agent", {}, 1, "0" * 64, 1, 1, True, "2026-03-01T12:00:00.000000Z")

# -- how much is remembered --


def test_at_most_so_many_visits_are_remembered_and_little_more_is_held() -> None:
    events = events_of(*[SET_A, SET_B] * 50)
    found = VisitLog(MemoryLog(events), Bounds(events=1_000, visits=7, slack=3)).visits(V1, 100)
    assert [visit.seq for visit in found] == list(range(94, 101))
    fold, bounds = visits_from(0), Bounds(events=1_000, visits=7, slack=3)
    for each in events_of(*[SET_A, SET_B] * 50):
        fold.feed([each])
        fold.forget(bounds)
        assert len(fold.vaults[V1].stays) <= bounds.visits + 2 * bounds.slack


# -- what is kept --


def test_memory_reaches_back_as_far_as_its_slack_however_it_was_filled() -> None:
    source = MemoryLog(events_of(*[SET_A, SET_B] * 20))
    log = VisitLog(source, Bounds(events=10, visits=20, slack=5))
    log.visits(V1, 40)
    for _ in range(30):
        reads, tail = source.reads, len(source.events)
        for until in range(tail - 5, tail + 1):
            assert log.visits_nonblocking(V1, until) == visits_of(source.events[until - 10 : until], V1)
        assert log.visits_nonblocking(VaultId("v3"), tail - 5) == []
        assert source.reads == reads
        source.events.append(event_of(tail + 1, SET_A if tail % 3 else SET_B))
        log.feed(source.events[-1:])


@pytest.mark.parametrize("fed", [True, False])
def test_however_many_tools_were_called_since_the_last_change_is_in_memory(fed: bool) -> None:
    changes = events_of(*[SET_A, SET_B] * 20)
    source = MemoryLog(changes if fed else [*changes, *[event_of(seq, TOOL) for seq in range(41, 50)]])
    log = VisitLog(source, Bounds(events=10, visits=20, slack=2))
    log.visits(V1, 40)
    for seq in range(len(source.events) + 1, 100):
        source.events.append(event_of(seq, TOOL))
        log.feed(source.events[-1:])
    assert log.visits_nonblocking(V1, 40) == visits_of(changes[30:], V1)
    assert log.visits_nonblocking(V1, 99) == []


def test_a_question_about_the_distant_past_does_not_make_it_read_everything() -> None:
    source = MemoryLog(events_of(*[SET_A, SET_B] * 500), page=1)
    log = VisitLog(source, Bounds(events=10, visits=20, slack=2))
    assert log.visits(V1, 20) == visits_of(source.events[10:20], V1)
    assert source.reads <= 32


def test_events_fed_while_the_log_is_read_are_not_missed() -> None:
    source = MemoryLog(events_of(SET_A, SET_B), page=1)
    log = VisitLog(source)
    read = source.read

    def growing(first: int, limit: int) -> list[Event]:
        found = read(first, limit)
        if len(source.events) < 6:
            source.events.append(event_of(len(source.events) + 1, SET_A))
            log.feed(source.events[-1:])
        return found

    source.read = growing  # type: ignore[method-assign]
    log.visits(V1, 2)
    source.events.append(event_of(len(source.events) + 1, CLEARED))
    log.feed(source.events[-1:])
    assert log.visits_nonblocking(V1, len(source.events)) == visits_of(source.events, V1)


def test_the_cost_of_renames_grows_with_their_number() -> None:
    def seconds(count: int) -> float:
        each = [
            (c.ActiveNoteSet(NoteId(f"{number % 500}.md")), c.NoteRenamed(NoteId(f"{number % 499}.md"), A))
            for number in range(count)
        ]
        events = events_of(*itertools.chain.from_iterable(each))
        return thread_seconds(lambda: visits_of(events, V1))

    assert grows_linearly(seconds, 2_000, 8_000)  # a millisecond is lost in the noise of a busy machine


# -- properties --

notes = st.sampled_from(NOTES)
actions: Any = st.one_of(
    st.builds(c.ActiveNoteSet, notes),
    st.builds(c.ActiveNoteSet, notes),
    st.builds(c.ActiveNoteSet, st.none() | notes),
    st.just(CLEARED),
    st.builds(c.NoteRenamed, notes, notes),
    st.builds(c.NoteDeleted, notes),
    st.builds(c.NotePinned, notes),
    st.builds(c.VaultSwitched, st.sampled_from([V1, V2])),
    st.builds(c.VaultClosed, st.sampled_from([V1, V2])),
    st.builds(c.VaultOpened, st.sampled_from([V1, V2]), st.just("v"), st.just("/v")),
    st.just(TOOL),
    st.just(STARTED),
    st.sampled_from([STOPPED, c.PauseStarted(), RECOVERED]),
)
sessions = st.lists(
    st.tuples(actions, st.sampled_from([V1, V1, V2]), st.sampled_from(["ui", "ui", "workspaced"])), max_size=60
).map(
    lambda rows: [
        event_of(seq, data, vault=vault, source=source) for seq, (data, vault, source) in enumerate(rows, 1)
    ]
)


def model(events: Sequence[Event], vault: VaultId) -> list[Visit]:
    """The rules once more, with one dictionary per visit and no regard for speed."""
    found: list[dict[str, Any]] = []
    alive = ""
    for each in events:
        data: Any = each.data
        going = next((visit for visit in found if visit["until"] is None), None)
        note = data.note if isinstance(data, c.ActiveNoteSet) and each.vault == vault else None
        if going and (until := end_of(going, each, vault, alive)) is not None:
            going["until"] = until
        if note is not None and not (going and going["until"] is None):
            found.append({"note": note, "seq": each.seq, "at": each.time, "until": None})
        if isinstance(data, c.NoteRenamed) and each.vault == vault:
            for visit in found:
                visit["note"] = data.to if visit["note"] == data.from_ else visit["note"]
        if not isinstance(data, c.VaultOpened):
            alive = each.time
    return [Visit(**visit) for visit in found]


def end_of(going: dict[str, Any], each: Event, vault: VaultId, alive: str) -> str | None:
    """When `each` ends the visit that goes on; None if it does not."""
    data: Any = each.data
    match type(data).__name__:
        case "ActiveNoteSet":
            ends = each.vault == vault and data.note != going["note"]
        case "ActiveNoteCleared":
            ends = each.vault == vault
        case "NoteDeleted":
            ends = each.vault == vault and data.note == going["note"]
        case "VaultClosed":
            ends = data.vault_id == vault
        case "VaultSwitched":
            ends = data.vault_id != vault
        case name:
            ends = name in ("DaemonStarted", "DaemonStopped", "PauseStarted", "LogRecovered")
    of_a_start = isinstance(data, c.DaemonStarted | c.LogRecovered) or (
        isinstance(data, c.VaultSwitched) and each.source == "workspaced"
    )
    return (alive if of_a_start else each.time) if ends else None


@settings(max_examples=examples(500))
@given(sessions)
@example([*events_of(SET_A, TOOL, RECOVERED), event_of(4, c.VaultSwitched(V2), source="workspaced")])
@example(events_of(SET_A, TOOL, OPENED, STARTED))
@example(events_of(SET_A, SET_B, c.NoteRenamed(A, B), c.NoteRenamed(B, C)))
def test_the_fold_does_what_the_rules_say(events: list[Event]) -> None:
    for vault in (V1, V2):
        assert visits_of(events, vault) == model(events, vault)
        assert sum(visit.until is None for visit in visits_of(events, vault)) <= 1


small = st.builds(
    Bounds, events=st.integers(1, 30) | st.just(1_000), visits=st.integers(1, 6), slack=st.integers(1, 8)
)


@settings(max_examples=examples(300))
@given(sessions, small, st.data())
def test_what_is_kept_is_the_fold_of_the_last(events: list[Event], bounds: Bounds, data: st.DataObject) -> None:
    """However it was read and fed, and whichever sequence is asked for."""
    source = MemoryLog([], page=data.draw(st.integers(1, 20)))
    log, stream = VisitLog(source, bounds), VisitStream(bounds)
    while len(source.events) < len(events):
        known, size = len(source.events), data.draw(st.integers(1, 12))
        source.events = events[: known + size]
        stream.feed(source.events[known:])
        if data.draw(st.booleans()):
            log.feed(source.events[-size - data.draw(st.integers(0, 2)) :])
        tail = len(source.events)
        until = data.draw(st.integers(0, tail) | st.just(tail))
        window = source.events[max(0, until - bounds.events) : until]
        for vault in (V1, V2):
            last = source.events[max(0, tail - bounds.events) :]
            assert stream.visits(vault, tail) == visits_of(last, vault, bounds)
            expected = visits_of(window, vault, bounds)
            warm = log.visits_nonblocking(vault, until)
            assert warm is None or warm == expected
            if data.draw(st.booleans()):
                assert log.visits(vault, until) == expected
