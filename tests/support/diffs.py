"""Applies a unified diff as any reader of one would: by the counts of its hunks alone."""

import re

_HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def applied(text: str, diff: str) -> str:
    """The text with the diff's changes. A line that is not as the diff says is an AssertionError."""
    before, found, at = text.split("\n"), list[str](), 0
    rest = diff.split("\n")
    while rest:
        hunk = _HUNK.fullmatch(rest.pop(0))
        assert hunk is not None
        begin, size, _, new = map(int, hunk.groups())
        start = begin - (size > 0)
        found += before[at:start]
        at = start
        while size or new:
            sign, line = rest[0][:1], rest.pop(0)[1:]
            assert sign in " +-" and sign
            if sign in " -":
                assert before[at] == line
                at, size = at + 1, size - 1
            if sign in " +":
                found.append(line)
                new -= 1
    return "\n".join(found + before[at:])
