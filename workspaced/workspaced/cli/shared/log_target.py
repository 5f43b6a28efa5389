"""Names the log that a command reads or changes without a daemon."""

from pathlib import Path

import click

from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import escape_control

from ...daemon.settings import Settings
from ...discovery.records import running
from ...errors import NoDaemon
from .target import choices


def announce_log(settings: Settings, data: Path, *, why: str = "") -> None:
    """Prints on stderr the log's directory, with the workspace unless the directory was named, and `why` first."""
    of = f"workspace {escape_control(settings.workspace)}: " if settings.data_dir is None else ""
    click.echo(f"{why}{of}log in {escape_control(str(data))}", err=True)


def check_log(settings: Settings, data: Path) -> None:
    """Checks that the directory holds a log.

    Raises:
        NoDaemon: the workspace has never been served.
        InvalidArgument: a directory that was named holds none.
    """
    if (data / "log").is_dir():
        return
    if settings.data_dir is not None:
        raise InvalidArgument(
            f"{escape_control(str(data))} holds no log.", hint="Give the daemon's data directory."
        )
    others = choices(running())
    raise NoDaemon(
        f"Workspace {settings.workspace} has no log yet: its daemon never ran here.",
        hint="Start it with `workspaced serve --vault DIR`" + (f"; or add one of: {others}." if others else "."),
    )
