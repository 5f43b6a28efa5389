"""Tools' definitions in the forms that runtimes have them."""

import json
from typing import Any

import pytest

from workspaced_tools.prompts.providers.known import SHAPES
from workspaced_tools.prompts.providers.openai import OPENAI
from workspaced_tools.prompts.providers.provider import OWN, Definition
from workspaced_tools.prompts.providers.tool_definitions import DEPTH_MAX, SATISFY, Definitions, definitions_of

SCHEMA = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["n"],
}
CAPITALS = {
    "type": "OBJECT",
    "properties": {"type": {"type": "STRING"}, "n": {"type": "INTEGER"}},
    "required": ["n"],
}
LOOK = Definition("look", "Looks.", SCHEMA)
NAMED = {"name": "look", "description": "Looks."}
FORMS = {
    "mcp": {**NAMED, "inputSchema": SCHEMA},
    "mcp with what is meant for the runtime": {**NAMED, "inputSchema": SCHEMA, "title": "L", "annotations": {}},
    "openai": {"type": "function", "function": {**NAMED, "parameters": SCHEMA}},
    "openai flat": {"type": "function", **NAMED, "parameters": SCHEMA},
    "anthropic": {**NAMED, "input_schema": SCHEMA},
    "anthropic custom": {"type": "custom", **NAMED, "input_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{**NAMED, "parametersJsonSchema": SCHEMA}]},
    "gemini snake": {"function_declarations": [{**NAMED, "parameters_json_schema": SCHEMA}]},
    "gemini's own schema": {"functionDeclarations": [{**NAMED, "parameters": CAPITALS}]},
    "null besides": {"type": "function", "function": {**NAMED, "parameters": SCHEMA, "strict": None}},
}


FAMILIES = ("openai", "anthropic", "gemini", None)


def read(*tools: Any, family: str | None = "openai", provider: str | None = "openai") -> Definitions:
    return definitions_of(json.dumps(tools), SHAPES.get(family or "", OWN), SHAPES.get(provider or ""))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_the_same_definition(form: str) -> None:
    for family in FAMILIES:
        assert read(FORMS[form], family=family) == Definitions((LOOK,), (), ())


def test_a_list_of_declarations_is_as_many_tools() -> None:
    declared = [{"name": name, "parameters": CAPITALS} for name in ("a", "b")]
    found = read({"functionDeclarations": declared, "googleSearch": {}}, family="gemini", provider="gemini")
    assert [tool.name for tool in found.tools] == ["a", "b"]
    assert found.own == ({"googleSearch": {}},) and found.changes == ()


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search_20250305", "name": "web_search"},
        {"googleSearch": {}},
        {"name": "", "inputSchema": SCHEMA},
        {"name": "x", "description": 3, "inputSchema": SCHEMA},
        {"name": "x", "inputSchema": [1]},
        {"name": "x", "inputSchema": {"type": "string"}},
        {"functionDeclarations": ["x"]},
    ],
)
def test_what_only_one_provider_may_know_goes_to_that_one_as_it_is(tool: dict[str, Any]) -> None:
    assert read(tool, FORMS["mcp"]) == Definitions((LOOK,), (tool,), ())
    assert read(tool, family=None, provider=None) == Definitions((), (tool,), ())
    elsewhere = read(tool, FORMS["mcp"], family="anthropic")
    assert elsewhere[:2] == ((LOOK,), ()) and len(elsewhere.changes) == 1


def test_what_a_form_says_besides_is_kept_for_its_own_provider_and_else_reported() -> None:
    strict = {"type": "function", "function": {**NAMED, "parameters": SCHEMA, "strict": True}}
    assert read(strict) == Definitions((), (strict,), ())
    elsewhere = read(strict, family="anthropic")
    assert elsewhere.tools == (LOOK,) and elsewhere.own == ()
    assert len(elsewhere.changes) == 1 and "strict" in elsewhere.changes[0]


def test_a_second_tool_of_a_name_is_left_out_and_reported() -> None:
    found = read(FORMS["mcp"], {**FORMS["anthropic"], "description": "Another."})
    assert found.tools == (LOOK,) and len(found.changes) == 1


