"""The actions that lead from one state to another on balance: what a pause leaves to record. Pure.

They lead to the same current vault, active notes, pins, tabs and archived notes, by none of the steps in between:
a note that was opened and closed again is in none of them. What was selected meanwhile is not recorded. States do
not tell of renames, so the caller adds them first.
"""

from collections.abc import Iterator

from ..ids import VaultId
from ..projections.workspace_state import VaultState, WorkspaceState
from ..schema import catalogue as c
from .actions import Action
from .planned import Planned


class Balance:
    """Collects actions, each with the source that it is recorded of, and folds them as the writer will."""

    def __init__(self, now: Planned) -> None:
        """`now`: before the actions."""
        self.actions: list[Action] = []
        self._now = now

    @property
    def state(self) -> WorkspaceState:
        """After the actions."""
        return self._now.state

    def add(self, data: c.Data, vault: VaultId | None, source: str) -> None:
        """Appends one action."""
        self._now = self._now.then(data, vault, source)
        self.actions.append(Action(data, vault=vault, source=source))

    def lead_to(self, after: WorkspaceState, source: str) -> None:
        """Adds what is missing to `after`; `source`: of changes of which no publisher is known."""
        if after.current is not None and after.current != self.state.current:
            self.add(c.VaultSwitched(after.current), after.current, source)
        for vault in [each.id for each in self.state.vaults.values() if each.open]:
            wanted = after.of(vault)
            for steps in (_active, _pins, _tabs, _archived):
                for data, publisher in steps(self, vault, wanted):
                    self.add(data, vault, publisher or source)
            opened, now_open = after.views.get(vault, {}), self.state.views.get(vault, {})
            for publisher in [each for each in opened if each not in now_open or opened[each] != now_open[each]]:
                self.add(c.ViewOpened(opened[publisher]), vault, publisher)
            for publisher in [each for each in now_open if each not in opened]:
                self.add(c.ViewClosed(), vault, publisher)


Steps = Iterator[tuple[c.Data, str | None]]
"""Data with the source; None: no publisher is known."""


def _active(balance: Balance, vault: VaultId, wanted: VaultState) -> Steps:
    now, then = balance.state.of(vault), wanted.active
    if then is None:
        if now.active is not None:
            yield c.ActiveNoteCleared(), now.active.publisher
        return
    is_same = now.active is not None and now.active.id == then.id
    if is_same and now.selection is not None and now.selection != wanted.selection:
        yield c.ActiveNoteCleared(), then.publisher  # something else is selected, or nothing
        is_same = False
    if not is_same or (now.active is not None and now.active.publisher != then.publisher):
        yield c.ActiveNoteSet(then.id), then.publisher


def _pins(balance: Balance, vault: VaultId, wanted: VaultState) -> Steps:
    before = balance.state.of(vault).pins
    for note, pin in before.items():
        there = wanted.pins.get(note)
        if there is None or there.publisher != pin.publisher:
            yield c.NoteUnpinned(note), pin.publisher
    for note, pin in wanted.pins.items():
        if note not in balance.state.of(vault).pins:
            yield c.NotePinned(note), pin.publisher
    if list(wanted.pins) != list(balance.state.of(vault).pins):
        yield c.PinnedNotesReordered(tuple(wanted.pins)), next(iter(wanted.pins.values())).publisher


def _tabs(balance: Balance, vault: VaultId, wanted: VaultState) -> Steps:
    before = balance.state.of(vault).tabs
    for note, tab in before.items():
        there = wanted.tabs.get(note)
        if there is None or (there.publisher, there.source) != (tab.publisher, tab.source):
            yield c.TemporaryTabClosed(note=note), tab.publisher
    for note, tab in wanted.tabs.items():
        if note not in balance.state.of(vault).tabs:
            yield c.TemporaryTabOpened(note, tab.source), tab.publisher
    for note, tab in balance.state.of(vault).tabs.items():
        stayed = tab is before.get(note)
        if stayed and tab.last_accessed != wanted.tabs[note].last_accessed:  # looked at: it does not expire yet
            yield c.TemporaryTabOpened(note, tab.source), tab.publisher
    tabs = balance.state.of(vault).tabs
    if list(wanted.tabs) != list(tabs):
        order = tuple(tabs[note].id for note in wanted.tabs)
        yield c.TemporaryTabsReordered(order), next(iter(wanted.tabs.values())).publisher


def _archived(balance: Balance, vault: VaultId, wanted: VaultState) -> Steps:
    before = balance.state.of(vault).archived
    for note in wanted.archived:
        if note not in before:
            yield c.NoteArchived(note), None
    for note in before:
        if note not in wanted.archived:
            yield c.NoteUnarchived(note), None
