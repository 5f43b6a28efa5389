"""`workspaced schema`: the JSON Schemas (2020-12) of what crosses the wire, made from the types that decode it."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from workspaced_events.journal.actions import ActionJson
from workspaced_events.projections.workspace_state import StateJson
from workspaced_events.replay.json_lines import ExportHeader
from workspaced_events.schema.catalogue import CATALOGUE
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import EVERY_TOOL

from ...api.routes import METHODS
from ...errors import CODES, SettingsInvalid
from ...inspector.routes import ANSWERS
from ...prompts.assemble import Prompted
from ...terminal.options import json_option
from ...terminal.output import output
from ...terminal.printing import say, say_text

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]


@click.command()
@click.argument("name", required=False)
@click.option(
    "--check", is_flag=True, help="Compare the files in DIR with what this version says; exit 1 if they differ."
)
@click.option("--write", is_flag=True, help="Write the files in DIR.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), default=Path("schemas"), show_default=True)
@json_option
def schema_command(name: str | None, check: bool, write: bool, directory: Path) -> int:
    """Print the schema NAME, or the names of all."""
    inspector = definitions("Inspector", "The answers of the inspector's API, one definition each.", ANSWERS)
    schemas = dict(sorted({**all_schemas(), "inspector": inspector}.items()))
    if check or write:
        written = _write(schemas, directory) if write else None
        wrong = _differing(schemas, directory) if check and not write else []
        answer = {"ok": not wrong, "directory": str(directory), "written": written, "wrong": wrong}
        output(answer, _report)
        return 1 if wrong else 0
    if name is None:
        output(list(schemas), lambda names: say_text("\n".join(names)))
    elif name in schemas:
        output(schemas[name], lambda schema: say_text(_text(schema)))
    else:
        raise SettingsInvalid(f"There is no schema {name[:100]!r}.", hint="`workspaced schema` lists them.")
    return 0


def _text(schema: Any) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _write(schemas: dict[str, Any], directory: Path) -> int:
    """Writes the files; returns how many."""
    for path in _files(directory):
        if str(path.relative_to(directory).with_suffix("")) not in schemas:
            path.unlink()
    for name, schema in schemas.items():
        path = directory / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(schema))
    return len(schemas)


def _differing(schemas: dict[str, Any], directory: Path) -> list[str]:
    """What is wrong with the files, a line for each."""
    if not directory.is_dir():
        raise SettingsInvalid(f"There is no folder {directory}.", hint="Name it with --dir.")
    present = {path.relative_to(directory).as_posix().removesuffix(".json"): path for path in _files(directory)}
    wrong = [f"{name} is missing" for name in schemas if name not in present]
    wrong += [f"{name} is none of this version" for name in present if name not in schemas]
    wrong += [
        f"{name} differs"
        for name, path in present.items()
        if name in schemas and path.read_text() != _text(schemas[name])
    ]
    return wrong


def _report(answer: dict[str, Any]) -> None:
    if answer["written"] is not None:
        say(f"{answer['written']} schemas written to {answer['directory']}", err=True)
    for line in answer["wrong"]:
        say(line, err=True)
    if answer["wrong"]:
        say("Run `make schemas`, and read schemas/README.md on what may change.", err=True)


def _files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.json"))


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
        if entry.by_ui:
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
