"""Counts and durations of calls, for each tool."""

from collections import deque
from typing import Any

from workspaced_tools.tools.registry import TOOLS

from ..limits import LATENCY_SAMPLES


class CallStatistics:
    """Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._latencies: dict[str, deque[int]] = {}

    def add(self, tool: str, duration_us: int) -> None:
        """Counts an answered call."""
        self._counts[tool] = self._counts.get(tool, 0) + 1
        self._latencies.setdefault(tool, deque(maxlen=LATENCY_SAMPLES)).append(duration_us)

    def status(self) -> dict[str, Any]:
        """Calls and latencies of every tool, in the form of `workspaced/status`."""
        return {name: self._status_of(name) for name in {**TOOLS, **self._counts}}

    def _status_of(self, name: str) -> dict[str, Any]:
        samples = sorted(self._latencies.get(name, ()))
        if not samples:
            return {"calls": 0}
        return {
            "calls": self._counts[name],
            "p50Us": samples[len(samples) // 2],
            "p99Us": samples[min(len(samples) - 1, len(samples) * 99 // 100)],
            "maxUs": samples[-1],
        }
