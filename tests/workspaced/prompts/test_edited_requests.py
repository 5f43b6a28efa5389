"""One request that removes messages and adds others: an editor sends the edited end of a conversation again."""

from typing import Any

SETTINGS = {"provider": "openai", "model": "gpt-x", "context_window": 100_000, "output_reserve": 1_000}


def user(name: str, text: str) -> dict[str, Any]:
    return {"role": "user", "id": name, "text": text}


def test_messages_behind_a_removed_one_may_come_again_with_another_text(client: Any) -> None:
    client.context.start(conversation="edited", **SETTINGS)
    client.context.message("edited", user("m1", "One."), user("m2", "Two."), user("m3", "Three."))
    client.context.message("edited", user("m3", "Drei."), remove="m2", following=True)
    log = client.call("workspaced/log", {"types": ["message_added", "message_removed"]})["events"]
    told = [(each["type"], each["data"]["message"]) for each in log if each["data"]["conversation"] == "edited"]
    added = [("message_added", name) for name in ("m1", "m2", "m3")]
    assert told == [*added, ("message_removed", "m2"), ("message_added", "m3")]
    prompt = str(client.context.assemble("edited")["messages"])
    assert "One." in prompt and "Drei." in prompt and "Two." not in prompt and "Three." not in prompt
