"""The memory tool and the share policy: who may use it, and what does not exist for it."""

import json
import os
import unicodedata
from typing import Any

import pytest
from support.memory import FLAGS, file, refused, said, undo, use, writes

PRIVATE = "---\nworkspaced: private\n---\nThe passphrase is xyzzy.\n"
KEPT = {
    "Memory/diary.md": PRIVATE,
    "Memory/plan.md": "one\n",
    "Memory/secret/key.md": "xyzzy\n",
    "Memory/a.txt": PRIVATE,
    "Memory/long.md": PRIVATE + "long " * 40_000,
}


@pytest.fixture(scope="module")
def withholding(module_daemon: Any) -> Any:
    return module_daemon(*FLAGS, "--deny", "secret/", notes=KEPT)


@pytest.mark.parametrize("level", ["names", "none"])
def test_a_client_without_the_level_all_cannot_use_it(daemon: Any, level: str) -> None:
    running = daemon(*FLAGS, notes={"Memory/plan.md": "one\n"})
    assert running.cli("share", "agent", level).returncode == 0
    with running.connect("agent") as agent:
        for command, arguments in (("view", {}), ("delete", {}), ("create", {"file_text": "x"})):
            assert refused(agent, command, "/memories/plan.md", **arguments) == "SHARING_OFF"
        assert writes(agent) == []
    assert file(running, "plan.md").read_text() == "one\n"


def test_what_is_withheld_is_neither_listed_nor_read(withholding: Any) -> None:
    with withholding.connect("agent") as agent:
        listed = said(agent, "view", "/memories")
        assert "plan.md" in listed
        assert not any(name in listed for name in ("diary", "secret", "key", "a.txt", "long"))
        for path in ("diary.md", "secret/key.md", "secret", "a.txt", "long.md"):
            result = use(agent, "view", f"/memories/{path}")
            assert result["code"] == "MEMORY_NOT_FOUND" and "xyzzy" not in json.dumps(result)


def test_what_is_withheld_is_not_overwritten(withholding: Any) -> None:
    changes: list[tuple[str, str, dict[str, Any]]] = [
        ("create", "MEMORY_PATH_UNUSABLE", {"file_text": "mine"}),
        ("str_replace", "MEMORY_NOT_FOUND", {"old_str": "xyzzy", "new_str": "mine"}),
        ("insert", "MEMORY_NOT_FOUND", {"insert_line": 0, "insert_text": "mine"}),
        ("delete", "MEMORY_NOT_FOUND", {}),
    ]
    with withholding.connect("agent") as agent:
        for name in ("diary.md", "secret/key.md", "a.txt", "long.md"):
            before = file(withholding, name).read_text()
            for command, code, arguments in changes:
                assert refused(agent, command, f"/memories/{name}", **arguments) == code
            for old, new in ((name, "moved.md"), ("plan.md", name)):
                assert refused(agent, "rename", old_path=f"/memories/{old}", new_path=f"/memories/{new}")
            assert file(withholding, name).read_text() == before


def test_a_folder_goes_without_what_is_withheld_in_it(daemon: Any) -> None:
    running = daemon(*FLAGS, notes={"Memory/work/diary.md": PRIVATE, "Memory/work/plan.md": "one\n"})
    with running.connect("agent") as agent:
        assert said(agent, "delete", "/memories/work") == "Successfully deleted /memories/work"
        assert [write["path"] for write in writes(agent)] == ["Memory/work/plan.md"]
        assert file(running, "work/diary.md").read_text() == PRIVATE
        assert refused(agent, "view", "/memories/work") == "MEMORY_NOT_FOUND"
        undo(agent, writes(agent)[-1]["seq"])
        assert file(running, "work/plan.md").read_text() == "one\n"


def test_a_note_that_becomes_private_is_gone_at_once(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        use(agent, "create", "/memories/plan.md", file_text="one\n")
        file(running, "plan.md").write_text(PRIVATE)
        assert refused(agent, "view", "/memories/plan.md") == "MEMORY_NOT_FOUND"
        assert refused(agent, "delete", "/memories/plan.md") == "MEMORY_NOT_FOUND"
        assert "plan" not in said(agent, "view", "/memories")


def test_a_name_is_taken_by_a_file_whose_name_is_the_same_in_another_normal_form(daemon: Any) -> None:
    users = unicodedata.normalize("NFD", "Memory/é.md")
    running = daemon(*FLAGS, notes={users: "---\nworkspaced: private\n---\nmine\n"})
    with running.connect("agent") as agent:
        created = use(agent, "create", "/memories/é.md", file_text="the agent's")
        note = agent.tool("get_note_by_reference", {"reference": "Memory/é.md"})
    assert not created["success"], "two files have one path in the vault"
    assert "the agent's" not in str(note), "the agent's text stands for the user's note"
    assert len(os.listdir(file(running, ""))) == 1
