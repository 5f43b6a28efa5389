"""The memory tool over the socket: its six commands, what the log says of each, and undoing."""

from typing import Any

from support.daemon import refusal
from support.memory import FLAGS, file, refused, said, undo, use, writes

PLAN = "/memories/plan.md"


def test_an_agent_keeps_a_text_reads_it_and_the_user_undoes_it(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        assert said(agent, "create", PLAN, file_text="one\ntwo\n") == f"File created successfully at: {PLAN}"
        assert file(running, "plan.md").read_text() == "one\ntwo\n"
        text = said(agent, "view", PLAN)
        assert text == f"Here's the content of {PLAN} with line numbers:\n     1\tone\n     2\ttwo"
        [write] = writes(agent)
        assert (write["command"], write["path"], write["client"]) == ("create", "Memory/plan.md", "agent")
        assert write["formerSha256"] is None and write["outcome"] == "done"
        undone = undo(agent, write["seq"])
        assert not file(running, "plan.md").exists()
        assert writes(agent)[-1]["undoes"] == write["seq"] and writes(agent)[-1]["seq"] == undone
        assert refused(agent, "view", PLAN) == "MEMORY_NOT_FOUND"


def test_an_undo_is_refused_once_the_file_has_changed(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        use(agent, "create", PLAN, file_text="one\n")
        first = writes(agent)[-1]["seq"]
        file(running, "plan.md").write_text("the user's own\n")
        assert refusal(undo, agent, first).code == "MEMORY_CHANGED"
        assert writes(agent)[-1]["seq"] == first
        assert file(running, "plan.md").read_text() == "the user's own\n"
        assert refusal(undo, agent, 1).code == "INVALID_ARGUMENT"


def test_without_a_folder_there_is_no_tool(daemon: Any) -> None:
    running = daemon()
    with running.connect("agent") as agent:
        assert "memory" not in [tool["name"] for tool in agent.call("tools/list")["tools"]]
        error = refusal(use, agent, "view", "/memories")
        assert error.code == "UNKNOWN_TOOL" and "memory" not in error.hint
        assert not (running.vault / "Memory").exists()
