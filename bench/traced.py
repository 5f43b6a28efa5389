"""`python -m bench.traced ...` is `workspaced ...` that counts what it enters of the product while it is told to.

SIGUSR1 begins to count, SIGUSR2 writes what was counted since to the file that `BENCH_TRACED` names, as JSON.
"""

import json
import os
import runpy
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

FILE: Final = "BENCH_TRACED"
_PACKAGES: Final = ("workspaced", "workspaced_tools", "workspaced_events")
_DECIDING: Final = {
    *("level", "shows", "denies", "is_withheld", "withholds", "known_to_withhold", "is_on_request"),
    *("is_hidden", "is_private", "was_withheld", "has_shown", "saw"),
    *("judge", "WithheldNames.__call__", "WithheldNames.withdrew", "WithheldNames.uncounted"),
}
"""Functions that decide whether a note may be shown: methods by their names, or by class and name. Looking up what
the call has decided (`Verdicts.stands`) is none."""
_ROOMS: Final = ("/workspaced_tools/vault/", "/workspaced_tools/sharing/")


class _Counts:
    """What was entered since counting began."""

    def __init__(self) -> None:
        self.files = set[str]()
        self.functions = set[CodeType]()
        self.calls = 0
        self.decisions = Counter[str]()
        """Calls of deciding functions that no other one made, by note."""
        self.asked = Counter[str]()
        """All calls of deciding functions, by note."""

    def written(self) -> str:
        most = max(self.decisions.values(), default=0)
        return json.dumps(
            {
                "files": len(self.files),
                "functions": len(self.functions),
                "calls": self.calls,
                "decisions": self.decisions.total(),
                "decisions_most_for_one_note": most,
                "deciding_calls": self.asked.total(),
                "deciding_calls_most_for_one_note": max(self.asked.values(), default=0),
            }
        )


_counts: _Counts | None = None


def _profile(frame: FrameType, event: str, _argument: Any) -> None:
    if event != "call" or (counts := _counts) is None:
        return
    code = frame.f_code
    if not _is_ours(code):
        return
    counts.files.add(code.co_filename)
    if code.co_name.startswith("<"):
        return
    counts.functions.add(code)
    counts.calls += 1
    if _is_deciding(code) and (note := _first_argument(frame)) is not None:
        counts.asked[note] += 1
        counts.decisions[note] += not _is_within_a_decision(frame)


def _is_ours(code: CodeType) -> bool:
    return any(f"/{package}/" in code.co_filename for package in _PACKAGES)


def _is_deciding(code: CodeType) -> bool:
    named = code.co_name in _DECIDING or code.co_qualname in _DECIDING
    return named and any(room in code.co_filename for room in _ROOMS)


def _first_argument(frame: FrameType) -> str | None:
    code = frame.f_code
    if code.co_argcount < 2:
        return None
    argument = frame.f_locals[code.co_varnames[1]]
    return argument if isinstance(argument, str) else None


def _is_within_a_decision(frame: FrameType) -> bool:
    caller = frame.f_back
    while caller is not None:
        if _is_deciding(caller.f_code):
            return True
        caller = caller.f_back
    return False


def _begin(_signal: int, _frame: FrameType | None) -> None:
    global _counts
    _counts = _Counts()


def _end(_signal: int, _frame: FrameType | None) -> None:
    global _counts
    counted, _counts = _counts, None
    assert counted is not None
    target = Path(os.environ[FILE])
    part = target.with_suffix(".part")
    part.write_text(counted.written())
    part.replace(target)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _end)
    threading.setprofile(_profile)
    sys.setprofile(_profile)
    runpy.run_module("workspaced", run_name="__main__", alter_sys=True)
