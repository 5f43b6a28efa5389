"""`workspaced/log`: pages of whole events."""

import json
from typing import Any

import pytest

from workspaced_events.limits import READ_BYTES_MAX


@pytest.fixture(scope="module")
def filled(module_daemon: Any) -> Any:
    running = module_daemon()
    with running.connect() as client:
        title = "t" * 400
        for _ in range(4):
            client.publish([{"type": "note_pinned", "data": {"note": "a.md", "title": title}}] * 900)
        client.publish([{"type": "note_archived", "data": {"note": "rare.md"}}])
    return running


def page(running: Any, **params: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = running.call("workspaced/log", params)["events"]
    return events


def test_from_the_first_event_on_by_default(filled: Any) -> None:
    events = page(filled)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event["type"] for event in events[:2]} == {"vault_opened", "daemon_started"}


@pytest.mark.parametrize("types", [None, ["note_pinned"]])
def test_pages_of_half_a_megabyte_add_up_to_all_that_was_asked_for(filled: Any, types: list[str] | None) -> None:
    found: list[dict[str, Any]] = []
    following, pages = 1, 0
    while events := page(filled, **{"from": following, "limit": 10_000, "types": types}):
        assert len(json.dumps(events, separators=(",", ":"))) <= READ_BYTES_MAX * 1.02
        found += events
        following, pages = events[-1]["seq"] + 1, pages + 1
    last = filled.call("workspaced/status")["seq"]
    assert pages > 3 and len(found) == (3_600 if types else last)
    assert [event["seq"] for event in found] == sorted({event["seq"] for event in found})


def test_types_select_also_where_they_are_rare(filled: Any) -> None:
    (event,) = page(filled, types=["note_archived"])
    assert event["data"] == {"note": "rare.md"}
    assert page(filled, types=["note_deleted"]) == []
    assert page(filled, types=[]) == []
