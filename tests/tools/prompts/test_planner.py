"""Planning which tools to call: the schema, the prompt, and the check of what a model answered."""

import json
import re
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.growth import costs_less_than, grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.prompts.planning.asking import (
    HELD_CHARS_MAX,
    QUERY_CHARS_MAX,
    SNIPPET_CHARS_MAX,
    Held,
    plan_prompt,
)
from workspaced_tools.prompts.planning.checking import (
    ANSWER_CHARS_MAX,
    PROBLEMS_PER_CALL_MAX,
    Call,
    Planned,
    planned,
)
from workspaced_tools.prompts.planning.plan_schema import CALLS_MAX, WHY_CHARS_MAX, plan_schema
from workspaced_tools.prompts.providers.tool_definitions import Definition
from workspaced_tools.tools.registry import EVERY_TOOL

SEARCH = Definition(
    "search_workspace",
    "Finds notes by words. Ranked by how well they fit.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.org/search",
        "type": "object",
        "$defs": {
            "Limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "Filter": {
                "type": "object",
                "properties": {
                    "tag": {"type": "string"},
                    "any": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
                },
                "additionalProperties": False,
            },
        },
        "properties": {
            "query": {"type": "string"},
            "limit": {"$ref": "#/$defs/Limit"},
            "least": {"$ref": "https://example.org/search#/$defs/Limit"},
            "filter": {"$ref": "#/$defs/Filter"},
            "default": {"$ref": "#/$defs/Limit"},
            "$ref": {"type": "string", "default": {"$ref": "#/$defs/Limit"}},
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)
READ = Definition("read_note", "Reads a note", {"type": "object", "properties": {"path": {"type": "string"}}})
TREE = Definition(
    "make_tree", "", {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}
)
TOOLS = (SEARCH, READ, TREE)
FOUND = {"tool": "search_workspace", "arguments": {"query": "plan", "limit": 3}, "why": "to find it"}
GOOD = Call("search_workspace", {"query": "plan", "limit": 3}, "to find it")


def plan(*calls: Any) -> str:
    return json.dumps({"calls": calls})


def paths(done: Planned) -> list[str]:
    return [problem.path for problem in done.problems]


# -- the schema --


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


@pytest.mark.parametrize(
    ("given_call", "fits"),
    [
        (FOUND, True),
        (call("search_workspace", query="x", filter={"any": [{"tag": "a"}, {"any": []}]}), True),
        (call("search_workspace", query="x", filter={"any": [{"tig": "a"}]}), False),
        (call("search_workspace", query="x", limit=51), False),
        (call("search_workspace", query="x", least=0), False),
        (call("search_workspace", query="x", default=0), False),
        (call("search_workspace", **{"query": "x", "$ref": "y"}), True),
        (call("search_workspace", **{"query": "x", "$ref": 1}), False),
        (call("search_workspace"), False),
        (call("read_note"), True),
        (call("read_note", path=1), False),
        (call("make_tree", child={"child": {}}), True),
        (call("other"), False),
        ({"tool": "read_note"}, False),
        ({"tool": "read_note", "arguments": []}, False),
        ({**call("read_note"), "why": "x" * (WHY_CHARS_MAX + 1)}, False),
        ("read_note", False),
    ],
)
def test_the_schema_and_the_check_agree_on_what_a_call_is(given_call: Any, fits: bool) -> None:
    schema = plan_schema(TOOLS)
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid({"calls": [given_call]}) == fits
    done = planned(plan(given_call), TOOLS)
    assert (len(done.calls), not done.problems) == ((1, True) if fits else (0, False))


@pytest.mark.parametrize("shape", ["listed", "whole"])
@pytest.mark.parametrize(
    ("name", "arguments", "read"),
    [
        ("search_workspace", {"query": "x", "limit": "5", "folder": None}, {"query": "x", "limit": 5}),
        ("search_workspace", {"query": "x", "limit": 51}, None),
        ("search_workspace", {"query": ""}, None),
        ("search_workspace", {"query": "x", "tags": ["a"] * 99}, None),
        ("get_note_by_reference", {"reference": "a", "maxContentLength": 99}, None),
        ("get_note_by_reference", {"reference": "a", "depth": 1}, None),
        ("get_note_by_reference", {"reference": "a", "whole": "True"}, {"reference": "a", "whole": True}),
        ("get_workspace_summary", {"at": 3}, {"at": 3}),
    ],
)
def test_a_call_of_our_own_tool_fits_if_the_tool_takes_it(
    shape: str, name: str, arguments: dict[str, Any], read: dict[str, Any] | None
) -> None:
    own = EVERY_TOOL[name]
    parameters = own.definition["inputSchema"] if shape == "listed" else own.input_schema
    done = planned(plan(call(name, **arguments)), [Definition(name, own.description, parameters)])
    assert [each.arguments for each in done.calls] == ([read] if read is not None else [])
    with nullcontext() if read is not None else pytest.raises(ArgumentInvalid):
        own.check(arguments)


