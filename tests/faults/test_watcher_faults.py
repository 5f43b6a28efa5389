"""Faults 38 to 40: what the watcher loses, dies of or never hears of, and how editors save.

In all of them the reconcile period is an hour, so that nothing but the watcher's own recovery can be what mends.
Waiting is polling with a deadline: what is waited for happens in threads and in the kernel.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import watchfiles
from support.patience import PATIENCE_S

from workspaced.vaults import served_vault as vaults_module
from workspaced.vaults.served_vault import ServedVault
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.workspace_state import EMPTY_VAULT, ActiveNote, VaultState, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.notes.note import Note
from workspaced_tools.vault.files.walk import scan
from workspaced_tools.vault.vault import Vault

WAIT_S = PATIENCE_S
NAME = VaultId("v")
NOTE = NoteId("note.md")
BURST = 20_000
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")


class Watched:
    """A vault that is being watched, and what was recorded of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.served = ServedVault(NAME, path, Vault(path, cache_bytes_max=1 << 20))
        self.recorded: list[Action] = []
        active = VaultState(active=ActiveNote(NOTE, "2026-03-01T12:00:00.000000Z"))
        self.state = WorkspaceState(by_vault={NAME: active})
        self.served.state, self.served.record = lambda: self.state, self.record

    async def record(self, actions: list[Action]) -> None:
        self.recorded += actions

    async def until(self, condition: Callable[[], object]) -> None:
        with anyio.fail_after(WAIT_S):
            while not condition():  # noqa: ASYNC110 - see the module's docstring
                await anyio.sleep(0.02)

    async def until_watching(self) -> None:
        await self.until(lambda: self.served.watcher == "watching" and self.served.vault.index_state() == "ready")

    def write(self, name: str, text: str = "text") -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def ids(self) -> list[str]:
        return sorted(self.served.vault.index.ids())

    def matches_disk(self) -> bool:
        """Whether the index holds exactly the versions that are on disk."""
        known = {note: entry.stat for note in self.ids() if (entry := self.served.vault.index.entry(NoteId(note)))}
        return known == {found.id: found.stat for found in scan(self.served.vault.root)}


@asynccontextmanager
async def watching(path: Path) -> AsyncIterator[Watched]:
    watched = Watched(path)
    stopping = anyio.Event()
    async with anyio.create_task_group() as tasks:
        watched.served.vault.start()
        tasks.start_soon(watched.served.watch, stopping)
        tasks.start_soon(watched.served.settle)
        try:
            await watched.until_watching()
            watched.served.visibility_checker.named([NOTE])
            # `watching` is said from the beginning: what came after it has truly begun is seen.
            watched.write("probe.md")
            await watched.until(lambda: "probe.md" in watched.ids())
            (path / "probe.md").unlink()
            await watched.until(lambda: "probe.md" not in watched.ids())
            yield watched
        finally:
            stopping.set()
            tasks.cancel_scope.cancel()
            watched.served.vault.close()


# -- 38: overflow, limits, death --


@pytest.mark.fault(row=38)
@linux_only
@pytest.mark.thorough
def test_row_38_a_burst_that_overflows_the_queue_leaves_state_equal_to_disk(daemon: Any) -> None:
    running = daemon(env={"WORKSPACED_RECONCILE_S": "3600"})
    client = running.connect()
    vault_status(client, lambda vault: vault["watcher"] == "watching" and vault["index"]["state"] == "ready")
    (running.vault / "probe.md").write_text("found by the watcher, or by the reconcile that follows its start")
    vault_status(client, lambda vault: vault["index"]["notesIndexed"] == 5)
    running.send_signal(signal.SIGSTOP)  # nobody empties the queue
    try:
        for number in range(BURST):
            with open(running.vault / f"n{number}.md", "w") as file:
                file.write(f"# Note {number}\n")
        os.unlink(running.vault / "a.md")
    finally:
        running.send_signal(signal.SIGCONT)
    vault_status(client, lambda vault: vault["index"]["notesIndexed"] == BURST + 4, wait_s=240)
    last = client.tool("get_note_by_reference", {"reference": f"Note {BURST - 1}"})
    assert last["data"]["id"] == f"n{BURST - 1}.md"
    assert client.call("workspaced/status")["degraded"] == []


def vault_status(
    client: Any, condition: Callable[[dict[str, Any]], object], wait_s: float = WAIT_S
) -> dict[str, Any]:
    """The vault's status once it meets `condition`."""
    deadline = time.monotonic() + wait_s
    while not condition(found := client.call("workspaced/status")["vaults"][0]):
        assert time.monotonic() < deadline, found
    return found


