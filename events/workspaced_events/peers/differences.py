"""Differences of shared views: `apply_difference(before, difference(before, after), n)` is `after`.

Pure. A new pin gets the number of the message that brings it; all else of it is in the difference.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from ..ids import LinkedVaultId, NoteId
from ..schema.peer_events import (
    Forgetting,
    NewPin,
    Removal,
    SharedPin,
    SharedPresence,
    SharedRename,
    SharedVault,
    VaultDifference,
)

V = TypeVar("V")
SharedView = Mapping[LinkedVaultId, SharedVault]
"""Vaults of which nothing is shared are left out."""
NOTHING_SHARED: Final[SharedView] = {}
VAULTS_MAX: Final = 64
PINS_MAX: Final = 1_000
TABS_MAX: Final = 100
RENAMES_MAX: Final = 200
REMOVALS_MAX: Final = 1_000
ASKS_MAX: Final = 200
"""Of one machine, or one vault of it: nobody shares more, and of who does the rest is dropped."""
HEARD_MAX: Final = 1_000
"""Asks of others that one machine says it has heard, of all vaults: others decide how many there are."""


def view_of(vaults: Iterable[SharedVault]) -> SharedView:
    shared = (_bounded(each) for each in vaults if each != SharedVault(each.vault))
    return {each.vault: each for each in sorted(shared, key=lambda each: each.vault)[:VAULTS_MAX]}


def _bounded(vault: SharedVault) -> SharedVault:
    return replace(
        vault,
        pins=vault.pins[:PINS_MAX],
        tabs=vault.tabs[:TABS_MAX],
        renames=vault.renames[:RENAMES_MAX],
        removals=vault.removals[:REMOVALS_MAX],
        forgetting=vault.forgetting
        and Forgetting(vault.forgetting.asks[:ASKS_MAX], vault.forgetting.heard[:ASKS_MAX]),
    )


def difference(before: SharedView, after: SharedView) -> tuple[VaultDifference, ...]:
    """What leads from one view to the other; empty if they are equal."""
    vaults = sorted({*before, *after})
    pairs = ((before.get(vault, SharedVault(vault)), after.get(vault, SharedVault(vault))) for vault in vaults)
    return tuple(_vault_difference(old, new) for old, new in pairs if old != new)


def apply_difference(view: SharedView, changed: Sequence[VaultDifference], n: int) -> SharedView:
    """The view after the message `n`."""
    vaults = dict(view)
    for each in changed:
        vaults[each.vault] = _applied(vaults.get(each.vault, SharedVault(each.vault)), each, n)
    return view_of(vaults.values())


def notes_of(vault: SharedVault) -> Iterator[NoteId]:
    """Every note that a shared vault names."""
    yield from notes_of_presence(_presence(vault))
    yield from (pin.note for pin in vault.pins)
    yield from (removal.note for removal in vault.removals)
    for rename in vault.renames:
        yield from (rename.former, rename.note)


def notes_of_presence(presence: SharedPresence) -> Iterator[NoteId]:
    """Every note that is shown as open."""
    if presence.active is not None:
        yield presence.active.note
    if presence.selection is not None:
        yield presence.selection.note
    yield from (tab.note for tab in presence.tabs)


def notes_of_difference(changed: VaultDifference) -> Iterator[NoteId]:
    """Every note that a difference names."""
    if changed.presence is not None:
        yield from notes_of_presence(changed.presence)
    yield from (pin.note for pin in changed.pinned)
    yield from (*changed.unpinned, *changed.order, *changed.renames_gone, *changed.removals_gone)
    yield from (removal.note for removal in changed.removals)
    for rename in changed.renames:
        yield from (rename.former, rename.note)


def _vault_difference(before: SharedVault, after: SharedVault) -> VaultDifference:
    kept = {_identity(pin) for pin in after.pins}
    known = {_identity(pin) for pin in before.pins}
    unpinned = tuple(pin.note for pin in before.pins if _identity(pin) not in kept)
    new = ((at, pin) for at, pin in enumerate(after.pins) if _identity(pin) not in known)
    pinned = tuple(NewPin(at, pin.note, pin.pinned_us, pin.ms) for at, pin in new)
    notes = tuple(pin.note for pin in after.pins)
    inserted = _with_new(before.pins, unpinned, pinned, 0)
    return VaultDifference(
        vault=after.vault,
        presence=None if _presence(before) == _presence(after) else _presence(after),
        unpinned=unpinned,
        pinned=pinned,
        order=notes if tuple(pin.note for pin in inserted) != notes else (),
        ordered_ms=None if before.ordered_ms == after.ordered_ms else after.ordered_ms,
        renames=tuple(each for each in after.renames if each not in before.renames),
        renames_gone=_gone((each.former for each in before.renames), (each.former for each in after.renames)),
        removals=tuple(each for each in after.removals if each not in before.removals),
        removals_gone=_gone((each.note for each in before.removals), (each.note for each in after.removals)),
        forgetting=None if before.forgetting == after.forgetting else after.forgetting or Forgetting(),
    )


def _applied(before: SharedVault, changed: VaultDifference, n: int) -> SharedVault:
    pins = _with_new(before.pins, changed.unpinned, changed.pinned, n)
    if changed.order:
        place = {note: at for at, note in enumerate(changed.order)}
        pins.sort(key=lambda pin: place.get(pin.note, len(place)))
    presence = _presence(before) if changed.presence is None else changed.presence
    forgetting = before.forgetting if changed.forgetting is None else changed.forgetting
    renames = {each.former: each for each in (*before.renames, *changed.renames)}
    removals = {each.note: each for each in (*before.removals, *changed.removals)}
    return SharedVault(
        vault=before.vault,
        active=presence.active,
        selection=presence.selection,
        pins=tuple(pins),
        ordered_ms=before.ordered_ms if changed.ordered_ms is None else changed.ordered_ms,
        tabs=presence.tabs,
        renames=in_order_of_renames(_left(renames, changed.renames_gone)),
        removals=in_order_of_removals(_left(removals, changed.removals_gone)),
        forgetting=forgetting if forgetting != Forgetting() else None,
    )


def in_order_of_renames(renames: Iterable[SharedRename]) -> tuple[SharedRename, ...]:
    """As a shared vault holds them."""
    return tuple(sorted(renames, key=lambda each: each.former))


def in_order_of_removals(removals: Iterable[Removal]) -> tuple[Removal, ...]:
    """As a shared vault holds them."""
    return tuple(sorted(removals, key=lambda each: each.note))


def _identity(pin: SharedPin) -> Any:
    """A note that is unpinned and pinned again is another pin."""
    return pin.note, pin.pinned_us, pin.ms


def _with_new(
    before: Sequence[SharedPin], unpinned: Sequence[NoteId], pinned: Sequence[NewPin], n: int
) -> list[SharedPin]:
    gone = frozenset(unpinned)
    pins = [pin for pin in before if pin.note not in gone]
    for new in pinned:
        pins.insert(new.at, SharedPin(new.note, new.pinned_us, new.ms, n))
    return pins


def _presence(vault: SharedVault) -> SharedPresence:
    return SharedPresence(vault.active, vault.selection, vault.tabs)


def _left(items: Mapping[NoteId, V], gone: Sequence[NoteId]) -> Iterable[V]:
    return (each for note, each in items.items() if note not in gone)


def _gone(before: Iterable[NoteId], after: Iterable[NoteId]) -> tuple[NoteId, ...]:
    left = frozenset(after)
    return tuple(note for note in before if note not in left)
