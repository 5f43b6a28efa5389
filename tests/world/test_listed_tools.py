"""What the programs and providers that get our list of tools demand of it: one file a case, in `consumers/`.

A case is TOML: `follows` (the public report or document, `repository#number`), `right` (what holds), and what
the arguments of every tool must be: `one_type` (its answers, too), `typed` (every argument has a type),
`lists` (every array says of what), `root` (an object with properties, without a choice), `enums_are_text`,
`forbidden` (keywords), and `names_max` with `prefix` (the longest name, behind the prefix and the longest
name of an entry).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.genai import _mcp_utils, types
from support.world import read

from workspaced.connecting.servers import NAME_CHARS_MAX
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import EVERY_TOOL

CASES = sorted((Path(__file__).parent / "consumers").glob("*.toml"))
LISTED = [tool.definition for tool in (*EVERY_TOOL.values(), *LINKED.values())]


def schemas(schema: Any) -> Iterator[Any]:
    """A schema and all within it; not only objects are."""
    yield schema
    if isinstance(schema, dict):
        inner = [
            *schema.get("properties", {}).values(),
            *schema.get("$defs", {}).values(),
            *schema.get("anyOf", []),
        ]
        for each in [*inner, *([schema["items"]] if "items" in schema else [])]:
            yield from schemas(each)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("tool", LISTED, ids=lambda tool: tool["name"])
def test_the_list_of_tools_is_one_that_the_world_takes(case: Path, tool: dict[str, Any]) -> None:
    told = read(case)
    given, answered = list(schemas(tool["inputSchema"])), list(schemas(tool["outputSchema"]))
    assert all(isinstance(each, dict) for each in (*given, *answered))
    if told.get("one_type"):
        assert all(isinstance(each.get("type", ""), str) for each in (*given, *answered))
        assert not any(each == {"type": "null"} for each in given)
    if told.get("typed"):
        assert all("type" in each for each in given)
    if told.get("lists"):
        assert all("items" in each for each in given if each.get("type") == "array")
    if told.get("root"):
        assert given[0]["type"] == "object" and "properties" in given[0]
        assert not {"anyOf", "oneOf", "allOf", "enum", "not"} & given[0].keys()
    if told.get("enums_are_text"):
        assert all(each["type"] == "string" for each in given if "enum" in each)
    assert not [word for word in told.get("forbidden", ()) if any(word in each for each in given)]
    if "names_max" in told:
        assert len(told["prefix"]) + NAME_CHARS_MAX + len(tool["name"]) <= told["names_max"]


@pytest.mark.parametrize("tool", LISTED, ids=lambda tool: tool["name"])
def test_googles_own_package_takes_every_tool(tool: dict[str, Any]) -> None:
    named = {"name": tool["name"], "description": tool["description"]}
    plain = types.FunctionDeclaration(**named, parameters=tool["inputSchema"])
    converted = _mcp_utils.mcp_to_gemini_tool(SimpleNamespace(**named, inputSchema=tool["inputSchema"]))
    (from_mcp,) = converted.function_declarations or ()
    for made in (plain, from_mcp):
        assert made.parameters is not None and made.parameters.properties is not None
        found = {name: str(each.type.value) for name, each in made.parameters.properties.items() if each.type}
        listed = {name: each["type"].upper() for name, each in tool["inputSchema"]["properties"].items()}
        assert found == listed
        json.dumps(made.model_dump(mode="json", exclude_none=True))
