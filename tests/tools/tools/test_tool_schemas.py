"""The published schemas, and the gate they are."""

import json
import logging
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.profiles import examples

from workspaced_events.projections.workspace_state import EMPTY, EMPTY_VAULT
from workspaced_tools.answers import Part
from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.limits import WARNINGS_MAX
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Answer, Arguments, Tool, normalised, run

NOWHERE = shared_view(EMPTY, "2026-03-01T12:00:00.000000Z", None, level="all", withheld=lambda _note: False)
REQUIRED = {
    "get_note_by_reference": {"reference": "x"},
    "get_note_diff": {"reference": "x"},
    "search_workspace": {"query": "x"},
}
RANGES = [
    (name, key)
    for name, tool in TOOLS.items()
    for key, value in tool.input_schema["properties"].items()
    if {"minimum", "maximum"} <= value.keys()
]
MODEL_SEES = ("name", "description", "inputSchema")
CORE = ("get_workspace_context", "get_current_note", "get_note_by_reference", "search_workspace")
every_tool = pytest.mark.parametrize("name", TOOLS)


def test_the_list_is_short_in_the_shape_that_a_model_sees() -> None:
    """One token of tekken is about 3.9 of these characters; `make bench ONLY=definitions` counts tokens."""

    def chars(names: Any) -> int:
        shown = [{key: TOOLS[name].definition[key] for key in MODEL_SEES} for name in names]
        return sum(len(msgspec.json.encode(each)) for each in shown)

    assert chars(TOOLS) <= 3_880
    assert chars(CORE) <= 2_440


@every_tool
def test_schemas_are_valid_and_tidy(name: str) -> None:
    tool = TOOLS[name]
    for schema in (
        tool.input_schema,
        tool.output_schema,
        *map(tool.definition.get, ("inputSchema", "outputSchema")),
    ):
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    assert tool.output_schema["required"] == ["success", "message", "asOfSeq"]
    assert {"data", "error", "code", "warnings"} <= set(tool.output_schema["properties"])
    for part in _objects(tool.definition):
        assert not isinstance(part.get("title"), str)
        assert all(field.isalnum() and field[0].islower() for field in part.get("properties", ()))
    for part in _objects(tool.output_schema):
        if part.get("type") == "object":  # none is bare, and no field is without a schema
            more = part.get("additionalProperties")
            assert more is False if "properties" in part else isinstance(more, dict) and more, part
            assert all(part.get("properties", {}).values())
    own = [schema for key, schema in tool.input_schema["properties"].items() if key not in ("at", "minSeq")]
    assert all(schema.get("description") for schema in own)


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [value, *(found for each in value.values() for found in _objects(each))]
    return [found for each in value for found in _objects(each)] if isinstance(value, list) else []


@every_tool
def test_the_listed_schema_has_bounds_and_defaults_of_numbers_and_leaves_out_the_rest(name: str) -> None:
    listed, full = TOOLS[name].definition["inputSchema"], TOOLS[name].input_schema
    unlisted = ("minSeq", "additionalProperties", "minLength", "maxLength", "maxItems")
    assert not [word for word in unlisted if f'"{word}"' in json.dumps(listed)]
    assert set(full["properties"]) - set(listed["properties"]) == {"minSeq"}
    assert listed.get("required") == full.get("required")
    for argument, schema in full["properties"].items():
        told = listed["properties"].get(argument, {})
        assert told.get("default", False) == (schema.get("default") or False)
        if argument not in ("offset", "minSeq", "sinceSeq"):
            assert told.get("maximum") == schema.get("maximum")
            assert told.get("minimum", 1) == schema.get("minimum", 1)
    for schema in (listed, full):
        Draft202012Validator(schema).validate({**REQUIRED.get(name, {}), "at": "3", "minSeq": 1})


@pytest.mark.parametrize(("name", "argument"), RANGES)
def test_integers_are_taken_within_their_range_only(name: str, argument: str) -> None:
    low, high = (TOOLS[name].input_schema["properties"][argument][end] for end in ("minimum", "maximum"))
    base = REQUIRED.get(name, {})
    for value in (low, high):
        assert TOOLS[name].check({**base, argument: value}).model_dump(by_alias=True)[argument] == value
    assert TOOLS[name].check({**base, argument: str(high)}).model_dump(by_alias=True)[argument] == high
    numbers = (low - 1, high + 1, 100.5, True, float("nan"), float("inf"), 10**400)
    for value in (*numbers, str(high + 1), "2e2", " 200", "", [200], {}):
        with pytest.raises(ArgumentInvalid) as caught:
            TOOLS[name].check({**base, argument: value})
        assert argument in caught.value.message
        assert f"from {low} to {high}" in caught.value.message


@every_tool
def test_null_stands_for_an_argument_that_may_be_absent_and_for_no_other(name: str) -> None:
    tool, base = TOOLS[name], REQUIRED.get(name, {})
    nothing = dict.fromkeys(tool.input_schema["properties"])
    assert tool.check({**nothing, **base}) == tool.check(base)
    for refused in (*({**base, required: None} for required in base), {**base, "other": None}):
        with pytest.raises(ArgumentInvalid):
            tool.check(refused)


