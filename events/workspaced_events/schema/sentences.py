"""What an event tells, for people: who did it, one plain sentence, and the notes that it names.

The sentences hold names as the log has them. Whoever prints them to a terminal escapes control characters.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from . import catalogue as c
from .catalogue import ENTRY_OF, Event
from .registry import notes_in

_NOTES_MAX: Final = 100
_NOTE_ARGUMENTS: Final = ("reference", "from", "path", "old_path", "new_path")
_NOTE_ATTACHMENTS: Final = ("note", "active_note")


def who(event: Event) -> str:
    """Who caused the event: the client of a call or of a write, else the event's source."""
    entry = ENTRY_OF.get(type(event.data))
    return str(getattr(event.data, entry.by)) if entry is not None and entry.by else event.source


def sentence(event: Event) -> str:
    """What happened, without who and when: "opened work/plan.md", "pinned a.md"."""
    entry = ENTRY_OF.get(type(event.data))
    if entry is None:
        return event.type.replace("_", " ")
    return entry.says.format(event.data) if isinstance(entry.says, str) else entry.says(event.data)


def notes_named(event: Event) -> list[str]:
    """The notes that the event names, each once; of a call those among its arguments, as its client wrote them."""
    return list(dict.fromkeys(islice(_notes(event.data), _NOTES_MAX)))


def _notes(data: Any) -> Iterator[str]:
    if isinstance(data, c.ToolCalled):
        given = (data.arguments.get(name) for name in _NOTE_ARGUMENTS)
        yield from (value for value in given if isinstance(value, str))
        return
    yield from notes_in(data)
    for attachment in getattr(data, "attachments", ()):
        if attachment.kind in _NOTE_ATTACHMENTS:
            yield attachment.id
