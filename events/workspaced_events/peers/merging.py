"""Merges what the origins of a link share of one vault. Pure: the order in which messages came does not matter."""

from collections.abc import Iterable, Mapping

import msgspec

from ..ids import NoteId, OriginId
from ..schema.peer_events import SharedPin, SharedVault


class MergedPin(msgspec.Struct, frozen=True):
    """A pin of one person."""

    note: NoteId
    pinned_us: int
    """Of the earliest of the origins that have it."""
    origins: tuple[OriginId, ...]
    """Whose pins it is, in the order of their ids."""


def merged_pins(vaults: Mapping[OriginId, SharedVault], own: OriginId | None = None) -> tuple[MergedPin, ...]:
    """The pins of one person, whose origins these are.

    The latest order by hand comes first; pins that it does not know follow in the order in which they were made.

    Args:
        own: this daemon. Its own pins are never hidden: it unpins what a peer has removed.
    """
    by_note: dict[NoteId, list[tuple[int, OriginId, SharedPin]]] = {}
    for origin in sorted(vaults):
        for pin in vaults[origin].pins:
            if origin == own or not is_hidden(pin, origin, vaults.values()):
                by_note.setdefault(pin.note, []).append((pin.ms, origin, pin))
    ordered = [(vault.ordered_ms, origin) for origin, vault in vaults.items() if vault.ordered_ms]
    by_hand = vaults[max(ordered)[1]].pins if ordered else ()
    place = {pin.note: at for at, pin in enumerate(by_hand)}

    def key(note: NoteId) -> tuple[int, int, OriginId, NoteId]:
        ms, origin, _pin = min(by_note[note], key=lambda tag: tag[:2])
        return place.get(note, len(place)), ms, origin, note

    return tuple(
        MergedPin(
            note, min(pin.pinned_us for *_, pin in by_note[note]), tuple(origin for _, origin, _ in by_note[note])
        )
        for note in sorted(by_note, key=key)
    )


def is_hidden(pin: SharedPin, origin: OriginId, vaults: Iterable[SharedVault]) -> bool:
    """Whether one of the same person's origins has removed a pin of `origin`."""
    return any(
        removal.note == pin.note and any(heard.origin == origin and pin.n <= heard.n for heard in removal.heard)
        for vault in vaults
        for removal in vault.removals
    )


def removed_by_peers(own: OriginId, shared: SharedVault, peers: Iterable[SharedVault]) -> list[NoteId]:
    """The own pins that this same person has removed at another machine.

    Args:
        shared: what this daemon has sent, in which each pin has the number of its message.
    """
    others = list(peers)
    return [pin.note for pin in shared.pins if is_hidden(pin, own, others)]
