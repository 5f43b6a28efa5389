"""Sections and followed links through every door of a daemon: MCP, client, command line, past and log."""

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
    {"reference": "[[#Part]]", "from": "b/Home"},
    {"reference": "a/Home#Part", "whole": True},
    {"reference": "a/Home#Nowhere"},
    {"reference": "Home", "from": "none.md"},
)


@pytest.fixture(scope="module")
def served(module_daemon: Callable[..., Any]) -> Any:
    return module_daemon(notes=NOTES)


def asked(daemon: Any, **arguments: Any) -> Any:
    with daemon.connect("agent") as client:
        return client.tool("get_note_by_reference", arguments)


def test_a_link_opens_the_section_of_the_note_that_a_click_opens(served: Any) -> None:
    data = asked(served, **FOLLOWED[0])["data"]
    assert (data["id"], data["content"]) == ("Home.md", "## Part\n\nIn the root.\n")
    data = asked(served, **FOLLOWED[1])["data"]
    assert (data["id"], data["content"]) == ("a/Home.md", "## Part\n\nBelow a.\n\n")
    assert [each["title"] for each in data["outline"]] == ["Home", "Part", "Next"]
    assert asked(served, **FOLLOWED[2])["data"]["id"] == "b/Home.md"
    assert asked(served, **FOLLOWED[3])["data"]["content"] == NOTES["a/Home.md"]
    missing = asked(served, **FOLLOWED[4])
    assert (missing["code"], missing["data"]["outlineTotal"]) == ("SECTION_NOT_FOUND", 3)
    assert asked(served, **FOLLOWED[5])["code"] == "NOTE_NOT_FOUND"


def test_what_links_to_any_note_is_asked_with_each_occurrence(served: Any) -> None:
    links = asked(served, reference="Home.md", includeLinks=True)["data"]["links"]
    assert [(each["line"], each.get("heading")) for each in links["incoming"]] == [
        (1, "Part"),
        (1, None),
        (3, None),
    ]
    links = asked(served, reference="a/s.md", includeLinks=True)["data"]["links"]
    assert [(each["id"], each["line"], each.get("heading")) for each in links["outgoing"]] == [
        ("Home.md", 1, "Part"),
        ("Home.md", 1, None),
        ("Home.md", 3, None),
    ]


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


def plain(result: dict[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(result)
    answers.fill("get_note_by_reference", result)
    return {name: value for name, value in result.items() if name != "asOfSeq"}


def test_a_resource_may_name_a_section(served: Any, modern: Callable[..., Any]) -> None:
    peer = modern(served)
    [content] = peer.result("resources/read", uri="workspace://note/a/Home%23Part")["contents"]
    assert json.loads(content["text"])["data"]["content"] == "## Part\n\nBelow a.\n\n"
    assert peer.error("resources/read", uri="workspace://note/a/Home%23No")["code"] == -32602


def test_a_client_that_is_shown_names_learns_no_heading_and_no_link(served: Any) -> None:
    with served.connect("person") as client:
        client.call("workspaced/share", {"client": "curious", "level": "names"})
    with served.connect("curious") as client:
        for reference in ("[[Home#Part]]", "[[Home#Nowhere]]", "[[Home#^none]]"):
            arguments = {"reference": reference, "from": "a/s.md", "includeLinks": True, "includeOutline": True}
            result = client.tool("get_note_by_reference", arguments)
            assert result["data"].keys() == {"id", "title", "resolvedBy", "type", "exists", "archived"}
            assert result["data"]["id"] == "Home.md"


def test_calls_are_made_again_and_asked_again_of_the_past(daemon: Callable[..., Any]) -> None:
    running = daemon(notes=NOTES)
    answers = [asked(running, **arguments) for arguments in FOLLOWED]
    with running.connect("agent") as client:
        seq = client.call("workspaced/status")["seq"]
    (running.vault / "Home.md").write_text("No part.\n")
    (running.vault / "a/Home.md").write_text("## Other\n")
    past = [asked(running, **arguments, at=seq) for arguments in FOLLOWED]
    assert [plain(each) for each in past[:5]] == [plain(each) for each in answers[:5]]
    assert running.stop() == 0
    done = running.cli("replay", str(running.data), "--verify", "--json")
    outcomes = [json.loads(line)["outcome"] for line in done.stdout.splitlines()]
    assert set(outcomes) == {"same"} and len(outcomes) >= len(FOLLOWED)
    done = running.cli("call", "get_note_by_reference", "--log", str(running.data), "--at", str(seq), "--json",
                       "--args", json.dumps(FOLLOWED[1]))  # fmt: skip
    assert plain(json.loads(done.stdout)) == plain(answers[1])
