"""The memory tool over the socket: its six commands, what the log says of each, and undoing."""

from typing import Any

import pytest
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


def test_a_folder_is_moved_and_deleted_file_by_file(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        for name in ("one", "deep/two"):
            use(agent, "create", f"/memories/work/{name}.md", file_text=name)
        listed = said(agent, "view", "/memories")
        assert listed.splitlines()[1:] == [
            "0.0K\t/memories",
            "0.0K\t/memories/work",
            "0.0K\t/memories/work/deep",
            "0.0K\t/memories/work/one.md",
        ]
        said(agent, "rename", old_path="/memories/work", new_path="/memories/old/work")
        assert refused(agent, "rename", old_path="/memories/old", new_path="/memories/old/x") == "INVALID_ARGUMENT"
        assert not file(running, "work").exists()
        said(agent, "delete", "/memories/old/")
        assert list(file(running, "").iterdir()) == []
        for write in reversed(writes(agent)):
            undo(agent, write["seq"])
        assert list(file(running, "").iterdir()) == []


COMMANDS = [
    ("str_replace", {"old_str": "two", "new_str": "zwei"}, "one\nzwei\nthree\n"),
    ("insert", {"insert_line": 0, "insert_text": "zero"}, "zero\none\ntwo\nthree\n"),
]


@pytest.mark.parametrize(("command", "arguments", "text"), COMMANDS)
def test_an_edit_changes_the_file_and_is_undone(
    shared_memory: Any, command: str, arguments: dict[str, Any], text: str
) -> None:
    before = "one\ntwo\nthree\n"
    path = f"/memories/edits/{command}-{len(text)}.md"
    with shared_memory.connect("agent") as agent:
        use(agent, "create", path, file_text=before)
        assert "has been edited" in said(agent, command, path, **arguments)
        edited = file(shared_memory, path.removeprefix("/memories/"))
        assert edited.read_text() == text
        undo(agent, writes(agent)[-1]["seq"])
        assert edited.read_text() == before
