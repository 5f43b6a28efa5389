"""Logs of what agents asked: the demo's morning, a chat through a proxy, a long session, and golden answers."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer
from support.proxy import Proxy

from workspaced.demo.morning import INSTALLED

GOLDEN = Path(__file__).parents[2] / "data" / "answers" / "v1.wsb"
NOTES = {f"{name}.md": f"# {name.upper()}\n\nSee [[{name}b]].\nOf {name}.\n" for name in "abcdefgh"}
LONG = 60
"""Notes that are opened one after the other in the long session."""


def proxied(factory: Any) -> Path:
    """An agent asks while its requests pass a proxy, which tells it what its user looks at."""
    running = factory(notes=NOTES)
    with running.connect("agent") as client, ModelServer() as url, Proxy(running, url) as proxy:
        said: list[dict[str, Any]] = []
        for note in ("a", "b", "a"):
            client.publish([{"type": "active_note_set", "data": {"note": f"{note}.md"}}])
            said.append({"role": "user", "content": f"What of {note}?"})
            body = {"model": "m", "max_tokens": 9, "messages": said}
            assert proxy.request("POST", "/v1/messages", body).context == "added"
            client.tool("get_current_note")
            client.tool("get_workspace_context")
            said.append({"role": "assistant", "content": f"Of {note}."})
    assert running.stop() == 0
    data: Path = running.data
    return data


def long_session(factory: Any) -> Path:
    """A user who goes from note to note, an agent that asks now and then, with a memory of its own."""
    running = factory("--memory", "Memory", notes=NOTES)
    with running.connect("editor") as editor, running.connect("agent") as agent:
        for number in range(LONG):
            note = f"{'abcdefgh'[number % 8]}.md"
            editor.publish([{"type": "active_note_set", "data": {"note": note}}])
            if number % 4 == 0:
                agent.tool("get_current_note", {"includeLinks": True})
                agent.tool("get_navigation_history", {"limit": 5})
            if number % 10 == 0:
                agent.tool("search_workspace", {"query": f"of {note[0]}"})
                agent.tool("get_note_by_reference", {"reference": f"[[{note[0]}b]]"})
                agent.tool("memory", {"command": "view", "path": "/memories"})
    assert running.stop() == 0
    data: Path = running.data
    return data


@pytest.fixture(scope="module")
def stored_log(module_daemon: Any) -> Callable[[str], Path]:
    """stored_log(name) -> a log, made when it is first asked for."""
    made: dict[str, Callable[[], Path]] = {
        "the demo's morning": lambda: INSTALLED,
        "golden answers": lambda: GOLDEN,
        "a proxied chat": lambda: proxied(module_daemon),
        "a long session": lambda: long_session(module_daemon),
    }
    return cache(lambda name: made[name]())
