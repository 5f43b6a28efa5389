"""The changes from one text to another, by lines."""

import difflib
from collections.abc import Iterator
from typing import Final

LINES_MAX: Final = 2_000
"""Longer texts are not compared: the time grows with the product of their lengths."""
CONTEXT_LINES: Final = 2


def unified_diff(before: str, after: str, *, context: int = CONTEXT_LINES, item: str = "") -> str:
    """The changes as a unified diff without file names; empty if the texts are too long to compare.

    Lines that both texts begin or end with are not compared, so a few edits in a long text are found fast.

    Args:
        item: what each line of a list begins with. A hunk then names the heading of its list, as git names a
            function, and has no lines around its changes.
    """
    context = 0 if item else context
    one, two = before.split("\n"), after.split("\n")
    headings = [""]
    for line in one if item else ():
        headings.append(headings[-1] if line.startswith(item) else f" {line}")
    start = _common(one, two, context)
    end = _common(one[start:][::-1], two[start:][::-1], context)
    one, two = one[start : len(one) - end], two[start : len(two) - end]
    if len(one) + len(two) > LINES_MAX:
        return ""
    return "\n".join(_hunks(one, two, start, context, headings))


def line_changes(before: str, after: str) -> tuple[int, int]:
    """The numbers of lines added and removed; of texts too long to compare, by their lengths alone."""
    diff = unified_diff(before, after, context=0)
    if not diff:
        more = after.count("\n") - before.count("\n")
        return max(0, more), max(0, -more)
    lines = diff.split("\n")
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)


def _common(one: list[str], two: list[str], context: int) -> int:
    """The number of lines that both begin with, without those that a hunk shows around its changes."""
    count = next((at for at, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), None)
    return max(0, (min(len(one), len(two)) if count is None else count) - context)


def _hunks(one: list[str], two: list[str], start: int, context: int, headings: list[str]) -> Iterator[str]:
    for group in difflib.SequenceMatcher(None, one, two).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        heading = headings[start + first[1] + (first[2] > first[1])] if len(headings) > 1 else ""
        yield f"@@ -{_range(start, first[1], last[2])} +{_range(start, first[3], last[4])} @@{heading}"
        for tag, one_from, one_to, two_from, two_to in group:
            if tag == "equal":
                yield from (f" {line}" for line in one[one_from:one_to])
                continue
            yield from (f"-{line}" for line in one[one_from:one_to])
            yield from (f"+{line}" for line in two[two_from:two_to])


def _range(start: int, begin: int, end: int) -> str:
    """Where a hunk begins, from 1 on, and how many lines it has; the line before it if it has none."""
    return f"{start + begin + (end > begin)},{end - begin}"
