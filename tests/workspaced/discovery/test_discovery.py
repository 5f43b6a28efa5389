"""How clients find the daemons that run without being told."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workspaced.discovery import records as discovery


@pytest.fixture
def home(shared: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared daemon's home is ours, too."""
    monkeypatch.setenv("HOME", shared.env["HOME"])
    return Path(shared.env["HOME"])


def records() -> list[Path]:
    return sorted(Path(discovery.state_directory()).glob("*.json"))


def run(running: Any, *arguments: str, cwd: Path | None = None, **env: str) -> "subprocess.CompletedProcess[str]":
    """The command line with nothing that names a socket."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "workspaced", *arguments],
        capture_output=True,
        text=True,
        env={**running.env, **env},
        cwd=cwd or running.root,
        timeout=30,
    )


# -- the record --


def test_a_running_daemon_has_one_record_that_only_its_user_can_read(shared: Any, home: Path) -> None:
    (path,) = records()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    (record,) = discovery.running()
    assert record.pid == shared.pid and record.socket == str(shared.socket)
    assert record.workspace == "default" and record.vaults == (str(shared.vault),)
    assert record.data_dir == str(shared.data) and record.version


def test_status_tells_the_same(shared: Any, home: Path) -> None:
    (record,) = discovery.running()
    status = json.loads(shared.cli("status", "--json").stdout)
    assert status["socket"] == record.socket and status["pid"] == record.pid
    assert status["workspace"] == record.workspace and status["version"] == record.version
    assert [vault["path"] for vault in status["vaults"]] == list(record.vaults)
    listed = run(shared, "status", "--all", "--json")
    assert json.loads(listed.stdout) == discovery.to_wire(record)
    shown = run(shared, "status", "--all").stdout
    assert str(shared.socket) in shown and str(shared.vault) in shown


def test_it_goes_with_an_orderly_stop(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running = daemon()
    monkeypatch.setenv("HOME", running.env["HOME"])
    assert len(records()) == 1
    assert running.stop() == 0
    assert records() == []


def test_what_a_killed_daemon_left_is_swept_by_who_looks(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running = daemon()
    monkeypatch.setenv("HOME", running.env["HOME"])
    running.kill()
    assert len(records()) == 1 and running.socket.exists()
    assert discovery.running() == [] and records() == []
    running.start()
    running.kill()
    running.socket.unlink()
    assert discovery.find(running.vault) is None and records() == []
    running.start()
    assert len(discovery.running()) == 1


def test_a_daemon_started_anew_takes_the_place_of_the_one_that_was_killed(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = daemon()
    monkeypatch.setenv("HOME", running.env["HOME"])
    running.kill()
    assert running.socket.exists(), "a stale one is taken over"
    running.start()
    assert len(records()) == 1
    assert [record.pid for record in discovery.running()] == [running.pid]


def test_a_daemon_that_is_stopped_for_a_while_still_counts(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    running = daemon()
    monkeypatch.setenv("HOME", running.env["HOME"])
    running.send_signal(signal.SIGSTOP)
    try:
        assert len(discovery.running()) == 1
    finally:
        running.send_signal(signal.SIGCONT)


def test_a_daemon_that_cannot_leave_a_record_serves_all_the_same(daemon: Any) -> None:
    running = daemon(start=False)
    (Path(running.env["HOME"]) / ".local").write_text("in the way")
    running.start()
    assert running.connect().state()
    assert any("cannot find this daemon" in line for line in running.stderr)


# -- finding --


def test_a_folder_within_a_vault_is_served_by_the_nearest(
    daemon: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    outer = daemon("--workspace", "outer")
    inner = daemon("--workspace", "inner", start=False, env={"HOME": outer.env["HOME"]})
    inner.vault = outer.vault / "work"
    inner.start()
    monkeypatch.setenv("HOME", outer.env["HOME"])

    def workspace(folder: "str | os.PathLike[str]") -> str | None:
        found = discovery.find(folder)
        return found.workspace if found else None

    assert workspace(outer.vault) == "outer"
    assert workspace(outer.vault / "sub" / "not there") == "outer"
    assert workspace(outer.vault / "work") == "inner"
    assert workspace(str(outer.vault / "work" / "deep")) == "inner"
    assert workspace(f"{outer.vault}-else") is None
    assert workspace(outer.root) is None
    link = tmp_path / "link"
    link.symlink_to(outer.vault)
    assert workspace(link) == "outer"
    assert [each.workspace for each in discovery.running()] == ["inner", "outer"]


def test_the_command_line_asks_the_daemon_that_serves_the_current_directory(daemon: Any) -> None:
    first = daemon("--workspace", "first")
    assert json.loads(run(first, "status", "--json").stdout)["workspace"] == "first", "the only one that runs"
    second = daemon("--workspace", "second", env={"HOME": first.env["HOME"]})

    def asked(*arguments: str, cwd: Path) -> str:
        done = run(first, "status", "--json", *arguments, cwd=cwd)
        return str(json.loads(done.stdout)["workspace"]) if done.returncode == 0 else done.stderr

    assert asked(cwd=second.vault / "work") == "second"
    assert asked(cwd=first.vault) == "first"
    assert asked("--workspace", "first", cwd=second.vault) == "first"
    assert "[NO_DAEMON]" in asked(cwd=first.root), "the default daemon is meant, and it does not run"
    called = run(first, "call", "get_workspace_context", "--vault", str(second.vault), "--json")
    assert called.returncode == 0 and called.stderr == ""


# -- what is not ours is not believed --


def forged(path: Path, shared: Any, **changes: Any) -> None:
    record = next(each for each in discovery.running() if each.pid == shared.pid)
    path.write_text(json.dumps({**discovery.to_wire(record), **changes}))
    path.chmod(0o600)


def garbage(path: Path, _shared: Any) -> None:
    path.write_bytes(b"\xff{")
    path.chmod(0o600)


def deep(path: Path, _shared: Any) -> None:
    path.write_text("[" * 60_000)
    path.chmod(0o600)


def large(path: Path, shared: Any) -> None:
    forged(path, shared, filler="x" * 70_000)


def linked(path: Path, shared: Any) -> None:
    aside = path.with_suffix(".aside")
    forged(aside, shared)
    path.symlink_to(aside)


def open_to_others(path: Path, shared: Any) -> None:
    forged(path, shared)
    path.chmod(0o644)


def of_another_user(path: Path, shared: Any) -> None:
    forged(path, shared)
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(path, 12_345, -1)


def pipe(path: Path, _shared: Any) -> None:
    os.mkfifo(path, 0o600)


def directory(path: Path, _shared: Any) -> None:
    path.mkdir()


HOSTILE: list[Callable[[Path, Any], None]] = [
    garbage,
    deep,
    large,
    linked,
    open_to_others,
    of_another_user,
    pipe,
    directory,
]
WRONG: list[dict[str, Any]] = [
    {"workspaced": 2},
    {"host": "elsewhere"},
    {"pid": "1"},
    {"pid": True},
    {"socket": None},
    {"socket": "relative"},
    {"socket": "/nul\0"},
    {"workspace": 7},
    {"vaults": "/"},
    {"vaults": ["relative"]},
    {"vaults": [None]},
]


@pytest.mark.parametrize("make", HOSTILE, ids=lambda each: each.__name__)
def test_a_file_that_is_not_plainly_ours_is_left_alone(
    shared: Any, home: Path, make: Callable[[Path, Any], None]
) -> None:
    (true,) = discovery.running()
    path = Path(discovery.state_directory()) / "forged.json"
    make(path, shared)
    try:
        assert discovery.running() == [true]
        assert os.path.lexists(path)
    finally:
        for left in path.parent.glob("forged.*"):
            left.rmdir() if left.is_dir() else left.unlink()


def test_a_record_with_wrong_fields_is_left_alone(shared: Any, home: Path) -> None:
    (true,) = discovery.running()
    path = Path(discovery.state_directory()) / "forged.json"
    try:
        for changes in WRONG:
            forged(path, shared, **changes)
            assert discovery.running() == [true] and path.exists(), changes
    finally:
        path.unlink()


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702])
def test_a_folder_that_is_open_to_others_is_not_believed(shared: Any, home: Path, mode: int) -> None:
    folder = Path(discovery.state_directory())
    folder.chmod(mode)
    try:
        assert discovery.running() == []
        with pytest.raises(OSError, match="closed to others"):
            discovery.make_state_directory()
    finally:
        folder.chmod(0o700)
    assert len(discovery.running()) == 1


def test_a_folder_that_is_a_symlink_is_not_believed(
    shared: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = discovery.state_directory()
    monkeypatch.setenv("HOME", str(tmp_path))
    fake = Path(discovery.state_directory())
    fake.parent.mkdir(parents=True)
    fake.symlink_to(true)
    assert discovery.running() == []
