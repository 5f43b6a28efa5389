"""A sample of what `make faults` runs whole: calls of a log on a real file system that fail, through the shim."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import TESTS

EVERY = 41
QUICK = Path("/dev/shm")
"""Where there is one, a sync costs nothing."""
PROGRAM = TESTS / "faults_by_hand.py"


@pytest.mark.fault(row=61)
def test_calls_that_fail_on_a_real_file_system_cost_nothing_acknowledged(tmp_path: Path) -> None:
    place = QUICK if os.access(QUICK, os.W_OK) else tmp_path
    command = [
        sys.executable,
        str(PROGRAM),
        "--calls-only",
        "--every",
        str(EVERY),
        "--in-directory",
        str(place),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if done.returncode == 2:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["failed"] == 0 and figures["calls"] > 20 and figures["notMet"] == 0
