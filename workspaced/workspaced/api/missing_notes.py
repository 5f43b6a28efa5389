"""Warnings about published notes that the vault does not hold, with notes of near names."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.journal.submissions import Receipt
from workspaced_tools.errors import SharingOff, ToolError
from workspaced_tools.notes.note import NoteFailure
from workspaced_tools.ports.questions import Read, Resolve
from workspaced_tools.ports.vault import NoteRef
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.verdicts import Verdicts

from ..service.service import Service
from ..vaults.served_vault import ServedVault

_FIELD_OF: Final = {
    "active_note_set": "note",
    "note_pinned": "note",
    "temporary_tab_opened": "note",
    "selection_changed": "note",
    "note_archived": "note",
    "note_renamed": "to",
}
"""For each action that brings a note into the state, its field with the note. Other actions name notes that go."""
_NOTES_MAX: Final = 20
"""So many notes of one batch are looked at."""


class MissingNote(msgspec.Struct, frozen=True):
    """A recorded action's note that the vault does not hold."""

    seq: int
    note: NoteId
    message: str
    near: list[NoteRef]
    """Notes of near names, best first."""


async def missing_notes(
    service: Service, actions: Sequence[Any], receipts: Sequence[Receipt], caller: str
) -> list[MissingNote]:
    """The notes of recorded actions that are not in their vaults, in the order of the actions.

    A note of a vault that is not served, or that is withheld from every agent, is never missing.
    """
    warnings: list[MissingNote] = []
    for vault, notes in _named(service, actions, receipts).items():
        served = service.served.get(vault)
        if served is None:
            continue
        try:
            warnings += await service.calls.with_view(_Missing(served, notes), caller, vault)
        except SharingOff:
            continue
    return sorted(warnings, key=lambda each: each.seq)


def _named(
    service: Service, actions: Sequence[Any], receipts: Sequence[Receipt]
) -> dict[VaultId, dict[NoteId, int]]:
    """For each vault the notes that the actions bring into the state, with the sequence of the first of them."""
    named: dict[VaultId, dict[NoteId, int]] = {}
    for action, receipt in zip(actions, receipts, strict=True):
        vault = action.get("vault") or service.tail.state.current
        note = (action.get("data") or {}).get(_FIELD_OF.get(action["type"], ""))
        notes = named.setdefault(VaultId(vault), {}) if vault is not None else {}
        if note is not None and len(notes) < _NOTES_MAX:
            notes.setdefault(note_id(note), receipt.seq)
    return named


class _Missing:
    """Finds the missing ones of `notes` through a client's view of their vault."""

    def __init__(self, served: ServedVault, notes: dict[NoteId, int]) -> None:
        self._served = served
        self._notes = notes

    def __call__(self, view: View, _withheld: Verdicts) -> list[MissingNote]:
        notes = list(self._notes)
        found = view.vault.ask(Read(notes)) if notes else []
        return [
            self._warning(view, note)
            for note, each in zip(notes, found, strict=True)
            if isinstance(each, NoteFailure) and each.code == "NOTE_NOT_FOUND" and not self._is_withheld(note)
        ]

    def _is_withheld(self, note: NoteId) -> bool:
        return any(reason.kind != "unknown" for reason in self._served.vault.why(note))

    def _warning(self, view: View, note: NoteId) -> MissingNote:
        message = f"The vault {self._served.id} holds no note {note!r}; the action is recorded all the same."
        return MissingNote(self._notes[note], note, message, _near(view, note))


def _near(view: View, note: NoteId) -> list[NoteRef]:
    try:
        resolution = view.vault.ask(Resolve(note))
    except ToolError:
        return []
    found = [resolution.note] if resolution.note is not None else []
    return [*found, *resolution.candidates, *resolution.near]
