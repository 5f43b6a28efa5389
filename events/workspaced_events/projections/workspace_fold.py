"""The fold: `apply(state, event) -> state`, a pure function.

It uses no clock, randomness, locale or disk, so a replay on another day or machine gives the same bytes. Each type
of the catalogue that changes the state has one function here, on the state of the event's vault; `vault_*` act on
the workspace. A type without a function, such as an unknown one, is a no-op.

A function with nothing to change returns the same object, and `lastUpdated` stays. Otherwise it returns a new
object, and `apply` sets `lastUpdated` in it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from msgspec.structs import force_setattr, replace

from ..clock import ClockStep, clock_advance_us, event_time, microseconds
from ..ids import NoteId, TabId, VaultId
from ..limits import CLOCK_STEPS_MAX, FORMER_PATHS_MAX, RECENT_NOTES_MAX, SHARING_CLIENTS_MAX, TEMPORARY_TABS_MAX
from ..schema import catalogue as c
from ..schema.catalogue import Event, UnknownEvent
from .conversations import CONVERSATION_TYPES, apply_conversation
from .insertions import INSERTION_TYPES, apply_insertion
from .peers import LINK_TYPES, NO_PEERS, apply_link, apply_own
from .workspace_state import (
    ANY_CLIENT,
    EMPTY_VAULT,
    ActiveNote,
    Pause,
    Pin,
    Selection,
    Tab,
    Vault,
    VaultState,
    WorkspaceState,
    client_key,
)

_VIEWS_MAX: Final = 1_000
"""Open views of one vault; of more publishers the oldest one's stays when its editor is gone."""
_TAB_LIFETIME_HOURS: Final = 24
V = TypeVar("V")

FOLD_VERSION: Final = 1
"""Raised whenever a log folds to another state than before; snapshots of other versions are ignored."""


def apply(state: WorkspaceState, event: Event) -> WorkspaceState:
    """The state after `event`, which has a time: any fold may need it."""
    assert event.time, "an event without a time"
    data = event.data
    fold = _VAULT_FOLDS.get(type(data))
    if fold is not None and event.vault is not None:
        before = state.of(event.vault)
        after = fold(before, event, data)
        by_vault = state.by_vault
        if after is not before:
            # The new value has no other references yet, so it may still be modified.
            force_setattr(after, "last_updated", event.time)
            by_vault = {**by_vault, event.vault: after}
        return WorkspaceState(
            event.seq,
            state.current,
            state.vaults,
            by_vault,
            state.unknown_events,
            state.sharing,
            state.conversations,
            state.clock_steps,
            state.volunteering,
            state.paused,
            state.views,
            state.peers if state.peers is NO_PEERS else apply_own(state.peers, event, before.pins, after.pins),
            state.insertions,
        )
    if (fold_workspace := _WORKSPACE_FOLDS.get(type(data))) is not None:
        return replace(fold_workspace(state, event, data), seq=event.seq)
    if type(data) in CONVERSATION_TYPES:
        conversations = apply_conversation(state.conversations, event)
        return state if conversations is state.conversations else replace(state, conversations=conversations)
    if type(data) in INSERTION_TYPES:
        return replace(state, insertions=apply_insertion(state.insertions, event))
    if type(data) in LINK_TYPES:
        peers = apply_link(state.peers, event)
        return state if peers is state.peers else replace(state, peers=peers)
    if type(event) is UnknownEvent:
        return replace(state, unknown_events=state.unknown_events + 1)
    return state


