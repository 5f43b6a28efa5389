"""The benchmarks run and print figures; how good the figures are is not a matter of tests."""

import json
import subprocess
import sys

import pytest
from support import ROOT


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    place = tmp_path_factory.mktemp("bench")
    done = bench("--quick", "--only", "replay", "--dir", str(place))
    assert done.returncode == 0, done.stderr
    assert list(place.iterdir()) == []
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.thorough
def test_every_line_is_a_figure_of_its_own_name(figures):
    assert len({figure["bench"] for figure in figures}) == len(figures) >= 5
    for figure in figures:
        assert str(figure["bench"]).startswith("replay.")
        assert isinstance(figure["value"], int | float)
        assert figure["value"] > 0
        assert figure["unit"] in ("events/s", "ms")
        assert figure["events"] > 0
        assert figure["rounds"] >= 5


@pytest.mark.thorough
def test_ok_follows_from_value_and_goal_and_is_null_without_one(figures):
    assert any(figure["goal"] is None for figure in figures)
    for figure in figures:
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
