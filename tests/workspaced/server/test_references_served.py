"""Sections and followed links through every door: a client, MCP, resources, the command line, the log."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from support import answers

NOTES = {
    "a/s.md": "To [[Home#Part|it]], [[Home]] and\n\n[up](../Home.md).\n",
    "a/Home.md": "# Home\n\n## Part\n\nBelow a.\n\n## Next\n\nx\n",
    "b/Home.md": "## Part\n\nBelow b.\n",
    "Home.md": "## Part\n\nIn the root.\n",
}
FOLLOWED: tuple[dict[str, Any], ...] = (
    {"reference": "[[Home#Part|it]]", "from": "a/s.md"},
    {"reference": "./Home#Part", "from": "a/s.md", "includeLinks": True, "includeOutline": True},
    {"reference": "a/Home#Part", "whole": True},
    {"reference": "a/Home#Nowhere"},
)


@pytest.fixture(scope="module")
def served(module_daemon: Callable[..., Any]) -> Any:
    return module_daemon(notes=NOTES)


def asked(daemon: Any, **arguments: Any) -> Any:
    with daemon.connect("agent") as client:
        return client.tool("get_note_by_reference", arguments)


@pytest.mark.parametrize("arguments", FOLLOWED, ids=str)
def test_every_door_gives_the_same_answer(
    served: Any, modern: Callable[..., Any], handshake: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    expected = asked(served, **arguments)
    for era in (modern, handshake):
        result = era(served).call("get_note_by_reference", **arguments)
        assert plain(result["structuredContent"]) == plain(expected)
        assert result.get("isError", False) is not expected["success"]
    words = [f"{name}={json.dumps(value) if value is True else value}" for name, value in arguments.items()]
    done = served.cli("call", "get_note_by_reference", *words, "--json")
    assert plain(json.loads(done.stdout)) == plain(expected)
    assert done.returncode == (0 if expected["success"] else 1)
    at = json.loads(served.cli("state", "--json").stdout)["seq"]
    given = json.dumps(arguments)
    past = served.cli("call", "get_note_by_reference", "--args", given, "--at", str(at), "--json")
    assert plain(json.loads(past.stdout)) == plain(expected)
    with served.connect() as client:
        client.call("workspaced/calls")  # until all is recorded
    of_log = ("--log", str(served.data), "--at", str(at), "--json")
    assert plain(
        json.loads(served.cli("call", "get_note_by_reference", "--args", given, *of_log).stdout)
    ) == plain(expected)


def plain(result: dict[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(result)
    answers.fill("get_note_by_reference", result)
    return {name: value for name, value in result.items() if name != "asOfSeq"}


def test_a_resource_may_name_a_section(served: Any, modern: Callable[..., Any]) -> None:
    peer = modern(served)
    [content] = peer.result("resources/read", uri="workspace://note/a/Home%23Part")["contents"]
    assert json.loads(content["text"])["data"]["content"] == "## Part\n\nBelow a.\n\n"
    assert peer.error("resources/read", uri="workspace://note/a/Home%23No")["code"] == -32602
