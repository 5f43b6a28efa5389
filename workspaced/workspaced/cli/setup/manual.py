"""`workspaced manual`: the man page, of the same texts as `--help`."""

import inspect
import re
import textwrap
from collections.abc import Iterator

import click

from ...__about__ import __version__
from ...errors import CODES
from ...terminal.options import json_option
from ...terminal.output import output
from ...terminal.printing import say_text


@click.command()
@json_option
def manual_command() -> None:
    """Print the man page.

    \b
    workspaced manual | man -l -
    """
    page = man_page(click.get_current_context().find_root().command)
    output({"name": "workspaced", "section": 1, "page": page}, lambda _: say_text(page))


def man_page(root: click.Command) -> str:
    """The man page of a command and of all below it, in roff."""
    lines = [
        f'.TH WORKSPACED 1 "" "workspaced {__version__}" "User Commands"',
        ".SH NAME",
        f"workspaced \\- {_roff((root.help or '').strip().rstrip('.'))}",
        ".SH SYNOPSIS",
        ".B workspaced",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH COMMANDS",
    ]
    assert isinstance(root, click.Group)
    with click.Context(root, info_name="workspaced") as context:
        for name in root.list_commands(context):
            command = root.get_command(context, name)
            assert command is not None
            lines += _command(command, context, name)
    lines += [".SH EXIT STATUS", *_exit_codes()]
    lines += [".SH SEE ALSO", "The documents in the source distribution, under docs/."]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    with click.Context(command, info_name=name, parent=parent) as context:
        pieces = " ".join(piece for piece in command.collect_usage_pieces(context) if piece)
        yield f'.SS "{_roff(f"{context.command_path} {pieces}".rstrip())}"'
        yield from _text(command.help or "")
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                record = option.get_help_record(context)
                if record is not None:
                    yield from (".TP", f".B {_roff(record[0])}", _roff(record[1]))
        if isinstance(command, click.Group):
            for each in command.list_commands(context):
                part = command.get_command(context, each)
                assert part is not None
                yield from _command(part, context, each)


def _text(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        yield ".PP"
        if lines and lines[0].strip() == "\b":
            yield from (
                ".nf",
                *(_roff(line) for line in textwrap.dedent("\n".join(lines[1:])).splitlines()),
                ".fi",
            )
        else:
            yield _roff(" ".join(line.strip() for line in lines))


def _exit_codes() -> Iterator[str]:
    of: dict[int, list[str]] = {0: ["success"]}
    for code, wire in sorted(CODES.items()):
        of.setdefault(wire.exit, []).append(code)
    of[130] = ["interrupted by Ctrl\\-C, or declined"]
    for number, codes in sorted(of.items()):
        yield from (".TP", f".B {number}", ", ".join(codes))


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped)
