"""The answers of the inspector's API are those that its schema tells of."""

import json

import pytest
from jsonschema import Draft202012Validator
from support import ROOT

from workspaced.inspector.answers import ANSWERS

SCHEMA = json.loads((ROOT / "schemas" / "inspector.json").read_text())


def test_the_schema_is_one_and_defines_every_answer() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert {each.__name__ for each in ANSWERS} <= set(SCHEMA["$defs"])


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda each: each.__name__)
def test_names_on_the_wire_are_in_camel_case(answer: type) -> None:
    names = list(SCHEMA["$defs"][answer.__name__]["properties"])
    assert [name for name in names if "_" in name] == []
