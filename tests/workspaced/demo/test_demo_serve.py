"""`workspaced demo --serve` leaves the sample vault served, for commands to be tried on."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import process


def test_one_that_cannot_be_served_leaves_nothing(daemon: Any) -> None:
    here = daemon(start=False)
    (here.root / "tmp").mkdir()
    env = {**here.env, "TMPDIR": str(here.root / "tmp"), "WORKSPACED_LOG_LEVEL": "loud"}
    done = process.run("demo", "--serve", env=env, cwd=here.root)
    assert done.returncode == 3 and b"'log_level'" in done.stderr
    assert list((here.root / "tmp").iterdir()) == []


@pytest.mark.thorough
def test_it_serves_a_copy_until_it_is_stopped(daemon: Any) -> None:
    here = daemon(start=False)
    env = {**here.env, "XDG_RUNTIME_DIR": str(here.root)}

    def run(*arguments: str) -> str:
        done = process.run(*arguments, env=env, cwd=here.root)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    first = run("demo", "--serve")
    try:
        assert "export WORKSPACED_WORKSPACE=demo" in first
        status = json.loads(run("status", "--workspace", "demo", "--json"))
        vault = Path(status["vaults"][0]["path"])
        assert vault.parent.parent == here.root and (vault / "Home.md").is_file()
        assert run("demo", "--serve") == first, "one that runs is used"
    finally:
        run("stop", "--workspace", "demo")
