"""The schema of a plan, and of a call in it: JSON Schema 2020-12 around the schemas of the tools' arguments."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from ...tools.linked_tools import LINKED
from ...tools.registry import EVERY_TOOL
from ...tools.tool import Tool
from ..providers.provider import Definition

CALLS_MAX: Final = 8
WHY_CHARS_MAX: Final = 200
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_CALL: Final = "#/properties/calls/items/oneOf/{}"
_ARGUMENTS: Final = "/properties/arguments"
_SCHEMAS_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
_DATA: Final = frozenset({"const", "enum", "default", "examples"})


def plan_schema(tools: Iterable[Definition]) -> dict[str, Any]:
    """JSON Schema 2020-12 of a plan. Of several tools with one name the first counts."""
    by_name = tools_by_name(tools)
    calls: dict[str, Any] = {"type": "array", "maxItems": CALLS_MAX if by_name else 0}
    if by_name:
        each = enumerate(by_name.values())
        calls["items"] = {"oneOf": [call_schema(tool, _CALL.format(place)) for place, tool in each]}
    return {
        "$schema": _DIALECT,
        "type": "object",
        "properties": {"calls": calls},
        "required": ["calls"],
        "additionalProperties": False,
    }


def tools_by_name(tools: Iterable[Definition]) -> dict[str, Definition]:
    found: dict[str, Definition] = {}
    for tool in tools:
        if (own := own_tool(tool)) is not None:
            tool = replace(tool, parameters=own.input_schema)
        found.setdefault(tool.name, tool)
    return found


def own_tool(tool: Definition) -> Tool[Any] | None:
    """The daemon's own tool, if a runtime took this one from the daemon's list; the schemas there are short."""
    given = tool.parameters.get("properties")
    for own in (tools[tool.name] for tools in (EVERY_TOOL, LINKED) if tool.name in tools):
        listed = own.definition["inputSchema"], own.input_schema
        if isinstance(given, dict) and any(given.keys() == schema["properties"].keys() for schema in listed):
            return own
    return None


def call_schema(tool: Definition, place: str) -> dict[str, Any]:
    """The schema of a call of the tool; `place` is its JSON pointer in the plan's schema, after `#`."""
    own = tool.parameters.get("$id")
    parameters = {key: each for key, each in tool.parameters.items() if key not in ("$id", "$schema")}
    rebased = _rebased(parameters, f"{place}{_ARGUMENTS}", own if isinstance(own, str) else "")
    return {
        "type": "object",
        "properties": {
            "tool": {"const": tool.name},
            "arguments": {"type": "object", **rebased},
            "why": {"type": "string", "maxLength": WHY_CHARS_MAX},
        },
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _rebased(schema: Any, place: str, own: str) -> Any:
    """Redirects the references of `schema` to itself to `place`. `own`: its `$id`, with which they may begin.

    A part with an `$id` of its own stays unchanged, since its references mean the part itself.
    """
    if isinstance(schema, list):
        return [_rebased(each, place, own) for each in schema]
    if not isinstance(schema, dict) or "$id" in schema:
        return schema
    found: dict[str, Any] = {}
    for key, each in schema.items():
        if key in _DATA:
            found[key] = each
        elif key in _SCHEMAS_BY_NAME and isinstance(each, dict):
            found[key] = {name: _rebased(part, place, own) for name, part in each.items()}
        elif key == "$ref" and isinstance(each, str):
            found[key] = _reference(each, place, own)
        else:
            found[key] = _rebased(each, place, own)
    return found


def _reference(reference: str, place: str, own: str) -> str:
    base, _, pointer = reference.partition("#")
    if base not in ("", own):
        return reference
    return f"{place}{pointer}" if pointer.startswith("/") or not pointer else f"#{pointer}"
