"""What a view looks at: an open log, and who looks."""

from pathlib import Path
from typing import NamedTuple

from .. import replay
from .masking.mask import Mask


class Subject(NamedTuple):
    """What is inspected."""

    path: Path
    """A data directory, or the file of a bundle or an export."""
    name: str
    """For people."""
    kind: str
    """`daemon`: a running daemon's log; `directory`, `bundle` or `export`: one that does not grow."""


class Download(NamedTuple):
    """An answer that is a file."""

    content: bytes
    media_type: str
    name: str
    """As the browser saves it; ASCII, without a slash."""


class Inspected(NamedTuple):
    """What a view reads. Only one thread at a time may use it."""

    subject: Subject
    log: replay.Log
    mask: Mask
    """Hides the notes that are withheld from agents; over a log that does not grow: nothing."""
    may_change: bool = False
    """Whether the page may change the workspace."""
