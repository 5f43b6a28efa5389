"""The same conversations by tools alone: a runtime that sends its system prompt, earlier messages and the tools'
definitions, and whose model reads what it needs.

The model is one that wastes nothing: it reads a note when a question first needs it, and again after an edit, as
much of it as static injection gives.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from workspaced.client.sync_client import SyncClient

from .daemon import Place, daemon
from .prompts import INJECTED_CHARS, SYSTEM, Message, Script, call_of


class Reader(NamedTuple):
    attached: bool
    """Whether it reads all that is attached, as our prompts have it; else the active note, as static injection."""
    keeps: bool
    """Whether its reads stay in the conversation; else it goes on from its own answers."""


READERS: Final = {
    "active": Reader(attached=False, keeps=True),
    "active_once": Reader(attached=False, keeps=False),
    "attached": Reader(attached=True, keeps=True),
}


def pulled(at: Place, made: Script, reader: Reader) -> list[list[Message]]:
    """Each prompt of the conversation; results are a daemon's, of notes on disk."""
    vault = at.new("notes")
    made.write(vault)
    with daemon(at, vault, name="pull") as running:
        running.wait_for_index()
        with running.client() as client:
            return list(_prompts(client, vault, made, reader))


def definitions(client: SyncClient) -> str:
    """Of all our tools, as a provider is sent them."""
    tools = client.call("tools/list")["tools"]
    definitions_sent = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools]
    return msgspec.json.encode(definitions_sent).decode()


def _prompts(client: SyncClient, vault: Path, made: Script, reader: Reader) -> Iterator[list[Message]]:
    earlier: list[Message] = [("system", f"{SYSTEM}\n\n{definitions(client)}")]
    known = set[str]()
    for number, turn in enumerate(made.turns):
        made.edit(vault, turn)
        known -= {path for path, _added in turn.edits}
        client.publish([{"type": "active_note_set", "data": {"note": turn.active}}])
        earlier.append(("user", turn.question))
        yield list(earlier)
        read: tuple[Message, ...] = ()
        wanted = [path for path in turn.attached[: None if reader.attached else 1] if path not in known]
        if wanted:
            known.update(wanted)
            read = _read(client, number, wanted, turn.active)
            yield [*earlier, *read]
        called = call_of(number, turn) if turn.found is not None else ()
        if called:
            yield [*earlier, *read, *called]
        earlier += (*(read if reader.keeps else ()), *called, ("assistant", turn.answer))


def _read(client: SyncClient, number: int, wanted: list[str], active: str) -> tuple[Message, Message]:
    """The calls and their results, each in one message."""
    calls, results = [], []
    for at, path in enumerate(wanted):
        name = "get_current_note" if path == active else "get_note_by_reference"
        arguments = {"maxContentLength": INJECTED_CHARS} | ({} if path == active else {"reference": path})
        result = client.tool(name, arguments)
        assert result["success"], result
        calls.append(f"[toolCall {name} read-{number}-{at}] {msgspec.json.encode(arguments).decode()}")
        results.append(f"[toolResult {name} read-{number}-{at}] {msgspec.json.encode(result).decode()}")
    return ("assistant", "\n\n".join(calls)), ("user", "\n\n".join(results))
