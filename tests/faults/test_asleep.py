"""A daemon that slept (SIGSTOP, a debugger, a machine that swaps) longer than its clients may take: row 21.

While it sleeps nobody reads what its clients send, so that time is not theirs.
"""

import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import TESTS

from workspaced.limits import UNREAD_BYTES_MAX

LIMIT_S = 5.0
ASLEEP_S = 8.0
"""Longer than LIMIT_S by more than what a timer may be late on a busy machine."""
ANSWERS = 200
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def hasty(daemon: Any) -> Any:
    """`hasty(*flags)`: a daemon whose clients may take LIMIT_S."""

    def start(*flags: str) -> Any:
        running = daemon("--no-watch", *flags, start=False)
        limits = [f"{name}={LIMIT_S}" for name in ("PARTIAL_LINE_S", "UNREAD_S")]
        program = str(TESTS / "support" / "short_limits.py")
        running.wrapper = (sys.executable, program, *limits, "--")
        return running.start()

    return start


def sleeps(running: Any) -> None:
    """Stops a daemon."""
    running.send_signal(signal.SIGSTOP)
    while Path(f"/proc/{running.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        pass


def wakes_late(running: Any, asleep_s: float = ASLEEP_S) -> None:
    """Lets it go on once its limits have passed."""
    time.sleep(asleep_s)  # it is this time itself that is tested
    running.send_signal(signal.SIGCONT)


@pytest.mark.fault(row=21)
def test_row_21_a_line_half_sent_before_a_long_stop_may_be_completed_after_it(hasty: Any) -> None:
    running = hasty()
    wire, other = running.wire(), running.wire()
    wire.ask("workspaced/hello")
    wire.send(b'{"jsonrpc":"2.0","id":7,"method":"workspaced/')
    for _ in range(2):
        other.ask("workspaced/status")  # by then it has read that
    sleeps(running)
    wakes_late(running)
    other.ask("workspaced/status")  # it is awake, and its timers have had their turn
    wire.send(b'status"}\n')
    answer = wire.line()
    assert answer is not None and answer.get("id") == 7 and "result" in answer, answer


@pytest.mark.fault(row=21)
def test_row_21_a_client_that_did_not_read_before_a_long_stop_gets_its_answers_after_it(hasty: Any) -> None:
    running = hasty()
    wire, other = running.wire(), running.wire()
    wire.ask("workspaced/hello")
    wire.ask("tools/list")  # the first is made on a thread; later ones are answered in turn
    asked = list(range(1_000, 1_000 + ANSWERS))
    # At once: 200 small messages of a socket take more of its buffer than it has, while nobody reads them.
    wire.send(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}\n' % each for each in asked))
    for _ in range(2):
        other.ask("workspaced/status")  # by then it writes no more, for nobody reads
    sleeps(running)
    wakes_late(running)
    other.ask("workspaced/status")
    answered = []
    size = 0
    for _ in asked:
        message = wire.line()
        assert message is not None, f"the connection was ended after {len(answered)} answers"
        answered.append(message["id"])
        size += len(str(message))
    assert sorted(answered) == asked  # each once; JSON-RPC promises no order
    assert size > 2 * UNREAD_BYTES_MAX, "it could write everything at once"


@pytest.mark.fault(row=21)
def test_row_21_who_connects_while_one_that_ends_when_idle_is_stopped_is_served(hasty: Any) -> None:
    idle_s = LIMIT_S + 1  # it must not pass on a busy machine before the daemon is stopped
    running = hasty("--idle-exit-minutes", str(idle_s / 60))
    sleeps(running)
    wire = running.wire()
    wakes_late(running, idle_s + ASLEEP_S - LIMIT_S)
    answer = wire.ask("workspaced/status")
    assert "result" in answer, running.stderr


@pytest.mark.fault(row=21)
def test_row_21_but_a_client_that_is_slow_while_it_is_awake_is_dropped(hasty: Any) -> None:
    running = hasty()
    wire = running.wire()
    wire.send(b'{"jsonrpc"')
    sleeps(running)
    wakes_late(running)
    assert wire.refused(b"") == "INVALID_REQUEST"
    assert wire.at_end()
