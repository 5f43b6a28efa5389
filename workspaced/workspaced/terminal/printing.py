"""What commands print: the one door to the terminal.

Names, texts and errors come from notes, logs, servers and files, and a terminal obeys what it finds in them. So
what goes out is escaped here, and no command prints by other means (tests/contracts/test_printing.py). Exact bytes
go to files and pipes only.
"""

import json
import logging
import os
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import click

from workspaced_events.escaping import escape_control


class Styled(NamedTuple):
    """A part of a line with a style, as of `click.style`."""

    text: str
    style: dict[str, Any]


def styled(text: str, **style: Any) -> Styled:
    """A part of a line that is coloured, bold and so on."""
    return Styled(text, style)


def say(*parts: str | Styled, err: bool = False) -> None:
    """Prints the parts as one line: what would end it is escaped too."""
    _echo("".join(map(_shown, parts)), err=err)


def _echo(line: str, *, err: bool = False) -> None:
    has_no_colour = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    click.echo(line, err=err, color=False if has_no_colour else None)


def _shown(part: str | Styled) -> str:
    if isinstance(part, Styled):
        return click.style(escape_control(part.text), **part.style)
    return escape_control(part)


def say_text(text: str, *, err: bool = False, **style: Any) -> None:
    """Prints a text with its lines and tabs."""
    for line in text.removesuffix("\n").split("\n"):
        shown = "\t".join(map(escape_control, line.split("\t")))
        _echo(click.style(shown, **style) if style else shown, err=err)


def say_difference(lines: Iterable[str]) -> None:
    """Prints the lines of a unified diff."""
    for line in lines:
        say_text(line, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))


def counted(count: int, noun: str) -> str:
    """`1 note`, `2 notes`, `0 batches`."""
    ending = "" if count == 1 else "es" if noun.endswith(("ch", "s")) else "s"
    return f"{count} {noun}{ending}"


def confirm(question: str) -> None:
    """Asks on stderr.

    Raises:
        click.Abort: the user declined.
    """
    click.confirm(escape_control(question), abort=True, err=True)


def agreed(question: str, *, default: bool = True) -> bool:
    """Asks on stderr; `default` is the answer of whoever says nothing."""
    return click.confirm(escape_control(question), default=default, err=True)


def asked(question: str) -> str:
    """What the user answers, asked on stderr."""
    answer: str = click.prompt(escape_control(question), err=True)
    return answer


def warn(text: str) -> None:
    """Prints a warning on stderr."""
    say(styled("warning:", fg="yellow"), f" {text}", err=True)


def print_json(*values: Any) -> None:
    """Prints values as JSON, one a line, for programs."""
    lines = list(map(_encoded, values))
    if lines:
        click.echo("\n".join(lines))


def print_readable_json(value: Any) -> None:
    for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n"):
        click.echo(_escaped_json(line))


def _encoded(value: Any) -> str:
    import msgspec  # not above, for the sake of --help

    try:
        return _escaped_json(msgspec.json.encode(value).decode())
    except UnicodeEncodeError:  # the path of a file that is not UTF-8
        return _escaped_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _escaped_json(text: str) -> str:
    """The same JSON; what a terminal may obey stands in it as an escape of JSON."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def print_bytes(*lines: bytes) -> None:
    """Writes exact bytes to standard output; to a terminal the text that they are."""
    if sys.stdout.isatty():
        say_text(b"".join(lines).decode(errors="replace"))
        return
    sys.stdout.buffer.writelines(lines)
    sys.stdout.buffer.flush()


class _Formatter(logging.Formatter):
    """Names of notes and errors of servers stand in it, and a terminal obeys what it finds in them."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(escape_control, super().format(record).split("\n")))  # a traceback has several lines


def log_to_stderr(level: int | str = logging.WARNING) -> None:
    """Has the program's log written to stderr, from a level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
