"""`workspaced/state`: the fold of everything acknowledged, now or at an earlier sequence."""

import json
import time
from typing import Any

import msgspec
import pytest
from support.daemon import refusal

from workspaced_events.projections.workspace_state import to_json
from workspaced_events.replay.replay import replay


def test_the_state_is_the_fold_of_the_log_now_and_at_every_sequence(shared: Any, client: Any) -> None:
    client.publish(
        [
            {"type": "active_note_set", "data": {"note": "a.md"}},
            {"type": "temporary_tab_opened", "data": {"note": "b.md", "source": "wikilink"}},
            {"type": "note_pinned", "data": {"note": "b.md"}},
            {"type": "note_renamed", "data": {"from": "b.md", "to": "c.md"}},
            {"type": "note_archived", "data": {"note": "a.md"}},
        ]
    )
    state = client.state()
    assert state == folded(shared.data)
    for seq in range(state["seq"] + 1):
        assert client.state(at=seq) == folded(shared.data, seq)


def folded(data: Any, until: int | None = None) -> Any:
    return json.loads(msgspec.json.encode(to_json(replay(data, until=until).state)))


def test_min_seq_waits_for_the_event(shared: Any, client: Any) -> None:
    seq = int(client.call("workspaced/status")["seq"])
    waiting = shared.wire()
    waiting.request("workspaced/state", {"minSeq": seq + 1})
    client.publish([{"type": "active_note_set", "data": {"note": "awaited.md"}}])
    answer = waiting.line()
    assert answer is not None and answer["result"]["state"]["activeNote"]["id"] == "awaited.md"


@pytest.mark.thorough
def test_a_sequence_that_does_not_come_is_a_timeout_after_two_seconds(client: Any) -> None:
    before = time.monotonic()
    error = refusal(client.call, "workspaced/state", {"minSeq": 10**9})
    assert error.code == "TIMEOUT" and error.details["seq"] < 10**9
    assert time.monotonic() - before > 1.9


@pytest.mark.parametrize(
    "params",
    [
        {"at": 10**9},
        {"at": -1},
        {"at": "soon"},
        {"at": "2999-01-01"},
        {"minSeq": -1},
        {"vault": "nowhere"},
        {"of": "Ann"},
        [],
    ],
    ids=repr,
)
def test_what_cannot_be_asked_is_refused(client: Any, params: Any) -> None:
    wire_params = params if params != [] else [1]
    assert refusal(client.call, "workspaced/state", wire_params).code == "INVALID_ARGUMENT"
