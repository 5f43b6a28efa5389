"""Chats whose requests were overlaid, over the inspector's API: as `workspaced context show` has them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.inspector import Inspector
from support.overlaid_runtime import Runtime, looks_at


class Chat:
    """What stood in the requests of a chat, and an inspector over its log."""

    def __init__(self, running: Any, stood: list[list[str]], inspector: Inspector) -> None:
        self.running, self.stood, self.inspector = running, stood, inspector

    def shown(self, name: str) -> Any:
        return self.inspector.get(f"/api/overlaid/{name}")

    @property
    def listed(self) -> Any:
        (listed,) = self.inspector.get("/api/conversations")["overlaid"]
        return listed


@pytest.fixture(scope="module")
def chat(module_daemon: Any) -> Iterator[Chat]:
    running = module_daemon(notes={"a.md": "# A\n\nAlpha.\n", "b.md": "# B\n\nBeta.\n"})
    runtime, stood = Runtime(running), []
    for note, words in (("a.md", "One?"), ("b.md", "Two?"), ("b.md", "Three?")):
        looks_at(running, note)
        stood.append(runtime.asks(words))
    assert running.stop() == 0
    with Inspector(running.data, env=running.env) as inspector:
        yield Chat(running, stood, inspector)


def test_it_shows_what_the_command_line_shows(chat: Chat) -> None:
    listed = chat.listed
    assert (listed["caller"], listed["form"], listed["insertions"], listed["requests"]) == (
        *("agent", "anthropic"),
        *(2, 3),
    )
    shown = chat.shown(listed["chat"])
    assert [each["text"] for each in shown["insertions"]] == chat.stood[2]
    told = chat.running.cli("context", "show", listed["chat"], str(chat.running.data), "--json")
    assert shown == json.loads(told.stdout)


def test_an_insertion_is_told_without_asking_wherever_that_is_shown(chat: Chat) -> None:
    get, shown = chat.inspector.get, chat.shown(chat.listed["chat"])
    _, second = shown["insertions"]
    told = get(f"/api/calls/{second['seq']}")["told"]
    assert told == {
        "text": second["text"],
        "session": shown["chat"],
        "moment": "anthropic",
        "since": second["fromSeq"],
        "isInserted": True,
    }
    (agent,) = [each for each in get("/api/agents")["agents"] if each["client"] == "agent"]
    assert (agent["asked"]["calls"], agent["told"]["calls"]) == (0, 2)
    lanes = {each["lane"]: each["total"] for each in get("/api/timeline")["lanes"]}
    assert (lanes["volunteered"], lanes["prompts"]) == (2, 6)
