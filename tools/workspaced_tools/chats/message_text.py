"""Escapes the text of a message in a chat file, so that none of its lines reads like a line of the file's own.

A line that looks like one of the file's own gets a backslash, also after leading backslashes. A blank line at the
beginning or end of the text gets one too, since blank lines there belong to the file. Every other line is
unchanged. Lines end with a line feed only.
"""

import re
from typing import Final

from .context_line import BEGIN

COMMENT: Final = "<!-- workspaced:"
_HEADING_TEXT: Final = (  # the role and the time, or an unknown role
    r"\*\*(?:(user|assistant|system|summary)\*\*[ \t]*+(?:·(.*))?[ \t\r]*+\Z"
    r"|([^*\r]{1,64})\*\* · \d{4}-\d\d-\d\d)"
)
HEADING: Final = re.compile(_HEADING_TEXT)
_OURS: Final = re.compile(rf"\\*+(?:{_HEADING_TEXT}|{re.escape(BEGIN)}|{re.escape(COMMENT)})")
"""Matches the beginning of a line that needs a backslash."""
_BACKSLASHES: Final = re.compile(r"\\*+[ \t\r]*+\Z")
BLANK: Final = re.compile(r"[ \t\r]*+\Z")


def escaped(text: str) -> str:
    """Escapes the text for the file. Linear."""
    lines = text.split("\n")
    first, end = inner(lines)
    return "\n".join(
        f"\\{line}"
        if not first <= at < end or _OURS.match(line) or (line[:1] == "\\" and _BACKSLASHES.match(line))
        else line
        for at, line in enumerate(lines)
    )


def inner(lines: list[str]) -> tuple[int, int]:
    """The range of lines without blank ones at either end."""
    first, end = 0, len(lines)
    while first < end and BLANK.match(lines[first]):
        first += 1
    while end > first and BLANK.match(lines[end - 1]):
        end -= 1
    return first, end


def read_text(lines: list[str]) -> str | None:
    """The text in these lines of the file; None if all are blank."""
    first, end = inner(lines)
    return "\n".join(map(_unescaped, lines[first:end])) if first < end else None


def _unescaped(line: str) -> str:
    rest = line[1:]
    return rest if line[:1] == "\\" and (_OURS.match(rest) or _BACKSLASHES.match(rest)) else line
