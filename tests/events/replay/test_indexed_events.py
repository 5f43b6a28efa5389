"""A log read page by page is the log read whole: whatever its form, and wherever somebody looks."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.random_log import V, W, random_log
from support.stored_logs import as_bundle, as_directory, as_export, part_of

from workspaced_events.clock import microseconds
from workspaced_events.errors import InvalidArgument, LogDamaged, LogError
from workspaced_events.ids import EventId
from workspaced_events.log import scan
from workspaced_events.projections.visits import VisitStream
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay import event_pages, indexed_events, kept_folds
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds, KeptStates
from workspaced_events.replay.log_slice import Slice, cut
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import StoredSource
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Event
from workspaced_events.schema.codec import decode_event

FORMS = ("directory", "export", "bundle", "part")


@pytest.fixture(autouse=True)
def short_pages() -> Iterator[None]:
    """Pages and strides so short that a small log has many."""
    with (
        patch.object(event_pages, "PAGE_BYTES", 900),
        patch.object(scan, "INDEX_STRIDE_BYTES", 700),
        patch.object(event_pages, "_EVENTS_A_PAGE", 7),
        patch.object(indexed_events, "PAGES_CACHED", 2),
        patch.object(kept_folds, "STATE_STRIDE_EVENTS", 5),
        patch.object(kept_folds, "VISITS_STRIDE_EVENTS", 20),
    ):
        yield


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Logs with clocks set forward and back, and events that only a newer version knows."""
    events = random_log(draw(st.integers(0, 10_000)), draw(st.integers(4, 90)), (V, W))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(2, len(events) - 1))
        before = events[at - 1].time
        after = draw(st.sampled_from(["2026-02-28T23:59:00.000000Z", "2026-03-01T12:00:00.000000Z"]))
        stepped = ENTRY_OF[c.ClockStepped].event(
            at + 1, EventId(f"step-{at}"), after, "workspaced", None, c.ClockStepped(before, after)
        )
        events[at] = stepped
    if draw(st.booleans()):
        at = draw(st.integers(2, len(events) - 1))
        line = b'{"type": "dreamt", "seq": %d, "id": "n", "time": "%s", "source": "s", "vault": null, "data": {}}'
        events[at] = decode_event(line % (at + 1, events[at].time.encode()))
    return events


