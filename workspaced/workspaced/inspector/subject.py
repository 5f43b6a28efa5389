"""What is inspected. It imports nothing: the page is painted before what reads logs is there."""

from pathlib import Path
from typing import NamedTuple


class Subject(NamedTuple):
    """What is inspected."""

    path: Path
    """A data directory, or the file of a bundle or an export."""
    name: str
    """For people."""
    kind: str
    """`daemon`: a running daemon's log; `directory`, `bundle` or `export`: one that does not grow."""
    socket: Path | None = None
    """The daemon's; None: none writes this log."""
