"""Attacks on the memory: by a hostile agent, by an end in the middle, by a folder that is not alone."""

import os
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support import dying_write, held_log
from support.growth import grows_linearly, thread_seconds
from support.memory import FLAGS, file, refused, said, undo, use, writes

from workspaced.errors import NoDaemon
from workspaced_tools.errors import MemoryEditFailed, MemoryPathUnusable, MemoryWriteFailed, ToolError
from workspaced_tools.memory.commands import plan, replaced
from workspaced_tools.memory.folder import Change, MemoryFolder
from workspaced_tools.memory.shared_folder import SharedFolder
from workspaced_tools.ports.questions import UseMemory
from workspaced_tools.vault.files.safe_open import VaultRoot

pytestmark = pytest.mark.thorough

PLAN = "/memories/plan.md"
OLD, NEW = "one\ntwo\n", "one\nzwei\n"
WRITES: dict[str, tuple[str, dict[str, str]]] = {
    "str_replace": (PLAN, {"old_str": "two", "new_str": "zwei"}),
    "rename": ("", {"old_path": PLAN, "new_path": "/memories/moved/plan.md"}),
}
WIDE = "\N{GRINNING FACE}" * 60


def started_or_refused(running: Any) -> bool:
    """Starts the daemon; False if it refuses its settings, which is an answer, too."""
    try:
        running.start()
    except AssertionError:
        assert running.wait() == 2, running.stderr
        return False
    return True


def interrupted(daemon: Any, step: str = "before", command: str = "str_replace") -> Any:
    """A daemon that was killed while it changed OLD to NEW in plan.md, or moved it, and does not run."""
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        said(agent, "create", PLAN, file_text=OLD)
    running.stop()
    running.wrapper = (sys.executable, str(Path(dying_write.__file__)), step, "--")
    running.start()
    with running.connect("agent") as agent, pytest.raises(NoDaemon):
        path, arguments = WRITES[command]
        use(agent, command, path, **arguments)
    running.wait()
    running.wrapper = ()
    running.socket.unlink(missing_ok=True)
    return running


@pytest.mark.parametrize("step", ["_commit_group", "_append"])
def test_a_write_that_was_refused_as_busy_is_not_made_at_the_next_start(daemon: Any, step: str) -> None:
    running = daemon(start=False)
    running.flags = FLAGS
    hold = running.root / "hold"
    running.wrapper = (sys.executable, str(Path(held_log.__file__)), str(hold), step, "--")
    running.start()
    with running.connect("agent") as agent:
        said(agent, "create", PLAN, file_text=OLD)
        hold.touch()
        assert refused(agent, "str_replace", PLAN, old_str="two", new_str="zwei") == "BUSY"
        hold.unlink()
        said(agent, "str_replace", PLAN, old_str="two", new_str="zwei")
        undo(agent, writes(agent)[-1]["seq"])
        assert file(running, "plan.md").read_text() == OLD
    running.stop()
    running.wrapper = ()
    running.start()
    assert file(running, "plan.md").read_text() == OLD, "the user undid it"
    with running.connect("agent") as agent:
        assert {write["outcome"] for write in writes(agent)} <= {"done", "failed"}


@pytest.mark.thorough
@pytest.mark.parametrize(("step", "command"), [("before", "str_replace"), ("half", "rename")])
@pytest.mark.parametrize("hidden", ["Memory/plan.md", "Memory/moved"])
def test_a_write_is_not_completed_if_the_user_has_hidden_the_file_meanwhile(
    daemon: Any, step: str, command: str, hidden: str
) -> None:
    running = interrupted(daemon, step, command)
    (running.vault / ".workspacedignore").write_text(f"{hidden}\n")
    running.start()
    if (command, hidden) == ("str_replace", "Memory/moved"):  # Another file.
        assert file(running, "plan.md").read_text() == NEW
        return
    assert file(running, "plan.md").read_text() == OLD
    assert os.listdir(file(running, "")) == ["plan.md"]
    with running.connect("agent") as agent:
        assert writes(agent)[-1]["outcome"] == "failed"


@pytest.mark.thorough
def test_a_write_is_not_completed_if_the_user_has_withdrawn_the_permission_meanwhile(daemon: Any) -> None:
    running = interrupted(daemon)
    flags, running.flags = running.flags, ()
    running.start()
    assert running.cli("share", "agent", "none").returncode == 0
    running.stop()
    running.flags = flags
    running.start()
    assert file(running, "plan.md").read_text() == OLD


def test_an_interrupted_write_waits_while_the_memory_folder_is_away(daemon: Any) -> None:
    running = interrupted(daemon)
    away = running.root / "away"
    file(running, "").rename(away)
    running.start()
    with running.connect("agent") as agent:
        assert not file(running, "").exists(), "a start makes no folder"
        assert writes(agent)[-1]["outcome"] is None
    running.stop()
    away.rename(file(running, ""))
    running.start()
    assert file(running, "plan.md").read_text() == NEW


