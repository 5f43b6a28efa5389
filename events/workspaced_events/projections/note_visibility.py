"""The visibility of notes, folded from the log.

A note's front matter may withhold it from agents. An existing file decides for itself; for a deleted note only the
log remembers. So the daemon records its findings about notes in the log (`note_shown`, `note_withheld`), and this
fold keeps the last finding. Ignore rules are not recorded here.

These events reveal which notes are private. They leave the machine only on request: see `without_visibility`.
"""

from collections.abc import Container, Iterable, Iterator
from enum import StrEnum
from typing import Self

import msgspec

from ..ids import NoteId, VaultId
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Event


class Visibility(StrEnum):
    """The last finding about a note."""

    SHOWN = "shown"
    WITHHELD = "withheld"
    """Never shown."""
    WITHDRAWN = "withdrawn"
    """Shown earlier, withheld now."""

    def withheld(self) -> "Visibility":
        """The finding that follows this one when the note is found withheld."""
        return Visibility.WITHHELD if self is Visibility.WITHHELD else Visibility.WITHDRAWN


class VisibilityFold(msgspec.Struct):
    """The findings of all vaults, by the notes' present paths. For one thread only."""

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
                findings = self._of(event.vault)
                findings[data.note] = findings.get(data.note, Visibility.WITHHELD).withheld()
            elif type(data) is c.NoteRenamed:
                renamed(self._of(event.vault), data.from_, data.to)

    def of(self, vault: VaultId) -> dict[NoteId, Visibility]:
        """A copy of the findings of one vault."""
        return dict(self.by_vault.get(vault, {}))

    def copy(self) -> Self:
        """A copy with the same findings."""
        return type(self)({vault: dict(findings) for vault, findings in self.by_vault.items()})

    def _of(self, vault: VaultId) -> dict[NoteId, Visibility]:
        return self.by_vault.setdefault(vault, {})


def renamed(findings: dict[NoteId, Visibility], old: NoteId, new: NoteId) -> None:
    """Moves the finding for `old` to `new`. Of an overwritten note only one fact stays: its path was shown."""
    if old == new or old not in findings:
        return
    moved, before = findings.pop(old), findings.get(new)
    findings[new] = before.withheld() if moved is Visibility.WITHHELD and before is not None else moved


def without_visibility(events: Iterable[Event], told: Container[NoteId] = ()) -> Iterator[Event]:
    """The events fit to leave the machine: `record_forgotten` replaces each finding.

    Args:
        told: notes that leave the machine anyway, with a text. Their findings stay, so that they stay withheld.
    """
    tombstone = ENTRY_OF[c.RecordForgotten]
    for event in events:
        if isinstance(event.data, c.NoteShown | c.NoteWithheld) and event.data.note not in told:
            yield tombstone.event(event.seq, event.id, event.time, event.source, event.vault, c.RecordForgotten())
        else:
            yield event
