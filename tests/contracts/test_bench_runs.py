"""The benchmarks run and print figures; how good the figures are is not a matter of tests."""

import json
import os
import subprocess
import sys

import pytest
from support import ROOT


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    env = {**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.thorough
def test_every_line_is_a_figure_of_its_own_name_and_ok_where_it_meets_its_goal(tmp_path):
    done = bench("--quick", "--only", "replay", "--dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
    figures = [json.loads(line) for line in done.stdout.splitlines()]

    assert len({figure["bench"] for figure in figures}) == len(figures) >= 5
    assert any(figure["goal"] is None for figure in figures)
    for figure in figures:
        assert str(figure["bench"]).startswith("replay.")
        assert isinstance(figure["value"], int | float) and figure["value"] > 0
        assert figure["unit"] in ("events/s", "ms")
        assert figure["events"] > 0 and figure["rounds"] >= 5
        if figure["goal"] is None:
            assert figure["ok"] is None
            continue
        relation, limit = str(figure["goal"]).replace(",", "").split()
        met = figure["value"] <= float(limit) if relation == "<=" else figure["value"] >= float(limit)
        assert figure["ok"] is met


def test_a_prefix_of_no_figure_is_an_error_that_says_what_there_is():
    done = bench("--only", "nonsense")

    assert done.returncode == 2
    assert "publish.socket.1_client" in done.stderr
    assert done.stdout == ""


@pytest.mark.thorough
def test_without_a_registry_every_other_server_is_a_line_with_the_reason(tmp_path):
    done = bench("--quick", "--only", "peers", "--dir", str(tmp_path))

    assert done.returncode == 0, done.stderr
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(figures) > 3 and all(figure["bench"].startswith("peers.all.") for figure in figures)
    assert all(figure["value"] is None and "installing mcp==" in figure["skipped"] for figure in figures)
    assert list(tmp_path.iterdir()) == []
