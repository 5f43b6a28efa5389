"""The index of the memory in the first layer of prompts: names, taken when a conversation begins."""

from typing import Any

from support.memory import FLAGS, said

SETTINGS: dict[str, Any] = {"provider": "p", "model": "m", "context_window": 100_000, "output_reserve": 1_000}


def begun(client: Any, name: str, **more: Any) -> str:
    """Begins a conversation, or changes it; its first layer in the next prompt."""
    client.context.start(conversation=name, **{**SETTINGS, **more})
    client.context.message(name, {"role": "user", "text": "Well?"})
    return first_layer(client, name)


def first_layer(client: Any, name: str) -> str:
    layers = client.context.assemble(name)["layers"]
    return str(next(each["text"] for each in layers if each["id"] == "L1_SYSTEM"))


def test_it_names_the_files_as_they_were_when_the_conversation_began(daemon: Any) -> None:
    running = daemon(*FLAGS)
    with running.connect("agent") as agent:
        said(agent, "create", "/memories/plan.md", file_text="The passphrase is xyzzy.\n")
        before = begun(agent, "one")
        assert "/memories/plan.md" in before and "xyzzy" not in before
        said(agent, "create", "/memories/later.md", file_text="more")
        assert first_layer(agent, "one") == before
        assert begun(agent, "one") == before
        assert "/memories/later.md" in begun(agent, "two")
        done = running.cli("replay", str(running.data), "--verify")
        assert done.returncode == 0, done.stdout


def test_only_a_client_that_may_use_the_memory_is_told_of_it(daemon: Any) -> None:
    private = "---\nworkspaced: private\n---\n"
    running = daemon(*FLAGS, notes={"Memory/plan.md": "one", "Memory/diary.md": private})
    assert running.cli("share", "curious", "names").returncode == 0
    with running.connect("curious") as curious, running.connect("agent") as agent:
        assert "/memories" not in begun(curious, "one")
        layer = begun(agent, "two")
        assert "/memories/plan.md" in layer and "diary" not in layer
    running.stop()
    running.flags = ()
    running.start()
    with running.connect("agent") as agent:
        assert "/memories" not in begun(agent, "three")
