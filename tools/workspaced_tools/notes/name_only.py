"""A note of which only the name is shown."""

from typing import Final

from workspaced_events.ids import NoteId

from .note import Note, StatKey

NAMES_ONLY: Final = "This client is shown names only; `workspaced share CLIENT all` shows the rest."
"""The one warning of an answer that leaves out what was asked for."""


class NameOnly(Note, frozen=True, dict=True):
    """A note of which the title is known and nothing else: no text, and so nothing that follows from it."""


_NO_STAT: Final = StatKey(0, 0, 0, 0, 0)


def name_only(note: Note) -> NameOnly:
    """What is left of `note` for a client that is shown names."""
    return name_known(note.id, note.title)


def name_known(note: NoteId, title: str) -> NameOnly:
    """A note of which only these are known."""
    bare = NameOnly(note, _NO_STAT, None, "", b"")
    bare.__dict__["title"] = title
    return bare