@pytest.mark.parametrize(
    "text", ["", "no JSON", "{}", '{"tools": []}', "[" * 5_000, "3", "[3]", "[null]", '["look"]', "[[1]]"]
)
def test_what_is_no_list_is_left_out_and_reported(text: str) -> None:
    found = definitions_of(text, OPENAI, OPENAI)
    assert found[:2] == ((), ()) and len(found.changes) == 1
    assert len(found.changes[0]) < 200


# -- what providers refuse of a schema --


@pytest.mark.parametrize(
    ("key", "refused"),
    [
        *((key, {"openai", "anthropic"}) for key in ("oneOf", "anyOf", "allOf")),
        *((key, {"openai"}) for key in ("enum", "const", "not")),
        ("additionalProperties", set()),
        ("$defs", set()),
    ],
)
def test_what_a_provider_refuses_at_the_top_of_a_schema_its_description_says(key: str, refused: set[str]) -> None:
    value: Any = [{"required": ["n"]}] if key.endswith("Of") else {"a": {"type": "string"}}
    schema = {**SCHEMA, key: value}
    for family in FAMILIES:
        found = read({**NAMED, "inputSchema": schema}, family=family)
        [tool] = found.tools
        if family in refused:
            assert tool.parameters == SCHEMA
            said, _, rest = tool.description.partition(f"\n\n{SATISFY}")
            assert said == "Looks." and json.loads(rest) == {key: value}
            assert len(found.changes) == 1 and key in found.changes[0]
        else:
            assert tool == Definition("look", "Looks.", schema) and found.changes == ()


@pytest.mark.parametrize(
    ("name", "fits"), [("a.b-C_1", True), ("x" * 64, True), ("x" * 65, False), ("$top", False), ("", False)]
)
def test_anthropic_refuses_names_of_properties_so_they_are_left_out(name: str, fits: bool) -> None:
    properties: dict[str, Any] = {"n": {"type": "object", "properties": {name: {}}}, name: {"type": "string"}}
    tool = {**NAMED, "inputSchema": {"type": "object", "properties": properties, "required": ["n"]}}
    for family in ("openai", "gemini", None):
        assert read(tool, family=family).tools[0].parameters["properties"] == properties
    found = read(tool, family="anthropic")
    assert list(found.tools[0].parameters["properties"]) == (["n", name] if fits else ["n"])
    assert found.tools[0].parameters["properties"]["n"] == properties["n"], "deeper they are taken"
    assert bool(found.changes) != fits


def test_a_tool_that_requires_a_property_of_such_a_name_is_left_out() -> None:
    tool = {"name": "odd", "inputSchema": {"properties": {"$top": {}}, "required": ["$top"]}}
    found = read(tool, FORMS["mcp"], family="anthropic")
    assert found.tools == (LOOK,) and len(found.changes) == 1 and "odd" in found.changes[0]
    assert len(read(tool, FORMS["mcp"], family="openai").tools) == 2


@pytest.mark.parametrize("kind", ["array", ["string", "array"]])
def test_for_openai_an_array_of_anything_says_so(kind: Any) -> None:
    bare, whole = {"type": kind}, {"type": kind, "items": {}}

    def schema(array: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"type": array, "items": {"type": "array", "items": array}, "x": {"anyOf": [array, {}]}},
            "additionalProperties": array,
            "$defs": {"a": {"type": "object", "properties": {"b": array}}},
            "default": bare,
            "examples": [bare],
        }

    assert read({**NAMED, "inputSchema": schema(bare)}).tools[0].parameters == schema(whole)
    for family in ("anthropic", "gemini", None):
        assert read({**NAMED, "inputSchema": schema(bare)}, family=family).tools[0].parameters == schema(bare)


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": schema}
    return schema


def test_a_tool_that_is_nested_too_deep_is_left_out_and_reported() -> None:
    found = read({"name": "deep", "inputSchema": nested(DEPTH_MAX)}, FORMS["mcp"])
    assert found.tools == (LOOK,) and len(found.changes) == 1
