"""A log as the inspector's views read it, for commands that give the same as its page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .call_source import call_source
from .output import print_warnings, segment_progress

if TYPE_CHECKING:
    from ...inspector.inspected import Inspected


@contextmanager
def viewed_log(log: str | None, socket_path: str | None, workspace: str | None) -> Iterator["Inspected"]:
    """`log` with all that it holds; without it the running daemon's, or where none runs the workspace's.

    Raises:
        InvalidArgument, NoDaemon: there is no such log.
        LogDamaged: it is damaged; raised when the block was done with the events before the damage.
    """
    from ... import replay
    from ...inspector.inspected import Inspected
    from ...inspector.searching.search import Searches
    from ...inspector.subject import Subject

    with call_source(log, socket_path, workspace) as source:
        with segment_progress("verifying") as progress:
            opened = replay.Log(source, until_damage=True, progress=progress)
        print_warnings(opened.warnings)
        place = Path(log or "")  # of no account: the views that commands ask look at the log alone
        yield Inspected(Subject(place, str(place), "export"), opened, Searches(place))
        if opened.damage is not None:
            raise opened.damage