@pytest.fixture
def few_watches() -> tuple[str, ...]:
    """Runs a command in a user namespace that allows four watches; nothing outside it is changed."""
    limit = 'echo 4 > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
    wrapper = ("unshare", "-U", "-r", "sh", "-c", limit)
    if shutil.which("unshare") is None or subprocess.run([*wrapper, "true"], capture_output=True).returncode:
        pytest.skip("no user namespace with a limit of its own can be made here")
    return wrapper


@pytest.mark.fault(row=38)
@linux_only
def test_row_38_at_the_watch_limit_it_reconciles_and_says_so(daemon: Any, few_watches: tuple[str, ...]) -> None:
    notes = {f"folder{number}/n.md": f"# Title {number}" for number in range(9)}
    running = daemon(notes=notes, env={"WORKSPACED_RECONCILE_S": "0.3"}, start=False)
    running.wrapper = few_watches
    running.start()
    client = running.connect()
    vault_status(client, lambda vault: vault["watcher"] == "reconciling only")
    (said,) = client.call("workspaced/status")["degraded"]
    assert "reconciling only" in said and "max_user_watches" in said and str(running.vault) not in said
    (running.vault / "folder8/new.md").write_text("# Fresh")
    vault_status(client, lambda vault: vault["index"]["notesIndexed"] == 10)
    for number in range(2, 9):
        shutil.rmtree(running.vault / f"folder{number}")
    vault_status(client, lambda vault: vault["watcher"] == "watching" and vault["index"]["notesIndexed"] == 2)
    assert client.call("workspaced/status")["degraded"] == []


@linux_only
async def test_row_38_a_name_that_is_not_utf8_never_stops_the_watcher(tmp_path: Path) -> None:
    async with watching(tmp_path / "v") as watched:
        for number in range(3):
            os.mknod(os.fsencode(watched.path) + b"/bad\xff%d.md" % number)
            watched.write(f"good{number}.md")
            await watched.until(lambda number=number: f"good{number}.md" in watched.ids())
        os.mkdir(os.fsencode(watched.path) + b"/dir\xfe")
        await watched.until_watching()
        watched.write("later.md")
        await watched.until(watched.matches_disk)
        assert any("UTF-8" in warning for warning in watched.served.vault.statistics().warnings)


async def test_row_38_a_watcher_that_dies_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vaults_module, "RETRY_WATCH_S", 0.05)
    genuine = watchfiles.watch
    dying = threading.Event()
    deaths: list[str] = []

    def watch(*paths: str, **options: Any) -> Iterator[Any]:
        if len(deaths) == 1:
            deaths.append("at start")
            raise MemoryError
        for found in genuine(*paths, **{**options, "rust_timeout": 100}):
            yield found
            if dying.is_set() and not deaths:
                deaths.append("on the way")
                raise RuntimeError("the queue's reader fell over")

    monkeypatch.setattr(watchfiles, "watch", watch)
    async with watching(tmp_path / "v") as watched:
        problems: list[str] = []
        genuine_reconcile = watched.served.reconcile

        async def reconcile(*args: Any) -> None:
            problems.extend(watched.served.problems())
            await genuine_reconcile(*args)

        monkeypatch.setattr(watched.served, "reconcile", reconcile)
        dying.set()
        await watched.until(lambda: deaths)
        watched.write("meanwhile.md")
        await watched.until(lambda: len(deaths) == 2)
        await watched.until(watched.matches_disk)
        await watched.until_watching()
        assert watched.served.problems() == []
        assert [problem.partition(" is ")[2].partition(":")[0] for problem in problems[:2]] == [
            "reconciling only"
        ] * 2


@linux_only
async def test_row_38_notes_in_folders_that_come_and_go_are_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/v1.2/deep").mkdir(parents=True)
    (tmp_path / "elsewhere/v1.2/deep/n.md").write_text("# Deep")
    async with watching(tmp_path / ".hidden/vault") as watched:
        os.rename(tmp_path / "elsewhere/v1.2", watched.path / "v1.2")
        await watched.until(lambda: watched.ids() == ["v1.2/deep/n.md"])
        os.rename(watched.path / "v1.2", watched.path / "v1.3")
        await watched.until(lambda: watched.ids() == ["v1.3/deep/n.md"])
        watched.write("v1.3/deep/m.md")
        await watched.until(lambda: len(watched.ids()) == 2)
        shutil.rmtree(watched.path / "v1.3")
        await watched.until(lambda: watched.ids() == [])


