"""What a session is told: nothing where nothing changed, and never less than it has lost."""

from pathlib import Path
from typing import Any

import pytest
from support.daemon import write_vault


class Agent:
    """One session of an agent, as its runtime's hook speaks for it."""

    def __init__(self, client: Any, folder: Path, session: str = "s-1") -> None:
        self.client = client
        self.asked = {
            "client": "claude-code",
            "session": session,
            "event": "UserPromptSubmit",
            "folders": [str(folder)],
        }

    def offer(self, tell: str = "difference") -> dict[str, Any]:
        return dict(self.client.call("workspaced/volunteer", {**self.asked, "tell": tell}))

    def confirm(self, offered: dict[str, Any]) -> None:
        assert self.client.call("workspaced/volunteer/confirm", {"token": offered["token"]}) == {"recorded": True}

    def told(self, tell: str = "difference") -> str:
        """The text that the session is told; empty for nothing."""
        offered = self.offer(tell)
        if offered["text"] is None:
            return ""
        self.confirm(offered)
        return str(offered["text"])


def rename(world: Any, client: Any, old: str, new: str) -> None:
    (world.vault / old).rename(world.vault / new)
    world.publish("note_renamed", **{"from": old, "to": new})


# -- only the vault that the agent works for --


@pytest.mark.thorough
def test_a_switch_to_another_vault_meanwhile_tells_nothing_of_it(daemon: Any) -> None:
    running = daemon(notes={f"folder-{at % 50}/{at}.md": f"# {at}\n" for at in range(3_000)}, start=False)
    other = write_vault(running.root / "other", {"Elsewhere.md": "# Elsewhere\n"})
    running.flags = ("--vault", str(other))
    running.start()
    with running.connect() as client:
        here, there = (each["id"] for each in client.server["vaults"])
        client.call("workspaced/reconcile")
        running.publish("vault_switched", vaultId=there)
        running.publish("note_pinned", note="Elsewhere.md")
        told = []
        for number in range(5):
            running.publish("vault_switched", vaultId=here)
            (running.vault / ".workspacedignore").write_text(f"none-{number}\n")  # to be reconciled first
            with running.wire() as wire:
                asked = Agent(client, running.vault, f"s-{number}").asked
                offer = wire.request("workspaced/volunteer", asked)
                switch = [{"type": "vault_switched", "data": {"vaultId": there}}]
                wire.request("workspaced/publish", {"actions": switch})
                answers = [wire.line(), wire.line()]
            told += [each["result"]["text"] for each in answers if each is not None and each["id"] == offer]
        assert len(told) == 5 and "Elsewhere" not in "".join(filter(None, told))


def test_a_path_that_a_renamed_note_has_left_belongs_to_the_next_note_of_that_name(world: Any) -> None:
    with world.connect() as client:
        agent = Agent(client, world.vault)
        for note in ("Plan.md", "Ideas.md"):
            rename(world, client, note, f"Old {note}")
            world.add({note: "# Another one\n"})
        world.publish("active_note_set", note="Plan.md")
        world.publish("note_pinned", note="Old Ideas.md")
        world.publish("note_pinned", note="Ideas.md")
        whole = agent.told()
        assert "looking at: Plan.md" in whole and "Ideas.md" in whole
        assert agent.told() == "", "once"
        world.publish("note_pinned", note="Budget.md")
        assert agent.told().splitlines()[1:-1] == ["pinned since: Budget.md"], "pins stay, and nobody edited one"


# -- after a compaction the agent has nothing --


def test_a_compaction_beside_a_prompts_hook_is_told_the_whole_in_the_end(world: Any) -> None:
    with world.connect() as client:
        agent = Agent(client, world.vault)
        assert agent.told()
        world.publish("note_pinned", note="Budget.md")
        on_its_way = agent.offer()
        compacted = agent.offer("whole")
        if compacted["text"] is None:
            agent.confirm(on_its_way)
            compacted = agent.offer()
        assert compacted["text"] is not None and "vault: " in compacted["text"]


def test_a_compaction_while_the_client_is_switched_off_is_made_up_for(world: Any) -> None:
    with world.connect() as client:
        agent = Agent(client, world.vault)
        assert agent.told()
        assert world.cli("share", "claude-code", "--volunteer", "off").returncode == 0
        assert agent.told("whole") == ""
        assert world.cli("share", "claude-code", "--volunteer", "on").returncode == 0
        assert "vault: " in agent.told()
