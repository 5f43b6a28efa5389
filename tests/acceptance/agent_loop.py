"""An agent without a model, by the official Python SDK: `agent_loop.py MODE PUBLISH EDITOR -- COMMAND...`.

It does what an agent does that was asked "what does the note I am reading say of tides?", and then stays and
watches. MODE and PUBLISH are those of `python_sdk.py`; EDITOR is a JSON list: the command that starts Neovim, to
which `--listen SOCKET NOTE` is added, or empty where there is none. The vault is that of `agent_vault.py`.
"""

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
from agent_vault import LINES, RARE
from mcp import Client, StdioServerParameters, types

LOOP_S = 60
QUIT_S = 10
MARKER = "[Content truncated...]"
CONTEXT = "workspace://context"
Changed = Callable[[], Awaitable[None]]


async def drive(mode: str, publish: list[str], editor: list[str], command: list[str]) -> None:
    """The whole conversation."""
    heard, hearing = anyio.create_memory_object_stream[str](64)

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await heard.send(str(message.params.uri))

    def look_at(note: str) -> None:
        subprocess.run([*publish, "active_note_set", f"note={note}"], check=True, stdout=subprocess.DEVNULL)

    look_at("log/today.md")
    server = StdioServerParameters(command=command[0], args=command[1:])
    info = types.Implementation(name="agent", version="1")
    async with heard, hearing, Client(server, mode=mode, client_info=info, message_handler=hear) as client:
        await read_on(client)
        async with watched(client, mode, hearing.receive) as changed:
            look_at("log/tomorrow.md")
            await shown(client, "log/tomorrow.md", changed)
            if editor:
                with neovim(editor, "log/today.md") as go_to:
                    await shown(client, "log/today.md", changed)
                    go_to("reference/tides.md")
                    await shown(client, "reference/tides.md", changed)


async def read_on(client: Client) -> None:
    """From what is before the user, along a link, to the end of a long note and back by a search."""
    offered = {tool.name for tool in (await client.list_tools()).tools}
    assert {"get_workspace_context", "get_note_by_reference", "search_workspace"} <= offered, offered

    context = (await call(client, "get_workspace_context", includeContent=True))["data"]
    note = context["activeNote"]
    assert note["id"] == "log/today.md", note
    (link,) = re.findall(r"\[\[([^]|#]+)", note["content"])

    text, pages, offset = "", 0, 0
    while offset is not None:
        page = await call(client, "get_note_by_reference", reference=link, offset=offset)
        cut = page["truncation"]
        content = page["data"]["content"]
        offset = cut.get("nextOffset")
        assert content.endswith(MARKER) is (offset is not None), content[-100:]
        text += content[: cut["returnedLength"]]  # what follows is the marker
        pages += 1
    assert pages > 3, pages
    assert len(text) == cut["originalLength"]
    assert re.findall(r"^Line (\d+):", text, re.MULTILINE) == [str(number) for number in range(LINES)]
    assert RARE in text.splitlines()[-1]

    found = (await call(client, "search_workspace", query=RARE))["data"]
    assert "reference/tides.md" in json.dumps(found) and "log/today.md" not in json.dumps(found), found


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """The tool's result, as the text says it; it must be a success."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result.content[0], types.TextContent)
    said = json.loads(result.content[0].text)
    assert not result.is_error and said["success"], said
    return said


@contextlib.asynccontextmanager
async def watched(client: Client, mode: str, heard: Callable[[], Awaitable[str]]) -> AsyncIterator[Changed]:
    """Watches the context in the way of the era; gives what waits for a change."""
    if mode == "legacy":

        async def told() -> None:
            assert await heard() == CONTEXT

        await client.subscribe_resource(CONTEXT)
        yield told
        await client.unsubscribe_resource(CONTEXT)
        return
    async with client.listen(resource_subscriptions=[CONTEXT]) as subscription:

        async def next_of_subscription() -> None:
            assert (await anext(subscription)).uri == CONTEXT  # type: ignore[union-attr]

        yield next_of_subscription


async def shown(client: Client, note: str, changed: Changed) -> None:
    """Waits for changes until the user looks at `note`."""
    while True:
        await changed()
        (content,) = (await client.read_resource(CONTEXT)).contents
        assert isinstance(content, types.TextResourceContents)
        active = json.loads(content.text)["data"]["activeNote"]
        if active is not None and active["id"] == note:
            return


@contextlib.contextmanager
def neovim(command: list[str], note: str) -> Iterator[Callable[[str], None]]:
    """An editor that shows a note; gives what makes it show another one."""
    with tempfile.TemporaryDirectory(prefix="nvim-") as place:
        listening = str(Path(place) / "s")
        quiet: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        editor = subprocess.Popen([*command, "--listen", listening, note], **quiet)

        def keys(typed: str, *, check: bool = True) -> None:
            subprocess.run([command[0], "--server", listening, "--remote-send", typed], check=check, **quiet)

        try:
            yield lambda other: keys(f":edit {other}<CR>")
            keys(":qall!<CR>", check=False)  # an editor that ends does not answer
            editor.wait(QUIT_S)
        finally:
            editor.kill()
            editor.wait()


async def main() -> None:
    _, mode, publish, editor, dashes, *command = sys.argv
    assert dashes == "--" and command, __doc__
    with anyio.fail_after(LOOP_S):
        await drive(mode, json.loads(publish), json.loads(editor), command)


if __name__ == "__main__":
    anyio.run(main)
