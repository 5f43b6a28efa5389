"""A log for commands that give the same as a view of the inspector's page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..terminal.log import read_log
from .inspected import Inspected
from .subject import Subject


@contextmanager
def viewed_log(log: str | None) -> Iterator[Inspected]:
    """The log of `open_log` as the inspector's views read it.

    Raises:
        LogDamaged: it is damaged; raised when the block was done with the events before the damage.
    """
    with read_log(log) as opened:
        place = Path(log or "")  # of no account: the views that commands ask look at the log alone
        yield Inspected(Subject(place, str(place), "export"), opened)
        if opened.damage is not None:
            raise opened.damage
