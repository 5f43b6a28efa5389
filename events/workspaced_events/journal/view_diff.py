"""Turns a UI's whole view into the actions that bring the state to it. Pure; unchanged parts yield no action."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_events.journal.actions import Action
from workspaced_events.limits import ID_CHARS_MAX, NOTES_PER_ACTION_MAX, SOURCE_CHARS_MAX, TEMPORARY_TABS_MAX
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import TabSource


class SnapshotTab(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    note: NoteId
    source: TabSource = "navigation"


class Snapshot(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A UI's whole view after it (re)connected."""

    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS_MAX)]
    active: NoteId | None
    pins: Annotated[list[NoteId], Meta(max_length=NOTES_PER_ACTION_MAX)]
    tabs: Annotated[list[SnapshotTab], Meta(max_length=NOTES_PER_ACTION_MAX)]
    vault: str | None = None


def checked(snapshot: Snapshot) -> Snapshot:
    """The snapshot with normalised paths and without duplicates.

    Raises:
        ActionError: a path is invalid.
    """
    tabs = {note_id(tab.note): tab.source for tab in snapshot.tabs}
    return msgspec.structs.replace(
        snapshot,
        active=note_id(snapshot.active) if snapshot.active is not None else None,
        pins=list(dict.fromkeys(note_id(note) for note in snapshot.pins)),
        tabs=[SnapshotTab(note, source) for note, source in tabs.items()],
    )


def differences(state: WorkspaceState, seq: int, snapshot: Snapshot) -> list[Action]:
    """The actions to append after sequence `seq` so that the state shows `snapshot`.

    Pins and tabs of other sources stay as they are.

    Raises:
        InvalidArgument: the vault is unknown.
    """
    vault = VaultId(snapshot.vault) if snapshot.vault is not None else state.current
    if vault is not None and vault not in state.vaults:
        raise InvalidArgument(
            f"There is no vault {vault[:ID_CHARS_MAX]!r}.", hint=f"Vaults: {', '.join(state.vaults) or 'none'}."
        )
    vault_state = state.of(vault)
    data: list[c.Data] = []
    if vault is not None and state.vaults[vault].open and snapshot.source not in state.views.get(vault, {}):
        data.append(c.ViewOpened())
    data += [*_pins(vault_state, snapshot), *_tabs(vault_state, snapshot)]
    data += _tab_order(_folded(data, state, seq, vault, snapshot.source), snapshot)
    if snapshot.active is None and vault_state.active is not None:
        data.append(c.ActiveNoteCleared())
    elif snapshot.active is not None and _shown_by(vault_state) != (snapshot.active, snapshot.source):
        # Also for a note that another source showed: it stays when that source's view closes.
        data.append(c.ActiveNoteSet(snapshot.active))
    return [Action(each, vault=vault) for each in data]


def closed_views(state: WorkspaceState, source: str) -> list[Action]:
    """The actions that close the source's views of all open vaults: its tabs go, and the note that it showed last
    is no longer active. Its pins stay, and so does what other sources showed."""
    actions: list[Action] = []
    for vault, views in state.views.items():
        if source not in views or not state.vaults[vault].open:
            continue
        sub = state.of(vault)
        tabs = [tab.note_id for tab in sub.tabs.values() if tab.publisher == source]
        data: list[c.Data] = [c.TemporaryTabClosed(note=note) for note in tabs]
        if sub.active is not None and sub.active.publisher == source:
            data.append(c.ActiveNoteCleared())
        actions += [Action(each, vault=vault) for each in (*data, c.ViewClosed())]
    return actions


def _shown_by(state: VaultState) -> tuple[NoteId, str] | None:
    return (state.active.id, state.active.publisher) if state.active is not None else None


def _pins(state: VaultState, snapshot: Snapshot) -> list[c.Data]:
    own = [pin.id for pin in state.pins.values() if pin.publisher == snapshot.source]
    removed = [note for note in own if note not in snapshot.pins]
    new = [note for note in snapshot.pins if note not in state.pins]
    data: list[c.Data] = []
    for note in removed:
        # Unpinning leaves a tab; if the UI shows no such tab, it closed the note.
        data.append(c.NoteUnpinned(note))
        if note not in [tab.note for tab in snapshot.tabs]:
            data.append(c.TemporaryTabClosed(note=note))
    data.extend(c.NotePinned(note) for note in new)
    order = [note for note in state.pins if note not in removed] + new
    wanted = _reordered(order, [note for note in snapshot.pins if note in {*own, *new}])
    if wanted != order:
        data.append(c.PinnedNotesReordered(tuple(wanted)))
    return data


def _tabs(state: VaultState, snapshot: Snapshot) -> list[c.Data]:
    shown = {tab.note: tab for tab in snapshot.tabs[-TEMPORARY_TABS_MAX:]}
    own = [tab.note_id for tab in state.tabs.values() if tab.publisher == snapshot.source]
    removed = [note for note in own if note not in shown and note not in snapshot.pins]
    unpinned = {note for note, pin in state.pins.items() if pin.publisher == snapshot.source} - {*snapshot.pins}
    pinned = ({*state.pins} - unpinned) | {*snapshot.pins}
    data: list[c.Data] = [c.TemporaryTabClosed(note=note) for note in removed]
    new = [tab for note, tab in shown.items() if note not in {*state.tabs, *pinned, *unpinned}]
    return [*data, *(c.TemporaryTabOpened(tab.note, tab.source) for tab in new)]


def _folded(data: list[c.Data], state: WorkspaceState, seq: int, vault: VaultId | None, source: str) -> VaultState:
    """The vault's state after appending `data`; the ids of new tabs come from it."""
    for number, each in enumerate(data, start=seq + 1):
        state = apply(state, c.ENTRY_OF[type(each)].event(number, "", "", source, vault, each))
    return state.of(vault)


def _tab_order(state: VaultState, snapshot: Snapshot) -> list[c.Data]:
    own = {note for note, tab in state.tabs.items() if tab.publisher == snapshot.source}
    order = list(state.tabs)
    wanted = _reordered(order, [tab.note for tab in snapshot.tabs if tab.note in own])
    return [c.TemporaryTabsReordered(tuple(state.tabs[note].id for note in wanted))] if wanted != order else []


def _reordered(order: Sequence[NoteId], own: Sequence[NoteId]) -> list[NoteId]:
    """`order` with the entries of `own` rearranged into the order of `own`; all others keep their places."""
    following = iter(own)
    return [next(following) if note in own else note for note in order]
