"""The edits of a memory file. Pure: a text in, a text and the changed lines out.

Messages have the words that models were trained on, because they act on them without a further question.
"""

from typing import Final, NamedTuple

from ..errors import ArgumentInvalid, MemoryEditFailed
from ..limits import ECHO_CHARS_MAX

_NAMED_MAX: Final = 20
"""Occurrences that are looked for and named: each costs a look at the text."""


class Edited(NamedTuple):
    """A text after an edit."""

    text: str
    lines: tuple[int, int]
    """The first and the last changed line of the new text, from 1."""


def replaced(text: str, old: str, new: str, path: str) -> Edited:
    """The text with `new` for its only occurrence of `old`.

    Raises:
        ArgumentInvalid: `old` is empty.
        MemoryEditFailed: `old` does not occur, or more than once.
    """
    if not old:
        raise ArgumentInvalid("Argument 'old_str' is empty.", hint="Give the exact text to replace.")
    at = text.find(old)
    if at < 0:
        raise MemoryEditFailed(
            f"No replacement was performed, old_str `{old[:ECHO_CHARS_MAX]}` did not appear verbatim in {path}.",
            hint="View the file, and give old_str exactly as it is there, with its blanks.",
        )
    lines = [_line_at(text, at)]
    while len(lines) < _NAMED_MAX and (at := text.find(old, at + 1)) >= 0:
        lines.append(_line_at(text, at))
    if len(lines) > 1:
        named = ", ".join(map(str, lines))
        raise MemoryEditFailed(
            f"No replacement was performed. Multiple occurrences of old_str `{old[:ECHO_CHARS_MAX]}` "
            f"in lines: {named}. Please ensure it is unique.",
            hint="Give more of the text around it.",
        )
    return Edited(text.replace(old, new, 1), (lines[0], lines[0] + new.rstrip("\n").count("\n")))


def inserted(text: str, line: int, new: str) -> Edited:
    """The text with `new` as lines of its own after line number `line`; 0: at the beginning.

    Raises:
        MemoryEditFailed: the text has fewer lines.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise MemoryEditFailed(
            f"Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: "
            f"[0, {len(lines)}].",
            hint="View the file for its line numbers.",
        )
    added = new.removesuffix("\n").split("\n")
    whole = [*lines[:line], *added, *lines[line:]]
    ends_line = text.endswith("\n") or (line == len(lines) and new.endswith("\n"))
    return Edited("\n".join(whole) + "\n" * ends_line, (line + 1, line + len(added)))


def _line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
