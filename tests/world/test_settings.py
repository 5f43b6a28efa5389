"""People's own settings of agents' programs, and what connecting leaves of them: one file a case, in `settings/`.

A case is TOML: `follows` (the public report or document, `repository#number`), `right` (what the user expects),
`program` (as `workspaced connect` names it), `text` (its settings before), optionally `file` (where, below HOME),
and `refused` (a part of the message where they are left as they are).
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.program_settings import PLACES, VARIABLES, all_files
from support.world import read

from workspaced.cli import run
from workspaced.connecting import json_text
from workspaced.connecting.settings_files import BACKUP
from workspaced_events.interpreter import installed_command

CASES = sorted((Path(__file__).parent / "settings").glob("*.toml"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "notes").mkdir()
    return tmp_path / "home"


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_the_worlds_settings_lose_nothing(case: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = read(case)
    path, text = home / told.get("file", PLACES[told["program"]]), told["text"]
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())
    before, connecting = all_files(home), ["connect", told["program"], "--vault", str(home.parent / "notes")]
    code = run(connecting)
    said = capsys.readouterr().err
    if "refused" in told:
        assert code == 2 and told["refused"] in said and str(path) in said
        assert all_files(home) == before
        return
    assert code == 0, said
    after, former = path.read_bytes().decode(), json_text.parse(text)
    assert json_text.comments(after) == json_text.comments(text)
    assert installed_command()[0] in str(json_text.parse(after)) and holds(json_text.parse(after), former)
    shutil.copytree(home, home.parent / "kept")
    assert run([*connecting, "--remove"]) == 0
    assert all_files(home) == before, "the bytes of the backup"
    shutil.rmtree(home)
    shutil.copytree(home.parent / "kept", home)
    for backup in path.parent.glob(f"*{BACKUP}*"):
        backup.unlink()
    assert run([*connecting, "--remove"]) == 0
    without = path.read_bytes().decode()
    assert json_text.comments(without) == json_text.comments(text)
    assert without == text or not former, "what was no object, or an empty one, has braces"


def holds(whole: Any, former: Any) -> bool:
    """Whether an object has all that the former one had."""
    if isinstance(whole, dict) and isinstance(former, dict):
        return all(key in whole and holds(whole[key], value) for key, value in former.items())
    return bool(whole == former)
