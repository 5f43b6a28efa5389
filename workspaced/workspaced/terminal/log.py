"""Opens the log that a command reads: the one it was given, the daemon's, or the workspace's."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workspaced_events.errors import InvalidArgument
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import StoredSource

from ..discovery.records import running
from ..errors import NoDaemon
from ..settings.settings import Settings, load_settings
from .daemon import choices, daemon, record_of
from .options import given
from .output import print_warnings, segment_progress
from .printing import say

if TYPE_CHECKING:
    from .. import replay

_ANSWER_S = 60.0
"""The daemon records first what it has answered."""


def open_log(log: Path | str | None = None) -> StoredSource:
    """`log`, - for standard input; without it the running daemon's log, or where none runs the workspace's.

    Raises:
        NoDaemon: the named daemon does not run, or its log's location is unknown; or the workspace has no log yet.
        InvalidArgument: there is no such log.
    """
    if str(log) == "-":
        return open_source(sys.stdin.buffer)
    return open_source(Path(log) if log is not None else log_directory())


def log_directory() -> Path:
    """The data directory of the running daemon, or where none runs of the workspace, which is named on stderr.

    Every call that was answered is recorded in it.

    Raises:
        NoDaemon: the named daemon does not run, or its log's location is unknown; or the workspace has no log yet.
        InvalidArgument: the directory that the settings name holds no log.
    """
    try:
        with daemon(timeout_s=_ANSWER_S) as client:
            client.call("workspaced/calls", {"limit": 1})  # waits until the calls are recorded
    except NoDaemon:
        if given("socket") or os.environ.get("WORKSPACED_SOCKET"):
            raise
        return checked_log(load_settings(workspace=given("workspace")), why="no daemon was asked; ")
    if (record := record_of(client.path)) is None:
        raise NoDaemon(
            f"The daemon at {client.path} does not say where its log is.", hint="Name its directory instead."
        )
    return Path(record.data_dir)


def checked_log(settings: Settings, *, why: str = "") -> Path:
    """The data directory of the settings; names it on stderr, with the workspace unless it was named.

    Raises:
        NoDaemon: the workspace has never been served.
        InvalidArgument: a directory that was named holds no log.
    """
    data = settings.data_path.expanduser().absolute()
    if not (data / "log").is_dir():
        if settings.data_dir is not None:
            raise InvalidArgument(f"{data!s} holds no log.", hint="Give the daemon's data directory.")
        others, name = choices(running()), settings.workspace
        start = f"serve --workspace {name} --vault DIR" if name != "default" else "start DIR"
        raise NoDaemon(
            f"Workspace {settings.workspace} has no log yet: its daemon never ran here.",
            hint=f"Start it with `workspaced {start}`" + (f"; or add one of: {others}." if others else "."),
        )
    of = f"workspace {settings.workspace}: " if settings.data_dir is None else ""
    say(f"{why}{of}log in {data!s}", err=True)
    return data


@contextmanager
def read_log(log: str | None) -> Iterator["replay.Log"]:
    """The log of `open_log` as a `replay.Log` with the events before its damage."""
    from .. import replay

    with open_log(log) as source:
        with segment_progress("verifying") as progress:
            opened = replay.Log(source, until_damage=True, progress=progress)
        print_warnings(opened.warnings)
        yield opened
