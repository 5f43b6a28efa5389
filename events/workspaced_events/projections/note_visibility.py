"""What is known of notes' visibility, folded from the log.

A note's front matter may withhold it from agents. While its file is there the file decides; of a note that is gone
only the log remembers. So the daemon records what it found in a note that the log names (`note_shown`,
`note_withheld`), and this fold keeps the last finding. Rules lie elsewhere and are not recorded here.

These events say of private notes that they are private. They leave the machine only when asked for: see
`without_visibility`.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, Self

import msgspec

from ..ids import NoteId, VaultId
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Event

VISIBILITY_TYPES: Final = frozenset({c.NoteShown, c.NoteWithheld})


class Visibility(StrEnum):
    """The last finding about one note. A note without one was never looked at."""

    SHOWN = "shown"
    WITHHELD = "withheld"
    """It never was shown."""
    WITHDRAWN = "withdrawn"
    """It was shown earlier."""

    def withheld(self) -> "Visibility":
        """What becomes of this finding when the note is found withheld."""
        return Visibility.WITHHELD if self is Visibility.WITHHELD else Visibility.WITHDRAWN


class VisibilityFold(msgspec.Struct):
    """The findings of all vaults, by the notes' present paths. Belongs to one thread."""

    by_vault: dict[VaultId, dict[NoteId, Visibility]] = {}

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        for event in events:
            data = event.data
            if event.vault is None:
                continue
            if type(data) is c.NoteShown:
                self._of(event.vault)[data.note] = Visibility.SHOWN
            elif type(data) is c.NoteWithheld:
                found = self._of(event.vault)
                found[data.note] = found.get(data.note, Visibility.WITHHELD).withheld()
            elif type(data) is c.NoteRenamed:
                renamed(self._of(event.vault), data.from_, data.to)

    def of(self, vault: VaultId) -> dict[NoteId, Visibility]:
        """A copy of the findings of one vault."""
        return dict(self.by_vault.get(vault, {}))

    def copy(self) -> Self:
        """Another one with the same findings."""
        return type(self)({vault: dict(found) for vault, found in self.by_vault.items()})

    def _of(self, vault: VaultId) -> dict[NoteId, Visibility]:
        return self.by_vault.setdefault(vault, {})


def renamed(found: dict[NoteId, Visibility], old: NoteId, new: NoteId) -> None:
    """Moves what was found of `old` to `new`; what was found of the note that it replaces no longer counts, but
    that the path was shown."""
    if old == new or old not in found:
        return
    moved, before = found.pop(old), found.get(new)
    found[new] = before.withheld() if moved is Visibility.WITHHELD and before is not None else moved


def without_visibility(events: Iterable[Event]) -> Iterator[Event]:
    """The events as they may leave the machine: a `record_forgotten` stands in the place of each finding."""
    tombstone = ENTRY_OF[c.RecordForgotten]
    for event in events:
        if type(event.data) in VISIBILITY_TYPES:
            yield tombstone.event(event.seq, event.id, event.time, event.source, event.vault, c.RecordForgotten())
        else:
            yield event
