"""Which agents' programs are installed here, and what of ours their settings hold."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import SettingsInvalid
from . import hooks, json_text, servers
from .command_lines import OwnCommand, is_folder
from .json_text import Unmergeable
from .plans import check_is_read
from .runtimes import RUNTIMES, Runtime
from .settings_files import read

Part = Literal["mcp", "hook"]


class Connection(NamedTuple):
    """An MCP entry of ours, or a folder's hooks."""

    part: Part
    path: Path
    """The settings file."""
    name: str
    """Of the entry; of the hooks' events."""
    command: OwnCommand

    @property
    def vaults(self) -> tuple[str, ...]:
        return self.command.target.vaults

    def faults(self) -> Iterator[str]:
        """Why it cannot work: what it names is no longer there."""
        program = self.command.program[0]
        if shutil.which(program) is None:
            yield f"the command {program} does not exist"
        for vault in self.vaults:
            if not is_folder(vault):
                yield f"the folder {vault} does not exist"


class Connected(NamedTuple):
    """What is known of a program without asking a daemon."""

    runtime: str
    is_installed: bool
    connections: tuple[Connection, ...]
    problems: tuple[str, ...]
    """Why a file's entries are not known."""


def connected() -> list[Connected]:
    """Every program, in the order of `RUNTIMES`."""
    return [_of(runtime, spec) for runtime, spec in RUNTIMES.items()]


def _of(runtime: str, spec: Runtime) -> Connected:
    connections: list[Connection] = []
    problems: list[str] = []
    for find in (_servers, _hooks):
        try:
            connections += find(spec)
        except SettingsInvalid as error:
            problems.append(error.message)
    return Connected(runtime, is_installed(spec), tuple(connections), tuple(problems))


def is_installed(spec: Runtime) -> bool:
    """Whether one of its commands is on PATH, or its folder holds more than what we wrote."""
    if any(map(shutil.which, spec.programs)):
        return True
    ours = {spec.servers.path(), *([spec.hooks.path()] if spec.hooks is not None else [])}
    try:
        return any(path not in ours for path in spec.home().iterdir())
    except OSError:
        return False


def _servers(spec: Runtime) -> list[Connection]:
    path = spec.servers.path()
    text = read(path)
    try:
        check_is_read(spec, path, text or "")
        found = servers.find(spec.servers, servers.parse(spec.servers, text or ""))
    except Unmergeable as error:
        raise SettingsInvalid(f"{path} {error}.") from None
    return [Connection("mcp", path, _printable(each.name), each.command) for each in found]


def _hooks(spec: Runtime) -> list[Connection]:
    if spec.hooks is None:
        return []
    path = spec.hooks.path()
    text = read(path)
    try:
        check_is_read(spec, path, text or "")
        found = hooks.find(spec.hooks, json_text.parse(text or ""))
    except Unmergeable as error:
        raise SettingsInvalid(f"{path} {error}.") from None
    lines = {each.line: each.command for each in found}
    events = {line: ", ".join(each.event for each in found if each.line == line) for line in lines}
    return [Connection("hook", path, _printable(events[line]), command) for line, command in lines.items()]


def _printable(text: str) -> str:
    """The text, whatever JSON's escapes made of it."""
    return text.encode("utf-8", "backslashreplace").decode()
