"""What the gate asks for visits and for the past."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

from ..notes.note import Note, NoteFailure


class HistoryPort(Protocol):
    """What the log tells of where the user was. Safe from any thread."""

    def visits(self) -> Sequence[Visit]:
        """The remembered visits of notes of the current vault, oldest first, up to the view's sequence; the gate
        leaves out those of withheld notes."""
        ...


class VersionAt(msgspec.Struct, frozen=True):
    """A note as it was."""

    seq: int
    """The moment: that of the question, or where the version was read last."""
    at: str
    """Its time."""
    note: Note | NoteFailure


class PastPort(Protocol):
    """What log and recordings tell of earlier versions of notes. Safe from any thread; may block."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        """What the note that is called `note` now was at the sequence or time `since`; with None the last version
        that was recorded and whose file had another sha256 than `current`.

        Raises:
            NotRecorded: nobody kept it.
            ArgumentInvalid: `since` is no moment of the log up to the view's own.
        """
        ...


SWITCHED_ON: Final = "With record = served, what tools read is kept; only what some call read can be told."
