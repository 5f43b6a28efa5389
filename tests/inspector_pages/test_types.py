"""The scripts of the inspector's page have types, though nothing compiles them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support import ROOT

CLIENT = ROOT / "clients" / "inspector"
STATIC = Path("workspaced/workspaced/inspector/static")
TSC = CLIENT / "node_modules" / ".bin" / "tsc"
TSC_S = 120.0

pytestmark = pytest.mark.skipif(
    not TSC.exists() or shutil.which("node") is None,
    reason="needs tsc: `make .venv/.inspector` installs it",
)


def checked(root: Path) -> str:
    """What the compiler says of a tree: nothing, if all types fit."""
    command = [str(TSC), "-p", str(root / "clients" / "inspector")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=TSC_S)
    assert (done.returncode == 0) == (done.stdout == ""), done.stderr
    return done.stdout


def test_all_types_fit() -> None:
    assert checked(ROOT) == ""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (
            'import { signal } from "./vendor/index.js";\n/** @type {string} */\nexport const a = signal(1).value',
            "TS2322",
        ),
        ('import { useState } from "./vendor/index.js";\nexport const a = () => useState(0)[1]("x");', "TS2345"),
        ('import { uPlot } from "./vendor/uplot.js";\nexport const a = () => new uPlot(3);', "TS2345"),
        ('import { none } from "./vendor/index.js";\nexport const a = none;', "TS2305"),
        ("export function a(b) { return b; }", "TS7006"),
        ('/** @param {import("./types.js").NoAnswer} b */\nexport const a = (b) => b;', "TS2694"),
    ],
    ids=["signals", "hooks", "charts", "exports", "parameters", "answers"],
)
def test_a_wrong_type_is_noticed(tmp_path: Path, script: str, words: str) -> None:
    shutil.copytree(ROOT / STATIC, tmp_path / STATIC)
    client = tmp_path / "clients" / "inspector"
    client.mkdir(parents=True)
    shutil.copy(CLIENT / "tsconfig.json", client)
    (client / "node_modules").symlink_to(CLIENT / "node_modules")
    (tmp_path / STATIC / "planted.js").write_text(script)
    said = checked(tmp_path)
    assert "planted.js" in said and words in said, said
