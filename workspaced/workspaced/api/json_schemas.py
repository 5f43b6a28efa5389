"""The JSON Schemas (2020-12) of all that crosses the wire, generated from the types that decode it."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from workspaced_events.journal.actions import ActionJson
from workspaced_events.projections.workspace_state import StateJson
from workspaced_events.replay.json_lines import ExportHeader
from workspaced_events.schema.catalogue import CATALOGUE, Publisher
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import EVERY_TOOL

from ..errors import CODES
from ..prompts.assemble import Prompted
from .routes import METHODS

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


def all_schemas() -> dict[str, Schema]:
    """Every schema by its name, which is its path in `schemas/` without `.json`."""
    made: dict[str, Schema] = {
        "state": _of(StateJson),
        "error": _error(),
        "export": _of(ExportHeader),
        "prompt": _of(Prompted),
    }
    for entry in CATALOGUE.values():
        made[f"events/{entry.name}"] = _of(entry.event)
        if Publisher.UI.value in entry.publisher.value:
            made[f"actions/{entry.name}"] = _action(entry.name, entry.data)
    for tool in EVERY_TOOL.values():
        made[f"tools/{tool.name}.input"] = {"$schema": DIALECT, **tool.input_schema}
        made[f"tools/{tool.name}.output"] = {"$schema": DIALECT, **tool.output_schema}
    for tool in LINKED.values():
        made[f"tools/linked/{tool.name}.input"] = {"$schema": DIALECT, **tool.input_schema}
        made[f"tools/linked/{tool.name}.output"] = {"$schema": DIALECT, **tool.output_schema}
    for name, method in METHODS.items():
        if name.startswith("workspaced/"):
            made[f"methods/{name.removeprefix('workspaced/')}"] = _of(method.params)
    return dict(sorted(made.items()))


def definitions(title: str, description: str, types: Iterable[type[msgspec.Struct]]) -> Schema:
    """One schema whose definitions are `types`, and all that these are made of, by the names of the types."""
    _, found = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    plain = msgspec.json.decode(msgspec.json.encode(dict(sorted(found.items()))))
    return {"$schema": DIALECT, "title": title, "description": description, "$defs": plain}


def _of(type_: Any) -> Schema:
    plain = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(type_)))  # a default may be a tuple
    return {"$schema": DIALECT, **_inlined(plain)}


def _action(name: str, data: Any) -> Schema:
    """The envelope with a fixed `type` and strict `data`: an unknown field is an error."""
    schema = _of(ActionJson)
    body = _inlined(msgspec.json.schema(data))
    properties = dict(schema["properties"])
    properties["type"] = {"const": name}
    properties["data"] = {
        **{key: value for key, value in body.items() if key not in ("description", "$defs")},
        "additionalProperties": False,
    }
    required = ["type", "data"] if body.get("required") else ["type"]
    return {
        **schema,
        "title": name,
        "description": body["description"],
        "properties": properties,
        "required": required,
    }


def _error() -> Schema:
    numbers = sorted({wire.jsonrpc for wire in CODES.values()})
    return {
        "$schema": DIALECT,
        "title": "Error",
        "description": "The `error` of a JSON-RPC response.",
        "type": "object",
        "properties": {
            "code": {"enum": numbers},
            "message": {"type": "string"},
            "data": {
                "type": "object",
                "properties": {"code": {"enum": sorted(CODES)}, "hint": {"type": "string"}},
                "required": ["code", "hint"],
            },
        },
        "required": ["code", "message", "data"],
    }


def _inlined(schema: Schema) -> Schema:
    """The schema with its outermost $ref replaced by the definition; inner references keep their $defs."""
    definitions = schema.get("$defs", {})
    found: list[str] = []

    def resolve(part: Any, note: Callable[[str], None]) -> Any:
        if isinstance(part, dict):
            if "$ref" in part:
                note(part["$ref"].rpartition("/")[2])
            return {key: resolve(value, note) for key, value in part.items()}
        return [resolve(each, note) for each in part] if isinstance(part, list) else part

    if "$ref" not in schema:
        return schema
    outer = definitions[schema["$ref"].rpartition("/")[2]]
    resolve(outer, found.append)
    for name in found:  # grows while it is walked: definitions may name further ones
        resolve(definitions[name], lambda other: found.append(other) if other not in found else None)
    needed = {name: definitions[name] for name in sorted(set(found))}
    return {**outer, "$defs": needed} if needed else dict(outer)
