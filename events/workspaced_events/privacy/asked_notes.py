"""The notes of a log that other machines ask it to forget: those that it named before the ask."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from ..ids import LinkedVaultId, NoteId, VaultId
from ..peers.without_notes import Asks, asks_of, name_hash, names_in
from ..projections.peers import LINK_TYPES, NO_PEERS, Peers, apply_link
from ..schema import catalogue as c
from ..schema.catalogue import Event, UnknownEvent
from ..schema.registry import notes_in


class AskedNote(NamedTuple):
    """A note that a machine asks to forget."""

    note: NoteId
    vault: VaultId | None
    """None: no vault of this machine is the link's one."""
    machine: str
    """Which one asks."""


class AskedNotes:
    """Takes all events of a log, in order. A note that is named again after the ask may stay."""

    def __init__(self) -> None:
        self._found: dict[tuple[LinkedVaultId, NoteId], str] = {}
        self._link: Peers = NO_PEERS
        self._own: dict[VaultId, set[NoteId]] = {}
        self._of_peers: dict[LinkedVaultId, set[NoteId]] = {}

    def __call__(self, events: Iterable[Event]) -> None:
        for event in events:
            data = event.data
            if type(event) is UnknownEvent:
                continue
            if type(data) in LINK_TYPES:
                before, self._link = self._link, apply_link(self._link, event)
                if type(data) is c.RemoteEventsApplied:
                    for linked, note in names_in(data):
                        self._of_peers.setdefault(linked, set()).add(note)
                    self._find(before, data)
            elif event.vault is not None:
                self._own.setdefault(event.vault, set()).update(notes_in(data))

    def found(self) -> list[AskedNote]:
        """What was found so far."""
        vault_of = {own.mapping.linked: vault for vault, own in self._link.vaults.items()}
        return [AskedNote(note, vault_of.get(linked), machine) for (linked, note), machine in self._found.items()]

    def _find(self, before: Peers, data: c.RemoteEventsApplied) -> None:
        former, now = _asks(before, data), _asks(self._link, data)
        for linked in now:
            new = {ask.name for ask in set(now[linked]).difference(former.get(linked, ()))}
            for note in self._take(linked, new) if new else ():
                self._found[linked, note] = self._link.members[data.origin].machine

    def _take(self, linked: LinkedVaultId, asked: Collection[str]) -> set[NoteId]:
        """The notes of these hashes that the log has named so far, which are found once."""
        mapped = (vault for vault, own in self._link.vaults.items() if own.mapping.linked == linked)
        named = [self._of_peers.get(linked, set()), *(self._own.get(vault, set()) for vault in mapped)]
        found = {note for notes in named for note in notes if name_hash(linked, note) in asked}
        for notes in named:
            notes -= found
        return found


def _asks(peers: Peers, data: c.RemoteEventsApplied) -> Asks:
    return asks_of([peers.origins[data.origin].view] if data.origin in peers.origins else [])
