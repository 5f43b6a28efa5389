"""The API of the timeline, of the moment and of the list of events."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from support import random_log
from support.inspector import Inspector
from support.stored_logs import as_export

from workspaced_events.schema import catalogue as c

Inspect = Callable[..., Inspector]
Json = dict[str, Any]


def seqs(page: Json) -> list[int]:
    return [row["seq"] for row in page["events"]]


# -- the timeline --


def test_every_event_falls_into_one_bin_of_its_lane(recorded: Inspector) -> None:
    rows = recorded.get("/api/events", limit=500)["events"]
    for bins in (1, 7, 400):
        shown = recorded.get("/api/timeline", bins=bins)
        for lane in shown["lanes"]:
            of_lane = [row for row in rows if row["lane"] == lane["lane"]]
            assert lane["total"] == sum(lane["counts"]) == len(of_lane)


# -- events --


def test_pages_of_events_follow_each_other_in_both_directions(recorded: Inspector) -> None:
    page = recorded.get("/api/events", limit=7)
    forwards = seqs(page)
    assert page["previous"] is None
    while page["next"] is not None:
        page = recorded.get("/api/events", limit=7, **{"from": page["next"]})
        forwards += seqs(page)
    assert forwards == list(range(1, 81))
    page = recorded.get("/api/events", limit=7, before=81)
    backwards = seqs(page)
    assert page["next"] is None
    while page["previous"] is not None:
        page = recorded.get("/api/events", limit=7, before=page["previous"])
        backwards = seqs(page) + backwards
    assert backwards == forwards


def test_a_filter_that_passes_little_costs_a_bounded_page(inspect: Inspect, tmp_path: Path) -> None:
    looks = [c.ActiveNoteSet(random_log.NOTES[at % 2]) for at in range(10_050)]
    events = random_log.recorded(*random_log.opened(random_log.V), *looks, c.NotePinned(random_log.NOTES[2]))
    inspector = inspect(as_export(tmp_path / "log.jsonl", events))
    page = inspector.get("/api/events", note=random_log.NOTES[2])
    assert (seqs(page), page["scanned"], page["next"]) == ([], 10_000, 10_001)
    assert seqs(inspector.get("/api/events", note=random_log.NOTES[2], **{"from": page["next"]})) == [10_052]


# -- the moment --


def test_a_moment_is_the_state_after_its_event_and_says_what_the_event_changed(recorded: Inspector) -> None:
    shown = recorded.get("/api/state", at=15)
    assert (shown["seq"], shown["event"]["type"]) == (15, "note_pinned")
    assert [pin["id"] for pin in shown["state"]["pinnedNotes"]] == ["a.md"]
    assert shown["lines"] == [{"kind": "added", "text": "pinned + a.md at 0"}]
    assert (shown["told"]["who"], shown["told"]["sentence"]) == ("editor", "pinned a.md")


def test_a_recorded_call_is_shown_with_the_state_after_it(recorded: Inspector) -> None:
    """`log.at` answers with the moment of the call; a person who steps wants the event."""
    before = recorded.get("/api/state", at=30)["state"]
    for seq in (31, 45, 46, 75):  # 45 was a call about an earlier moment
        shown = recorded.get("/api/state", at=seq)
        assert (shown["seq"], shown["event"]["seq"], shown["event"]["type"]) == (seq, seq, "tool_called")
        assert (shown["state"], shown["lines"]) == (before, [])
