"""What if: worlds that never were, held against logs in which it was so."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.inspector import Inspector

WHEN_LEFT_OUT = 3
"""The place, among the actions of `SESSION`, of the pin that tests leave out."""
SESSION = [
    {"type": "active_note_set", "data": {"note": "a.md"}},
    {"type": "note_pinned", "data": {"note": "a.md"}},
    {"type": "note_pinned", "data": {"note": "b.md"}},
    {"type": "note_pinned", "data": {"note": "c.md"}},
    {"type": "pinned_notes_reordered", "data": {"notes": ["c.md", "b.md", "a.md"]}},
    {"type": "active_note_set", "data": {"note": "b.md"}},
]


@pytest.fixture(scope="module")
def session(module_daemon: Any) -> Any:
    """A daemon with `seqs`, the sequences of SESSION's events, and an agent that asked behind them."""
    running = module_daemon()
    with running.connect("editor") as editor, running.connect("claude") as claude:
        running.seqs = [int(each["seq"]) for each in editor.publish(SESSION)]
        claude.tool("get_workspace_context", {"includeContent": True})
        claude.tool("get_note_by_reference", {"reference": "a.md"})
        claude.call("workspaced/calls", {"limit": 1})  # waits until the calls are recorded
    return running


@pytest.fixture(scope="module")
def live(session: Any) -> Iterator[Inspector]:
    with Inspector("--socket", session.socket, env=session.env) as running:
        yield running


def pins(state: Any) -> list[str]:
    return [each["id"] for each in state["pinnedNotes"]]


def test_nothing_chosen_is_the_real_world(live: Inspector) -> None:
    world = live.post("/api/what-if")
    assert world["changes"] == [] and world["hypothetical"] == world["real"]
    assert world["real"]["activeNote"]["id"] == "b.md"


def test_without_an_event_the_rest_is_folded_as_ever(live: Inspector, session: Any) -> None:
    world = live.post("/api/what-if", at=str(session.seqs[2]), without=[session.seqs[1]])
    assert pins(world["hypothetical"]) == ["b.md"] and pins(world["real"]) == ["a.md", "b.md"]
    assert world["lines"] == ["pinned - a.md"]
    assert [each["seq"] for each in world["leftOut"]] == [session.seqs[1]]


def test_an_event_that_makes_no_sense_any_more_is_named(live: Inspector, session: Any) -> None:
    world = live.post("/api/what-if", without=[session.seqs[WHEN_LEFT_OUT]])
    (not_applied,) = world["notApplied"]
    assert not_applied["event"]["seq"] == session.seqs[4]
    assert "no permutation" in not_applied["why"]
    assert pins(world["hypothetical"]) == ["a.md", "b.md"]


def test_an_action_more_is_applied_at_the_moment(live: Inspector, session: Any) -> None:
    more = [{"type": "note_pinned", "data": {"note": "work/plan.md"}}]
    world = live.post("/api/what-if", at=str(session.seqs[0]), actions=more)
    assert pins(world["hypothetical"]) == ["work/plan.md"] and pins(world["real"]) == []
    assert world["added"][0]["sentence"] == "what-if pinned work/plan.md"


def test_a_tool_answers_in_both_worlds(live: Inspector, session: Any) -> None:
    asked = {"tool": "get_current_note", "arguments": {}}
    show_a = [{"type": "active_note_set", "data": {"note": "a.md"}}]
    answers = live.post("/api/what-if", actions=show_a, **asked)["answers"]
    assert answers["real"]["data"]["id"] == "b.md" and answers["hypothetical"]["data"]["id"] == "a.md"
    assert not answers["areSame"]
    assert live.post("/api/what-if", **asked)["answers"]["areSame"]


def test_the_history_is_that_of_the_hypothetical_world(live: Inspector, session: Any) -> None:
    world = live.post("/api/what-if", without=[session.seqs[0]], tool="get_navigation_history")
    visited = {name: str(world["answers"][name]) for name in ("real", "hypothetical")}
    assert "a.md" in visited["real"] and "a.md" not in visited["hypothetical"]


def test_nothing_of_it_is_recorded(live: Inspector, session: Any) -> None:
    with session.connect() as client:
        before = client.call("workspaced/status")["clock"]
        live.post("/api/what-if", without=[session.seqs[0]], tool="get_workspace_context")
        assert client.call("workspaced/status")["clock"] == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"without": [0]}, "INVALID_ARGUMENT"),
        ({"without": [10_000]}, "INVALID_ARGUMENT"),
        ({"at": "10000"}, "INVALID_ARGUMENT"),
        ({"actions": [{"type": "nonsense", "data": {}}]}, "UNKNOWN_ACTION"),
        ({"actions": [{"type": "sharing_set", "data": {"client": "x", "level": "all"}}]}, "NOT_ALLOWED"),
        ({"actions": [{"type": "pinned_notes_reordered", "data": {"notes": ["x.md"]}}]}, "INVALID_ARGUMENT"),
        ({"actions": [{"type": "note_pinned", "data": {"note": "../x.md"}}]}, "OUTSIDE_VAULT"),
        ({"tool": "nonsense"}, "UNKNOWN_TOOL"),
        ({"tool": "get_current_note", "arguments": {"at": 1}}, "INVALID_ARGUMENT"),
    ],
)
def test_what_cannot_be_supposed_is_refused(live: Inspector, body: Any, code: str) -> None:
    assert live.error("/api/what-if", "POST", json=body)[1] == code


def test_every_event_of_a_recorded_log_can_be_left_out(recorded: Inspector) -> None:
    for each in recorded.get("/api/newest", limit=500)["events"]:
        world = recorded.post("/api/what-if", without=[each["seq"]])
        assert [left["seq"] for left in world["leftOut"]] == [each["seq"]]
