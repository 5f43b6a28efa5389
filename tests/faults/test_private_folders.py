"""Data and cache directories: whose they may be, and who can read what lies in them. Rows 29 and 56."""

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.another_user import NEEDS_ROOT, NOBODY

from workspaced.connecting.settings_files import Change, write
from workspaced.discovery import records

WRITABLE = [("data", 0o777), ("data", 0o720), ("cache", 0o702), ("data/log", 0o777), ("cache/index", 0o777)]


def modes(directory: Path) -> dict[str, str]:
    """What below a directory is not closed to others, sockets left out: those lie elsewhere."""
    found = [directory / each for each in walked(directory)]
    return {
        str(path.relative_to(directory)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in found
        if stat.S_IMODE(path.lstat().st_mode) != (0o700 if path.is_dir() else 0o600)
    }


def walked(directory: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            yield os.path.relpath(os.path.join(folder, name), directory)


def used(running: Any) -> None:
    """Makes it write every kind of file that it has: log, HEAD, blobs, recordings, rules, index, snapshot."""
    with running.connect() as client:
        selection = {"note": "a.md", "startLine": 1, "endLine": 1, "text": "secret " * 1_000}
        client.publish([{"type": "selection_changed", "data": selection}])
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        assert client.tool("search_workspace", {"query": "note"})["success"]
        client.call("workspaced/calls")
        client.call("workspaced/reconcile")


def refused(running: Any) -> str:
    """What a daemon says that does not start."""
    running.stderr.clear()
    with pytest.raises(AssertionError, match="ended"):
        running.start()
    assert running.wait() == 2, running.stderr
    said = "\n".join(running.stderr)
    assert "[INVALID_ARGUMENT]" in said
    return said


@pytest.fixture
def apart(daemon: Any) -> Any:
    """A daemon, not started, whose cache does not lie in its data directory."""
    running = daemon("--no-watch", start=False)
    running.cache = running.root / "cache"
    running.flags = (*running.flags, "--cache-dir", str(running.cache))
    return running


@pytest.mark.fault(row=56)
@pytest.mark.parametrize(("which", "mode"), WRITABLE)
def test_row_56_a_folder_that_others_may_write_to_is_refused(apart: Any, which: str, mode: int) -> None:
    folder: Path = apart.root / which
    folder.mkdir(parents=True)
    folder.chmod(mode)
    said = refused(apart)
    command = f"chmod 700 {shlex.quote(str(folder))}"
    assert f"{which.partition('/')[0]} directory" in said and command in said
    subprocess.run(shlex.split(command), check=True)
    apart.start()


@pytest.mark.fault(row=56)
@NEEDS_ROOT
@pytest.mark.parametrize("which", ["data", "cache", "data/log/0000000000000001.wlog"])
def test_row_56_another_users_folder_or_file_is_refused(apart: Any, which: str) -> None:
    path = apart.root / which
    if path.suffix:
        path.parent.mkdir(parents=True)
        path.touch()
    else:
        path.mkdir(parents=True)
    os.chown(path, NOBODY, NOBODY)
    said = refused(apart)
    assert str(path) in said and f"user {NOBODY}" in said and "sudo chown -R" in said
    os.chown(path, os.getuid(), os.getgid())


@pytest.mark.fault(row=29)
@pytest.mark.fault(row=56)
@pytest.mark.parametrize("umask", ["000", "022"])
def test_row_56_files_are_0600_and_folders_0700_whatever_umask_and_folder(apart: Any, umask: str) -> None:
    for folder in (apart.data, apart.cache):
        folder.mkdir()
        folder.chmod(0o755)
    (apart.vault / ".workspacedignore").write_text("work/\n")
    apart.wrapper = ("sh", "-c", f'umask {umask}; exec "$@"', "sh")
    apart.start()
    used(apart)
    apart.kill()
    with next((apart.data / "log").glob("*.wlog")).open("ab") as log:
        log.write(b"torn")  # so that there is a quarantine
    apart.start()
    used(apart)
    assert modes(apart.data) == {} and modes(apart.cache) == {}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (apart.data, apart.cache)} == {0o700}
    assert {"log", "blobs", "served", "policy", "quarantine"} <= {each.name for each in apart.data.iterdir()}
    assert list(apart.cache.rglob("*.sqlite")), "there is no index to look at"
    apart.stop()
    assert modes(apart.data) == {} and modes(apart.cache) == {}


@pytest.mark.fault(row=56)
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o477])
def test_row_56_a_clients_folders_are_0700(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    change = Change(tmp_path / "client" / "deep" / "mcp.json", None, "{}")
    before = os.umask(umask)
    try:
        records.make_state_directory()
        write([change])
    finally:
        os.umask(before)
    assert folder_modes(tmp_path / "home") == folder_modes(tmp_path / "client") == {0o700}
    assert stat.S_IMODE(change.path.stat().st_mode) == 0o600


def folder_modes(top: Path) -> set[int]:
    """The modes of a folder and of all below it."""
    return {stat.S_IMODE(path.stat().st_mode) for path in (top, *top.rglob("*")) if path.is_dir()}


@pytest.mark.fault(row=56)
def test_row_56_what_an_older_version_left_open_to_others_is_closed_at_the_next_start(apart: Any) -> None:
    apart.start()
    used(apart)
    apart.stop()
    for top in (apart.data, apart.cache):
        for path in [top, *(top / each for each in walked(top))]:
            path.chmod(0o755 if path.is_dir() else 0o644)
    apart.start()
    assert modes(apart.data) == {} and modes(apart.cache) == {}
    assert stat.S_IMODE(apart.data.stat().st_mode) == 0o700, "so that nobody else can lock it"
