"""Output schemas name every field of every object that is sent; the list of tools is short."""

import json
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from support import answers

from workspaced_tools.tools.registry import TOOLS

UNLISTED: Final = ("minSeq", "additionalProperties", "minLength", "maxLength", "maxItems")
CORE: Final = ("get_workspace_context", "get_current_note", "get_note_by_reference", "search_workspace")
CHARS_MAX: Final = 3_880
CORE_CHARS_MAX: Final = 2_440
"""One token of tekken is about 3.9 of these characters; `make bench ONLY=definitions` counts tokens."""


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every schema of an object or of any value."""
    if isinstance(schema, list):
        return [found for each in schema for found in objects(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for value in schema.values() for found in objects(value)]


@pytest.mark.parametrize("name", TOOLS)
def test_case_10_no_object_of_an_output_schema_is_bare(name: str) -> None:
    schema = TOOLS[name].output_schema
    assert {"success", "message", "asOfSeq", "data", "error", "code", "warnings"} <= set(schema["properties"])
    for each in objects(schema):
        more = each.get("additionalProperties")
        assert more is False if "properties" in each else isinstance(more, dict) and more, each
    for each in objects(schema):
        assert all(part for part in each.get("properties", {}).values()), "a field without a schema"


@pytest.mark.parametrize("name", TOOLS)
def test_case_10_a_failure_with_its_code_and_hint_fits_and_any_other_field_does_not(name: str) -> None:
    failure = {"success": False, "error": "No.", "code": "READ_ERROR", "message": "Do this.", "asOfSeq": 1}
    answers.check(name, failure)
    with pytest.raises(ValidationError):
        answers.check(name, {**failure, "surprise": 1})


def test_case_10_texts_in_parts_describe_their_truncation() -> None:
    paged = {name for name, tool in TOOLS.items() if "truncation" in tool.output_schema["properties"]}
    assert paged == {"get_current_note", "get_note_by_reference", "get_note_diff"}


@pytest.mark.parametrize("name", TOOLS)
def test_case_13_the_listed_schema_has_bounds_and_defaults_of_numbers_and_leaves_out_the_rest(name: str) -> None:
    listed, full = TOOLS[name].definition["inputSchema"], TOOLS[name].input_schema
    assert not [word for word in UNLISTED if f'"{word}"' in json.dumps(listed)]
    assert set(full["properties"]) - set(listed["properties"]) == {"minSeq"}
    assert listed.get("required") == full.get("required")
    for argument, schema in full["properties"].items():
        told = listed["properties"].get(argument, {})
        assert told.get("default", False) == (schema.get("default") or False)
        if argument not in ("offset", "minSeq", "sinceSeq"):
            assert told.get("maximum") == schema.get("maximum")
            assert told.get("minimum", 1) == schema.get("minimum", 1)
    given = {"reference": "a", "query": "a"}
    needed = {argument: given[argument] for argument in full.get("required", ())}
    for schema in (listed, full):
        Draft202012Validator(schema).validate({**needed, "at": "3", "minSeq": 1})


def test_case_13_the_list_is_short_in_the_shape_that_a_model_sees() -> None:
    def chars(names: Any) -> int:
        shown = ("name", "description", "inputSchema")
        return sum(
            len(json.dumps({key: TOOLS[name].definition[key] for key in shown}, separators=(",", ":")))
            for name in names
        )

    assert chars(TOOLS) <= CHARS_MAX
    assert chars(CORE) <= CORE_CHARS_MAX
