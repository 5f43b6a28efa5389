"""The bench runs and prints figures: a field that an answer has lost once ended a whole run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench", *arguments]
    without_registry = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    return subprocess.run(command, cwd=ROOT, env=without_registry, capture_output=True, text=True, check=False)


@pytest.mark.thorough
@pytest.mark.parametrize("part", ["shrink", "tools", "visible", "replay", "mcp", "peers"])
def test_a_part_prints_figures_of_its_own_or_why_it_cannot(part: str, tmp_path: Path) -> None:
    done = bench("--quick", "--only", part, "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert figures and all(str(each["bench"]).startswith(f"{part}.") for each in figures)
    for each in figures:
        assert each["value"] is not None or "installing mcp==" in each["skipped"], each
    assert list(tmp_path.iterdir()) == []


def test_a_prefix_of_no_figure_is_an_error_that_says_what_there_is() -> None:
    done = bench("--only", "nonsense")
    assert (done.returncode, done.stdout) == (2, "") and "publish.socket.1_client" in done.stderr
