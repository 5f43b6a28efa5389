"""Our own command lines in the settings of other programs: written, and recognised again."""

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workspaced_events.interpreter import installed_command

from ..__about__ import __version__
from ..bridge.target import Target, target_of
from ..hooks.hook import target_of as hook_target_of


class OwnCommand(NamedTuple):
    """A command line of ours, of any installation."""

    program: tuple[str, ...]
    arguments: tuple[str, ...]
    """What follows the subcommand."""
    target: Target
    """The daemon that it names."""

    def serves(self, vault: str) -> bool:
        """Whether it names exactly this folder."""
        return len(self.target.vaults) == 1 and is_same_folder(self.target.vaults[0], vault)

    @property
    def is_of_this_installation(self) -> bool:
        return self.program == tuple(own_program())


def own_program() -> list[str]:
    """The command of this installation: absolute, and without a version that the next one does not have."""
    program = installed_command()
    if __version__ in Path(program[0]).parts:
        on_path = shutil.which("workspaced")
        if on_path and Path(on_path).is_absolute() and os.path.realpath(on_path) == os.path.realpath(program[0]):
            return [on_path]
    return program


def bridge_line(vault: str) -> list[str]:
    """The bridge's command line for a folder, absolute.

    Raises:
        UnicodeEncodeError: the path is not UTF-8, so no settings file can hold it.
    """
    command = [*own_program(), "mcp", "--vault", absolute(vault)]
    "".join(command).encode()
    return command


def hook_line(runtime: str, vault: str) -> str:
    """The command line of a hook, for a shell.

    Raises:
        UnicodeEncodeError: the path is not UTF-8.
    """
    line = shlex.join([*own_program(), "hook", runtime, "--vault", absolute(vault)])
    line.encode()
    return line


def renewed_hook_line(hook: OwnCommand) -> str:
    """The line of a hook that is there, with the command of this installation; its arguments stay."""
    return shlex.join([*own_program(), "hook", *hook.arguments])


def own_bridge(argv: Sequence[str]) -> OwnCommand | None:
    """The command line as a bridge of ours; None if it is none."""
    split = _split(argv, "mcp")
    if split is None or (target := target_of(split[1])) is None:
        return None
    return OwnCommand(*split, target)


def own_hook(line: str) -> OwnCommand | None:
    """The shell's line as a hook of ours; None if it is none."""
    try:
        split = _split(shlex.split(line), "hook")
    except ValueError:
        return None
    if split is None or (target := hook_target_of(split[1])) is None:
        return None
    return OwnCommand(*split, Target(target.socket_path, target.workspace, target.vaults))


def absolute(path: str) -> str:
    """The path as settings files hold it; symbolic links stay, because they may be moved on purpose."""
    whole = Path(os.path.expanduser(path)).absolute()
    return str(whole.resolve() if ".." in whole.parts else whole)


def is_same_folder(one: str, other: str) -> bool:
    """Whether two paths lead to the same folder, which need not exist."""
    return os.path.realpath(os.path.expanduser(one)) == os.path.realpath(os.path.expanduser(other))


def is_folder(path: str) -> bool:
    """Whether the path leads to a folder; false for whatever is no path at all."""
    return os.path.isdir(absolute(path))


def _split(argv: Sequence[str], subcommand: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Program and arguments of a command line of ours with this subcommand."""
    words = list(argv)
    if not all(map(_can_be_an_argument, words)):
        return None
    match words:
        case [program, word, *_] if Path(program).name == "workspaced" and word == subcommand:
            length = 1
        case [_, "-P", "-m", "workspaced", word, *_] if word == subcommand:
            length = 4
        case [_, "-m", "workspaced", word, *_] if word == subcommand:
            length = 3
        case _:
            return None
    return tuple(words[:length]), tuple(words[length + 1 :])


def _can_be_an_argument(word: str) -> bool:
    """Whether a process could get the word: settings files can hold texts that no system call takes."""
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False
