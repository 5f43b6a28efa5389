"""The part of the state that tells of the other machines of a link: who takes part, and what each has shared.

It moves `WorkspaceState.seq` as little as conversations do: what a peer does changes no answer about this machine.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..clock import microseconds, next_ms
from ..ids import LinkedVaultId, NoteId, OriginId, VaultId
from ..peers.differences import NOTHING_SHARED, REMOVALS_MAX, SharedView, apply_difference, view_of
from ..peers.merging import is_hidden
from ..schema.catalogue import NoteRenamed, NoteUnpinned, PinnedNotesReordered
from ..schema.peer_events import (
    AskedName,
    Heard,
    LinkChanged,
    LinkMember,
    Position,
    RemoteEventsApplied,
    Removal,
    SharedVault,
    VaultMapping,
)
from ..schema.registry import Event


class PeerView(msgspec.Struct, frozen=True):
    """What one peer has shared, as far as it was applied here."""

    position: Position = Position()
    ms: int = 0
    applied_at: str = ""
    """When the latest message was applied, by this machine's clock; "": none was."""
    view: SharedView = NOTHING_SHARED


class OwnVault(msgspec.Struct, frozen=True):
    """What this machine adds to its own state of a linked vault, so that it can be merged."""

    mapping: VaultMapping
    pinned_ms: dict[NoteId, int] = {}
    """The hybrid clock of pins made since the vault is linked."""
    ordered_ms: int = 0
    removals: dict[NoteId, Removal] = {}


class Peers(msgspec.Struct, frozen=True):
    """The link, as of `seq`."""

    seq: int = 0
    own: OriginId | None = None
    """This daemon; None: it is not linked."""
    members: dict[OriginId, LinkMember] = {}
    """This daemon too."""
    vaults: dict[VaultId, OwnVault] = {}
    ms: int = 0
    """The hybrid clock of what happened here last."""
    origins: dict[OriginId, PeerView] = {}
    """The members without this daemon, as far as they have shared anything."""

    @property
    def person(self) -> str | None:
        """Who works at this machine."""
        return self.members[self.own].person if self.own in self.members else None

    def of_person(self, person: str) -> list[OriginId]:
        """The peers at which a person works, by their ids."""
        peers = (each for each in self.members.values() if each.person == person and each.origin != self.own)
        return sorted(each.origin for each in peers)

    def not_reached(self, vault: LinkedVaultId, ask: AskedName) -> list[OriginId]:
        """The peers that have not heard of an ask of this daemon, as far as they have told."""

        def has_heard(origin: OriginId) -> bool:
            shared = self.origins[origin].view.get(vault) if origin in self.origins else None
            return shared is not None and shared.forgetting is not None and ask in shared.forgetting.heard

        return [origin for origin in self.members if origin != self.own and not has_heard(origin)]


NO_PEERS: Final = Peers()
LINK_TYPES: Final = frozenset((LinkChanged, RemoteEventsApplied))


def apply_link(peers: Peers, event: Event) -> Peers:
    """The link after `link_changed` or `remote_events_applied`."""
    data = event.data
    changed = _linked(peers, data) if isinstance(data, LinkChanged) else _heard(peers, event, data)
    return changed if changed is peers else replace(changed, seq=event.seq)


def _linked(peers: Peers, data: LinkChanged) -> Peers:
    if data.origin is None:
        return NO_PEERS
    members = {each.origin: each for each in data.members}
    vaults = {
        each.vault: replace(peers.vaults.get(each.vault, OwnVault(each)), mapping=each) for each in data.vaults
    }
    stay = members.keys() - {data.origin}
    origins = {origin: view for origin, view in peers.origins.items() if origin in stay}
    return Peers(peers.seq, data.origin, members, vaults, peers.ms, origins)


