"""The log of a program that runs in the foreground, on stderr."""

import logging
import sys

from workspaced_events.escaping import escape_control


class _Formatter(logging.Formatter):
    """Names of notes and errors of servers stand in it, and a terminal obeys what it finds in them."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(escape_control, super().format(record).split("\n")))  # a traceback has several lines


def log_to_stderr(level: int | str = logging.WARNING) -> None:
    """Has the program's log written to stderr, from a level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
