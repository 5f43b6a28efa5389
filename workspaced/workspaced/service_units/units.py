"""Services of the user's session: a systemd user unit, or a launchd agent. Defined, found, started, removed."""

import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_COMMAND_S: Final = 30.0
MARK: Final = "Written by `workspaced service install`"
"""Stands in every definition; a file without it is not ours."""


class Unit(NamedTuple):
    """A service's definition, and the commands that start and stop the service."""

    path: Path
    text: str
    start: list[list[str]]
    """After the file was written."""
    stop: list[list[str]]
    """Before the file is removed."""
    stopped: list[list[str]]
    """After the file was removed."""


def systemd_unit(workspace: str, command: Sequence[str], home: Path) -> Unit:
    """A user unit. It restarts after a crash, but not after a mistake in its settings."""
    name = f"workspaced{'' if workspace == 'default' else f'-{workspace}'}.service"
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
    text = "\n".join(
        [
            f"# {MARK}; `workspaced service install --remove` removes it.",
            "[Unit]",
            f"Description=workspaced, workspace {workspace}",
            "Documentation=man:workspaced(1)",
            "",
            "[Service]",
            f"ExecStart={' '.join(map(_systemd_word, command))}",
            "Restart=on-failure",
            "RestartSec=2",
            "RestartPreventExitStatus=2 3",
            "UMask=0077",
            "",
            "[Install]",
            "WantedBy=default.target",
            "",
        ]
    )
    systemctl = ["systemctl", "--user"]
    reload = [*systemctl, "daemon-reload"]
    return Unit(
        folder / name,
        text,
        start=[reload, [*systemctl, "enable", name], [*systemctl, "restart", name]],
        stop=[[*systemctl, "disable", "--now", name]],
        stopped=[reload],
    )


def launchd_agent(workspace: str, command: Sequence[str], home: Path) -> Unit:
    """An agent of the user's session. It restarts after a crash."""
    label = f"workspaced.{workspace}"
    path = home / "Library" / "LaunchAgents" / f"{label}.plist"
    definition = {
        "Label": label,
        "ProgramArguments": list(command),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "Umask": 0o077,
        "StandardErrorPath": str(home / "Library" / "Logs" / f"{label}.log"),
    }
    head, plist, rest = plistlib.dumps(definition, sort_keys=False).decode().partition("<plist ")
    domain = f"gui/{os.getuid()}"
    return Unit(
        path,
        f"{head}<!-- {MARK} -->\n{plist}{rest}",
        start=[["launchctl", "bootstrap", domain, str(path)]],
        stop=[["launchctl", "bootout", f"{domain}/{label}"]],
        stopped=[],
    )


UNITS: Final = {"systemd": systemd_unit, "launchd": launchd_agent}
MANAGER: Final = "launchd" if sys.platform == "darwin" else "systemd"
"""That of this system."""


def definitions(home: Path) -> Iterator[Unit]:
    """The services that there are, of every workspace."""
    make = UNITS[MANAGER]
    default = make("default", [], home).path
    for path in sorted(default.parent.glob(f"workspaced*{default.suffix}")):
        unit = make(path.stem.removeprefix("workspaced")[1:] or "default", [], home)
        if is_ours(unit):
            yield unit


def is_ours(unit: Unit) -> bool:
    """Whether the definition is there, and we have written it."""
    return unit.path.is_file() and MARK in unit.path.read_text(errors="replace")


def _systemd_word(word: str) -> str:
    """A word of ExecStart: systemd expands `%` and `$`, and reads quotes and backslashes as C does."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return word if re.fullmatch(r"[\w@+,./:=-]+", word, re.ASCII) else f'"{escaped}"'


def removed(unit: Unit, *, start: bool) -> str:
    """Stops the service if `start`, and removes its definition; returns what failed, or an empty text."""
    if not unit.path.exists():
        return ""
    failed = run(unit.stop) if start else ""
    unit.path.unlink()
    return failed or (run(unit.stopped) if start else "")


def run(commands: list[list[str]]) -> str:
    """Runs the commands; returns what failed, or an empty text."""
    for command in commands:
        if shutil.which(command[0]) is None:
            return f"There is no command {command[0]}."
        try:
            done = subprocess.run(  # noqa: S603
                command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_COMMAND_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"`{shlex.join(command)}` did not end within {_COMMAND_S:g} s."
        if done.returncode != 0:
            why = " ".join(done.stderr.split())
            return f"`{shlex.join(command)}` failed: {why or done.returncode}."
    return ""
