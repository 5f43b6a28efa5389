"""`tools/list` and `tools/call`, the same on every connection."""

from base64 import b64encode
from typing import Any, Final

import msgspec

from workspaced_events.errors import InvalidArgument, Paused
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.ports.vault import NoteImage
from workspaced_tools.sharing.gate import refusal
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import CORE, MEMORY, TOOLS, ToolSet
from workspaced_tools.tools.tool import Tool

from ..calls.calls import tool_named
from ..ipc.jsonrpc import RequestId
from ..recording.call_recorder import ToolAnswer
from ..service.service import Service
from ..service.session import Session

CLOCK: Final = "io.github.workspaced/clock"
"""The `_meta` key of a result or notification that holds the log's clock."""

ANNOTATIONS: Final = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
"""Without them a client must assume a destructive tool, and asks its user at every call."""


class Page(msgspec.Struct, frozen=True):
    """Parameters of a list. Lists are short and have one page, so there are no cursors."""

    cursor: str | None = None

    def check(self) -> None:
        """Raises:
        InvalidArgument: there is a cursor, which cannot be ours. An empty one is none.
        """
        if self.cursor:
            raise InvalidArgument("Expected no cursor: the list has one page.", hint="Ask without a cursor.")


class CallTool(msgspec.Struct, frozen=True):
    """Parameters of `tools/call`, and of `prompts/get`."""

    name: str
    arguments: dict[str, Any] | None = None
    """None, also as null: there are none."""
    meta: Any = msgspec.field(name="_meta", default=None)


WRITES: Final = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False}
"""The annotations of a tool that writes."""


_Choice = tuple[ToolSet, bool, bool]
"""What decides a list: its tools, whether there is a memory folder, whether other machines are linked."""
_LISTS: Final[dict[_Choice, msgspec.Raw]] = {}
"""The lists made so far."""


def _make_list(choice: _Choice) -> msgspec.Raw:
    """Makes a list of tools. The first makes the schemas, which takes a fifth of a daemon's start."""
    tools, memory, linked = choice
    every = [tool for tool in TOOLS.values() if tools == "all" or tool.name in CORE]
    every += [MEMORY] if memory else []
    every = [LINKED.get(tool.name, tool) for tool in every] if linked else every
    made = _LISTS[choice] = msgspec.Raw(
        msgspec.json.encode(
            [{**tool.definition, "annotations": WRITES if tool.writes else ANNOTATIONS} for tool in every]
        )
    )
    return made


def list_tools(session: Session, _id: RequestId | None, params: Page) -> Any:
    params.check()
    service = session.service
    choice = (session.tools, service.memory.is_set, service.tail.state.peers.own is not None)
    made = _LISTS.get(choice)
    return _list_made_now(service, choice) if made is None else _list(service, made)


async def _list_made_now(service: Service, choice: _Choice) -> Any:
    return _list(service, await service.threads.run(lambda: _make_list(choice)))


def _list(service: Service, made: msgspec.Raw) -> Any:
    return {"tools": made, "_meta": moment(service)}


def call_tool(session: Session, _id: RequestId | None, params: CallTool) -> Any:
    service = session.service
    tool = tool_named(params.name, memory=service.memory.is_set, linked=service.tail.state.peers.own is not None)
    arguments = params.arguments or {}
    traceparent = service.parents.taken(traceparent_in(params.meta))
    try:
        return _result(service, service.calls.try_call(tool, arguments, session.client, traceparent))
    except WouldBlock:
        return _call_blocking(service, tool, arguments, session.client, traceparent)
    except Paused as error:
        return _paused(service, error)


def traceparent_in(meta: object) -> object:
    """What a request's `_meta` names as the client's span; None: nothing."""
    return meta.get("traceparent") if isinstance(meta, dict) else None


async def _call_blocking(
    service: Service, tool: Tool[Any], arguments: dict[str, Any], caller: str, traceparent: str | None
) -> Any:
    try:
        return _result(service, await service.calls.call(tool, arguments, caller, traceparent))
    except Paused as error:
        return _paused(service, error)


def _paused(service: Service, error: Paused) -> Any:
    """The pause as the result of a tool, which is where a model reads it."""
    content = refusal(error, service.tail.state.seq)
    return {
        "content": [{"type": "text", "text": msgspec.json.encode(content).decode()}],
        "structuredContent": content,
        "isError": True,
        "_meta": moment(service),
    }


def _result(service: Service, answer: ToolAnswer) -> Any:
    return {
        "content": [{"type": "text", "text": answer.text or answer.payload.decode()}, *map(_image, answer.images)],
        "structuredContent": msgspec.Raw(answer.payload),
        "isError": not answer.ok,
        "_meta": moment(service),
    }


def _image(image: NoteImage) -> dict[str, str]:
    return {"type": "image", "data": b64encode(image.content).decode(), "mimeType": image.media_type}


def moment(service: Service) -> dict[str, Any]:
    """The `_meta` of a result: the log's present clock."""
    return {CLOCK: service.tail.clock()}