def _heard(peers: Peers, event: Event, data: RemoteEventsApplied) -> Peers:
    """A message of who is no member, or one that is not newer than what is known, changes nothing."""
    if data.origin == peers.own or data.origin not in peers.members:
        return peers
    former = peers.origins.get(data.origin, PeerView())
    if _order(data.position) <= _order(former.position):
        return peers
    view = view_of(data.view) if data.whole else former.view
    view = apply_difference(view, data.changed, data.position.n)
    heard = PeerView(data.position, data.ms, event.time, view)
    origins = {**peers.origins, data.origin: heard}
    return replace(peers, origins=origins, vaults=_with_needed_removals(peers.vaults, origins))


def _order(position: Position) -> tuple[int, int]:
    return position.generation, position.n


def _with_needed_removals(
    vaults: dict[VaultId, OwnVault], origins: Mapping[OriginId, PeerView]
) -> dict[VaultId, OwnVault]:
    """The own vaults, without removals that hide nothing any more."""

    def is_needed(removal: Removal, linked: LinkedVaultId) -> bool:
        return any(
            pin.note == removal.note and pin.n <= heard.n
            for heard in removal.heard
            if heard.origin in origins
            for pin in _vault_of(origins[heard.origin], linked).pins
        )

    if not any(own.removals for own in vaults.values()):
        return vaults
    needed = {}
    for vault, own in vaults.items():
        linked = own.mapping.linked
        removals = {note: each for note, each in own.removals.items() if is_needed(each, linked)}
        needed[vault] = replace(own, removals=removals)
    return needed


def apply_own(peers: Peers, event: Event, before: Mapping[NoteId, Any], after: Mapping[NoteId, Any]) -> Peers:
    """The link after an event of a vault of this machine, whose pins it led from `before` to `after`."""
    own = peers.vaults.get(event.vault) if event.vault is not None else None
    if own is None:
        return peers
    heard_ms = max((each.ms for each in peers.origins.values()), default=0)
    ms = next_ms(microseconds(event.time) // 1_000, peers.ms, heard_ms)
    own = _with_pins(own, event.data, before, after, ms)
    if isinstance(event.data, NoteUnpinned) and (removal := _removal(peers, own, event.data.note, ms)) is not None:
        removals = {**own.removals, removal.note: removal}
        if len(removals) > REMOVALS_MAX:
            del removals[next(iter(removals))]
        own = replace(own, removals=removals)
    return replace(peers, ms=ms, vaults={**peers.vaults, own.mapping.vault: own})


def _with_pins(
    own: OwnVault, data: Any, before: Mapping[NoteId, Any], after: Mapping[NoteId, Any], ms: int
) -> OwnVault:
    if after is before:
        return own
    ordered_ms = ms if isinstance(data, PinnedNotesReordered) else own.ordered_ms
    former = data.from_ if isinstance(data, NoteRenamed) else None
    pinned_ms: dict[NoteId, int] = {}
    for note in after:
        if note in before:
            if note in own.pinned_ms:
                pinned_ms[note] = own.pinned_ms[note]
        elif former not in before:
            pinned_ms[note] = ms
        elif former is not None and former in own.pinned_ms:
            pinned_ms[note] = own.pinned_ms[former]
    return replace(own, pinned_ms=pinned_ms, ordered_ms=ordered_ms)


def _removal(peers: Peers, own: OwnVault, note: NoteId, ms: int) -> Removal | None:
    """What hides the pins of a note that the same person's other machines have; None: they have none."""
    person = peers.person
    if person is None:
        return None
    views = {origin: peers.origins[origin] for origin in peers.of_person(person) if origin in peers.origins}
    vaults = {origin: _vault_of(view, own.mapping.linked) for origin, view in views.items()}
    has_pin = any(
        pin.note == note and not is_hidden(pin, origin, vaults.values())
        for origin, vault in vaults.items()
        for pin in vault.pins
    )
    if not has_pin:
        return None
    return Removal(note, ms, tuple(Heard(origin, view.position.n) for origin, view in views.items()))


def _vault_of(view: PeerView, linked: LinkedVaultId) -> SharedVault:
    return view.view.get(linked, SharedVault(linked))
