"""Resources: named answers that a client may attach or watch. Each is a tool's answer, so the share policy and the
recording of calls apply.

The text of a resource is the tool's JSON: a note's text is a field of its own, with path and sha256, and cannot
imitate other fields.
"""

import re
from dataclasses import replace
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import msgspec

from workspaced_tools.answers import Result
from workspaced_tools.limits import ECHO_CHARS_MAX
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.tools.references import RESOURCE
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Tool

from ..errors import McpError
from ..ipc.jsonrpc import RequestId
from ..recording.call_recorder import ToolAnswer
from ..service.service import Service
from ..service.session import Session
from .tools import Page, moment, traceparent_in

_TRANSIENT: Final = frozenset({"READ_ERROR", "INDEX_BUILDING", "INTERNAL"})
"""Errors on our side, not the caller's."""


class Refused(McpError):
    """A resource or a prompt that does not exist, or cannot be made now; with the code of what answered."""

    def __init__(self, code: str, message: str, *, hint: str, jsonrpc: int = -32602, **details: Any) -> None:
        super().__init__(message, code=code, hint=hint, **details)
        self.jsonrpc = jsonrpc


_REFUSAL: Final = msgspec.json.Decoder(Result)


def refused_by_tool(answer: ToolAnswer, **details: Any) -> Refused:
    """The error for a tool's failed answer."""
    refusal = _REFUSAL.decode(answer.payload)
    code = refusal.code or "INTERNAL"
    number = -32603 if code in _TRANSIENT else -32602
    message = f"{(refusal.error or '').rstrip('.')}."
    return Refused(code, message, hint=refusal.message, jsonrpc=number, **details)


CONTEXT: Final = "workspace://context"
CURRENT: Final = "workspace://note/current"
NOTE: Final = RESOURCE
_JSON: Final = "application/json"
_PUSHED_CURRENT: Final = replace(TOOLS["get_current_note"], answers_on_request=False)
"""A resource may be attached or watched without being asked for, and whatever is active names no note."""
_REFERENCED: Final = {"includeMetadata": True, "maxContentLength": 10_000}
"""As much as the tool gives at a time; the tool itself reads on where `truncation` says so."""

_AT: Final = re.compile(r"\?at=([^?&#/]+)$")

_RESOURCES: Final = msgspec.Raw(
    msgspec.json.encode(
        [
            {
                "uri": CONTEXT,
                "name": "context",
                "title": "Workspace",
                "description": "What the user has before them: active note, pins, tabs, recent notes, selection.",
                "mimeType": _JSON,
            },
            {
                "uri": CURRENT,
                "name": "current-note",
                "title": "Current note",
                "description": "The note the user is looking at, with its text.",
                "mimeType": _JSON,
            },
        ]
    )
)
_TEMPLATES: Final = msgspec.Raw(
    msgspec.json.encode(
        [
            {
                "uriTemplate": NOTE + "{+reference}{?at}",
                "name": "note",
                "title": "Note",
                "description": "One note by path, title, alias or id, up to 10,000 characters of its text; "
                "at: as it was at a sequence or time.",
                "mimeType": _JSON,
            }
        ]
    )
)


class Resource(NamedTuple):
    """The tool call that answers a resource."""

    tool: Tool[Any]
    arguments: dict[str, Any]


class Uri(msgspec.Struct, frozen=True):
    """Parameters that name one resource."""

    uri: str
    meta: Any = msgspec.field(name="_meta", default=None)


def resource(uri: str) -> Resource:
    """The tool call for `uri`; does not check whether the note exists.

    `?at=` with a sequence or time at the end of the URI requests a past moment.

    Raises:
        Refused: UNKNOWN_RESOURCE: no URI of ours.
    """
    past = _AT.search(uri)
    named = uri[: past.start()] if past else uri
    moment = {"at": _decoded(past[1])} if past else {}
    if named == CONTEXT:
        return Resource(TOOLS["get_workspace_context"], moment)
    if named == CURRENT:
        return Resource(_PUSHED_CURRENT, moment)
    if named.startswith(NOTE) and (reference := _decoded(named.removeprefix(NOTE))):
        return Resource(TOOLS["get_note_by_reference"], {"reference": reference, **_REFERENCED, **moment})
    raise Refused(
        "UNKNOWN_RESOURCE",
        "There is no such resource.",
        hint=f"Resources: {CONTEXT}, {CURRENT}, {NOTE}{{+reference}}.",
        uri=uri[:ECHO_CHARS_MAX],
    )


def _decoded(text: str) -> str:
    """`text` without percent-encoding; empty if that is not UTF-8."""
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return ""


def list_resources(session: Session, _id: RequestId | None, params: Page) -> Any:
    params.check()
    return {"resources": _RESOURCES, "_meta": moment(session.service)}


def list_templates(session: Session, _id: RequestId | None, params: Page) -> Any:
    params.check()
    return {"resourceTemplates": _TEMPLATES, "_meta": moment(session.service)}


def read_resource(session: Session, _id: RequestId | None, params: Uri) -> Any:
    service = session.service
    requested = resource(params.uri)
    traceparent = service.parents.taken(traceparent_in(params.meta))
    try:
        answer = service.calls.try_call(requested.tool, requested.arguments, session.client, traceparent)
    except WouldBlock:
        return _read_blocking(service, params.uri, requested, session.client, traceparent)
    return _contents(service, params.uri, answer)


async def _read_blocking(
    service: Service, uri: str, requested: Resource, caller: str, traceparent: str | None
) -> Any:
    answer = await service.calls.call(requested.tool, requested.arguments, caller, traceparent)
    return _contents(service, uri, answer)


def _contents(service: Service, uri: str, answer: ToolAnswer) -> Any:
    if not answer.ok:
        raise refused_by_tool(answer, uri=uri[:ECHO_CHARS_MAX])
    content = {"uri": uri, "mimeType": _JSON, "text": answer.payload.decode()}
    return {"contents": [content], "_meta": moment(service)}