def fold_all(events: Iterable[Event], state: WorkspaceState) -> WorkspaceState:
    """The state after all `events`, in their order."""
    # As `apply` on each. Most events are of the same vault as the one before, so the workspace's state, of which
    # they change only that vault's, is made once for all of them.
    vault, of_vault, seq = None, EMPTY_VAULT, 0
    for event in events:
        fold = _VAULT_FOLDS.get(type(event.data))
        if vault is not None and (fold is None or event.vault != vault):
            state = _with_vault(state, vault, of_vault, seq)
            vault = None
        if fold is None or event.vault is None or state.peers is not NO_PEERS:
            state = apply(state, event)
            continue
        if vault is None:
            vault, of_vault = event.vault, state.of(event.vault)
        after = fold(of_vault, event, event.data)
        if after is not of_vault:
            assert event.time, "an event without a time"
            force_setattr(after, "last_updated", event.time)
            of_vault = after
        seq = event.seq
    return state if vault is None else _with_vault(state, vault, of_vault, seq)


def _with_vault(state: WorkspaceState, vault: VaultId, of_vault: VaultState, seq: int) -> WorkspaceState:
    if of_vault is state.of(vault):
        return replace(state, seq=seq)
    return replace(state, seq=seq, by_vault={**state.by_vault, vault: of_vault})


def expired_tabs(state: VaultState, now: str, steps: Sequence[ClockStep] = ()) -> list[Tab]:
    """The tabs not accessed for 24 h or more at `now` (an event time); queries hide them.

    `steps`: those of the workspace's state; changes of the clock do not count as time.
    """
    now_us = microseconds(now)
    return [tab for tab in state.tabs.values() if _expires_us(tab, steps) <= now_us]


def visible_tabs(state: VaultState, now: str, steps: Sequence[ClockStep] = ()) -> list[Tab]:
    """The tabs in a query's answer at `now`, in order."""
    hidden = {tab.id for tab in expired_tabs(state, now, steps)}
    return [tab for tab in state.tabs.values() if tab.id not in hidden]


def same_tabs_us(state: VaultState, now: str, steps: Sequence[ClockStep]) -> range:
    """The times, in microseconds since the epoch, at which `visible_tabs` has the same tabs as at `now`."""
    now_us = microseconds(now)
    expiries = [_expires_us(tab, steps) for tab in state.tabs.values()]
    first = max((each for each in expiries if each <= now_us), default=0)
    return range(first, min((each for each in expiries if each > now_us), default=(2**63 - 1)))


def _expires_us(tab: Tab, steps: Sequence[ClockStep]) -> int:
    advance_us = clock_advance_us(steps, tab.accessed_seq)
    return microseconds(tab.last_accessed) + advance_us + _TAB_LIFETIME_HOURS * 3_600_000_000


# -- workspace --


def _vault_opened(state: WorkspaceState, _event: Event, data: c.VaultOpened) -> WorkspaceState:
    vaults = {**state.vaults, data.vault_id: Vault(data.vault_id, data.name, data.path, True, data.files)}
    state = replace(state, vaults=vaults)
    return _switch(state, data.vault_id) if state.current is None else state


def _vault_closed(state: WorkspaceState, _event: Event, data: c.VaultClosed) -> WorkspaceState:
    vault = state.vaults.get(data.vault_id)
    if vault is None:
        return state
    vaults = {**state.vaults, vault.id: replace(vault, open=False)}
    return replace(state, vaults=vaults, current=None if state.current == vault.id else state.current)


def _vault_switched(state: WorkspaceState, _event: Event, data: c.VaultSwitched) -> WorkspaceState:
    vault = state.vaults.get(data.vault_id)
    if vault is None or not vault.open or state.current == vault.id:
        return state
    return _switch(state, vault.id)


def _switch(state: WorkspaceState, vault: VaultId) -> WorkspaceState:
    by_vault = state.by_vault
    if (sub := by_vault.get(vault)) is not None and sub.active is not None:
        by_vault = {**by_vault, vault: replace(sub, active=None, selection=None)}
    return replace(state, current=vault, by_vault=by_vault)


# -- the share policy --


def _with_setting(settings: dict[str, V], client: str, value: V, usual: V) -> dict[str, V]:
    """The settings of clients with one more; without one for every client, `usual` removes the client's own."""
    name = client_key(client)
    changed = {**settings, name: value}
    if changed.get(ANY_CLIENT, usual) == usual:
        changed = {key: each for key, each in changed.items() if each != usual}
    return settings if len(changed) > SHARING_CLIENTS_MAX and name not in settings else changed


