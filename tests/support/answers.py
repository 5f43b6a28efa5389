"""Holds every answer of a tool that a test sees against the tool's output schema, which allows no other fields."""

import copy
import json
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Final

import msgspec
from jsonschema import Draft202012Validator

from workspaced import Client, SyncClient
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import EVERY_TOOL

Json = dict[str, Any]
_CALL: Final = "tools/call"


@cache
def _validators(tool: str, *, linked: bool) -> tuple[Draft202012Validator, Draft202012Validator]:
    """By the schema in `schemas/tools`, and by the listed one. `linked`: of the tool that a linked daemon has."""
    made = LINKED[tool] if linked else EVERY_TOOL[tool]
    return Draft202012Validator(made.output_schema), Draft202012Validator(made.definition["outputSchema"])


def check(tool: str, result: Json) -> None:
    """Raises jsonschema's ValidationError if the result does not fit."""
    if tool not in EVERY_TOOL:
        return
    plain = json.loads(msgspec.json.encode(result))
    for validator in _validators(tool, linked="linked" in (plain.get("data") or {})):
        validator.validate(plain)
    assert ("code" in plain) == ("error" in plain) == (not plain["success"])


def fill(tool: str, result: Json) -> None:
    """Puts the defaults of the output schema where a success leaves them out, as clients do.

    A test of what is sent reads the bytes of an answer.
    """
    if tool in EVERY_TOOL and result["success"]:
        schema = (LINKED if "linked" in result["data"] else EVERY_TOOL)[tool].output_schema
        _fill(schema, result, schema["$defs"])


def _fill(schema: Json, value: Any, defs: Json) -> None:
    while "$ref" in schema or "anyOf" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema["anyOf"][0]
    if isinstance(value, list):
        for each in value:
            _fill(schema["items"], each, defs)
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if name in value:
                _fill(part, value[name], defs)
            elif "default" in part:
                value[name] = copy.deepcopy(part["default"])


def check_message(tool: str, message: Json) -> None:
    """As `check`, for a JSON-RPC response to `tools/call`."""
    result = message.get("result") or {}
    if "structuredContent" in result:
        structured = result["structuredContent"]
        check(tool, structured)
        assert result["isError"] is not structured["success"]
        assert json.loads(result["content"][0]["text"]) == structured, "clients that read texts are told the same"


def check_printed(command: tuple[str, ...], out: str) -> None:
    """As `check`, for what `workspaced call TOOL` prints."""
    if len(command) < 2 or command[0] != "call":
        return
    try:
        printed = json.loads(out)
    except ValueError:
        return
    if isinstance(printed, dict) and "asOfSeq" in printed:
        check(command[1], printed)


def watch() -> None:
    """Makes both Python clients check each result of `tools/call`, and `tool` put the defaults."""
    sync_call, async_call = SyncClient.call, Client.call

    @wraps(sync_call)
    def checked(self: SyncClient, method: str, params: Any = None, **more: Any) -> Any:
        result = sync_call(self, method, params, **more)
        _check_call(method, params, result)
        return result

    @wraps(async_call)
    async def checked_async(self: Client, method: str, params: Any = None, **more: Any) -> Any:
        result = await async_call(self, method, params, **more)
        _check_call(method, params, result)
        return result

    sync_tool, async_tool = SyncClient.tool, Client.tool

    @wraps(sync_tool)
    def filled(self: SyncClient, name: str, arguments: Any = None) -> Json:
        result = sync_tool(self, name, arguments)
        fill(name, result)
        return result

    @wraps(async_tool)
    async def filled_async(self: Client, name: str, arguments: Any = None) -> Json:
        result = await async_tool(self, name, arguments)
        fill(name, result)
        return result

    _put(SyncClient, "call", checked)
    _put(Client, "call", checked_async)
    _put(SyncClient, "tool", filled)
    _put(Client, "tool", filled_async)


def _put(owner: type, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)


def _check_call(method: str, params: Any, result: Any) -> None:
    if method == _CALL and isinstance(params, dict):
        check_message(params.get("name", ""), {"result": result})
