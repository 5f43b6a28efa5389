"""How clients find the daemons that run without being told."""

import json
import os
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import process

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
    done = process.run(*arguments, env={**running.env, **env}, cwd=cwd or running.root)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


# -- the record --


def test_a_running_daemon_has_one_record_that_only_its_user_can_read(shared: Any, home: Path) -> None:
    (path,) = records()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    (record,) = discovery.running()
    assert record.pid == shared.pid and record.socket == str(shared.socket)
    assert record.workspace == "default" and record.vaults == (str(shared.vault),)
    assert record.data_dir == str(shared.data) and record.version
    status = json.loads(shared.cli("status", "--json").stdout)
    assert [vault["path"] for vault in status["vaults"]] == list(record.vaults)
    for field in ("socket", "pid", "workspace", "version"):
        assert status[field] == getattr(record, field)
    assert json.loads(run(shared, "status", "--all", "--json").stdout) == discovery.to_wire(record)
    shown = run(shared, "status", "--all").stdout
    assert str(shared.socket) in shown and str(shared.vault) in shown


def test_it_goes_with_a_stop_and_what_a_killed_daemon_left_is_swept_by_who_looks_or_taken_over(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = daemon()
    monkeypatch.setenv("HOME", running.env["HOME"])
    running.send_signal(signal.SIGSTOP)
    assert len(discovery.running()) == 1, "one that stands still for a while counts"
    running.send_signal(signal.SIGCONT)
    running.kill()
    assert len(records()) == 1 and running.socket.exists()
    assert discovery.running() == [] and records() == []
    running.start()
    running.kill()
    running.socket.unlink()
    assert discovery.find(running.vault) is None and records() == []
    running.start()
    running.kill()
    running.start()
    assert len(records()) == 1 and [record.pid for record in discovery.running()] == [running.pid]
    assert running.stop() == 0 and records() == []


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


# -- what is not ours is not believed --


def private(path: Path, text: str | bytes) -> Path:
    path.touch(0o600)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


HOSTILE: dict[str, Callable[[Path, str], object]] = {
    "garbage": lambda path, _: private(path, b"\xff{"),
    "deep": lambda path, _: private(path, "[" * 60_000),
    "large": lambda path, good: private(path, good.replace("{", '{"filler": "' + "x" * 70_000 + '",', 1)),
    "linked": lambda path, good: path.symlink_to(private(path.with_suffix(".aside"), good)),
    "open to others": lambda path, good: private(path, good).chmod(0o644),
    "of another user": lambda path, good: os.chown(private(path, good), 12_345, -1),
    "a pipe": lambda path, _: os.mkfifo(path, 0o600),
    "a directory": lambda path, _: path.mkdir(),
}
WRONG: list[dict[str, Any]] = [
    *({"workspaced": 2}, {"host": "elsewhere"}, {"pid": "1"}, {"pid": True}, {"workspace": 7}),
    *({"socket": None}, {"socket": "relative"}, {"socket": "/nul\0"}),
    *({"vaults": "/"}, {"vaults": ["relative"]}, {"vaults": [None]}),
]


@pytest.mark.parametrize("what", [*HOSTILE, *WRONG], ids=str)
def test_a_file_that_is_not_plainly_ours_is_left_alone(
    shared: Any, home: Path, what: str | dict[str, Any]
) -> None:
    if what == "of another user" and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    (true,) = discovery.running()
    path, good = Path(discovery.state_directory()) / "forged.json", discovery.to_wire(true)
    if isinstance(what, str):
        HOSTILE[what](path, json.dumps(good))
    else:
        private(path, json.dumps({**good, **what}))
    try:
        assert discovery.running() == [true] and os.path.lexists(path)
    finally:
        for left in path.parent.glob("forged.*"):
            left.rmdir() if left.is_dir() else left.unlink()


def test_a_folder_that_is_open_to_others_or_a_symlink_is_not_believed(
    shared: Any, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(discovery.state_directory())
    for mode in (0o755, 0o770, 0o702):
        folder.chmod(mode)
        try:
            assert discovery.running() == []
            with pytest.raises(OSError, match="closed to others"):
                discovery.make_state_directory()
        finally:
            folder.chmod(0o700)
    assert len(discovery.running()) == 1
    monkeypatch.setenv("HOME", str(tmp_path))
    fake = Path(discovery.state_directory())
    fake.parent.mkdir(parents=True)
    fake.symlink_to(folder)
    assert discovery.running() == []