def test_of_tools_of_one_name_the_first_counts() -> None:
    second = Definition("read_note", "", {"type": "object", "required": ["x"]})
    assert len(plan_schema((READ, second))["properties"]["calls"]["items"]["oneOf"]) == 1
    assert planned(plan(call("read_note")), (READ, second)).calls


# -- the prompt --


def test_the_prompt_shows_the_words_what_is_held_and_the_tools() -> None:
    held = (Held("Plan", "work/plan.md", "  Ship on Friday.\n"), Held("Empty", "e.md"), Held("B", "b.md", "Beta"))
    prompt = plan_prompt("When do we ship?", held, TOOLS)
    assert "<user_query>\n<content>\nWhen do we ship?\n</content>" in prompt
    assert "- Plan (work/plan.md)\n- Empty (e.md)\n- B (b.md)" in prompt
    assert "<content>\nShip on Friday.\n</content>" in prompt and "<content>\nBeta\n</content>" in prompt
    assert "- search_workspace: Finds notes by words.\n- read_note: Reads a note\n" in prompt
    schema = prompt[prompt.index("<plan_schema>\n<content>\n") :].splitlines()[2]
    assert json.loads(schema) == plan_schema(TOOLS)


def test_what_is_held_is_bounded_and_the_prompt_says_how_much_is_left_out() -> None:
    held = [Held("none", "n.md", " \n")] + [Held(f"t{i}", f"{i}.md", f"{i}" * 500) for i in range(4)]
    prompt = plan_prompt("q", held, ())
    assert prompt.count("<context_snippet>") == 2 and "22" not in prompt and "There are no tools." in prompt
    assert all(f"\n{str(i) * SNIPPET_CHARS_MAX}\n" in prompt for i in range(2))
    prompt = plan_prompt("q" * (QUERY_CHARS_MAX + 5), [Held("x" * 10_000, f"{i}.md") for i in range(1_000)], ())
    listed = prompt.count("(") - plan_prompt("", (), ()).count("(")
    assert f"{1_000 - listed} more are left out." in prompt and 1 < listed < 1_000
    assert "<left_out>5 more characters</left_out>" in prompt
    assert len(prompt) < QUERY_CHARS_MAX + HELD_CHARS_MAX + 2_000


def test_no_text_can_leave_its_place() -> None:
    plain = plan_prompt("q", (Held("t", "p", "x"),), (Definition("a_tool", "", {"type": "object"}),))
    for text in ("</user_query>", "</context_snippet>", "</plan_schema>", "\n- fake (f.md)", "</title>"):
        tool = Definition("a_tool", f"{text} {text}", {"type": "object", "description": text})
        prompt = plan_prompt(text, (Held(text, text, text),), (tool,))
        for name in ("user_query", "context_snippet", "plan_schema"):
            assert prompt.count(f"</{name}>") == plain.count(f"</{name}>") == 1
        lists = re.sub(r"<content>\n.*?\n</content>", "", prompt, flags=re.DOTALL)
        assert lists.count("\n- ") == 2


# -- what came --


@pytest.mark.parametrize(
    "around",
    [
        *["{}", "```json\n{}\n```", "Here is the plan:\n\n```\n{}\n```\nGood luck."],
        *["I use {{braces}} first, then {} and {{more", '{{"thought": "x"}} {}', 'He said "{{ and then: {}'],
        *["\ufeff  {}  ", '{{"a": [1, {}]'],
    ],
)
def test_a_plan_is_found_in_whatever_stands_around_it(around: str) -> None:
    answer = around.replace("{{", "\0").replace("}}", "\1").replace("{}", plan(FOUND))
    assert planned(answer.replace("\0", "{").replace("\1", "}"), TOOLS) == Planned((GOOD,))


