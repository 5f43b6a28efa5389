"""The answers of the inspector's API are those that its schema tells of."""

import json
from typing import Final

import pytest
from jsonschema import Draft202012Validator
from support import ROOT
from support.inspector import Inspector

from workspaced.inspector.routes import ANSWERS

HUGE: Final = "9" * 5_000
"""More digits than Python makes a number of."""
SCHEMA = json.loads((ROOT / "schemas" / "inspector.json").read_text())


def test_the_schema_is_one_and_defines_every_answer() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert {each.__name__ for each in ANSWERS} <= set(SCHEMA["$defs"])


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda each: each.__name__)
def test_names_on_the_wire_are_in_camel_case(answer: type) -> None:
    names = list(SCHEMA["$defs"][answer.__name__]["properties"])
    assert [name for name in names if "_" in name] == []


@pytest.mark.parametrize(
    "path",
    [
        f"/api/state?at={HUGE}",
        f"/api/agents?at={HUGE}",
        "/api/agents?at=%D9%A3",  # a digit, but not of ours
        f"/api/search/tried?expression=seq&at={HUGE}",
        f"/api/search/words?at={HUGE}",
        f"/api/calls/{HUGE}",
        f"/api/prompts/{HUGE}",
        f"/api/prompts/{HUGE}/body",
        f"/api/prompts/{HUGE}/diff",
        f"/api/prompts/1/layers/L0_TOOLS/blocks/{HUGE}",
    ],
    ids=lambda path: path.replace(HUGE, "HUGE"),
)
def test_a_number_that_none_is_is_the_askers_fault(recorded: Inspector, path: str) -> None:
    assert recorded.error(path) == (400, "INVALID_ARGUMENT")
