"""Turns a UI's whole view into the actions that bring the state to it. Pure; unchanged parts yield no action."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from ..errors import InvalidArgument
from ..ids import NoteId, VaultId, note_id
from ..limits import ID_CHARS_MAX, NOTES_PER_ACTION_MAX, SELECTION_CHARS_MAX, SOURCE_CHARS_MAX, TEMPORARY_TABS_MAX
from ..projections.workspace_state import VaultState, WorkspaceState
from ..schema import catalogue as c
from ..schema.catalogue import Line, TabSource
from .actions import Action, Planned, text_as_blob


class SnapshotTab(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    note: NoteId
    source: TabSource = "navigation"


class SnapshotSelection(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What is selected in the active note."""

    start_line: Line
    end_line: Line
    text: Annotated[str, Meta(max_length=SELECTION_CHARS_MAX)] | None = None


class Snapshot(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A UI's whole view."""

    source: Annotated[str, Meta(min_length=1, max_length=SOURCE_CHARS_MAX)]
    active: NoteId | None
    pins: Annotated[list[NoteId], Meta(max_length=NOTES_PER_ACTION_MAX)]
    tabs: Annotated[list[SnapshotTab], Meta(max_length=NOTES_PER_ACTION_MAX)]
    vault: str | None = None
    focused: bool = True
    """Whether the user is in this UI. If not, it does not take the active note from another one."""
    selection: SnapshotSelection | UnsetType | None = UNSET
    """None: nothing is selected. Left out: the UI does not tell."""


def emptied(snapshot: Snapshot) -> Snapshot:
    """The snapshot of a UI that shows nothing."""
    return replace(snapshot, active=None, pins=[], tabs=[], selection=UNSET)


def checked(snapshot: Snapshot) -> Snapshot:
    """The snapshot with normalised paths and without duplicates.

    Raises:
        ActionError: a path is invalid.
    """
    tabs = {note_id(tab.note): tab.source for tab in snapshot.tabs}
    return replace(
        snapshot,
        active=note_id(snapshot.active) if snapshot.active is not None else None,
        pins=list(dict.fromkeys(note_id(note) for note in snapshot.pins)),
        tabs=[SnapshotTab(note, source) for note, source in tabs.items()],
    )


def vault_of(state: WorkspaceState, snapshot: Snapshot) -> VaultId | None:
    """The vault that the snapshot is of; None: no vault is open.

    Raises:
        InvalidArgument: the vault is unknown.
    """
    vault = VaultId(snapshot.vault) if snapshot.vault is not None else state.current
    if vault is not None and vault not in state.vaults:
        raise InvalidArgument(
            f"There is no vault {vault[:ID_CHARS_MAX]!r}.", hint=f"Vaults: {', '.join(state.vaults) or 'none'}."
        )
    return vault


def differences(now: Planned, snapshot: Snapshot, *, inferred: bool = False) -> list[Action]:
    """The actions to append so that the state shows `snapshot`.

    Pins and tabs of other sources stay as they are, and so does the active note of another source unless the user
    is in this one and looks at a note.

    Args:
        inferred: the source infers its view.

    Raises:
        InvalidArgument: the vault is unknown.
    """
    state = now.state
    vault = vault_of(state, snapshot)
    views = state.views.get(vault, {}) if vault is not None else {}
    confidence: c.Confidence | None = "inferred" if inferred else None
    vault_state = state.of(vault)
    data: list[c.Data] = []
    is_shown = snapshot.source in views and views[snapshot.source] == confidence
    if vault is not None and state.vaults[vault].open and not is_shown:
        data.append(c.ViewOpened(confidence))
    data += [*_pins(vault_state, snapshot), *_tabs(vault_state, snapshot)]
    tabs = _folded(data, now, vault, snapshot.source).tabs
    own = {note for note, tab in tabs.items() if tab.publisher == snapshot.source}
    wanted = _reordered(list(tabs), [tab.note for tab in snapshot.tabs if tab.note in own])
    if wanted != list(tabs):
        data.append(c.TemporaryTabsReordered(tuple(tabs[note].id for note in wanted)))
    active = _active(vault_state, snapshot)
    shown = _folded(active, now, vault, snapshot.source)
    actions = [Action(each, vault=vault) for each in (*data, *active)]
    return [*actions, *_selection(shown, snapshot, vault)]


def handed_over(before: VaultState, after: VaultState, snapshot: Snapshot) -> list[c.Data]:
    """What keeps the active note, pins and tabs of `snapshot` that were shown before and are not after."""
    is_left = before.active is not None and after.active is None and before.active.id == snapshot.active
    pins = [note for note in snapshot.pins if note in before.pins and note not in after.pins]
    tabs = [
        tab
        for tab in snapshot.tabs
        if (tab.note in before.pins or tab.note in before.tabs)
        and not (tab.note in after.pins or tab.note in after.tabs or tab.note in pins)
    ]
    return [
        *(c.NotePinned(note) for note in pins),
        *(c.TemporaryTabOpened(tab.note, tab.source) for tab in tabs),
        *([c.ActiveNoteSet(snapshot.active)] if is_left else []),
    ]


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


def _active(state: VaultState, snapshot: Snapshot) -> list[c.Data]:
    own = state.active if state.active is not None and state.active.publisher == snapshot.source else None
    if snapshot.active is None:
        return [c.ActiveNoteCleared()] if own is not None else []
    if own is None and not snapshot.focused:
        return []
    if own is not None and own.id == snapshot.active:
        return []
    # Also for a note that another source showed: it stays when that source's view closes.
    return [c.ActiveNoteSet(snapshot.active)]


def _selection(state: VaultState, snapshot: Snapshot, vault: VaultId | None) -> list[Action]:
    active, now, wanted = state.active, state.selection, snapshot.selection
    if active is None or (active.id, active.publisher) != (snapshot.active, snapshot.source):
        return []
    if isinstance(wanted, UnsetType) or (wanted is None and (now is None or now.text == "")):
        return []
    if wanted is None:
        assert now is not None
        data = c.SelectionChanged(active.id, now.end_line, now.end_line, text="")
    else:
        data = c.SelectionChanged(active.id, wanted.start_line, wanted.end_line, text=wanted.text)
    data, blobs = text_as_blob(data, lambda text: sha256(text).hexdigest())
    told = (data.start_line, data.end_line, data.text, data.text_sha256)
    if now is not None and (now.start_line, now.end_line, now.text, now.text_sha256) == told:
        return []
    return [Action(data, vault=vault, blobs=blobs)]


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


def _folded(data: list[c.Data], now: Planned, vault: VaultId | None, source: str) -> VaultState:
    """The vault's state after appending `data`; the ids of new tabs come from it."""
    return now.after([Action(each, vault=vault) for each in data], source).state.of(vault)


def _reordered(order: Sequence[NoteId], own: Sequence[NoteId]) -> list[NoteId]:
    """`order` with the entries of `own` rearranged into the order of `own`; all others keep their places."""
    following = iter(own)
    return [next(following) if note in own else note for note in order]


class ShownViews:
    """The latest snapshots of all publishers, so that what one leaves and another still shows stays.

    In memory only: after a start each publisher shows its view again when it connects. Used by plans only, so only
    by the writer's thread.
    """

    def __init__(self) -> None:
        self._views: dict[tuple[VaultId, str], Snapshot] = {}
        """By vault and source, by the present paths of their notes."""
        self._former: dict[VaultId, Mapping[NoteId, NoteId]] = {}
        """For each vault the former paths that the views have followed."""

    def show(self, now: Planned, snapshot: Snapshot, *, inferred: bool = False) -> list[Action]:
        """As `differences`, but what another publisher shows too stays, as that one's. An inferred view counts as
        empty while one of a publisher that knows what the user looks at is open."""
        state = now.state
        vault = vault_of(state, snapshot)
        if inferred and _is_known(state, vault, but=snapshot.source):
            snapshot = emptied(snapshot)
        self._follow_renames(state)
        actions = differences(now, snapshot, inferred=inferred)
        if vault is None:
            return actions
        actions += self._handed_over(now, actions, snapshot.source)
        self._views[vault, snapshot.source] = replace(
            snapshot, tabs=snapshot.tabs[-TEMPORARY_TABS_MAX:], selection=UNSET
        )
        return actions

    def close(self, now: Planned, source: str) -> list[Action]:
        """As `closed_views`, but what another publisher shows too stays, as that one's."""
        self._follow_renames(now.state)
        for key in [key for key in self._views if key[1] == source]:
            del self._views[key]
        actions = closed_views(now.state, source)
        return [*actions, *self._handed_over(now, actions, source)]

    def _handed_over(self, now: Planned, actions: Sequence[Action], leaving: str) -> list[Action]:
        after = now.after(actions, leaving)
        views = after.state.views
        self._views = {key: each for key, each in self._views.items() if key[1] in views.get(key[0], {})}
        found: list[Action] = []
        for (vault, source), snapshot in self._views.items():
            is_outdone = views[vault][source] is not None and _is_known(after.state, vault, but=source)
            if source == leaving or is_outdone:
                continue
            kept = [
                Action(data, vault=vault, source=source)
                for data in handed_over(now.state.of(vault), after.state.of(vault), snapshot)
            ]
            after = after.after(kept, leaving)
            found += kept
        return found

    def _follow_renames(self, state: WorkspaceState) -> None:
        """Gives the notes of all views the paths that they were renamed to since the last time.

        It cannot wait until a view is needed, since a path that is used again is another note's.
        """
        for vault, sub in state.by_vault.items():
            followed = self._former.get(vault, {})
            if sub.former is followed:
                continue
            self._former[vault] = sub.former
            renamed = {old: new for old, new in sub.former.items() if followed.get(old) != new}
            for key in [key for key in self._views if key[0] == vault]:
                self._views[key] = _renamed(self._views[key], renamed)


def _is_known(state: WorkspaceState, vault: VaultId | None, *, but: str) -> bool:
    """Whether a publisher other than `but` that knows what the user looks at has an open view."""
    views = state.views.get(vault, {}) if vault is not None else {}
    return any(confidence is None for source, confidence in views.items() if source != but)


def _renamed(snapshot: Snapshot, renamed: Mapping[NoteId, NoteId]) -> Snapshot:
    return replace(
        snapshot,
        active=renamed.get(snapshot.active, snapshot.active) if snapshot.active is not None else None,
        pins=[renamed.get(note, note) for note in snapshot.pins],
        tabs=[SnapshotTab(renamed.get(tab.note, tab.note), tab.source) for tab in snapshot.tabs],
    )
