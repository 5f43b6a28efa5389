"""JSON's depth, measured before a parser sees it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_events.schema.nesting import is_deeper

VALUES: Any = st.recursive(
    st.text(max_size=5) | st.sampled_from(['"', "\\", '\\"', "[", "}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=20,
)


def depth(value: Any) -> int:
    if not isinstance(value, list | dict):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


@settings(max_examples=examples(300))
@given(VALUES, st.integers(0, 6), st.booleans())
def test_brackets_count_outside_of_strings_alone(value: Any, levels: int, plain: bool) -> None:
    assert is_deeper(json.dumps(value, ensure_ascii=plain).encode(), levels) == (depth(value) > levels)


@pytest.mark.parametrize("filling", [b'\\"', b"x", b"\\\\", b'\\"[', b'","'])
def test_a_string_without_an_end_takes_time_in_line_with_its_length(filling: bytes) -> None:
    """A line of a mebibyte would hold up the daemon for half an hour."""

    def seconds(size: int) -> float:
        text = b"[" * 65 + b"]" * 65 + b'"' + filling * (size // len(filling))
        return thread_seconds(lambda: is_deeper(text, 64))

    assert grows_linearly(seconds, 50_000, 200_000)


@pytest.mark.parametrize("text", [b'[["', b'[["x\\', b'[["x\\"', b'[["[[[['])
def test_a_string_without_an_end_reaches_to_the_end(text: bytes) -> None:
    assert is_deeper(text, 1) and not is_deeper(text, 2)
