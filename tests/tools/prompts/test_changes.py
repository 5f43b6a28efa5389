"""Diffs that a model is sent: applied to the text above they give the present text."""

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


def test_texts_too_long_to_compare_have_no_diff() -> None:
    one = "\n".join(f"one {number}" for number in range(LINES_MAX))
    two = "\n".join(f"two {number}" for number in range(LINES_MAX))
    assert unified_diff(one, two) == ""
    assert line_changes(one, two + "\nmore") == (1, 0)
