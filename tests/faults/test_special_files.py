"""Row 33 over a real daemon: FIFOs, sockets, folders and devices that are called like notes or like our own files.

Nobody waits for them; the person's own status names them, once; agents get a count.
"""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bridge import META

from workspaced_tools.tools.registry import TOOLS

Json = dict[str, Any]
SPECIAL = ("pipe-of-mine.md", "socket-of-mine.md", "folder-of-mine.md", "deep/pipe-of-mine.md")
RECONCILES = 5
SETTINGS = {"provider": "anthropic", "model": "m", "contextWindow": 50_000, "outputReserve": 1_000}


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as made:
        yield made


def make_special(vault: Path, listener: socket.socket) -> None:
    (vault / "deep").mkdir()
    os.mkfifo(vault / SPECIAL[0])
    listener.bind(str(vault / SPECIAL[1]))
    (vault / SPECIAL[2]).mkdir()
    os.mkfifo(vault / SPECIAL[3])


def over_mcp(running: Any, method: str, **params: Any) -> Json:
    """The whole answer that an agent gets."""
    with running.wire() as wire:
        wire.ask("tools/list", {"_meta": META})  # by which the daemon knows what it speaks
        answer: Json = wire.ask(method, {"_meta": META, **params})
        return answer


def everything_of(running: Any, note: str) -> list[Json]:
    """What an agent and its runtime get, who ask for the note wherever they can; a wait would be an error."""
    found = []
    for name, tool in TOOLS.items():
        given = {"reference": note, "folder": note, "query": "note"}
        arguments = {each: given[each] for each in tool.input_schema["properties"] if each in given}
        found.append(over_mcp(running, "tools/call", name=name, arguments=arguments))
    found.append(over_mcp(running, "resources/read", uri=f"workspace://note/{note}"))
    with running.wire() as wire:
        wire.ask("workspaced/hello", {"client": {"name": "runtime"}})
        wire.ask("workspaced/publish", {"actions": [{"type": "active_note_set", "data": {"note": note}}]})
        talk = {"conversation": f"talk of {note}"}
        attached = [{"kind": kind, "id": note} for kind in ("note", "active_note", "folder", "image")]
        message = {"id": "m", "role": "user", "text": "?", "attachments": attached}
        wire.ask("workspaced/context/start", {**talk, **SETTINGS})
        wire.ask("workspaced/context/message", {**talk, "messages": [message]})
        found.append(wire.ask("workspaced/context/assemble", talk))
        found.append(wire.ask("workspaced/publish", {"actions": [{"type": "active_note_cleared", "data": {}}]}))
    return found


def status(running: Any) -> list[str]:
    """The warnings on the person's own command line."""
    [vault] = json.loads(running.cli("status", "--json").stdout)["vaults"]
    warnings: list[str] = vault["warnings"]
    return warnings


@pytest.mark.fault(row=33)
def test_row_33_agents_get_a_count_and_the_person_the_names(daemon: Any, listener: socket.socket) -> None:
    running = daemon(start=False)
    make_special(running.vault, listener)
    running.start()
    for _ in range(RECONCILES):
        running.reconcile()
    [warning] = status(running)
    assert warning.startswith("4 ") and "of-mine" in warning
    assert sum("of-mine" in line for line in running.stderr) <= 1
    answers = [
        over_mcp(running, "workspaced/status"),
        *(over_mcp(running, "tools/call", name=name, arguments=arguments) for name, arguments in UNNAMED),
        *(
            over_mcp(running, "resources/read", uri=uri)
            for uri in ("workspace://context", "workspace://note/current")
        ),
    ]
    assert "of-mine" not in json.dumps(answers)
    [vault] = answers[0]["result"]["vaults"]
    assert [each for each in vault["warnings"] if each.startswith("4 ")] == vault["warnings"]


UNNAMED: list[tuple[str, Json]] = [
    ("get_workspace_context", {"includeContent": True}),
    ("get_workspace_summary", {}),
    ("get_note_by_reference", {"reference": "pipe"}),
    ("get_note_by_reference", {"reference": "mine"}),
    ("search_workspace", {"query": "mine"}),
    ("search_workspace", {"query": "note", "folder": "deep"}),
    ("get_navigation_history", {}),
    ("get_related_notes", {"reference": "a.md"}),
]


@pytest.mark.fault(row=33)
@pytest.mark.parametrize("note", SPECIAL)
def test_row_33_who_asks_for_one_is_answered_at_once(note: str, daemon: Any, listener: socket.socket) -> None:
    running = daemon(start=False)
    make_special(running.vault, listener)
    running.start()
    for answer in everything_of(running, note):
        assert "result" in answer or answer["error"]["data"]["code"] in ("READ_ERROR", "NOTE_NOT_FOUND"), answer
    [found] = [
        over_mcp(running, "tools/call", name="get_note_by_reference", arguments={"reference": note})["result"]
    ]
    assert found["structuredContent"]["code"] == ("NOTE_NOT_FOUND" if note.startswith("folder") else "READ_ERROR")
    assert over_mcp(running, "tools/call", name="get_note_by_reference", arguments={"reference": "a.md"})["result"]


@pytest.mark.fault(row=33)
@pytest.mark.parametrize("name", [".workspacedignore", "a.md", "work/plan.md"])
def test_row_33_a_file_that_becomes_a_pipe_keeps_nobody_waiting(name: str, daemon: Any) -> None:
    running = daemon()
    place = running.vault / name
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        place.unlink(missing_ok=True)
        os.mkfifo(place)
        client.call("workspaced/reconcile")
        for note in ("a.md", "b.md", "work/plan.md"):
            everything_of(running, note)
        place.unlink()
        client.call("workspaced/reconcile")
        assert client.tool("get_note_by_reference", {"reference": "b.md"})["success"]


@pytest.mark.fault(row=33)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device files")
def test_row_33_a_device_is_counted_for_agents_and_read_by_nobody(daemon: Any) -> None:
    running = daemon(start=False)
    try:
        os.mknod(running.vault / "device-of-mine.md", 0o20666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("device files are not permitted here")
    running.start()
    running.reconcile()
    everything_of(running, "device-of-mine.md")
    assert "of-mine" not in json.dumps(over_mcp(running, "workspaced/status")["result"]["vaults"])
    [warning] = status(running)
    assert warning.startswith("1 ")