# -- the clock, the pause --


def _clock_stepped(state: WorkspaceState, event: Event, data: c.ClockStepped) -> WorkspaceState:
    """A pause lasts as long as it was asked for, so its end is moved with the clock."""
    step = ClockStep(event.seq, data.before, data.after)
    paused = state.paused
    if paused is not None and paused.until is not None:
        with suppress(ValueError):  # what is no time in a log that others made
            set_us = microseconds(data.after) - microseconds(data.before)
            paused = Pause(paused.since, event_time((microseconds(paused.until) + set_us) * 1_000))
    return replace(state, clock_steps=(*state.clock_steps, step)[-CLOCK_STEPS_MAX:], paused=paused)


def _pause_started(state: WorkspaceState, event: Event, data: c.PauseStarted) -> WorkspaceState:
    since = state.paused.since if state.paused is not None else event.time
    return replace(state, paused=Pause(since, data.until))


# -- views --


def _view_opened(state: WorkspaceState, event: Event, data: c.ViewOpened) -> WorkspaceState:
    """Beyond _VIEWS_MAX the oldest view counts as published singly: what it showed stays."""
    if event.vault is None:
        return state
    views = {**state.views.get(event.vault, {}), event.source: data.confidence}
    if len(views) > _VIEWS_MAX:
        del views[next(iter(views))]
    return replace(state, views={**state.views, event.vault: views})


def _view_closed(state: WorkspaceState, event: Event, _data: c.ViewClosed) -> WorkspaceState:
    if event.vault is None or event.source not in state.views.get(event.vault, {}):
        return state
    views = {source: each for source, each in state.views[event.vault].items() if source != event.source}
    return replace(state, views={**state.views, event.vault: views})


# -- active note, selection --


def _active_note_set(state: VaultState, event: Event, data: c.ActiveNoteSet) -> VaultState:
    note = data.note
    if note is None:
        return _active_note_cleared(state, event, data)
    recents = state.recents.copy()
    recents.pop(note, None)
    recents[note] = event.time
    if len(recents) > RECENT_NOTES_MAX:
        del recents[next(iter(recents))]
    same = state.active is not None and state.active.id == note
    since = state.active.since if state.active is not None and same else event.time
    return VaultState(
        active=ActiveNote(note, since, event.source),
        pins=state.pins,
        tabs=_accessed(state.tabs, note, event),
        recents=recents,
        selection=state.selection if same else None,
        archived=state.archived,
        former=state.former,
    )


def _active_note_cleared(state: VaultState, _event: Event, _data: c.Data) -> VaultState:
    # A new object even if nothing was active: both event types for "no note" must fold alike, time included.
    return replace(state, active=None, selection=None)


def _selection_changed(state: VaultState, event: Event, data: c.SelectionChanged) -> VaultState:
    if state.active is None or state.active.id != data.note:
        return state
    selection = Selection(data.note, data.start_line, data.end_line, event.time, data.text, data.text_sha256)
    return replace(state, selection=selection)


# -- pins --


def _note_pinned(state: VaultState, event: Event, data: c.NotePinned) -> VaultState:
    if data.note in state.pins:
        return state
    pin = Pin(data.note, event.time, event.source)
    if data.index is None or data.index >= len(state.pins):
        pins = {**state.pins, pin.id: pin}
    else:
        order = list(state.pins.values())
        order.insert(data.index, pin)
        pins = {each.id: each for each in order}
    return replace(state, pins=pins, tabs=_without(state.tabs, data.note))


def _note_unpinned(state: VaultState, event: Event, data: c.NoteUnpinned) -> VaultState:
    if data.note not in state.pins:
        return state
    tab = Tab(_tab_id(event), data.note, "navigation", event.time, event.time, event.source, event.seq)
    return replace(state, pins=_without(state.pins, data.note), tabs=_with_last_tab(state.tabs, tab))


