"""Row 45: the machinery of `make soak` for some seconds."""

from pathlib import Path
from typing import Any

import pytest
from bench import soak

MB = 1_000_000

UNFILLED_BYTES_MAX = 24 * MB
"""What a daemon may grow by in its first seconds, when little of what is bounded is full."""
SECONDS = soak.Load(
    minutes=4,
    minute_s=1.5,
    rate=10,
    fill_events=2_000,
    fill_calls=200,
    fill_edits=20,
    fill_past=5,
    growth_bytes_max=UNFILLED_BYTES_MAX,
    rate_share_min=0,  # a machine may be busy
)

needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


@pytest.mark.fault(row=45)
@needs_proc
def test_row_45_seconds_of_everything_at_once_lose_nothing(daemon: Any) -> None:
    lines: list[dict[str, Any]] = []
    assert soak.run(daemon, SECONDS, say=lines.append) == []
    assert [line["minute"] for line in lines] == [1, 2, 3, 4]
    assert lines[-1]["restarts"] == 0 and lines[-1]["edits"] > 0 and lines[-1]["subscribers"] > 0


@pytest.mark.fault(row=45)
@needs_proc
def test_row_45_killed_every_minute_it_loses_nothing(daemon: Any) -> None:
    lines: list[dict[str, Any]] = []
    assert soak.run(daemon, SECONDS._replace(minutes=2, minute_s=1, kills=True), say=lines.append) == []
    assert [line["restarts"] for line in lines] == [0, 1]
