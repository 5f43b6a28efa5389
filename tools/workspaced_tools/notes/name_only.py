"""Notes of which a client may see only the name."""

from typing import Final

from workspaced_events.ids import NoteId

from .note import Note, StatKey

NAMES_ONLY: Final = "This client is shown names only; `workspaced share CLIENT all` shows the rest."
"""The only warning of an answer that leaves out the requested text."""


class NameOnly(Note, frozen=True, dict=True):
    """A note with a path and a title, without text or any value parsed from text."""


_NO_STAT: Final = StatKey(0, 0, 0, 0, 0)


def name_only(note: Note) -> NameOnly:
    """Reduces `note` to the values for a client that may see names only."""
    return name_known(note.id, note.title)


def name_known(note: NoteId, title: str) -> NameOnly:
    """A note with only this path and title."""
    bare = NameOnly(note, _NO_STAT, None, "", b"")
    bare.__dict__["title"] = title
    return bare
