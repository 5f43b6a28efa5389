"""Requests as agents' programs send them, and what must come back: one file a case, in `agents/`.

A case is TOML: `follows` (the public report or document, `repository#number`), `right` (what the client
expects), `send` (lines; `{vault}` in them is the vault's folder), and `[[answers]]`: for each message that
comes back its `id`, and `answer`, `holds` and `lacks` (see test_notes.py). Nothing else may come back.
Optionally `speaks`: the version of MCP that a handshake before agrees on, `native`, or `nothing` for none
(default: 2025-06-18); `encoding` of the lines; `ended = false`: the last one has no LF; `bridge = true`: the
same must come through `workspaced mcp`.
"""

import json
import re
import socket
from pathlib import Path
from typing import Any, Final

import pytest
from support import mcp_schema
from support.daemon import ANSWER_S, Daemon, Factory
from support.world import lacking, read

FOLDER = Path(__file__).parent / "agents"
CASES = sorted(FOLDER.rglob("*.toml"))
NOTES = {
    "Projects/Garden plan.md": "---\ntags: [garden]\naliases: [Beds]\n---\n# Garden plan\n\n"
    "The tomatoes ripen in August. See [[Café notes]].\n\n## Watering\n\nEvery second day. ^water\n",
    "Café notes.md": "# Café notes\n\nBeans from Łódź, 🫘 roasted.\n",
    "Daily/2026-03-01.md": "# 2026-03-01\n\nCalled Ana about the 🦀 picture.\n",
    "2024.md": "# 2024\n\nA year with 100 days of rain.\n",
    "todo.md": "# Todo\n\n- [ ] book the hall\n",
}
REQUEST: Final = re.compile(r'"method":"([^"]+)".*"id":([^,}]+)|"id":([^,}]+),"method":"([^"]+)"')
NATIVE = {"jsonrpc": "2.0", "id": "greeting", "method": "workspaced/hello", "params": {}}


@pytest.fixture(scope="module")
def shared(module_daemon: Factory) -> Daemon:
    made = module_daemon(notes=NOTES)
    look_at_notes(made)
    return made


def look_at_notes(running: Daemon) -> None:
    with running.connect() as client:
        client.publish(
            [
                {"type": "active_note_set", "data": {"note": "Projects/Garden plan.md"}},
                {"type": "note_pinned", "data": {"note": "todo.md"}},
            ]
        )


def greeting(speaks: str) -> list[str]:
    """The lines by which a connection comes to speak a version."""
    if speaks == "nothing":
        return []
    info = {"protocolVersion": speaks, "capabilities": {}, "clientInfo": {"name": "world", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": "greeting", "method": "initialize", "params": info}
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return [json.dumps(NATIVE)] if speaks == "native" else [json.dumps(hello), json.dumps(done)]


def sent(told: dict[str, Any], vault: Path) -> bytes:
    lines = [*greeting(told.get("speaks", "2025-06-18")), *told["send"]]
    text = "\n".join(lines).replace("{vault}", str(vault))
    return text.encode(told.get("encoding", "utf-8")) + (b"\n" if told.get("ended", True) else b"")


def exchange(running: Daemon, data: bytes) -> bytes:
    """All that a fresh connection gets for `data`, whose end the client tells."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(str(running.socket))
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def check(told: dict[str, Any], came: bytes) -> None:
    """Holds what came against what must."""
    messages = [each for each in map(json.loads, came.splitlines()) if id_of(each) != "greeting"]
    for expected in told.get("answers", []):
        is_batch, wanted = isinstance(expected.get("answer"), list), expected.get("id")
        meant = (each for each in messages if isinstance(each, list) is is_batch and id_of(each) == wanted)
        found = next(meant, None)
        assert found is not None, f"nothing came for {expected}, but {messages}"
        messages.remove(found)
        assert lacking(found, expected) == [], json.dumps(found, ensure_ascii=False, indent=1)
    assert messages == [], "more came"


def id_of(message: Any) -> Any:
    return message.get("id") if isinstance(message, dict) else None


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_request_of_the_world_gets_what_its_client_expects(shared: Daemon, case: Path) -> None:
    told = read(case)
    came = exchange(shared, sent(told, shared.vault))
    check(told, came)
    found = (each for each in map(REQUEST.search, told["send"]) if each is not None)
    asked = {each[2] or each[3]: each[1] or each[4] for each in found}
    for message in map(json.loads, came.splitlines()):
        is_mcps = id_of(message) not in (None, "greeting") and not isinstance(message["id"], float)
        if told.get("speaks") is None and is_mcps:
            mcp_schema.check_from_server("2025-11-25", message, asked.get(json.dumps(message["id"]), ""))


@pytest.mark.parametrize("case", [each for each in CASES if read(each).get("bridge")], ids=lambda path: path.stem)
def test_the_bridge_gives_the_same(shared: Daemon, case: Path) -> None:
    told = read(case)
    done = shared.cli("mcp", stdin=sent(told, shared.vault))
    assert done.returncode == 0, done.stderr
    check(told, done.stdout.encode())


def test_every_call_of_the_world_replays_as_it_was_answered(daemon: Factory) -> None:
    """Arguments are recorded as they came: numbers as text, null, references in quotes. So do those of a redacted
    bundle replay."""
    running = daemon(notes=NOTES)
    look_at_notes(running)
    for told in map(read, CASES):
        if any('"tools/call"' in line for line in told["send"]):
            exchange(running, sent(told, running.vault))
    calls = list(map(json.loads, running.cli("calls", "--limit", "1000", "--json").stdout.splitlines()))
    assert any(each["arguments"].get("limit") == "5" for each in calls)
    assert any(each["arguments"].get("folder", "") is None for each in calls)
    assert running.cli("bundle", "-o", "redacted.wsb", "--redact").returncode == 0
    assert running.stop() == 0
    for log in (running.data, running.root / "redacted.wsb"):
        done = running.cli("replay", "--verify", str(log))
        assert done.returncode == 0 and f"{len(calls)} calls: {len(calls)} answer the same" in done.stdout, done
