"""`workspaced uninstall`: afterwards a home is as it was before us, and what is not ours is never touched."""

import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.home import Home
from support.inspector import RECORDED, Inspector
from support.program import Program

SETTINGS = {
    ".claude.json": '{"projects": {}}\n',
    ".claude/settings.json": '{\n  "model": "opus"\n}\n',
    ".codex/config.toml": 'model = "o"\n',
    ".config/zed/settings.json": '// mine\n{\n  "theme": "One",\n}\n',
}
BASES = (".cache", ".config", ".local", ".local/share", ".local/state")
"""Folders that programs share: whoever needs one makes it."""


@pytest.fixture
def home(daemon: Any) -> Iterator[Home]:
    made = Home(daemon(start=False))
    made.question = "Remove all of this?"
    (made.notes / ".workspacedignore").write_text("secret/\n")
    for name, text in SETTINGS.items():
        (made.path / name).parent.mkdir(parents=True, exist_ok=True)
        (made.path / name).write_text(text)
    yield made
    for each in made.daemons():
        os.kill(each["pid"], signal.SIGTERM)


def everything(home: Home) -> dict[str, bytes | None]:
    """Every file and folder below the home and where sockets and temporary files are."""
    found: dict[str, bytes | None] = {}
    for path in (each for each in home.root.rglob("*") if home.bin not in each.parents):
        name = path.relative_to(home.root).as_posix()
        found[name] = path.read_bytes() if path.is_file() else None
    return {name: text for name, text in found.items() if name.removeprefix("home/") not in BASES}


def lived_in(home: Home) -> None:
    """Does what leaves something: serves, connects, publishes, asks, replays, and shows the demo."""
    home.has("claude", "codex", "gemini", "zed")
    assert home.run("start", home.notes, "--yes").returncode == 0
    assert home.run("connect", "cursor", "--vault", home.notes).returncode == 0
    home.run("publish", "active_note_set", "note=below/Plan.md")
    home.run("call", "get_current_note")
    with Program("serve", "--replay", RECORDED, "--json", env=home.env) as past:
        home.run("call", "get_current_note", "--socket", past.started["socket"])
    assert Path(past.started["run"]).is_relative_to(home.path)
    assert home.run("demo", "--serve").returncode == 0


