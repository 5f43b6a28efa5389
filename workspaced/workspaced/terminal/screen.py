"""The user's terminal: its width, whether it has colours, and times of its zone."""

import os
import sys
import textwrap
from datetime import UTC, datetime
from typing import Final

from workspaced_events.escaping import escape_control

from .options import given
from .printing import say, styled

_COLUMNS_MIN: Final = 20


def columns() -> int | None:
    """The width of the terminal on standard output, or COLUMNS where that is set; None: lines of any length."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return max(_COLUMNS_MIN, int(given))
    try:
        return max(_COLUMNS_MIN, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError):
        return None


def local_time(time: str, *, timespec: str = "seconds") -> str:
    """A recorded time for people, in the local zone with its offset, or in UTC with `--utc`. `--at` takes it.

    Args:
        time: ISO 8601 in UTC, as events have it. Other texts are returned as they are.
        timespec: the last part that is shown, as of `datetime.isoformat`.
    """
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return time
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    if given("utc"):
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", timespec) + "Z"
    return moment.astimezone().isoformat(" ", timespec)


def print_labelled(label: str, text: str, *, colour: str | None = None) -> None:
    """Prints a label and a text; a text that is wider than the terminal goes on below itself, broken at spaces."""
    width = columns()
    head = f"{label} " if label else ""
    lines = [escape_control(text)]
    if width is not None:
        lines = wrapped(lines[0], max(_COLUMNS_MIN, width - len(head)))
    say(*((styled(label, fg=colour), " ") if label else ()), lines[0])
    for line in lines[1:]:
        say(" " * len(head) + line)


def wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, broken at spaces; a longer word stays whole."""
    return textwrap.wrap(text, max(1, width), break_long_words=False, break_on_hyphens=False) or [""]
