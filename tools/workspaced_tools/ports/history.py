"""The ports behind the gate for visits and for earlier versions of notes."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

from ..notes.note import Note, NoteFailure


class HistoryPort(Protocol):
    """The user's visits, folded from the log. Safe from any thread."""

    def visits(self) -> Sequence[Visit]:
        """The remembered visits of notes of the current vault, oldest first, up to the view's sequence.

        Includes visits of withheld notes, which the gate removes.
        """
        ...


class VersionAt(msgspec.Struct, frozen=True):
    """A note at a past moment."""

    seq: int
    """The moment of the question, or the last call that read the version."""
    at: str
    """The time of `seq`."""
    note: Note | NoteFailure


class ChangedLines(msgspec.Struct, frozen=True):
    """How many lines an edit added and removed."""

    added: int
    removed: int


class PastPort(Protocol):
    """Earlier versions of notes, from the log and the recordings. Safe from any thread; may block."""

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        """The version of a note at a past moment.

        Args:
            note: the note's present path.
            since: a sequence or a time; None: the last recorded version whose sha256 differs from `current`.
            current: the sha256 of the present file.

        Raises:
            NotRecorded: no such version is kept.
            ArgumentInvalid: `since` is no moment of the log up to the view's sequence.
        """
        ...

    def lines_changed(self, note: NoteId, before_sha256: str) -> ChangedLines | None:
        """As the question `LinesChanged`."""
        ...


SWITCHED_ON: Final = "With record = served, what tools read is kept; only what some call read can be told."
