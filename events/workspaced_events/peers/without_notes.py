"""Takes notes out of what a peer has shared, for a log that is to forget them.

The machines of a link ask each other to forget notes. A name travels as a hash, which only who knows the name can
match.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from ..ids import LinkedVaultId, NoteId
from ..schema.peer_events import AskedName, RemoteEventsApplied, SharedPresence, SharedVault, VaultDifference
from ..schema.registry import Sha256
from .differences import SharedView, notes_of, notes_of_difference

P = TypeVar("P")
Asks = Mapping[LinkedVaultId, Collection[AskedName]]
NO_ASKS: Final[Asks] = {}


def names_in(data: RemoteEventsApplied) -> Iterator[tuple[LinkedVaultId, NoteId]]:
    """Every note that a peer's message names, with its vault."""
    yield from ((each.vault, note) for each in data.view for note in notes_of(each))
    yield from ((each.vault, note) for each in data.changed for note in notes_of_difference(each))


def without_notes(
    data: RemoteEventsApplied, vaults: Collection[LinkedVaultId], names: Collection[NoteId]
) -> RemoteEventsApplied:
    """The event without the notes of these vaults; the same object if it names none of them."""
    view = tuple(vault_without(each, names) if each.vault in vaults else each for each in data.view)
    changed = tuple(_of_difference(each, names) if each.vault in vaults else each for each in data.changed)
    rest = replace(data, view=view, changed=changed)
    return data if rest == data else rest


def vault_without(vault: SharedVault, names: Collection[NoteId]) -> SharedVault:
    """What is shared of a vault, without these notes."""
    open_notes = _of_presence(SharedPresence(vault.active, vault.selection, vault.tabs), names)
    return replace(
        vault,
        active=open_notes.active,
        selection=open_notes.selection,
        pins=_left(vault.pins, names),
        tabs=open_notes.tabs,
        renames=tuple(each for each in vault.renames if each.former not in names and each.note not in names),
        removals=_left(vault.removals, names),
    )


def _of_presence(presence: SharedPresence, names: Collection[NoteId]) -> SharedPresence:
    active, selection = presence.active, presence.selection
    return SharedPresence(
        None if active is not None and active.note in names else active,
        None if selection is not None and selection.note in names else selection,
        _left(presence.tabs, names),
    )


def _of_difference(changed: VaultDifference, names: Collection[NoteId]) -> VaultDifference:
    open_notes = changed.presence
    return replace(
        changed,
        presence=open_notes and _of_presence(open_notes, names),
        unpinned=tuple(note for note in changed.unpinned if note not in names),
        pinned=_left(changed.pinned, names),
        order=tuple(note for note in changed.order if note not in names),
        renames=tuple(each for each in changed.renames if each.former not in names and each.note not in names),
        renames_gone=tuple(note for note in changed.renames_gone if note not in names),
        removals=_left(changed.removals, names),
        removals_gone=tuple(note for note in changed.removals_gone if note not in names),
    )


def _left(parts: Any, names: Collection[NoteId]) -> Any:
    return tuple(each for each in parts if each.note not in names)


def name_hash(vault: LinkedVaultId, note: NoteId) -> Sha256:
    """The hash of a note's name; the vault's random id, which the server does not know, is its key."""
    return sha256(f"workspaced-forget-1\0{vault}\0{note}".encode()).hexdigest()


def has_new_asks(before: SharedView, after: SharedView) -> bool:
    """Whether a note is forgotten here or elsewhere, as of now. A difference would name it to take it back, and a
    log that has forgotten it holds less than a difference goes on from: so a generation begins."""

    def hashes(view: SharedView) -> set[tuple[LinkedVaultId, AskedName]]:
        vaults = ((each.vault, each.forgetting) for each in view.values() if each.forgetting is not None)
        return {(vault, ask) for vault, known in vaults for ask in (*known.asks, *known.heard)}

    return not hashes(after) <= hashes(before)


def asks_of(views: Iterable[SharedView]) -> dict[LinkedVaultId, set[AskedName]]:
    """All that the origins of these views ask to forget."""
    asks: dict[LinkedVaultId, set[AskedName]] = {}
    for view in views:
        for vault, shared in view.items():
            if shared.forgetting is not None and shared.forgetting.asks:
                asks.setdefault(vault, set()).update(shared.forgetting.asks)
    return asks
