"""The pause after a stall: short at first, longer while stalls recur, never longer than its bound."""

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.profiles import examples

from workspaced.calls.calls import Calls
from workspaced.limits import NONBLOCKING_CALL_S, NONBLOCKING_PAUSE_S
from workspaced.recording.call_recorder import ToolAnswer
from workspaced.vaults.served_vault import FACTOR, LoopPause
from workspaced_events.ids import VaultId
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.recording.format import Raised
from workspaced_tools.tools.registry import TOOLS

MS = 1_000_000
S = 1_000 * MS
VAULT = VaultId("vault")


def pauses_ms(*answers: tuple[int, int]) -> list[int]:
    """How long the pause after each answer lasts; an answer starts so many ms after the last pause, and takes so
    many."""
    pause, now, found = LoopPause(), 10 * S, []
    for after_ms, takes_ms in answers:
        started = now + after_ms * MS
        now = started + takes_ms * MS
        pause.answered(started, now)
        found.append(length_ms(pause, now))
        now += found[-1] * MS
    return found


def length_ms(pause: LoopPause, now: int) -> int:
    low, high = 0, 2 * int(NONBLOCKING_PAUSE_S) * 1_000
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if now + middle * MS < pause.until else (low, middle)
    return low


@pytest.mark.parametrize(
    ("answers", "lengths"),
    [
        ([(0, 1), (0, int(NONBLOCKING_CALL_S * 1_000))], [0, 0]),
        ([(0, 80)], [640]),
        (5 * [(0, 51)], [408, 3_264, 26_112, 60_000, 60_000]),
        ([(0, 5_000), (0, 9_000)], [40_000, 60_000]),
        ([(0, 51), (3_300, 51), (3_300, 51)], [408, 408, 408]),
        ([(0, 51), (0, 1), (0, 51)], [408, 0, 3_264]),
    ],
    ids=["quick", "one stall", "again and again", "hangs", "far apart", "a quick one between"],
)
def test_a_pause_is_short_at_first_and_longer_while_stalls_recur(
    answers: list[tuple[int, int]], lengths: list[int]
) -> None:
    assert pauses_ms(*answers) == lengths


@settings(max_examples=examples(500))
@given(st.lists(st.tuples(st.integers(0, 90_000), st.integers(51, 5_000)), min_size=1, max_size=40))
def test_stalls_take_a_bounded_share_of_the_time(answers: list[tuple[int, int]]) -> None:
    for (_, takes_ms), length in zip(answers, pauses_ms(*answers), strict=True):
        assert FACTOR * takes_ms <= length <= NONBLOCKING_PAUSE_S * 1_000


class _Pause:
    """A pause that lasts or not, and the answers that it was told of."""

    def __init__(self) -> None:
        self.until = 0.0
        self.told: list[int] = []

    def answered(self, started: int, ended: int) -> None:
        self.told.append(ended - started)


@pytest.mark.parametrize("blocks", [False, True])
def test_calls_tell_the_pause_of_each_attempt_and_make_none_while_it_lasts(blocks: bool) -> None:
    def answer(*_: Any, nonblocking: bool) -> Any:
        if blocks:
            raise WouldBlock
        return ToolAnswer(b"{}", True, 0, 0, "", Raised("INTERNAL", ""))

    pause = _Pause()
    tail: Any = SimpleNamespace(state=replace(EMPTY, current=VAULT), seq=0)
    served: Any = {VAULT: SimpleNamespace(loop_pause=pause)}
    nothing = cast(Any, SimpleNamespace(record=lambda _call: None))
    calls = Calls(tail, served, cast(Any, SimpleNamespace(answer=answer)), *4 * (nothing,))
    tool = TOOLS["get_workspace_context"]
    if blocks:
        with pytest.raises(WouldBlock):
            calls.try_call(tool, {}, "agent")
    else:
        calls.try_call(tool, {}, "agent")
    assert len(pause.told) == 1 and pause.told[0] > 0
    pause.until = math.inf
    with pytest.raises(WouldBlock):
        calls.try_call(tool, {}, "agent")
    assert len(pause.told) == 1
