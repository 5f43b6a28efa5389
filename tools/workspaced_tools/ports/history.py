"""What is answered of earlier versions of notes."""

from typing import Final

import msgspec

from ..notes.note import Note, NoteFailure


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


SWITCHED_ON: Final = "With record = served, what tools read is kept; only what some call read can be told."
