"""`workspaced service install`: the definitions, what is run for them, and that nothing else is touched."""

import json
import plistlib
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, process

from workspaced.cli.daemon.serve import serve_command
from workspaced.service_units.units import systemd_unit


@pytest.fixture
def here(daemon: Any) -> Any:
    """A home, with a vault of a name that needs quoting and a `systemctl` that writes down its arguments."""
    made = daemon(start=False)
    made.notes = made.root / "my notes 100% $HOME"
    made.notes.mkdir()
    made.bin = made.root / "bin"
    made.bin.mkdir()
    made.log = made.root / "systemctl.log"
    made.unit = made.root / "home/.config/systemd/user/workspaced.service"
    answer(made, 0)
    return made


def answer(here: Any, code: int) -> None:
    for name in ("systemctl", "launchctl"):
        script = here.bin / name
        script.write_text(f'#!/bin/sh\necho "{name} $@" >> {here.log}\necho no bus >&2\nexit {code}\n')
        script.chmod(0o755)


def run(here: Any, *arguments: str) -> "subprocess.CompletedProcess[str]":
    env = {**here.env, "PATH": f"{here.bin}:/usr/bin:/bin"}
    done = process.run("service", "install", *arguments, env=env, cwd=here.root)
    assert b"Traceback" not in done.stderr
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_it_writes_the_unit_and_starts_it(here: Any) -> None:
    done = run(here, "--vault", str(here.notes), "--manager", "systemd")
    assert done.returncode == 0, done.stderr
    text = here.unit.read_text()
    (line,) = [each for each in text.splitlines() if each.startswith("ExecStart=")]
    words = shlex.split(line.removeprefix("ExecStart=").replace("%%", "%").replace("$$", "$"))
    assert words[-5:] == ["serve", "--workspace", "default", "--vault", str(here.notes.resolve())]
    assert Path(words[0]).is_absolute()
    assert here.log.read_text().splitlines() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable workspaced.service",
        "systemctl --user restart workspaced.service",
    ]


def test_remove_stops_it_and_takes_the_file_away(here: Any) -> None:
    run(here, "--vault", str(here.notes), "--manager", "systemd", "--no-start")
    assert here.unit.exists() and not here.log.exists()
    done = run(here, "--manager", "systemd", "--remove")
    assert done.returncode == 0 and not here.unit.exists()
    assert here.log.read_text().splitlines() == [
        "systemctl --user disable --now workspaced.service",
        "systemctl --user daemon-reload",
    ]
    assert run(here, "--manager", "systemd", "--remove").returncode == 0, "nothing is left to remove"


def test_a_dry_run_changes_nothing_and_shows_all(here: Any) -> None:
    done = run(here, "--vault", str(here.notes), "--manager", "systemd", "--dry-run")
    assert done.returncode == 0 and "ExecStart=" in done.stdout
    without = run(here, "--manager", "systemd")
    assert without.returncode == 2 and "Give --vault DIR" in without.stderr
    assert "systemctl --user enable workspaced.service" in done.stderr
    assert not here.unit.exists() and not here.log.exists()
    as_json = run(here, "--vault", str(here.notes), "--manager", "systemd", "--dry-run", "--json")
    report = json.loads(as_json.stdout)
    assert report["path"] == str(here.unit) and report["dryRun"] and report["text"] == done.stdout


def test_a_manager_that_refuses_is_an_error_with_the_commands_to_run(here: Any) -> None:
    answer(here, 1)
    done = run(here, "--vault", str(here.notes), "--manager", "systemd")
    assert done.returncode == 1 and "[SERVICE_FAILED]" in done.stderr and "no bus" in done.stderr
    assert "systemctl --user enable workspaced.service" in done.stderr.splitlines()[-1]
    assert here.unit.exists()


def test_a_file_of_somebody_else_is_left_alone(here: Any) -> None:
    here.unit.parent.mkdir(parents=True)
    here.unit.write_text("[Service]\n")
    for arguments in (["--vault", str(here.notes)], ["--remove"]):
        done = run(here, *arguments, "--manager", "systemd")
        assert done.returncode == 2 and "is not ours" in done.stderr
    assert here.unit.read_text() == "[Service]\n"
    own = run(here, "--vault", str(here.notes), "--workspace", "work", "--manager", "systemd", "--no-start")
    assert own.returncode == 0 and (here.unit.parent / "workspaced-work.service").exists()


def test_a_launchd_agent_is_a_property_list(here: Any) -> None:
    done = run(here, "--vault", str(here.notes), "--manager", "launchd")
    assert done.returncode == 0, done.stderr
    path = here.root / "home/Library/LaunchAgents/workspaced.default.plist"
    agent = plistlib.loads(path.read_bytes())
    assert agent["Label"] == "workspaced.default" and agent["RunAtLoad"]
    assert agent["ProgramArguments"][-2:] == ["--vault", str(here.notes.resolve())]
    assert here.log.read_text().startswith("launchctl bootstrap gui/")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = systemd_unit("default", ["/bin/true", "serve", "--vault", "/my notes/100%"], tmp_path)
    path = tmp_path / "workspaced.service"
    path.write_text(unit.text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", path], capture_output=True, text=True, timeout=30
    )
    assert str(path) not in done.stderr


def test_the_image_runs_what_serve_takes() -> None:
    (entry,) = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("ENTRYPOINT ")]
    command = json.loads(entry.removeprefix("ENTRYPOINT "))
    assert command[:2] == ["workspaced", "serve"]
    with serve_command.make_context("serve", command[2:]) as context:
        assert context.params["vaults"] == (Path("/vault"),)