@pytest.mark.fault(row=39)
@pytest.mark.parametrize("how", ["removed", "moved", "swapped"])
async def test_row_39_a_root_made_anew_is_noticed_without_ghosts(how: str, tmp_path: Path) -> None:
    async with watching(tmp_path / "v") as watched:
        watched.write("old.md", "# Old")
        watched.write("sub/note.md", "# Sub")
        await watched.until(lambda: len(watched.ids()) == 2)
        (tmp_path / "next").mkdir()
        (tmp_path / "next/new.md").write_text("# New")
        if how == "removed":
            shutil.rmtree(watched.path)
        else:
            os.rename(watched.path, tmp_path / "away")
        if how != "swapped":
            await watched.until(lambda: watched.served.watcher == "reconciling only")
            await watched.until(watched.served.problems)
            assert "cannot be opened" in watched.served.problems()[0]
            assert len(watched.ids()) == 2, "a disk that is gone for a while loses no names"
            assert not any(isinstance(each, Note) for each in watched.served.vault.notes.read([NoteId("old.md")]))
        os.rename(tmp_path / "next", watched.path)
        await watched.until(lambda: watched.ids() == ["new.md"])
        await watched.until_watching()
        await watched.until(lambda: watched.served.problems() == [])
        assert watched.served.vault.links.resolve("Old", EMPTY_VAULT).note is None
        watched.write("later.md")
        await watched.until(lambda: watched.ids() == ["later.md", "new.md"])
        if how == "moved":
            (tmp_path / "away/ghost.md").write_text("x")
            watched.write("last.md")
            await watched.until(lambda: watched.ids() == ["last.md", "later.md", "new.md"])


# -- 40: how editors save --


def in_place(file: Path, text: str) -> None:
    with open(file, "r+") as opened:
        opened.write(text)
        opened.truncate()


def truncate_and_slow_write(file: Path, text: str) -> None:
    paused = threading.Event()
    with open(file, "w") as opened:
        opened.flush()
        for start in range(0, len(text), 400):
            paused.wait(0.03)
            opened.write(text[start : start + 400])
            opened.flush()


def atomic_rename(file: Path, text: str) -> None:
    (file.parent / ".note.tmp").write_text(text)
    os.replace(file.parent / ".note.tmp", file)


def backup_rename(file: Path, text: str) -> None:
    os.replace(file, file.parent / "note.md~")
    file.write_text(text)
    (file.parent / "note.md~").unlink()


def delete_and_create(file: Path, text: str) -> None:
    file.unlink()
    file.write_text(text)


def hundred_saves_a_second(file: Path, text: str) -> None:
    paused = threading.Event()
    for number in range(100):
        (in_place, atomic_rename, delete_and_create)[number % 3](file, f"version {number} of many\n")
        paused.wait(0.01)
    atomic_rename(file, text)


SAVES = [
    *(in_place, truncate_and_slow_write, atomic_rename, backup_rename, delete_and_create),
    hundred_saves_a_second,
]


@pytest.mark.fault(row=40)
@pytest.mark.parametrize("save", SAVES)
async def test_row_40_once_quiet_it_is_the_final_content(
    save: Callable[[Path, str], None], tmp_path: Path
) -> None:
    path = tmp_path / "v"
    path.mkdir()
    (path / NOTE).write_text("first\n" * 50)
    final = "# Final\n" + "the whole text\n" * 200
    async with watching(path) as watched:
        vault = watched.served.vault
        done = threading.Event()
        torn: list[Note] = []

        def reader() -> None:
            while not done.is_set():
                [found] = vault.notes.read([NOTE])
                # A text that is neither old nor new is what the file held at that moment; it may not outlast it.
                if (
                    isinstance(found, Note)
                    and found.text in ("", final[: len(found.text)])
                    and found.text != final
                ):
                    torn.append(found)

        reading = threading.Thread(target=reader)
        reading.start()
        await anyio.to_thread.run_sync(save, path / NOTE, final)
        [found] = vault.notes.read([NOTE])
        done.set()
        reading.join()
        assert isinstance(found, Note)
        assert (found.text, found.warnings) == (final, ())
        sha256 = hashlib.sha256(final.encode()).hexdigest()
        await watched.until(lambda: watched.recorded and watched.recorded[-1].data.sha256 == sha256)
        await watched.until(watched.matches_disk)
        assert vault.links.resolve("Final", EMPTY_VAULT).note is not None
        assert all(isinstance(each.data, c.NoteChanged | c.NoteCreated) for each in watched.recorded)
        [again] = vault.notes.read([NOTE])
        assert isinstance(again, Note)
        assert again.text == final
        if save is truncate_and_slow_write:
            assert torn, "the readers met no partial file: this test shows nothing"