def test_good_calls_are_kept_beside_bad_ones() -> None:
    answer = plan(
        FOUND,
        call("search_workspace", query="x", limit="many"),
        call("serch_workspace", query="x"),
        call("search_workspace", query="x", filter={"any": [{}, {"t i g": 1}]}),
        call("search_workspace", limit=3),
        7,
        {"arguments": {}},
        {"tool": 3},
    )
    done = planned(answer, TOOLS)
    assert done.calls == (GOOD,)
    assert paths(done) == [
        "calls[1].arguments.limit",
        "calls[2].tool",
        'calls[3].arguments.filter.any[1]["t i g"]',
        "calls[4].arguments.query",
        "calls[5]",
        "calls[6].tool",
        "calls[7].tool",
    ]
    assert "search_workspace" in done.problems[1].message
    assert planned(plan(*[FOUND] * (CALLS_MAX + 2)), TOOLS).calls == (GOOD,) * CALLS_MAX
    with_more = planned(json.dumps({"thought": "hm", "calls": [FOUND] * (CALLS_MAX + 1)}), TOOLS)
    assert paths(with_more) == ["thought", f"calls[{CALLS_MAX}]"]
    many = planned(plan(call("search_workspace", query="x", filter={"any": [3] * 1_000})), TOOLS)
    assert len(many.problems) == PROBLEMS_PER_CALL_MAX + 1 and many.problems[-1].path == "calls[0]"


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ("", ""),
        ("no plan", ""),
        ('[{"title": "x"}]', ""),
        ("{", ""),
        ('{"calls": NaN}', ""),
        ('{"calls": [1e999]}', ""),
        ('{"calls": ["\\ud800"]}', ""),
        ("{}", "calls"),
        ('{"calls": {}}', "calls"),
        ('{"calls": null}', "calls"),
        ('{"calls": ' + "[" * 100 + "]" * 100 + "}", ""),
        ('{"calls": ' + "[" * 100_000 + "]" * 100_000 + "}", ""),
        ('{"calls": []}' + " " * ANSWER_CHARS_MAX, ""),
    ],
)
def test_what_is_no_plan_is_one_problem(answer: str, path: str) -> None:
    done = planned(answer, TOOLS)
    assert done.calls == () and paths(done) == [path]


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": 3},
        {"properties": {"x": {"$ref": "#/$defs/none"}}},
        {"properties": {"x": {"$ref": "https://example.invalid/schema"}}},
        {"$ref": "#"},
        {"properties": {"x": {"pattern": "("}}},
    ],
)
def test_a_tool_whose_schema_cannot_check_is_a_problem_of_its_call(parameters: dict[str, Any]) -> None:
    tool = Definition("odd_tool", "", parameters)
    done = planned(plan(call("odd_tool", x="y"), FOUND), (*TOOLS, tool))
    assert done.calls[-1] == GOOD
    assert paths(done) == ["calls[0].arguments"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["read_note"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["calls", "tool", "arguments", "why", "query", "child"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)
written = st.one_of(
    st.text(max_size=40),
    json_values.map(json.dumps),
    st.lists(json_values, max_size=3).map(lambda calls: json.dumps({"calls": calls})),
    st.lists(
        st.sampled_from(['{"calls":', "[", "]", "}", "{", '"', "\\", "1", ",", "```json\n", "x"]), max_size=15
    ).map("".join),
)


@settings(max_examples=examples(300))
@given(written)
def test_whatever_a_model_writes_each_call_that_is_kept_fits_and_all_else_is_told(answer: str) -> None:
    done = planned(answer, TOOLS)
    gate = Draft202012Validator(plan_schema(TOOLS))
    assert done.calls or done.problems or '"calls"' in answer or re.search(r"\[\s*\]", answer)
    for each in done.calls:
        assert gate.is_valid({"calls": [{"tool": each.tool, "arguments": each.arguments, "why": each.why}]})
    assert msgspec.json.decode(msgspec.json.encode(done), type=Planned) == done


@pytest.mark.parametrize("unit", ['{"', '{"a":[', '{"a": 1} ', '{"\\u', "[{", '[{"tool":1}]'])
def test_finding_a_plan_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        answer = unit * (length // len(unit))
        return thread_seconds(lambda: planned(answer, TOOLS))

    assert grows_linearly(seconds, 40_000, 160_000)


# -- bounds: a schema may come from anywhere --


def tool_with(schema: dict[str, Any]) -> Definition:
    return Definition("hard", "Hard.", {"type": "object", **schema})


DOUBLING = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(40)} | {"d40": {}}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"pattern": "^(a+)+$"}}}, {"a": "a" * 60 + "!"}),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [{"n": at} for at in range(4_000)]}),
        ({"$defs": DOUBLING, "properties": {"a": {"$ref": "#/$defs/d0"}}}, {"a": 1}),
    ],
    ids=["pattern", "unique items", "references that double"],
)
def test_a_call_that_takes_too_long_to_check_is_a_problem_and_others_count(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    answer = json.dumps({"calls": [{"tool": "hard", "arguments": arguments}, {"tool": "easy", "arguments": {}}]})
    tools = [tool_with(schema), Definition("easy", "Easy.", {"type": "object"})]
    assert costs_less_than(2, lambda: planned(answer, tools))
    found = planned(answer, tools)
    assert [call.tool for call in found.calls] == ["easy"]
    assert found.problems and all(problem.path.startswith("calls[0]") for problem in found.problems)
