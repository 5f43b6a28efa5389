"""Diffs that a model is sent: applied to the text above they give the present text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.diffs import applied

from workspaced_tools.prompts.model.changes import LINES_MAX, line_changes, unified_diff

lines = st.lists(st.sampled_from(["", "a", "b", " c", "-d", "+e", "@@ -1,1 +1,1 @@", "é\r"]), max_size=30)


@given(lines, lines, st.integers(0, 3))
def test_applied_to_the_text_before_it_gives_the_text_after(one: list[str], two: list[str], context: int) -> None:
    before, after = "\n".join(one), "\n".join(two)
    diff = unified_diff(before, after, context=context)
    assert applied(before, diff) == after if diff else before == after


@given(lines, lines)
def test_lines_are_counted(one: list[str], two: list[str]) -> None:
    added, removed = line_changes("\n".join(one), "\n".join(two))
    assert added - removed == max(1, len(two)) - max(1, len(one))
    assert (added, removed) == (0, 0) or one != two


@pytest.mark.parametrize("context", [0, 2])
def test_lines_in_common_around_the_changes_are_not_sent(context: int) -> None:
    text = [f"line {number}" for number in range(10_000)]
    diff = unified_diff("\n".join(text), "\n".join([*text[:5_000], "new", *text[5_001:]]), context=context)
    assert (
        diff.split("\n")[0] == f"@@ -{5_001 - context},{1 + 2 * context} +{5_001 - context},{1 + 2 * context} @@"
    )
    assert len(diff.split("\n")) == 3 + 2 * context


def test_texts_too_long_to_compare_have_no_diff() -> None:
    one = "\n".join(f"one {number}" for number in range(LINES_MAX))
    two = "\n".join(f"two {number}" for number in range(LINES_MAX))
    assert unified_diff(one, two) == ""
    assert line_changes(one, two + "\nmore") == (1, 0)
