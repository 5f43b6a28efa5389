"""The notes that a log names, for looking one up: an index that is read in pieces, and grows with the log."""

from itertools import islice
from typing import Annotated, Final
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Meta

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.schema.catalogue import CATALOGUE
from workspaced_events.schema.sentences import notes_named

from ... import replay
from ..inspected import Inspected

_READ_EVENTS: Final = 20_000
"""Events that one question reads into the index."""
_NAMING: Final = (
    "message_added",
    "message_replaced",
    *(name for name, each in CATALOGUE.items() if each.notes),
)
"""Types that may name notes."""


class NotesParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which notes."""

    query: str = ""
    """Words that all stand in the path, in any case."""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class NoteNamed(msgspec.Struct, rename="camel"):
    """One note."""

    path: str
    events: int
    """That name it by this path."""
    last: int
    """The sequence of the newest of them."""


class Notes(msgspec.Struct, rename="camel"):
    """The notes that fit, the last named first."""

    notes: list[NoteNamed]
    fitting: int
    """How many fit; of these `notes` has the first."""
    read: int
    """Events that were read so far. Fewer than `of`: ask again, and more are."""
    of: int


class _Index:
    def __init__(self) -> None:
        self.notes: dict[VaultId | None, dict[NoteId, NoteNamed]] = {}
        """By vault and path."""
        self.seq = 0
        """All up to this one was read."""

    def read(self, log: replay.Log) -> None:
        naming = log.events_of(_NAMING, after=self.seq)
        for event in islice(naming, _READ_EVENTS):
            of_vault = self.notes.setdefault(event.vault, {})
            for path in notes_named(event):
                note = of_vault.setdefault(NoteId(path), NoteNamed(path, 0, 0))
                note.events += 1
                note.last = event.seq
            self.seq = event.seq
        if not any(naming):
            self.seq = log.end.seq


_INDEXES: Final[WeakKeyDictionary[replay.Log, _Index]] = WeakKeyDictionary()


def notes(inspected: Inspected, parameters: NotesParameters) -> Notes:
    """The notes that the log names and that fit the query."""
    log = inspected.log
    index = _INDEXES.setdefault(log, _Index())
    index.read(log)
    fitting = _fitting(index, parameters.query.casefold().split())
    fitting.sort(key=lambda note: -note.last)
    events = log.events()
    before = events[0].seq - 1 if events else 0
    return Notes(fitting[: parameters.limit], len(fitting), max(index.seq - before, 0), len(events))


def _fitting(index: _Index, words: list[str]) -> list[NoteNamed]:
    """The notes with all words in their paths, those of the same path in several vaults together."""
    found: dict[NoteId, NoteNamed] = {}
    for notes in index.notes.values():
        for path, note in notes.items():
            if all(word in path.casefold() for word in words):
                other = found.get(path, NoteNamed(path, 0, 0))
                found[path] = NoteNamed(path, note.events + other.events, max(note.last, other.last))
    return list(found.values())
