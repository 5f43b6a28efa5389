"""`workspaced service`: the daemon as a service of the user's session. A systemd user unit, or a launchd agent."""

import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from workspaced_events.interpreter import installed_command

from ...daemon.settings import load_settings
from ...errors import ServiceFailed, SettingsInvalid
from ...vaults.registration import usable_folder
from ..shared.options import given, json_option, workspace_option
from ..shared.output import output, write_lines
from ..shared.printing import say, say_text

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


def _systemd_word(word: str) -> str:
    """A word of ExecStart: systemd expands `%` and `$`, and reads quotes and backslashes as C does."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return word if re.fullmatch(r"[\w@+,./:=-]+", word, re.ASCII) else f'"{escaped}"'


@click.group(name="service")
def service_command() -> None:
    """Run the daemon as a service: a systemd user unit, or a launchd agent."""


@service_command.command("install")
@click.option("--vault", "vaults", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="A folder.")
@workspace_option
@click.option("--manager", type=click.Choice(list(UNITS)), help="Default: that of this system.")
@click.option("--remove", is_flag=True, help="Stop the service and remove its definition.")
@click.option("--dry-run", is_flag=True, help="Only show the definition and the commands.")
@click.option("--start/--no-start", default=True, help="Whether to start and stop the service (default: yes).")
@json_option
def install_command(
    vaults: tuple[Path, ...], manager: str | None, remove: bool, dry_run: bool, start: bool
) -> None:
    """Have the daemon of a workspace start with the user's session.

    \b
    workspaced service install --vault ~/notes
    workspaced service install --vault ~/work --workspace work --dry-run
    workspaced service install --remove

    Writes the definition into the user's own folder of services, replaces one that it wrote before, and starts the
    service. Log, socket and settings are those of `workspaced serve --workspace NAME`.
    """
    name = load_settings(workspace=given("workspace")).workspace
    make = UNITS[manager or ("launchd" if sys.platform == "darwin" else "systemd")]
    unit = make(name, [] if remove else _command(name, vaults), Path.home())
    if unit.path.exists() and MARK not in unit.path.read_text(errors="replace"):
        raise SettingsInvalid(f"{unit.path!s} is not ours.", hint="Remove it, or name another --workspace.")
    commands = [*unit.stop, *unit.stopped] if remove else unit.start
    if not dry_run:
        failed = _removed(unit, start=start) if remove else _installed(unit, start=start)
    text = {} if remove else {"text": unit.text}
    flags = {"remove": remove, "dryRun": dry_run, "start": start}
    report = {"workspace": name, "path": str(unit.path), **text, "commands": commands, **flags}
    output(report, lambda _: _print(unit, commands, remove=remove, dry_run=dry_run, start=start))
    if not dry_run and failed:
        raise ServiceFailed(failed, hint="Run: " + "; ".join(map(shlex.join, commands)))


def _command(workspace: str, vaults: tuple[Path, ...]) -> list[str]:
    """The daemon's command line; without `vaults` those of the settings are served."""
    if not vaults and not load_settings().vaults:
        raise SettingsInvalid("No vault is named.", hint="Give --vault DIR, or set `vaults` in config.toml.")
    command = [*installed_command(), "serve", "--workspace", workspace]
    for vault in vaults:
        command += ["--vault", str(usable_folder(vault))]
    "".join(command).encode()  # raises for a path that is not UTF-8, because no definition can hold it
    return command


def _installed(unit: Unit, *, start: bool) -> str:
    """Writes the definition and starts the service; returns why it could not be started, or an empty text."""
    unit.path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(iter([unit.text.encode()]), unit.path)
    return _run(unit.start) if start else ""


def _removed(unit: Unit, *, start: bool) -> str:
    if not unit.path.exists():
        return ""
    failed = _run(unit.stop) if start else ""
    unit.path.unlink()
    return failed or (_run(unit.stopped) if start else "")


def _run(commands: list[list[str]]) -> str:
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


def _print(unit: Unit, commands: list[list[str]], *, remove: bool, dry_run: bool, start: bool) -> None:
    if dry_run and not remove:
        say_text(unit.text)
    done = "would be " if dry_run else ""
    say(f"{unit.path!s} {done}{'removed' if remove else 'written'}", err=True)
    if dry_run or not start:
        for command in commands:
            say(f"  {shlex.join(command)}", err=True)
