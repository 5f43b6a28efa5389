"""What a log begins with, where it goes on from a moment of another log: a file `start` in the data directory.

The events of such a log follow the moment's sequence. So it holds nothing of the other log, and verifies alone.
"""

from typing import Self

import msgspec

from ..errors import LogDamaged
from ..log.data_directory import START
from ..log.disk import Disk, write_whole
from ..projections.visits import VisitFold, visits_from
from ..projections.workspace_state import EMPTY, WorkspaceState
from .snapshots import Made, encode, parse


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The folds of the events before a log's first one."""

    made: Made = Made()
    seq: int = 0
    """The sequence before the first event; 0: nothing stands before it."""
    time: str = ""
    """Of the moment; empty: there is none."""
    state: WorkspaceState = EMPTY
    visits: VisitFold = msgspec.field(default_factory=lambda: visits_from(0))

    @classmethod
    def of(cls, disk: Disk) -> Self:
        """What the log on the disk begins with; usually nothing.

        Raises:
            LogDamaged: the file `start` is damaged, or another version made it.
            OSError: it cannot be read.
        """
        try:
            found = parse(disk.read(START), cls)
        except FileNotFoundError:
            return cls()
        except ValueError as error:
            raise LogDamaged(f"{START} in the data directory is damaged: {error}.", file=START) from None
        if found is None:
            raise LogDamaged(
                f"{START} in the data directory was made by another version of workspaced.",
                hint="Read the log with that version.",
                file=START,
            )
        return found

    def write(self, disk: Disk) -> None:
        """Lets the log on the disk, which holds no event yet, begin with this.

        Raises:
            OSError: it was not written.
        """
        write_whole(disk, START, encode(self))