def _pinned_notes_reordered(state: VaultState, _event: Event, data: c.PinnedNotesReordered) -> VaultState:
    if not is_permutation(data.notes, state.pins):
        return state
    return replace(state, pins={note: state.pins[note] for note in data.notes})


# -- temporary tabs --


def _temporary_tab_opened(state: VaultState, event: Event, data: c.TemporaryTabOpened) -> VaultState:
    note = data.note
    if note in state.pins:
        return replace(state)  # only activity: lastUpdated moves
    if note in state.tabs:
        return replace(state, tabs=_accessed(state.tabs, note, event))
    tab = Tab(_tab_id(event), note, data.source, event.time, event.time, event.source, event.seq)
    return replace(state, tabs=_with_last_tab(state.tabs, tab))


def _temporary_tab_closed(state: VaultState, _event: Event, data: c.TemporaryTabClosed) -> VaultState:
    gone = [tab for tab in state.tabs.values() if tab.id == data.tab_id or tab.note_id == data.note]
    return _without_tabs(state, {tab.id for tab in gone})


def _temporary_tabs_reordered(state: VaultState, _event: Event, data: c.TemporaryTabsReordered) -> VaultState:
    by_id = {tab.id: tab for tab in state.tabs.values()}
    if not is_permutation(data.tab_ids, by_id):
        return state
    return replace(state, tabs={by_id[tab_id].note_id: by_id[tab_id] for tab_id in data.tab_ids})


# -- notes --


def _note_renamed(state: VaultState, _event: Event, data: c.NoteRenamed) -> VaultState:
    old, new = data.from_, data.to
    if old == new:
        return state
    pins = _renamed(state.pins, old, new, lambda pin, _other: replace(pin, id=new))
    tabs = _renamed(state.tabs, old, new, lambda tab, other: _accessed_with(replace(tab, note_id=new), other))
    # Recents are oldest first, so the entry nearer the front of the displayed list comes later here.
    newest_first = dict(reversed(state.recents.items()))
    recents = dict(reversed(_renamed(newest_first, old, new, lambda at, _other: at).items()))
    # Rewritten now, not followed later: by then a path in between may belong to another note.
    former = {path: new if to == old else to for path, to in state.former.items() if path not in (old, new)}
    former[old] = new
    if len(former) > FORMER_PATHS_MAX:
        del former[next(iter(former))]
    active, selection = state.active, state.selection
    return VaultState(
        active=replace(active, id=new) if active and active.id == old else active,
        pins=pins,
        tabs=_without(tabs, new) if new in pins else tabs,
        recents=recents,
        selection=replace(selection, note=new) if selection and selection.note == old else selection,
        archived=_renamed(state.archived, old, new, lambda flag, _other: flag),
        former=former,
    )


def _note_deleted(state: VaultState, _event: Event, data: c.NoteDeleted) -> VaultState:
    note = data.note
    is_active = state.active is not None and state.active.id == note
    if not is_active and note not in state.pins and note not in state.tabs:
        return state
    return replace(
        state,
        active=None if is_active else state.active,
        selection=None if is_active else state.selection,
        pins=_without(state.pins, note),
        tabs=_without(state.tabs, note),
    )


# -- erased events --


def _event_forgotten(state: VaultState, _event: Event, data: c.EventForgotten) -> VaultState:
    if data.effect == "left":
        return replace(state, active=None, selection=None)
    return replace(state) if data.effect == "updated" else state


# -- pieces --


def is_permutation(order: Iterable[str], of: Iterable[str]) -> bool:
    """Whether `order` names each of `of` exactly once and nothing else."""
    return sorted(order) == sorted(of)


def _tab_id(event: Event) -> TabId:
    return TabId(f"tab-{event.seq}")


def _without(items: dict[NoteId, V], note: NoteId) -> dict[NoteId, V]:
    return {key: value for key, value in items.items() if key != note} if note in items else items