@contextmanager
def stored(form: str, events: list[Event]) -> Iterator[tuple[StoredSource, Slice]]:
    """The log in that form, and the same read whole."""
    root = Path(tempfile.mkdtemp(prefix="wsd-pages-"))
    whole = part_of(events)
    try:
        if form == "directory":
            place = as_directory(root / "data", events)
        elif form == "export":
            place = as_export(root / "log.jsonl", events)
        else:
            whole = cut(whole, since=len(events) // 2 + 1) if form == "part" else whole
            place = as_bundle(root / "log.wsb", whole)
        with open_source(place) as source:
            yield source, whole
    finally:
        shutil.rmtree(root)


def indexed(source: StoredSource) -> tuple[IndexedEvents, KeptFolds]:
    index = source.index()
    assert index.damage is None
    events = IndexedEvents(index, source.start.seq)
    return events, KeptFolds(events, KeptStates(source.start), msgspec.json.encode(source.start_visits()))


@pytest.mark.parametrize("form", FORMS)
class TestReadInPages:
    @settings(max_examples=examples(60))
    @given(log=logs(), data=st.data())
    def test_events_are_those_of_the_whole(self, form: str, log: list[Event], data: st.DataObject) -> None:
        with stored(form, log) as (source, whole):
            events, _ = indexed(source)
            assert len(events) == len(whole.events)
            for at in data.draw(st.lists(st.integers(-len(events), len(events) - 1), max_size=8)):
                assert events[at] == whole.events[at]
            some = data.draw(st.slices(len(events)))
            assert events[some] == list(whole.events)[some]
            count = data.draw(st.integers(0, len(events)))
            assert list(events.backwards(count)) == list(whole.events[:count])[::-1]
            assert list(events.from_place(count)) == list(whole.events[count:])
            assert list(events) == list(whole.events)

    @settings(max_examples=examples(60))
    @given(log=logs(), data=st.data())
    def test_states_and_visits_are_the_wholes(self, form: str, log: list[Event], data: st.DataObject) -> None:
        with stored(form, log) as (source, whole):
            _, folds = indexed(source)
            steps = data.draw(st.integers(0, 30))
            for _ in range(steps):
                folds.fold_some()
            for seq in data.draw(st.lists(st.integers(whole.first - 1, whole.last), min_size=1, max_size=8)):
                upto = [event for event in whole.events if event.seq <= seq]
                assert folds.state_at(seq) == fold_all(upto, whole.start)
                stream = VisitStream(start=whole.start_visits())
                for event in upto:
                    stream.feed((event,))
                for vault in (V, W):
                    assert folds.visits_at(vault, seq) == stream.visits(vault, seq)

    @settings(max_examples=examples(60))
    @given(log=logs(), data=st.data())
    def test_events_are_found_by_their_types(self, form: str, log: list[Event], data: st.DataObject) -> None:
        with stored(form, log) as (source, whole):
            events, _ = indexed(source)
            kinds = sorted({event.type for event in whole.events})
            types = data.draw(st.none() | st.sets(st.sampled_from([*kinds, "unheard_of"])))
            after = data.draw(st.none() | st.integers(-1, len(log) + 1))
            before = data.draw(st.none() | st.integers(-1, len(log) + 1))
            limit = data.draw(st.integers(0, 9))
            fitting = [
                event
                for event in whole.events
                if (types is None or event.type in types)
                and (after is None or event.seq > after)
                and (before is None or event.seq < before)
            ]
            from_the_end = before is not None and after is None
            expected = fitting[max(len(fitting) - limit, 0) :] if from_the_end else fitting[:limit]
            found = list(islice(events.of_types(types, after=after, before=before), limit))
            assert found == (expected[::-1] if from_the_end else expected)
            assert events.columns.counts() == Counter(event.type for event in whole.events)

    @settings(max_examples=examples(60))
    @given(log=logs(), cut_at=st.integers(0, 90), ways=st.lists(st.integers(1, 20), min_size=90, max_size=90))
    def test_a_log_that_was_continued_is_one_that_was_longer(
        self, form: str, log: list[Event], cut_at: int, ways: list[int]
    ) -> None:
        kept = max(min(cut_at, len(log) - 1), 1)
        if form == "part":
            kept = len(log)
        with stored(form, log[:kept]) as (source, whole):
            events, folds = indexed(source)
            rest = log[kept:]
            for step in ways:
                if rest:
                    events.extend(rest[:step])
                    rest = rest[step:]
                folds.fold_some()
                assert events[-1] == log[len(log) - len(rest) - 1]
            expected = [*whole.events, *log[kept:]]
            assert list(events) == expected
            assert folds.state_at(events.last) == fold_all(expected, whole.start)


class TestBins:
    @settings(max_examples=examples(150))
    @given(log=logs(), data=st.data())
    def test_count_each_event_once_at_its_own_time(self, log: list[Event], data: st.DataObject) -> None:
        columns = indexed_events.EventColumns()
        columns.take(log)
        times = sorted(microseconds(event.time) for event in log)
        assert columns.span_us() == (times[0], times[-1])
        begin = data.draw(st.integers(times[0] - 10, times[-1]))
        end = data.draw(st.integers(begin + 1, times[-1] + 10))
        count = data.draw(st.integers(1, 120))
        bins = columns.bins(begin, end, count, lambda name: name[:4] if name != "note_pinned" else None)
        expected: dict[str, list[int]] = {e.type[:4]: [0] * count for e in log if e.type != "note_pinned"}
        for event in log:
            time = microseconds(event.time)
            if begin <= time < end and event.type != "note_pinned":
                expected[event.type[:4]][(time - begin) * count // (end - begin)] += 1
        assert bins == expected

    @pytest.mark.parametrize(("begin", "end", "count"), [(5, 5, 1), (6, 5, 1), (0, 5, 0), (0, 5, 10_001)])
    def test_of_no_time_or_of_no_number_are_refused(self, begin: int, end: int, count: int) -> None:
        with pytest.raises(InvalidArgument):
            indexed_events.EventColumns().bins(begin, end, count, str)

    def test_a_time_that_is_none_counts_as_the_one_before(self) -> None:
        columns = indexed_events.EventColumns()
        events = random_log(1, 6)
        line = b'{"type": "odd", "seq": 7, "id": "n", "time": "noon", "source": "s", "vault": null, "data": {}}'
        columns.take([*events, decode_event(line)])
        last = microseconds(events[-1].time)
        assert columns.bins(last, last + 1, 1, lambda name: "odd" if name == "odd" else None) == {"odd": [1]}


class TestWhatIsNotAsItWas:
    @pytest.mark.parametrize("form", ["directory", "export"])
    def test_is_never_given(self, form: str, tmp_path: Path) -> None:
        log = random_log(3, 80)
        directory = form == "directory"
        place = as_directory(tmp_path / "data", log) if directory else as_export(tmp_path / "log.jsonl", log)
        with open_source(place) as source:
            events, _ = indexed(source)
            assert events[0] == log[0]
            file = sorted((place / "log").glob("*.wlog"))[-1] if directory else place
            content = file.read_bytes()
            at = content.rindex(b'"note":"') + len(b'"note":"')
            file.write_bytes(content[:at] + b"X" + content[at + 1 :])
            assert list(events[:10]) == log[:10]
            with pytest.raises(LogDamaged):
                list(events)

    def test_a_segment_that_is_gone_is_an_error_of_the_log(self, tmp_path: Path) -> None:
        place = as_directory(tmp_path / "data", random_log(3, 80))
        with open_source(place) as source:
            events, _ = indexed(source)
            for file in (place / "log").glob("*.wlog"):
                file.unlink()
            with pytest.raises(LogError):
                events[0]

    def test_what_does_not_continue_the_log_is_refused_as_a_whole(self, tmp_path: Path) -> None:
        log = random_log(3, 30)
        with open_source(as_export(tmp_path / "log.jsonl", log[:20])) as source:
            events, _ = indexed(source)
            for wrong in (log[19:], log[21:], [log[20], log[22]], [log[20], log[20]]):
                with pytest.raises(InvalidArgument):
                    events.extend(wrong)
            assert list(events) == log[:20]
            events.extend([])
            events.extend(log[20:])
            assert list(events) == log


def test_an_index_is_made_again_as_often_as_it_is_asked_for(tmp_path: Path) -> None:
    log = random_log(5, 40)
    for place in (as_export(tmp_path / "log.jsonl", log), as_bundle(tmp_path / "log.wsb", part_of(log))):
        with open_source(place) as source:
            for _ in range(2):
                events, folds = indexed(source)
                assert list(events) == log
                assert folds.state_at(40) == fold_all(log, EMPTY)
