"""Edits of a memory file: exactly what was asked, or an error that says what to do."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_tools.errors import ArgumentInvalid, MemoryEditFailed
from workspaced_tools.memory.commands import inserted, replaced

PATH = "/memories/plan.md"
lines = st.lists(st.text("ab é", max_size=4), max_size=6)


@settings(max_examples=examples(200))
@given(lines, st.integers(0, 7), lines.filter(bool), st.booleans())
def test_lines_are_inserted_after_that_line(before: list[str], line: int, new: list[str], ends: bool) -> None:
    text = "".join(f"{each}\n" for each in before)
    added = "\n".join(new) + "\n" * ends
    if line > len(before):
        with pytest.raises(MemoryEditFailed):
            inserted(text, line, added)
        return
    edited = inserted(text, line, added)
    after = edited.text.split("\n")
    first, last = edited.lines
    assert first == line + 1
    assert after[: first - 1] == before[:line]
    assert "\n".join(after[first - 1 : last]) == added.removesuffix("\n")
    assert after[last : last + len(before) - line] == before[line:]


@settings(max_examples=examples(200))
@given(st.text("ab\n", max_size=12), st.text("ab\n", max_size=3), st.text("xy\n", max_size=5))
def test_a_text_is_replaced_if_it_is_there_once(text: str, old: str, new: str) -> None:
    count = sum(text.startswith(old, at) for at in range(len(text)))
    if not old:
        with pytest.raises(ArgumentInvalid):
            replaced(text, old, new, PATH)
    elif count != 1:
        with pytest.raises(MemoryEditFailed):
            replaced(text, old, new, PATH)
    else:
        edited = replaced(text, old, new, PATH)
        assert edited.text == text.replace(old, new)
        assert edited.lines[0] == text[: text.index(old)].count("\n") + 1


def test_an_error_names_the_lines_where_the_text_is() -> None:
    with pytest.raises(MemoryEditFailed, match="in lines: 1, 3"):
        replaced("one\ntwo\none\n", "one", "x", PATH)


def test_the_last_line_keeps_its_missing_end() -> None:
    assert inserted("one\ntwo", 1, "x\n").text == "one\nx\ntwo"
    assert inserted("one", 1, "x").text == "one\nx"
    assert inserted("", 0, "x\n").text == "x\n"


@pytest.mark.thorough
def test_looking_for_a_text_takes_no_time_by_the_square_of_the_file() -> None:
    def seconds(size: int) -> float:
        def look() -> None:
            with pytest.raises(MemoryEditFailed):
                replaced("a" * size, "a" * (size // 2), "b", PATH)

        return thread_seconds(look)

    assert grows_linearly(seconds, 16_384, 65_536)
