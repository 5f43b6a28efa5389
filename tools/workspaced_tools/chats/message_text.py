"""The text of a message in a chat file, and the lines of the file that it must not be taken for.

A line of a text that looks like one of the file's own gets a backslash, and so does one that begins with
backslashes and then looks so; a blank line at an end of the text gets one, too, since blank lines there are the
file's. Every other line stays as it is. Lines end with a line feed only.
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
"""What a line begins with that has to be told from one of ours."""
_BACKSLASHES: Final = re.compile(r"\\*+[ \t\r]*+\Z")
BLANK: Final = re.compile(r"[ \t\r]*+\Z")


def escaped(text: str) -> str:
    """The text as its lines stand in the file. Linear."""
    lines = text.split("\n")
    first, end = inner(lines)
    return "\n".join(
        f"\\{line}"
        if not first <= at < end or _OURS.match(line) or (line[:1] == "\\" and _BACKSLASHES.match(line))
        else line
        for at, line in enumerate(lines)
    )


def inner(lines: list[str]) -> tuple[int, int]:
    """Where the lines begin, and end, that are not blank."""
    first, end = 0, len(lines)
    while first < end and BLANK.match(lines[first]):
        first += 1
    while end > first and BLANK.match(lines[end - 1]):
        end -= 1
    return first, end


def read_text(lines: list[str]) -> str | None:
    """The text that these lines of the file hold; None where they hold none."""
    first, end = inner(lines)
    return "\n".join(map(_unescaped, lines[first:end])) if first < end else None


def _unescaped(line: str) -> str:
    rest = line[1:]
    return rest if line[:1] == "\\" and (_OURS.match(rest) or _BACKSLASHES.match(rest)) else line
