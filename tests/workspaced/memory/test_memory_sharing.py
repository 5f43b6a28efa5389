"""The memory tool and the share policy: who may use it, and what does not exist for it."""

import json
from typing import Any

import pytest
from support.memory import FLAGS, file, refused, said, use, writes

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