def _without_tabs(state: VaultState, ids: set[TabId]) -> VaultState:
    tabs = {note: tab for note, tab in state.tabs.items() if tab.id not in ids}
    return replace(state, tabs=tabs) if len(tabs) < len(state.tabs) else state


def _accessed(tabs: dict[NoteId, Tab], note: NoteId, event: Event) -> dict[NoteId, Tab]:
    tab = tabs.get(note)
    if tab is None:
        return tabs
    return {**tabs, note: replace(tab, last_accessed=event.time, accessed_seq=event.seq)}


def _accessed_with(tab: Tab, other: Tab) -> Tab:
    """`tab` with the later access time of both."""
    if other.accessed_seq <= tab.accessed_seq:
        return tab
    return replace(tab, last_accessed=other.last_accessed, accessed_seq=other.accessed_seq)


def _with_last_tab(tabs: dict[NoteId, Tab], tab: Tab) -> dict[NoteId, Tab]:
    tabs = {**tabs, tab.note_id: tab}
    if len(tabs) > TEMPORARY_TABS_MAX:
        del tabs[next(iter(tabs))]
    return tabs


def _renamed(items: dict[NoteId, V], old: NoteId, new: NoteId, entry: Callable[[V, V], V]) -> dict[NoteId, V]:
    """`items` with `old` renamed to `new`. If both exist, they merge at the place of the first.

    `entry(first, other)` makes the entry for `new`; if only `old` exists, both arguments are the same.
    """
    if old not in items:
        return items
    both = [key for key in items if key in (old, new)]
    merged = entry(items[both[0]], items[both[-1]])
    return {
        (new if key == both[0] else key): (merged if key == both[0] else value)
        for key, value in items.items()
        if key == both[0] or key not in both
    }


_WORKSPACE_FOLDS: dict[type, Callable[[WorkspaceState, Event, Any], WorkspaceState]] = {
    c.VaultOpened: _vault_opened,
    c.VaultClosed: _vault_closed,
    c.VaultSwitched: _vault_switched,
    c.SharingSet: lambda state, _, data: replace(
        state, sharing=_with_setting(state.sharing, data.client, data.level, "all")
    ),
    c.VolunteeringSet: lambda state, _, data: replace(
        state, volunteering=_with_setting(state.volunteering, data.client, data.volunteering, "on")
    ),
    c.ClockStepped: _clock_stepped,
    c.PauseStarted: _pause_started,
    c.PauseEnded: lambda state, _event, _data: replace(state, paused=None),
    c.ViewOpened: _view_opened,
    c.ViewClosed: _view_closed,
}
_VAULT_FOLDS: dict[type, Callable[[VaultState, Event, Any], VaultState]] = {
    c.ActiveNoteSet: _active_note_set,
    c.ActiveNoteCleared: _active_note_cleared,
    c.SelectionChanged: _selection_changed,
    c.NotePinned: _note_pinned,
    c.NoteUnpinned: _note_unpinned,
    c.PinnedNotesReordered: _pinned_notes_reordered,
    c.TemporaryTabOpened: _temporary_tab_opened,
    c.TemporaryTabClosed: _temporary_tab_closed,
    c.TemporaryTabsReordered: _temporary_tabs_reordered,
    c.TemporaryTabsCleared: lambda state, _event, _data: replace(state, tabs={}) if state.tabs else state,
    c.TemporaryTabsExpired: lambda state, _, data: _without_tabs(state, set(data.tab_ids)),
    c.NoteRenamed: _note_renamed,
    c.NoteDeleted: _note_deleted,
    c.NoteArchived: lambda state, _event, data: (
        state if data.note in state.archived else replace(state, archived={**state.archived, data.note: None})
    ),
    c.NoteUnarchived: lambda state, _event, data: (
        replace(state, archived=_without(state.archived, data.note)) if data.note in state.archived else state
    ),
    c.EventForgotten: _event_forgotten,
}
