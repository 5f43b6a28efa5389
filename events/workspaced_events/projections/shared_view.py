"""What this daemon shares of its state with its peers. Pure."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from ..clock import microseconds
from ..ids import NoteId, VaultId
from ..peers.differences import (
    HEARD_MAX,
    NOTHING_SHARED,
    PINS_MAX,
    RENAMES_MAX,
    SharedView,
    in_order_of_removals,
    in_order_of_renames,
    view_of,
)
from ..peers.without_notes import NO_ASKS, Asks, asks_of, name_hash
from ..schema.peer_events import (
    AskedName,
    Forgetting,
    SharedActive,
    SharedPin,
    SharedRename,
    SharedSelection,
    SharedTab,
    SharedVault,
)
from .peers import OwnVault, Peers
from .workspace_state import VaultState, WorkspaceState

MayLeave = Callable[[VaultId, NoteId], bool]


def shared_view(
    state: WorkspaceState,
    may_leave: MayLeave = lambda _vault, _note: True,
    before: SharedView = NOTHING_SHARED,
    n: int = 0,
    *,
    selection_text: bool = False,
    asks: Asks = NO_ASKS,
) -> SharedView:
    """What is shared of the linked vaults.

    Args:
        may_leave: whether a note of a vault may be named to other machines.
        before: the view that the message before has led to: pins in it keep their number.
        n: the number of the message that brings what is new.
        selection_text: whether the text of a selection leaves.
        asks: which notes others are to forget.
    """
    vaults = []
    for vault, own in state.peers.vaults.items():
        linked = own.mapping.linked
        known = before.get(linked, SharedVault(linked))
        vaults.append(_shared_vault(state.of(vault), own, known, n, partial(may_leave, vault)))
    if not selection_text:
        vaults = [each if each.selection is None else _without_text(each) for each in vaults]
    return view_of(_with_forgetting(vaults, asks, state.peers))


def _with_forgetting(vaults: Sequence[SharedVault], asks: Asks, peers: Peers) -> Iterable[SharedVault]:
    """Also of vaults that no folder here is mapped to: what others shared of them is in the log."""
    heard = asks_of(view.view for view in peers.origins.values())
    same = peers.of_person(peers.person) if peers.person is not None else ()
    # Not what others ask: that would keep pins alive that this person has removed.
    forgotten = {
        vault: {ask.name for ask in asked}
        for vault, asked in asks_of(peers.origins[each].view for each in same if each in peers.origins).items()
    }
    known = {each.vault: each for each in vaults}
    heard_max = HEARD_MAX // max(1, len(heard))
    for linked in asks.keys() | heard.keys():
        of_others = heard.get(linked, ())
        shared = known.get(linked, SharedVault(linked))
        known[linked] = replace(
            shared,
            removals=tuple(
                each for each in shared.removals if name_hash(linked, each.note) not in forgotten.get(linked, ())
            ),
            forgetting=Forgetting(_in_order(asks.get(linked, ())), _in_order(of_others)[:heard_max]),
        )
    return known.values()


def _in_order(asks: Iterable[AskedName]) -> tuple[AskedName, ...]:
    return tuple(sorted(asks, key=lambda ask: (ask.name, ask.number)))


def _shared_vault(
    state: VaultState, own: OwnVault, before: SharedVault, n: int, may_leave: Callable[[NoteId], bool]
) -> SharedVault:
    replicate = own.mapping.replicate
    if replicate == "none":
        return SharedVault(own.mapping.linked)
    known = {(pin.note, pin.pinned_us, pin.ms): pin for pin in before.pins}
    pins = []
    for pin in islice((each for each in state.pins.values() if may_leave(each.id)), PINS_MAX):
        pinned_us = microseconds(pin.pinned_at)
        ms = own.pinned_ms.get(pin.id, pinned_us // 1_000)
        pins.append(known.get((pin.id, pinned_us, ms)) or SharedPin(pin.id, pinned_us, ms, n))
    former = ((old, note) for old, note in state.former.items() if may_leave(old) and may_leave(note))
    renames = [SharedRename(old, note) for old, note in former]
    shared = SharedVault(
        vault=own.mapping.linked,
        pins=tuple(pins),
        ordered_ms=before.ordered_ms if before.pins and _is_same_order(before.pins, pins) else own.ordered_ms,
        renames=in_order_of_renames(renames[-RENAMES_MAX:]),
        removals=tuple(each for each in in_order_of_removals(own.removals.values()) if may_leave(each.note)),
    )
    return shared if replicate == "pins" else _with_presence(shared, state, may_leave)


def _is_same_order(before: Sequence[SharedPin], now: Sequence[SharedPin]) -> bool:
    """Whether the pins of both stand in one order: then only pins that do not leave were moved, if any."""
    both = {pin.note for pin in before} & {pin.note for pin in now}
    return [pin.note for pin in before if pin.note in both] == [pin.note for pin in now if pin.note in both]


def _with_presence(shared: SharedVault, state: VaultState, may_leave: Callable[[NoteId], bool]) -> SharedVault:
    active, selection = state.active, state.selection
    is_shown = active is not None and may_leave(active.id)
    tabs = (tab for tab in state.tabs.values() if may_leave(tab.note_id))
    return replace(
        shared,
        active=SharedActive(active.id, microseconds(active.since)) if active is not None and is_shown else None,
        selection=SharedSelection(selection.note, selection.start_line, selection.end_line, selection.text)
        if selection is not None and is_shown
        else None,
        tabs=tuple(SharedTab(tab.note_id, microseconds(tab.last_accessed)) for tab in tabs),
    )


def _without_text(shared: SharedVault) -> SharedVault:
    assert shared.selection is not None
    is_cursor = shared.selection.text == ""
    return replace(shared, selection=replace(shared.selection, text="" if is_cursor else None))
