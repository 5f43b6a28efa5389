"""What fits into the user's system: completion, the man page (the texts of `--help`), where the plugin is."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from ...__about__ import __version__
from ...errors import CODES, SettingsInvalid
from ...terminal.options import json_option
from ...terminal.output import output
from ...terminal.printing import say_text

_PACKAGE: Final = Path(__file__).parents[2]
_PLACES: Final = {"neovim": ("editors/neovim", "clients/neovim")}
"""For each name its folder in the installed package, and in a clone."""


@click.command()
@click.argument("name", type=click.Choice(list(_PLACES)))
@json_option
def path_command(name: str) -> None:
    """Print where a part of this installation is: `neovim` is the plugin's folder, for init.lua.

    \b
    local found, folder = pcall(vim.fn.system, { "workspaced", "path", "neovim" })
    if found and vim.v.shell_error == 0 then
      vim.opt.runtimepath:prepend(vim.trim(folder))
    end
    """
    in_package, in_clone = _PLACES[name]
    places = (_PACKAGE / in_package, _PACKAGE.parents[1] / in_clone)
    if (place := next(filter(Path.is_dir, places), None)) is None:
        raise SettingsInvalid(
            f"This installation has no {name} plugin.", hint="Run `pip install .` in a clone: its wheel has it."
        )
    output({"name": name, "path": str(place)}, str(place))


VARIABLE = "_WORKSPACED_COMPLETE"
"""The variable by which a shell asks for completions, as click reads it."""

_ZSH_HEAD: Final = "#compdef workspaced\n"
_ZSH_COMPDEF: Final = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n"
"""Whoever has not switched completion on has no `compdef`."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
def completion_command(shell: str) -> None:
    """Print the script that has SHELL complete commands, options, and names of actions and tools.

    \b
    bash
    echo 'command -v workspaced >/dev/null && eval "$(workspaced completion bash)"' >> ~/.bashrc
    zsh
    echo 'command -v workspaced >/dev/null && eval "$(workspaced completion zsh)"' >> ~/.zshrc
    fish
    mkdir -p ~/.config/fish/completions; workspaced completion fish > ~/.config/fish/completions/workspaced.fish
    """
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    script = made(root, {}, "workspaced", VARIABLE).source()
    if shell == "zsh":
        assert _ZSH_HEAD in script, "click's script has changed"
        script = script.replace(_ZSH_HEAD, _ZSH_HEAD + _ZSH_COMPDEF)
    output({"shell": shell, "script": script}, lambda answer: say_text(answer["script"]))


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
