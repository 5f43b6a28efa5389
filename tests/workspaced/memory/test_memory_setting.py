"""The setting `memory`: a folder in each vault, or one beside them, and nothing else."""

from typing import Any

import pytest
from support.memory import said

REFUSED = ["../outside", ".hidden", ".", "a/../../b", "VAULT/Memory", "ROOT", "DATA/x"]


@pytest.mark.parametrize("setting", REFUSED)
def test_a_folder_that_is_not_the_agents_to_have_stops_the_start(daemon: Any, setting: str) -> None:
    running = daemon(start=False)
    places = {"VAULT": running.vault, "DATA": running.data, "ROOT": running.root}
    for name, place in places.items():
        setting = setting.replace(name, str(place))
    running.flags = ("--memory", setting)
    running.spawn()
    assert running.wait() == 2
    assert "Setting 'memory'" in "\n".join(running.stderr)


def test_it_may_be_a_folder_in_a_folder_and_is_made_at_the_first_write(daemon: Any) -> None:
    running = daemon("--memory", "Agents/Memory/")
    with running.connect("agent") as agent:
        assert said(agent, "view", "/memories").splitlines()[1:] == ["0.0K\t/memories"]
        assert not (running.vault / "Agents").exists()
        said(agent, "create", "/memories/plan.md", file_text="one\n")
        assert (running.vault / "Agents" / "Memory" / "plan.md").read_text() == "one\n"


def test_a_folder_beside_the_vaults_that_is_a_link_is_not_used(daemon: Any) -> None:
    running = daemon(start=False)
    outside = running.root / "outside"
    outside.mkdir()
    (running.root / "beside").symlink_to(outside)
    running.flags = ("--memory", str(running.root / "beside"))
    running.start()
    with running.connect("agent") as agent:
        answer = agent.tool("memory", {"command": "create", "path": "/memories/a.md", "file_text": "x"})
        assert answer["code"] == "MEMORY_PATH_UNUSABLE"
    assert list(outside.iterdir()) == []