WRONG_TEXTS: dict[tuple[str, str], list[Any]] = {
    ("get_note_by_reference", "reference"): ["", 7, None, "x" * 2_049, "\ud800"],
    ("get_related_notes", "reference"): ["", "x" * 2_049, "\ud800"],
    ("get_navigation_history", "sinceTime"): ["x" * 65, 5, ["2026-03-01"], True],
    ("search_workspace", "query"): ["", "x" * 501, 7, None, "\ud800"],
    ("search_workspace", "scope"): ["pins"],
    ("search_workspace", "tags"): ["design", ["x"] * 11, [""], ["x" * 201], [7]],
    ("search_workspace", "folder"): [7, "x" * 1_025],
}


@pytest.mark.parametrize(("name", "argument"), WRONG_TEXTS)
def test_a_text_is_taken_within_its_length_only_and_named_where_it_is_not(name: str, argument: str) -> None:
    for wrong in WRONG_TEXTS[name, argument]:
        with pytest.raises(ArgumentInvalid, match=f"'{argument}'"):
            TOOLS[name].check({**REQUIRED.get(name, {}), argument: wrong})


@pytest.mark.parametrize("name", REQUIRED)
def test_a_missing_argument_is_named(name: str) -> None:
    with pytest.raises(ArgumentInvalid, match=f"Missing argument '{next(iter(REQUIRED[name]))}'"):
        TOOLS[name].check({})


def test_input_is_echoed_in_at_most_200_characters(call: Callable[..., dict[str, Any]]) -> None:
    for arguments in ({"maxContentLength": "x" * 5000}, {"y" * 5000: 1}, {"maxContentLength": 10**5000}):
        result = run(TOOLS["get_workspace_context"], NOWHERE, arguments)
        assert result["code"] == "INVALID_ARGUMENT"
        assert len(result["error"]) < 320
        msgspec.json.encode(result)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(200))
@given(st.sampled_from(list(TOOLS)), st.data())
def test_the_gate_lets_through_exactly_what_the_schema_does(name: str, data: st.DataObject) -> None:
    tool = TOOLS[name]
    known = st.sampled_from([*tool.input_schema["properties"], "other"])
    arguments = data.draw(st.dictionaries(known, json_values | st.integers(50, 60_000), max_size=4) | json_values)
    valid = Draft202012Validator(tool.input_schema).is_valid(normalised(arguments, tool.input_schema))
    try:
        tool.check(arguments)
    except ArgumentInvalid as error:
        assert not valid
        assert error.hint
        assert str(error).isprintable()
    else:
        assert valid


def test_any_arguments_at_all_give_a_result_that_can_be_sent(check_result: Callable[..., None]) -> None:
    for name, tool in TOOLS.items():
        for arguments in ({}, {"reference": "\ud800"}, {"x": [[]]}, [], None, "text", {"minSeq": 2**70}):
            result = run(tool, NOWHERE, arguments)  # type: ignore[arg-type]
            check_result(name, result)
            assert result["success"] is False
            assert result["asOfSeq"] == 0
            assert result["message"]


@every_tool
@pytest.mark.parametrize("known", [False, True], ids=["no vault", "a vault that is not served"])
def test_without_a_vault_every_tool_that_needs_one_says_so(
    name: str, known: bool, make_view: Callable[..., View], check_result: Callable[..., None]
) -> None:
    result = run(TOOLS[name], make_view(None, EMPTY_VAULT, registered=known), REQUIRED.get(name, {}))
    check_result(name, result)
    assert "data" not in result
    if name == "get_context_manifest":
        assert result["code"] == "NOT_RECORDED"
        return
    assert result["code"] == "NO_ACTIVE_VAULT" and "workspaced start DIR" in result["message"]


class Nothing(Part):
    pass


def test_an_unexpected_failure_is_logged_and_tells_nothing_of_the_host(caplog: pytest.LogCaptureFixture) -> None:
    def broken(view: View, arguments: Arguments) -> Answer[Nothing]:
        raise RuntimeError("/home/someone/secret")

    tool = Tool("broken", "Breaks.", Arguments, Nothing, broken)
    with caplog.at_level(logging.ERROR):
        result = run(tool, NOWHERE, {})
    assert result["code"] == "INTERNAL"
    assert "secret" not in json.dumps(result)
    assert "secret" in caplog.text


def test_warnings_are_distinct_and_bounded() -> None:
    def wordy(view: View, arguments: Arguments) -> Answer[Nothing]:
        return Answer(Nothing(), "Done.", ["same", "same", *(f"w{n}" for n in range(100))])

    result = run(Tool("wordy", "Warns.", Arguments, Nothing, wordy), NOWHERE, {})
    assert len(result["warnings"]) == WARNINGS_MAX + 1
    assert result["warnings"][:2] == ["same", "w0"]
    assert "81 more" in result["warnings"][-1]
