"""Names the log that a command reads or changes without a daemon."""

from pathlib import Path

from workspaced_events.errors import InvalidArgument

from ...daemon.settings import Settings
from ...discovery.records import running
from ...errors import NoDaemon
from .printing import say
from .target import choices


def announce_log(settings: Settings, data: Path, *, why: str = "") -> None:
    """Prints on stderr the log's directory, with the workspace unless the directory was named, and `why` first."""
    of = f"workspace {settings.workspace}: " if settings.data_dir is None else ""
    say(f"{why}{of}log in {data!s}", err=True)


def check_log(settings: Settings, data: Path) -> None:
    """Checks that the directory holds a log.

    Raises:
        NoDaemon: the workspace has never been served.
        InvalidArgument: a directory that was named holds none.
    """
    if (data / "log").is_dir():
        return
    if settings.data_dir is not None:
        raise InvalidArgument(f"{data!s} holds no log.", hint="Give the daemon's data directory.")
    others = choices(running())
    raise NoDaemon(
        f"Workspace {settings.workspace} has no log yet: its daemon never ran here.",
        hint="Start it with `workspaced serve --vault DIR`" + (f"; or add one of: {others}." if others else "."),
    )
