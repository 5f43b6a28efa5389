"""The exported tests in Inspect and promptfoo themselves, over models of this machine."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.daemon import clean_environment

from workspaced import replay

from .conftest import PROMPT, WANTED, Cli, Scripted, calls, says

PLACE = Path(sys.prefix) / "evals"
INSPECT = PLACE / "bin" / "inspect"
PROMPTFOO = PLACE / "node_modules" / ".bin" / "promptfoo"
PROGRAM_S = 300

pytestmark = pytest.mark.thorough


def environment(url: str, home: Path) -> dict[str, str]:
    ours = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none", "HOME": str(home), "PATH": os.environ["PATH"]}
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "NO_COLOR": "1"}
    return {**clean_environment(home), **ours, **quiet, "PROMPTFOO_DISABLE_REMOTE_GENERATION": "true"}


def by_inspect(folder: Path, url: str, home: Path) -> tuple[bool, str]:
    """Whether the only sample passed, and the answer."""
    command = [INSPECT, "eval", "task.py", "--model", "openai/mine", "-M", "responses_api=false"]
    command += ["--log-dir", "logs", "--log-format", "json", "--display", "none"]
    done = subprocess.run(
        command, cwd=folder, env=environment(url, home), capture_output=True, text=True, timeout=PROGRAM_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    [log] = (folder / "logs").glob("*.json")
    read = json.loads(log.read_text())
    assert read["status"] == "success", read["error"]["message"]
    [sample] = read["samples"]
    [score] = sample["scores"].values()
    assert sample["metadata"]["seq"] and sample["metadata"]["log"]
    return score["value"] == "C", sample["output"]["completion"]


def by_promptfoo(folder: Path, url: str, home: Path) -> tuple[bool, str]:
    command = [PROMPTFOO, "eval", "-c", "promptfooconfig.json", "--no-cache", "--no-share", "-o", "out.json"]
    subprocess.run(
        command, cwd=folder, env=environment(url, home), capture_output=True, text=True, timeout=PROGRAM_S
    )
    [result] = json.loads((folder / "out.json").read_text())["results"]["results"]
    assert "output" in (result["response"] or {}), result
    return result["success"], result["response"]["output"]


Run = Callable[[Path, str, Path], tuple[bool, str]]
PROGRAMS: list[Any] = [
    pytest.param(to, run, id=to, marks=pytest.mark.skipif(not there.exists(), reason=f"{there.name} is not there"))
    for to, run, there in (("inspect", by_inspect, INSPECT), ("promptfoo", by_promptfoo, PROMPTFOO))
]


@pytest.mark.parametrize(("to", "run"), PROGRAMS)
def test_a_model_that_quotes_what_it_was_shown_is_wrong_again(
    judged: Path, tmp_path: Path, cli: Cli, model: str, to: str, run: Run
) -> None:
    assert cli("eval", "export", judged, "--to", to, "-o", "tests").code == 0
    passed, answer = run(tmp_path / "tests", model, tmp_path)
    assert not passed
    assert "22 June" in answer


GRADES = {"inspect": "It fits.\n\nGRADE: C", "promptfoo": '{"pass": true, "score": 1, "reason": "It fits."}'}
SCORED = [
    ("includes", WANTED, "On 29 june {{ then }}."),
    ("exact", "29 June {{x}} {% y %}", "29 June {{x}} {% y %}"),
    ("includes", "file://mine.js", "It says file://mine.js."),
    ("exact", "package:mine", "package:mine"),
    ("regex", r"29\.? J\w{3}", "On 29 June."),
    ("model-graded", "It comes at the end of June.", "On 29 June."),
]


@pytest.mark.parametrize(("scorer", "wanted", "answer"), SCORED, ids=[scorer for scorer, _, _ in SCORED])
@pytest.mark.parametrize(("to", "run"), PROGRAMS)
def test_a_right_answer_passes_by_each_scorer(
    morning: Path,
    tmp_path: Path,
    cli: Cli,
    scripted: Scripted,
    to: str,
    run: Run,
    scorer: str,
    wanted: str,
    answer: str,
) -> None:
    assert cli("judge", PROMPT, "wrong", morning, "--wanted", wanted).code == 0
    assert cli("eval", "export", morning, "--to", to, "--scorer", scorer, "-o", "tests").code == 0
    scripted.answers = [says(answer), says(GRADES[to])]
    passed, said = run(tmp_path / "tests", scripted.url, tmp_path)
    assert (passed, said) == (True, answer)


@pytest.mark.parametrize(("to", "run"), PROGRAMS)
def test_tools_answer_what_was_recorded(
    morning: Path, tmp_path: Path, cli: Cli, scripted: Scripted, to: str, run: Run
) -> None:
    with replay.open(morning) as log:
        search = next(call for call in log.calls() if call.caller == "writer")
        seq = max(each.seq for each in log.prompts(before=search.seq))
        served = search.served
    assert cli("judge", seq, "right", morning, "--wanted", "P3").code == 0
    assert cli("eval", "export", morning, "--to", to, "-o", "tests").code == 0
    scripted.answers = [
        calls(search.tool, json.dumps(search.arguments)),
        calls(search.tool, '{"query": "never asked"}'),
        says("P3."),
    ]
    assert run(tmp_path / "tests", scripted.url, tmp_path) == (True, "P3.")
    assert json.loads(scripted.bodies[1]["messages"][-1]["content"]) == served
    assert json.loads(scripted.bodies[2]["messages"][-1]["content"])["code"] == "NOT_RECORDED"
