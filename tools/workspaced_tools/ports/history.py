"""The ports to visits and to the past."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

from ..errors import NotRecorded
from ..notes.note import Note, NoteFailure


class HistoryPort(Protocol):
    """What the log tells of where the user was. Safe from any thread."""

    def visits(self) -> Sequence[Visit]:
        """The remembered visits of notes of the current vault, oldest first, up to the view's sequence. Visits of
        notes that the share policy withholds are not among them."""
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


class NoPast:
    """Nothing was recorded."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:  # noqa: ARG002
        raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)


SWITCHED_ON: Final = "With record = served, what tools read is kept; only what some call read can be told."


class NoHistory:
    """Nothing is remembered."""

    def visits(self) -> Sequence[Visit]:
        return ()