@pytest.mark.thorough
def test_afterwards_a_home_is_as_it_was(home: Home) -> None:
    before = everything(home)
    lived_in(home)
    assert len(home.daemons()) == 2 and (home.path / ".gemini").is_dir()
    assert "/secret/**" in (home.path / ".claude/settings.json").read_text()
    listed = home.run("uninstall", "--dry-run", "--json")
    assert everything(home).keys() > before.keys() and json.loads(listed.stdout)["removed"] is False
    done = home.run("uninstall", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert home.daemons() == [] and everything(home) == before
    assert f"{home.path}/.local/state/workspaced/past" in done.stdout
    [data] = [each for each in json.loads(done.stdout)["places"] if each["kind"] == "data"]
    assert data["bytes"] > 0
    assert home.run("uninstall", "--yes").stdout == "Nothing of workspaced is on this machine but the package.\n"


@pytest.mark.thorough
def test_what_others_put_beside_ours_stays(home: Home) -> None:
    """In folders of our names, in a data directory that the user chose, in settings, and in the demo's notes."""
    chosen = home.root / "chosen"
    config = home.path / ".config/workspaced/config.toml"
    config.parent.mkdir()
    config.write_text(f'data_dir = "{chosen}"\n')
    lived_in(home)
    [demo] = (home.root / "tmp").glob("workspaced-demo-*")
    theirs = [chosen / "mine.txt", home.path / ".cache/workspaced/mine.txt", home.path / ".gemini/mine.txt"]
    theirs += [config.parent / "mine.txt", demo / "notes/Mine.md"]
    for path in theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    settings = home.path / ".claude/settings.json"
    settings.write_text(settings.read_text().replace("opus", "sonnet"))
    done = home.run("uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert all(path.read_text() == "mine" for path in theirs)
    assert settings.read_text() == SETTINGS[".claude/settings.json"].replace("opus", "sonnet")
    backup = settings.with_name("settings.json.before-workspaced")
    assert f"stays     {backup}: {settings} as it was, which has changed since\n" in done.stdout
    assert os.listdir(chosen) == ["mine.txt"] and not config.exists()


@pytest.mark.thorough
def test_what_belongs_to_another_home_or_runs_is_left_alone(home: Home) -> None:
    assert home.run("demo", "--keep").returncode == 0
    [demo] = (home.root / "tmp").glob("workspaced-demo-*")
    with socket.socket(socket.AF_UNIX) as running:
        running.bind(str(demo / "demo.sock"))
        running.listen()
        done = home.run("uninstall", "--yes")
    assert f"stays     {demo}: a demo that runs now\n" in done.stdout and demo.exists()
    home.run("start", home.notes)
    [daemon] = home.daemons()
    other = {**home.env, "HOME": str(home.root / "other")}
    done = process.run("uninstall", "--yes", env=other, cwd=home.root)
    assert f"stays     {daemon['socket']}: a daemon that this home has no record of".encode() in done.stdout
    assert home.run("status").returncode == done.returncode == 0 and demo.exists()
    done = home.run("uninstall", "--yes")
    assert f"demo      {demo} (" in done.stdout and "somebody" not in done.stdout, "what a demo itself wrote"
    assert not demo.exists()


@pytest.mark.thorough
def test_a_log_that_a_daemon_without_a_record_writes_stays(home: Home) -> None:
    home.run("start", home.notes)
    [running] = home.daemons()
    shutil.rmtree(home.path / ".local/state")
    data = Path(running["dataDir"])
    done = home.run("uninstall", "--yes")
    assert f"stays     {data}: the workspaced with pid {running['pid']} writes there; " in done.stdout
    assert (data / "log/HEAD").exists() and home.run("stop").returncode == 0
    assert home.run("uninstall", "--yes").returncode == 0 and not data.exists()


def test_a_link_is_not_followed(home: Home) -> None:
    elsewhere = home.root / "elsewhere"
    (elsewhere / "default" / "log").mkdir(parents=True)
    (elsewhere / "default" / "log" / "HEAD").write_text("theirs")
    data = home.path / ".local/share/workspaced"
    data.parent.mkdir(parents=True)
    data.symlink_to(elsewhere)
    done = home.run("uninstall", "--yes")
    assert f"stays     {data}/default/log: a link, or of another user\n" in done.stdout
    assert (elsewhere / "default/log/HEAD").read_text() == "theirs"


def test_a_service_is_stopped_and_goes(home: Home) -> None:
    said = home.root / "said"
    home.has("systemctl")
    (home.bin / "systemctl").write_text(f'#!/bin/sh\necho "$@" >> {said}\n')
    home.run("service", "install", "--vault", home.notes, "--manager", "systemd", "--workspace", "work")
    unit = home.path / ".config/systemd/user/workspaced-work.service"
    foreign = unit.with_name("workspaced-mine.service")
    foreign.write_text("[Service]\n")
    assert unit.exists()
    done = home.run("uninstall", "--yes")
    assert done.returncode == 0 and not unit.exists() and foreign.exists()
    assert "--user disable --now workspaced-work.service" in said.read_text()


@pytest.mark.thorough
def test_programs_of_ours_that_run_are_ended_and_what_killed_ones_left_goes(home: Home) -> None:
    (home.path / ".claude/ide").mkdir()
    before = everything(home)
    home.run("start", home.notes)
    log, upstream = home.path / ".local/share/workspaced/default", "http://127.0.0.1:9/v1"
    with (
        Inspector(log, env=home.env) as inspector,
        Program("proxy", "--upstream", upstream, "--port", "0", "--json", env=home.env) as proxy,
        Program("ide", "--json", env=home.env) as link,
    ):
        killed: list[Any] = [Inspector(log, env=home.env), Program("ide", "--json", env=home.env)]
        for each in killed:
            each.process.kill()
            each.wait()
        done = home.run("uninstall", "--yes")
        assert done.returncode == 0, done.stderr
        assert (inspector.wait(), proxy.wait(), link.wait()) == (0, 0, 0)
    kinds = ("inspector", "ide", "proxy")
    assert sorted(line for line in done.stdout.splitlines() if line.startswith(kinds)) == [
        f"ide       pid {link.process.pid}, tells Claude Code of {home.notes}",
        f"inspector pid {inspector.process.pid}, shows {log}",
        f"proxy     pid {proxy.process.pid}, passes requests on to {upstream}",
    ]
    assert f"state     {killed[1].started['lock']} (" in done.stdout
    assert everything(home) == before


@pytest.mark.thorough
def test_what_a_daemon_holds_that_does_not_end_stays(home: Home) -> None:
    """It waits for an answer that does not come, for as long as it waits for any."""
    home.run("start", home.notes)
    [running] = home.daemons()
    before = everything(home)
    os.kill(running["pid"], signal.SIGSTOP)
    try:
        done = home.run("uninstall", "--yes")
    finally:
        os.kill(running["pid"], signal.SIGCONT)
    assert done.returncode == 1 and f"A daemon still runs (pid {running['pid']})" in done.stderr
    assert everything(home).keys() == before.keys()
