"""The daemon is gone, comes back, or hangs: requests go on, with or without context, and say which."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import short_limits
from support.daemon import ANSWER_S
from support.insertions import told, without
from support.proxy import Answer, Proxy
from support.raw_upstream import RawUpstream, Recorder

CHAT = "/v1/chat/completions"


def asked(proxy: Proxy, words: str = "What is Alpha?") -> Answer:
    """An answered request."""
    answer = proxy.request("POST", CHAT, {"messages": [{"role": "user", "content": words}]})
    assert answer.status == 200
    return answer


def asked_until_added(proxy: Proxy, words: str = "What is Alpha?") -> None:
    deadline = time.monotonic() + ANSWER_S
    while (answer := asked(proxy, words)).context != "added":
        assert time.monotonic() < deadline, answer.reason


@pytest.fixture
def seen() -> Recorder:
    return Recorder()


@pytest.fixture
def upstream(seen: Recorder) -> Iterator[str]:
    with RawUpstream(seen) as url:
        yield url


@pytest.mark.fault(row=66)
def test_without_a_daemon_requests_pass_and_with_it_they_get_context(
    daemon: Any, upstream: str, seen: Recorder
) -> None:
    running = daemon(start=False)
    with Proxy(running, upstream) as proxy:
        answer = asked(proxy)
        assert answer.context == "unchanged" and answer.reason.startswith("NO_DAEMON")
        assert json.loads(seen.requests[0].body) == {"messages": [{"role": "user", "content": "What is Alpha?"}]}
        running.start()
        asked_until_added(proxy)
    assert running.call("workspaced/status")["unchanged"]["NO_DAEMON"] >= 1  # is told of them once it is there
    assert any("requests pass unchanged for now" in line for line in proxy.stderr)


@pytest.mark.fault(row=66)
@pytest.mark.thorough
def test_a_daemon_that_hangs_delays_one_request_and_not_the_next(looking: Any, upstream: str) -> None:
    def short(pause_s: int) -> list[str]:
        limits = ["DAEMON_ANSWER_S=4", f"DAEMON_PAUSE_S={pause_s}", "--"]
        return [sys.executable, str(Path(short_limits.__file__)), *limits, sys.executable, "-m", "workspaced"]

    with (
        Proxy(looking, upstream, program=short(0)) as eager,
        Proxy(looking, upstream, program=short(600)) as patient,
    ):
        wire = looking.wire()
        wire.ask("workspaced/hello", {"client": {"name": "watcher", "version": "1"}})
        wire.ask("workspaced/subscribe", {"types": ["prompt_overlaid"]})
        for proxy in (eager, patient):
            asked_until_added(proxy)
            assert wire.line() is not None  # the daemon was told of it
        looking.send_signal(signal.SIGSTOP)
        try:
            assert asked(eager).reason == "TIMEOUT: The daemon did not answer within 4 s."
            assert asked(patient).reason == "TIMEOUT: The daemon did not answer within 4 s."
            assert asked(patient).reason == "TIMEOUT: The daemon did not answer a moment ago."
        finally:
            looking.send_signal(signal.SIGCONT)
        asked_until_added(eager)


@pytest.mark.fault(row=66)
def test_row_66_what_a_chat_was_told_stands_again_once_the_daemon_is_back(
    looking: Any, upstream: str, seen: Recorder
) -> None:
    said = [
        {"role": "user", "content": "What is Alpha?"},
        {"role": "assistant", "content": "Red."},
        {"role": "user", "content": "Sure?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Really?"},
    ]
    bodies = [json.dumps({"messages": said[:count], "x": 1.10}, indent=1).encode() for count in (1, 3, 5)]
    wire = looking.wire()
    wire.ask("workspaced/hello", {"client": {"name": "watcher", "version": "1"}})
    wire.ask("workspaced/subscribe", {"types": ["prompt_overlaid"]})
    with Proxy(looking, upstream) as proxy:
        contexts = [proxy.request("POST", CHAT, bodies[0]).context]
        assert wire.line() is not None  # the daemon was told that the request left
        assert looking.stop() == 0
        contexts.append(proxy.request("POST", CHAT, bodies[1]).context)
        looking.start()
        asked_until_added(proxy, "Is anybody there?")
        contexts.append(proxy.request("POST", CHAT, bodies[2]).context)
    assert contexts == ["added", "unchanged", "added"]
    first, second, last = seen.requests[0].body, seen.requests[1].body, seen.requests[-1].body
    assert second == bodies[1]
    assert [without(first), without(last)] == [bodies[0], bodies[2]]
    assert told(first) == told(last) != []
    place = first.index(b"What is Alpha?")
    assert last[:place] == first[:place]