@pytest.mark.parametrize("name", ["secret.md", "secret.txt"])
def test_what_another_vault_inside_the_memory_folder_withholds_is_not_deleted(daemon: Any, name: str) -> None:
    running = daemon(start=False)
    inner = file(running, "inner")
    inner.mkdir(parents=True)
    (inner / ".workspacedignore").write_text("secret.*\n")
    (inner / name).write_text("xyzzy\n")
    running.flags = (*FLAGS, "--vault", str(inner))
    if not started_or_refused(running):
        return
    with running.connect("agent") as agent:
        use(agent, "delete", f"/memories/inner/{name}")
    assert (inner / name).exists()


def test_a_name_is_taken_by_a_file_whose_name_is_the_same_in_another_normal_form(daemon: Any) -> None:
    users = unicodedata.normalize("NFD", "Memory/é.md")
    running = daemon(*FLAGS, notes={users: "---\nworkspaced: private\n---\nmine\n"})
    with running.connect("agent") as agent:
        created = use(agent, "create", "/memories/é.md", file_text="the agent's")
        note = agent.tool("get_note_by_reference", {"reference": "Memory/é.md"})
    assert not created["success"], "two files have one path in the vault"
    assert "the agent's" not in str(note), "the agent's text stands for the user's note"
    assert len(os.listdir(file(running, ""))) == 1


@pytest.mark.thorough
def test_a_folder_of_files_with_long_names_can_be_deleted_and_moved(daemon: Any) -> None:
    running = daemon(*FLAGS)
    deep = file(running, "/".join([WIDE] * 7))
    deep.mkdir(parents=True)
    for number in range(400):
        (deep / f"{number}.txt").write_text("x")
    with running.connect("agent") as agent:
        moved = use(agent, "rename", old_path=f"/memories/{WIDE}", new_path=f"/memories/{WIDE[1:]}x")
        deleted = use(agent, "delete", f"/memories/{WIDE[1:]}x")
    assert (moved.get("code"), deleted.get("code")) == (None, None)


def test_a_start_removes_no_hidden_file_that_is_not_its_own(daemon: Any) -> None:
    running = daemon(start=False)
    users = file(running, ".workspaced-notes.tmp")
    users.parent.mkdir()
    users.write_text("the user's own\n")
    running.flags = FLAGS
    running.start()
    assert users.exists()


@pytest.mark.parametrize("name", ["\u3164.md", "\u2800.md", "plan\ufe0f.md", "a\u115fb.md"])
def test_a_name_that_people_cannot_tell_from_another_is_refused(daemon: Any, name: str) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        assert refused(agent, "create", f"/memories/{name}", file_text="x") == "INVALID_ARGUMENT"


def test_a_new_file_that_the_disk_refuses_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Memory").mkdir()
    folder = MemoryFolder(VaultRoot(tmp_path), ("Memory",))

    def refuses(*_given: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", refuses)
    with pytest.raises(MemoryWriteFailed):
        folder.apply(Change(("deep", "deeper", "a.md"), None, OLD.encode()))
    assert os.listdir(tmp_path / "Memory") == [], "nothing changed"


def test_a_move_that_the_disk_refuses_at_its_sync_leaves_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Memory").mkdir()
    (tmp_path / "Memory" / "a.md").write_text(OLD)
    folder = MemoryFolder(VaultRoot(tmp_path), ("Memory",))

    def refuses(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuses)
    with pytest.raises(MemoryWriteFailed):
        folder.apply(Change(("b.md",), OLD.encode(), OLD.encode(), ("a.md",)))
    assert os.listdir(tmp_path / "Memory") == ["a.md"], "nothing changed"


def test_a_name_of_an_outside_file_that_goes_while_it_is_read_shows_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Memory").mkdir()
    (tmp_path / "outside.md").write_text("xyzzy\n")
    second = tmp_path / "Memory" / "a.md"
    second.hardlink_to(tmp_path / "outside.md")
    folder = MemoryFolder(VaultRoot(tmp_path), ("Memory",))
    fstat = os.fstat

    def after_it_went(descriptor: int) -> os.stat_result:
        if fstat(descriptor).st_nlink == 2 and fstat(descriptor).st_size == len("xyzzy\n"):
            second.unlink(missing_ok=True)
        return fstat(descriptor)

    monkeypatch.setattr(os, "fstat", after_it_went)
    try:
        content = folder.read(("a.md",))
    except MemoryPathUnusable:
        content = None
    assert not second.exists() and content is None


def test_a_move_onto_the_memory_folder_itself_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "Memory"
    memory.mkdir()
    (memory / "a.md").write_text(OLD)
    shared = SharedFolder(MemoryFolder(VaultRoot(tmp_path), ("Memory",)), "Memory/", None)
    read = SharedFolder.read

    def and_the_user_removes_it(folder: SharedFolder, path: tuple[str, ...]) -> bytes | None:
        content = read(folder, path)
        (memory / "a.md").unlink(missing_ok=True)
        return content

    monkeypatch.setattr(SharedFolder, "read", and_the_user_removes_it)
    with pytest.raises(ToolError):
        plan(UseMemory("rename", "/memories/a.md", to="/memories"), shared)


def test_looking_for_a_text_takes_no_time_by_the_square_of_the_file() -> None:
    def seconds(size: int) -> float:
        def look() -> None:
            with pytest.raises(MemoryEditFailed):
                replaced("a" * size, "a" * (size // 2), "b", PLAN)

        return thread_seconds(look)

    assert grows_linearly(seconds, 16_384, 65_536)
