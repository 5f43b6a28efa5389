"""The lines by which two texts differ. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rapidfuzz.distance import LCSseq

from ..ports.history import ChangedLines

COMPARED_LINES_MAX: Final = 10_000
"""With more differing lines on one side, all lines count as replaced: comparing them takes quadratic time."""


class LineChange(NamedTuple):
    """One range of lines that differs: its start and end in the old lines, and in the new lines."""

    start: int
    end: int
    start_after: int
    end_after: int


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its LF. A lone CR ends no line."""
    if not text:
        return []
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])


def line_changes(before: Sequence[str], after: Sequence[str]) -> list[LineChange]:
    """The ranges that differ, in order."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not old and not new:
        return []
    if max(len(old), len(new)) > COMPARED_LINES_MAX:
        return [LineChange(start, start + len(old), start, start + len(new))]
    changes: list[LineChange] = []
    for each in LCSseq.opcodes(old, new):
        if each.tag == "equal":
            continue
        low, low_after = start + each.src_start, start + each.dest_start
        if changes and changes[-1].end == low and changes[-1].end_after == low_after:
            low, _, low_after, _ = changes.pop()  # adjacent changes become one: removed lines, then added ones
        changes.append(LineChange(low, start + each.src_end, low_after, start + each.dest_end))
    return changes


def changed_lines(before: str, after: str) -> ChangedLines:
    """How many lines lead from one text to the other."""
    changes = line_changes(lines_of(before), lines_of(after))
    added = sum(each.end_after - each.start_after for each in changes)
    return ChangedLines(added, sum(each.end - each.start for each in changes))
