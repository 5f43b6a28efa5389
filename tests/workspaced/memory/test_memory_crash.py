"""A daemon that is killed between the event of a write and its file: the next start makes log and file agree."""

import sys
from pathlib import Path
from typing import Any

import pytest
from support import dying_write
from support.memory import FLAGS, file, said, undo, use, writes

from workspaced.errors import NoDaemon

pytestmark = pytest.mark.thorough

DYING = str(Path(dying_write.__file__))
OLD, NEW = "one\ntwo\n", "one\nzwei\n"
WRITES = {
    "create": ("/memories/new.md", {"file_text": NEW}),
    "str_replace": ("/memories/plan.md", {"old_str": "two", "new_str": "zwei"}),
    "delete": ("/memories/plan.md", {}),
    "rename": ("", {"old_path": "/memories/plan.md", "new_path": "/memories/old/plan.md"}),
}
DONE = {
    "create": {"plan.md": OLD, "new.md": NEW},
    "str_replace": {"plan.md": NEW},
    "delete": {},
    "rename": {"old/plan.md": OLD},
}
IN_EVERY_RUN = {("before", "str_replace"), ("half", "create"), ("half", "rename")}
KILLS = [
    pytest.param(step, command, marks=() if (step, command) in IN_EVERY_RUN else pytest.mark.thorough)
    for step in ("before", "half", "after")
    for command in WRITES
    if step != "half" or command in ("create", "rename")
]


def files(running: Any) -> dict[str, str]:
    """Every file of the memory folder, hidden ones too."""
    top = file(running, "")
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def killed(daemon: Any, step: str, command: str) -> Any:
    """A daemon that died at this step of this write, and does not run."""
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        use(agent, "create", "/memories/plan.md", file_text=OLD)
    running.stop()
    running.wrapper = (sys.executable, DYING, step, "--")
    running.start()
    path, arguments = WRITES[command]
    with running.connect("agent") as agent, pytest.raises(NoDaemon):
        use(agent, command, path, **arguments)
    running.wait()
    running.wrapper = ()
    running.socket.unlink(missing_ok=True)
    return running


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
    running = killed(daemon, step, "str_replace")
    file(running, "plan.md").write_text("the user's own\n")
    running.start()
    assert files(running) == {"plan.md": "the user's own\n"}
    with running.connect("agent") as agent:
        assert writes(agent)[-1]["outcome"] == "unknown"
        assert "the user's own" in said(agent, "view", "/memories/plan.md")


@pytest.mark.thorough
def test_a_write_waits_for_its_folder_over_starts_without_it(daemon: Any) -> None:
    running = killed(daemon, "before", "str_replace")
    flags, running.flags = running.flags, ()
    running.start()
    with running.connect("agent") as agent:
        assert writes(agent)[-1]["outcome"] is None
    running.stop()
    assert files(running) == {"plan.md": OLD}
    running.flags = flags
    running.start()
    with running.connect("agent") as agent:
        assert writes(agent)[-1]["outcome"] == "done"
    assert files(running) == {"plan.md": NEW}


def test_a_write_to_another_folder_than_the_present_one_waits(daemon: Any) -> None:
    running = killed(daemon, "before", "str_replace")
    running.flags = ("--memory", "Elsewhere")
    running.start()
    with running.connect("agent") as agent:
        assert writes(agent)[-1]["outcome"] is None
        assert any("memory folder" in each for each in agent.call("workspaced/status")["degraded"])
    assert files(running) == {"plan.md": OLD}
