"""`workspaced service`: the daemon as a service of the user's session. A systemd user unit, or a launchd agent."""

import shlex
from pathlib import Path

import click

from workspaced_events.errors import WorkspacedError
from workspaced_events.interpreter import installed_command

from ..errors import SettingsInvalid
from ..settings.settings import load_settings
from ..terminal.options import given, json_option, workspace_option
from ..terminal.output import output, write_lines
from ..terminal.printing import say, say_text
from ..vaults.registration import usable_folder
from .units import MANAGER, UNITS, Unit, is_ours, removed, run


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
    make = UNITS[manager or MANAGER]
    unit = make(name, [] if remove else _command(name, vaults), Path.home())
    if unit.path.exists() and not is_ours(unit):
        raise SettingsInvalid(f"{unit.path!s} is not ours.", hint="Remove it, or name another --workspace.")
    commands = [*unit.stop, *unit.stopped] if remove else unit.start
    failed = ""
    if not dry_run and remove:
        failed = removed(unit, start=start)
    elif not dry_run:
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(iter([unit.text.encode()]), unit.path)
        failed = run(unit.start) if start else ""
    text = {} if remove else {"text": unit.text}
    flags = {"remove": remove, "dryRun": dry_run, "start": start}
    report = {"workspace": name, "path": str(unit.path), **text, "commands": commands, **flags}
    output(report, lambda _: _print(unit, commands, remove=remove, dry_run=dry_run, start=start))
    if failed:
        hint = "Run: " + "; ".join(map(shlex.join, commands))
        raise WorkspacedError(failed, hint=hint, code="SERVICE_FAILED")


def _command(workspace: str, vaults: tuple[Path, ...]) -> list[str]:
    """The daemon's command line; without `vaults` those of the settings are served."""
    if not vaults and not load_settings().vaults:
        raise SettingsInvalid("No vault is named.", hint="Give --vault DIR, or set `vaults` in config.toml.")
    command = [*installed_command(), "serve", "--workspace", workspace]
    for vault in vaults:
        command += ["--vault", str(usable_folder(vault))]
    "".join(command).encode()  # raises for a path that is not UTF-8, because no definition can hold it
    return command


def _print(unit: Unit, commands: list[list[str]], *, remove: bool, dry_run: bool, start: bool) -> None:
    if dry_run and not remove:
        say_text(unit.text)
    done = "would be " if dry_run else ""
    say(f"{unit.path!s} {done}{'removed' if remove else 'written'}", err=True)
    if dry_run or not start:
        for command in commands:
            say(f"  {shlex.join(command)}", err=True)
