"""CONTRIBUTING.md's first change, made word by word in a copy of the sources."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

BLOCKS = re.findall(r"```(?:python|toml)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
COPIED = ("workspaced", "events", "tools", "schemas", "docs", "tests", "pyproject.toml", "README.md")
PAUSES = "tests/workspaced/api/test_pause.py::TestEveryMethod"


def put(file: Path, behind: str, text: str) -> None:
    """Puts the text behind the one place where `behind` stands."""
    before = file.read_text()
    assert before.count(behind) == 1, f"{file} has {behind!r} {before.count(behind)} times"
    file.write_text(before.replace(behind, behind + text))


@pytest.mark.thorough
def test_the_first_change_works_as_it_is_written(tmp_path: Path) -> None:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    floors = (str(tmp_path / floor) for floor in ("workspaced", "tools", "events"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((*floors, str(tmp_path)))}

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300)
        return "" if done.returncode == 0 else done.stdout + done.stderr

    method, row, remark, test = BLOCKS
    module = tmp_path / "workspaced" / "workspaced" / "api" / "state_and_log.py"
    put(module, "METHODS: Final = {\n", row)
    put(module, "    found.close()\n    return {}\n", f"\n\n{method}")
    generator = tmp_path / "docs" / "generator"
    (generator / "remarks.toml").write_text(f"{(generator / 'remarks.toml').read_text()}\n{remark}")
    assert run("-m", "workspaced", "schema", "--write", "schemas") == ""
    assert run("docs/generator/generate.py") == ""
    tests = tmp_path / "tests" / "workspaced" / "api"
    (tests / "test_pins.py").write_text(test)
    assert "workspaced/pins" in run("-m", "pytest", "-q", "-n", "0", f"{PAUSES}::test_is_listed_if_it_works")
    put(tests / "test_pause.py", "ADMINISTRATIVE: dict[str, dict[str, Any]] = {\n", '    "workspaced/pins": {},\n')
    assert run("-m", "pytest", "-q", "-n", "0", "tests/workspaced/api/test_pins.py", PAUSES) == ""
    assert "### `workspaced/pins`" in (tmp_path / "docs" / "reference" / "methods.md").read_text()
