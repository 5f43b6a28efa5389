"""A daemon that ends between the event of a write and its file: the next start makes log and file agree."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support import dying_write, held_log
from support.memory import FLAGS, file, refused, said, undo, use, writes

from workspaced.errors import NoDaemon

pytestmark = pytest.mark.thorough

PLAN = "/memories/plan.md"
OLD, NEW = "one\ntwo\n", "one\nzwei\n"
WRITES: dict[str, tuple[str, dict[str, str]]] = {
    "create": ("/memories/new.md", {"file_text": NEW}),
    "str_replace": (PLAN, {"old_str": "two", "new_str": "zwei"}),
    "delete": (PLAN, {}),
    "rename": ("", {"old_path": PLAN, "new_path": "/memories/old/plan.md"}),
}
DONE = {
    "create": {"plan.md": OLD, "new.md": NEW},
    "str_replace": {"plan.md": NEW},
    "delete": {},
    "rename": {"old/plan.md": OLD},
}
KILLS = [
    (step, command)
    for step in ("before", "half", "after")
    for command in WRITES
    if step != "half" or command in ("create", "rename")
]


def files(running: Any) -> dict[str, str]:
    """Every file of the memory folder, hidden ones too."""
    top = file(running, "")
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def killed(daemon: Any, step: str = "before", command: str = "str_replace") -> Any:
    """A daemon that died at this step of this write, and does not run."""
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        said(agent, "create", PLAN, file_text=OLD)
    running.stop()
    running.wrapper = (sys.executable, str(Path(dying_write.__file__)), step, "--")
    running.start()
    path, arguments = WRITES[command]
    with running.connect("agent") as agent, pytest.raises(NoDaemon):
        use(agent, command, path, **arguments)
    running.wait()
    running.wrapper = ()
    running.socket.unlink(missing_ok=True)
    return running


def outcome(running: Any) -> Any:
    """What became of the last write, as the log has it."""
    with running.connect("agent") as agent:
        return writes(agent)[-1]["outcome"]


@pytest.mark.fault(row=65)
@pytest.mark.parametrize(("step", "command"), KILLS)
def test_a_write_that_a_kill_interrupted_is_completed_at_the_next_start(
    daemon: Any, step: str, command: str
) -> None:
    running = killed(daemon, step, command).start()
    assert files(running) == DONE[command]
    with running.connect("agent") as agent:
        write = writes(agent)[-1]
        assert (write["command"], write["outcome"]) == (command, "done")
        undo(agent, write["seq"])
        assert files(running) == {"plan.md": OLD}


@pytest.mark.fault(row=65)
@pytest.mark.parametrize("step", ["before", "after"])
def test_a_file_that_changed_before_the_next_start_stays_and_the_outcome_is_unknown(
    daemon: Any, step: str
) -> None:
    running = killed(daemon, step)
    file(running, "plan.md").write_text("the user's own\n")
    running.start()
    assert files(running) == {"plan.md": "the user's own\n"} and outcome(running) == "unknown"


@pytest.mark.parametrize("folder", ["none", "another", "away"])
def test_a_write_waits_over_starts_without_its_folder(daemon: Any, folder: str) -> None:
    running = killed(daemon)
    away = running.root / "away"
    if folder == "away":
        file(running, "").rename(away)
    else:
        running.flags = () if folder == "none" else ("--memory", "Elsewhere")
    running.start()
    assert outcome(running) is None
    if folder == "another":
        assert any("memory folder" in each for each in running.call("workspaced/status")["degraded"])
    running.stop()
    if folder == "away":
        assert not file(running, "").exists(), "a start makes no folder"
        away.rename(file(running, ""))
    assert files(running) == {"plan.md": OLD}
    running.flags = FLAGS
    running.start()
    assert outcome(running) == "done" and files(running) == {"plan.md": NEW}


@pytest.mark.parametrize(
    ("step", "command", "hidden"),
    [
        ("before", "str_replace", "Memory/plan.md"),
        ("half", "rename", "Memory/plan.md"),
        ("half", "rename", "Memory/old"),
    ],
)
def test_a_write_is_not_completed_if_the_user_has_hidden_the_file_meanwhile(
    daemon: Any, step: str, command: str, hidden: str
) -> None:
    running = killed(daemon, step, command)
    (running.vault / ".workspacedignore").write_text(f"{hidden}\n")
    running.start()
    assert files(running) == {"plan.md": OLD} and os.listdir(file(running, "")) == ["plan.md"]
    assert outcome(running) == "failed"


def test_a_write_is_not_completed_if_the_user_has_withdrawn_the_permission_meanwhile(daemon: Any) -> None:
    running = killed(daemon)
    running.flags = ()
    running.start()
    assert running.cli("share", "agent", "none").returncode == 0
    running.stop()
    running.flags = FLAGS
    running.start()
    assert files(running) == {"plan.md": OLD}


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
        assert files(running) == {"plan.md": OLD}
    running.stop()
    running.wrapper = ()
    running.start()
    assert files(running) == {"plan.md": OLD}, "the user undid it"
    with running.connect("agent") as agent:
        assert {write["outcome"] for write in writes(agent)} <= {"done", "failed"}


def test_a_start_removes_no_hidden_file_that_is_not_its_own(daemon: Any) -> None:
    running = daemon(start=False)
    users = file(running, ".workspaced-notes.tmp")
    users.parent.mkdir()
    users.write_text("the user's own\n")
    running.flags = FLAGS
    running.start()
    assert users.exists()
