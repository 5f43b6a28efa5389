"""Nesting is measured in linear time, without a parser, and brackets in strings are none."""

import json

import pytest
from support.growth import costs_less_than

from workspaced_events.schema.nesting import is_deeper


@pytest.mark.parametrize("levels", [62, 63, 64, 65])
def test_brackets_in_strings_are_no_levels(levels: int) -> None:
    strings = json.dumps(['\\"[{' * 9, "]}", "\\"])
    text = "[" * (levels - 1) + strings + "]" * (levels - 1)
    assert is_deeper(text.encode(), 64) == (levels > 64)


@pytest.mark.parametrize("part", [b'"\\', b'"a', b'a\\"', b'\\"'])
def test_strings_without_an_end_take_no_longer_than_others(part: bytes) -> None:
    text = b"[]" * 70 + b'"' + part * 50_000 + b"\\"  # by the square of that it would take half a minute
    assert costs_less_than(1.0, lambda: is_deeper(text, 64))
