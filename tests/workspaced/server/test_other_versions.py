"""An older client with this daemon, and this version's clients with an older daemon: row 64 of the table.

Both are usual for a while after an update: editors, agents and the daemon restart at different times.
"""

import json
from typing import Any

import anyio
import pytest
from support import old_daemon as old

from workspaced import __version__, connect
from workspaced.client.async_client import Client
from workspaced.errors import RemoteError

CONNECTIONS = [
    pytest.param(connection, id=f"{file.stem}-{connection['client']}-{number}")
    for file in old.RECORDED
    for number, connection in enumerate(old.connections(file))
]
NAMED = ("subscription", "conversation")
"""What a daemon names in an answer, and a client says again."""
SOMETIMES = {"p50Us", "p99Us", "maxUs"}
"""Known of a tool once it was called."""
RENAMED = (
    "data.lastUpdated",
    "summary.pinnedNotes",
    "summary.temporaryTabs",
    "temporaryTabs[0].tabId",
    "outline[0].text",
)
"""Fields of version 1 of the answers that have another name since version 2; see CHANGELOG.md."""


def lacks(wanted: Any, found: Any, place: str = "$") -> list[str]:
    """What a client that reads `wanted` would miss in `found`; more than that is no harm."""
    if wanted is None or found is None:
        return []
    if isinstance(wanted, dict) and isinstance(found, dict):
        gone = [f"{place}.{name}" for name in wanted.keys() - found.keys() - SOMETIMES]
        both = wanted.keys() & found.keys()
        return gone + [each for name in both for each in lacks(wanted[name], found[name], f"{place}.{name}")]
    if isinstance(wanted, list) and isinstance(found, list):
        return lacks(wanted[0], found[0], f"{place}[0]") if wanted and found else []
    number = (int, float)
    same = type(wanted) is type(found) or (isinstance(wanted, number) and isinstance(found, number))
    return [] if same else [f"{place}: {type(found).__name__}, not {type(wanted).__name__}"]


def test_row_64_there_are_recordings_of_every_client() -> None:
    clients = {param.values[0]["client"] for param in CONNECTIONS}
    assert clients == {"python", "python-async", "command-line", "bridge", "typescript", "neovim"}


@pytest.mark.parametrize("connection", CONNECTIONS)
def test_row_64_what_an_older_client_asks_is_answered_as_it_reads_it(
    shared: Any, connection: dict[str, Any]
) -> None:
    with shared.connect("editor") as editor:
        editor.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    named: dict[str, str] = {}
    with shared.wire() as wire:
        pairs = iter(old.answers(connection["lines"]))
        for who, request in connection["lines"]:
            if who != "client":
                continue
            text = json.dumps(request)
            for before, now in named.items():
                text = text.replace(before, now)
            wire.send(text.encode() + b"\n")
            if "id" not in request:
                continue
            _request, recorded = next(pairs)
            while (answer := wire.line()) is not None and answer.get("id") != request["id"]:
                assert "method" in answer
            assert answer is not None, f"the daemon ended the connection at {request['method']}"
            missed = [place for place in lacks(recorded, answer) if not place.endswith(RENAMED)]
            assert [place for place in missed if "Schema." not in place] == [], (request, answer)
            result = recorded.get("result", {})
            named.update({result[name]: answer["result"][name] for name in NAMED if name in result})


def test_row_64_the_synchronous_client_works_with_an_older_daemon(older: Any) -> None:
    with connect(older.socket, name="new") as client:
        assert client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
        assert client.state()["activeNote"]
        assert client.tool("get_workspace_context")["success"]
        for method in ("workspaced/status", "workspaced/log", "workspaced/calls", "workspaced/share"):
            assert client.call(method)
        assert next(client.events(since=0)).method == "workspaced/event"


def test_row_64_so_does_the_asynchronous_client(older: Any) -> None:
    async def work() -> None:
        async with Client.open(older.socket, name="new") as client:
            assert await client.show(active="a.md")
            async with client.subscribe(since=0) as notices:
                assert (await notices.receive()).method == "workspaced/event"
            begun = {"provider": "openai", "model": "m", "contextWindow": 8_000, "outputReserve": 1_000}
            started = await client.call("workspaced/context/start", begun)
            assert started["conversation"]

    anyio.run(work)


@pytest.mark.parametrize(
    "command",
    [["status"], ["state"], ["publish", "active_note_set", "note=a.md"], ["call", "get_workspace_context"]],
    ids=lambda command: command[0],
)
def test_row_64_so_does_the_command_line(older: Any, command: list[str]) -> None:
    done = older.cli(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_row_64_so_does_the_bridge(older: Any) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_current_note"}},
    ]
    done = older.cli("mcp", stdin=b"".join(json.dumps(each).encode() + b"\n" for each in lines))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]


def test_row_64_what_an_older_daemon_does_not_know_is_said_with_both_versions(older: Any) -> None:
    with connect(older.socket) as client, pytest.raises(RemoteError) as raised:
        client.call("workspaced/share/why", {"note": "a.md"})
    assert raised.value.code == "UNKNOWN_METHOD"
    assert client.server["version"] in raised.value.hint and __version__ in raised.value.hint
    done = older.cli("share", "why", "a.md")
    assert done.returncode not in (0, 70) and "UNKNOWN_METHOD" in done.stderr
    assert "workspaced stop" in done.stderr, done.stderr


def test_row_64_the_asynchronous_client_says_so_too(older: Any) -> None:
    async def ask() -> None:
        async with Client.open(older.socket) as client:
            await client.call("workspaced/share/why", {"note": "a.md"})

    with pytest.raises(RemoteError) as raised:
        anyio.run(ask)
    assert "workspaced stop" in raised.value.hint
