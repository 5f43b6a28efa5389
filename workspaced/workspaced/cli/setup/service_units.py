"""Definitions of a service that runs the daemon: a systemd user unit, a launchd agent. No I/O."""

import os
import plistlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

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


def _systemd_word(word: str) -> str:
    """A word of ExecStart: systemd expands `%` and `$`, and reads quotes and backslashes as C does."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return word if re.fullmatch(r"[\w@+,./:=-]+", word, re.ASCII) else f'"{escaped}"'
