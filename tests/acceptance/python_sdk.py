"""The official Python SDK's client against a daemon: `python_sdk.py MODE PUBLISH -- COMMAND...`.

Runs in an environment that has the SDK, and needs nothing of ours. MODE is the client's (`legacy`, `auto`, or a
version); PUBLISH is a JSON list: the command that publishes an action, without its last arguments.
"""

import json
import subprocess
import sys
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, types
from mcp.shared.exceptions import MCPError

WAIT_S = 10
CONTEXT, CURRENT = "workspace://context", "workspace://note/current"
CALLS: dict[str, dict[str, Any]] = {
    "get_workspace_context": {"includeContent": True},
    "get_current_note": {"includeLinks": True, "includeOutline": True},
    "get_note_by_reference": {"reference": "Plan"},
    "get_note_diff": {"reference": "a.md", "sinceSeq": 0},
    "search_workspace": {"query": "note"},
    "get_related_notes": {"reference": "a.md"},
    "get_workspace_summary": {},
    "get_navigation_history": {},
    "get_context_manifest": {},
}
OF_THE_PAST = ("get_note_diff", "get_context_manifest")
"""Nothing was recorded yet for these."""


async def drive(mode: str, publish: list[str], command: list[str]) -> None:
    """Everything an agent's runtime does with a server."""
    updates, updated = anyio.create_memory_object_stream[str](16)

    async def heard(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            await updates.send(str(message.params.uri))

    def open_note(note: str) -> None:
        subprocess.run([*publish, "active_note_set", f"note={note}"], check=True, stdout=subprocess.DEVNULL)

    server = StdioServerParameters(command=command[0], args=command[1:])
    info = types.Implementation(name="acceptance", version="1")
    async with updates, updated, Client(server, mode=mode, client_info=info, message_handler=heard) as client:
        modern = client.protocol_version == "2026-07-28"
        assert modern is (mode != "legacy"), client.protocol_version
        if mode in ("legacy", "auto"):  # a client that is told the version asks nothing of the server
            assert client.server_info is not None and client.server_info.name == "workspaced"
            offered = client.server_capabilities.resources
            assert offered is not None and offered.subscribe and client.instructions
        open_note("a.md")
        await tools(client)
        await resources(client)
        await prompts(client)
        if modern:
            async with client.listen(resource_subscriptions=[CURRENT, CONTEXT]) as subscription:
                assert set(subscription.honored.resource_subscriptions or ()) == {CURRENT, CONTEXT}
                open_note("b.md")
                told = {(await anext(subscription)).uri, (await anext(subscription)).uri}  # type: ignore[union-attr]
                assert told == {CURRENT, CONTEXT}
        else:
            await client.subscribe_resource(CURRENT)
            open_note("b.md")
            assert await updated.receive() == CURRENT
            await client.unsubscribe_resource(CURRENT)
            await client.send_ping()
        assert "# Beta" in await current(client)
        await cancelled(client)


async def tools(client: Client) -> None:
    """Every tool is listed and answers; mistakes come back as they should."""
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == list(CALLS), listed
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
    for name, arguments in CALLS.items():
        result = await client.call_tool(name, arguments)
        if name in OF_THE_PAST:
            assert result.is_error and result.structured_content["code"] == "NOT_RECORDED", result
        else:
            assert not result.is_error, result
        assert isinstance(result.content[0], types.TextContent)
        assert json.loads(result.content[0].text) == result.structured_content
    wrong = await client.call_tool("get_current_note", {"offset": -1})
    assert wrong.is_error and wrong.structured_content["code"] == "INVALID_ARGUMENT"
    assert await refused(client.call_tool("no_such_tool", {})) == -32602


async def resources(client: Client) -> None:
    """Every resource is listed and read."""
    listed = (await client.list_resources()).resources
    assert [str(each.uri) for each in listed] == [CONTEXT, CURRENT]
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "workspace://note/{+reference}{?at}"
    for uri in (CONTEXT, CURRENT, "workspace://note/work/plan.md"):
        (content,) = (await client.read_resource(uri)).contents
        assert isinstance(content, types.TextResourceContents) and json.loads(content.text)["success"]
    assert "# Alpha" in await current(client)
    assert await refused(client.read_resource("workspace://note/none")) == -32602


async def prompts(client: Client) -> None:
    """Every prompt is listed and inserts its text."""
    assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["workspace", "current-note"]
    for name, shown in (("workspace", "Looking at: a.md"), ("current-note", "# Alpha")):
        (message,) = (await client.get_prompt(name)).messages
        assert message.role == "user" and isinstance(message.content, types.TextContent)
        assert shown in message.content.text, message
    assert await refused(client.get_prompt("none")) == -32602


async def current(client: Client) -> str:
    """The text of the note that is open."""
    (content,) = (await client.read_resource(CURRENT)).contents
    assert isinstance(content, types.TextResourceContents)
    return str(json.loads(content.text)["data"]["content"])


async def cancelled(client: Client) -> None:
    """A call that waits for what never comes can be given up; the connection goes on."""
    with anyio.move_on_after(0.2) as scope:
        await client.call_tool("get_workspace_context", {"minSeq": 10**9})
    assert scope.cancelled_caught
    assert not (await client.call_tool("get_workspace_context", {})).is_error


async def refused(call: Any) -> int:
    """The number of the error that the call ends with."""
    try:
        result = await call
    except MCPError as error:
        return error.error.code
    raise AssertionError(f"not refused: {result}")


async def main() -> None:
    _, mode, publish, dashes, *command = sys.argv
    assert dashes == "--" and command, __doc__
    with anyio.fail_after(6 * WAIT_S):
        await drive(mode, json.loads(publish), command)


if __name__ == "__main__":
    anyio.run(main)
