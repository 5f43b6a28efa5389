"""`PauseBuffer`: what publishers do during a pause. It is in memory only, and becomes events when the pause ends.

Their actions are checked and folded as always, but into a state of their own. So what is held is where the
publishers have come to, not the way there, and it is bounded as a state is. Renames alone are kept one by one:
references that agents hold follow them.

The actions that a pause leaves lead to the same current vault, active notes, pins, tabs and archived notes, by
none of the steps in between: a note that was opened and closed again is in none of them. What was selected
meanwhile is not recorded.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from ..errors import ActionError
from ..ids import EventId, VaultId
from ..limits import HELD_BYTES_MAX
from ..projections.workspace_state import EMPTY, VaultState, WorkspaceState
from ..schema import catalogue as c
from .actions import Action, Planned, admit
from .idempotency import Seen, first_seq

_EVENT_BYTES: Final = 256
"""An event's bytes beside its data, at most: id, source, vault and time."""


class PauseBuffer:
    """Used by plans only, so only by the writer's thread."""

    def __init__(self, seen: Callable[[EventId], Seen | None]) -> None:
        """`seen`: the first use of an id in the log."""
        self._seen = seen
        self._since: str | None = None
        """The beginning of the pause that `_shown` belongs to."""
        self._shown = EMPTY
        self._renames: list[Action] = []
        self._renames_bytes = 0

    def shown(self, now: Planned) -> Planned:
        """As publishers see it: what they did during the pause included."""
        paused = now.state.paused
        if paused is None or paused.since != self._since:
            return now
        return Planned(self._shown, self._shown.seq, now.time)

    def hold(self, now: Planned, actions: Sequence[Action], source: str) -> list[Action]:
        """Holds the actions of one batch, all or none; returns those that are recorded even in a pause.

        Raises:
            ActionError: an action does not fit what publishers show, or its id names another event.
        """
        state = now.state
        assert state.paused is not None, "without a pause actions are appended"
        shown, held = self.shown(now), list[Action]()
        for index, action in enumerate(actions):
            try:
                if c.ENTRY_OF[type(action.data)].in_pause or self._is_retry(action):
                    continue
                vault = admit(shown.state, action, during_pause=True)
            except ActionError as error:
                raise error.at_index(index) from None
            action = msgspec.structs.replace(action, id=None, vault=vault, source=action.source or source)
            shown = shown.after([action], source)
            held.append(action)
        self._keep(state.paused.since, shown.state, held)
        return [action for action in actions if c.ENTRY_OF[type(action.data)].in_pause]

    def _is_retry(self, action: Action) -> bool:
        """Whether the log holds the action already. Raises Conflict if its id names another one."""
        if action.id is None or (seen := self._seen(action.id)) is None:
            return False
        first_seq(seen, action.id, action.data, action.vault)
        return True

    def _keep(self, since: str, shown: WorkspaceState, held: list[Action]) -> None:
        if since != self._since:
            self._since, self._renames, self._renames_bytes = since, [], 0
        self._shown = shown
        for action in held:
            if isinstance(action.data, c.NoteRenamed):
                self._renames.append(action)
                self._renames_bytes += _bytes_of(action)
        while self._renames_bytes > HELD_BYTES_MAX // 2:
            self._renames_bytes -= _bytes_of(self._renames.pop(0))

    def ended(self, now: Planned, source: str) -> list[Action]:
        """The actions that end the pause: `pause_ended`, and behind it what changed on balance. Empty without a
        pause.

        What takes more than HELD_BYTES_MAX is left to the next snapshots of its publishers.

        Args:
            source: of `pause_ended`, and of changes of which no publisher is known.
        """
        state = now.state
        if state.paused is None:
            return []
        diff = PauseDiff(now)
        shown = self.shown(now).state
        diff.add(c.PauseEnded(), state.current, source)
        if shown is not state:
            for rename in self._renames:
                diff.add(rename.data, rename.vault, rename.source or source)
            diff.lead_to(shown, source)
        return _fitting(diff.actions)

    def forget(self, state: WorkspaceState) -> None:
        """Frees the memory unless the workspace is paused. To be called once the end of the pause was appended."""
        if state.paused is None:
            self._since, self._shown, self._renames, self._renames_bytes = None, EMPTY, [], 0


def _fitting(actions: list[Action]) -> list[Action]:
    """The first actions, as many as fit a batch."""
    left = HELD_BYTES_MAX
    for index, action in enumerate(actions):
        left -= _bytes_of(action)
        if left < 0:
            return actions[:index]
    return actions


def _bytes_of(action: Action) -> int:
    return len(msgspec.json.encode(action.data)) + _EVENT_BYTES


class PauseDiff:
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


def _active(diff: PauseDiff, vault: VaultId, wanted: VaultState) -> Steps:
    now, then = diff.state.of(vault), wanted.active
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


def _pins(diff: PauseDiff, vault: VaultId, wanted: VaultState) -> Steps:
    before = diff.state.of(vault).pins
    for note, pin in before.items():
        there = wanted.pins.get(note)
        if there is None or there.publisher != pin.publisher:
            yield c.NoteUnpinned(note), pin.publisher
    for note, pin in wanted.pins.items():
        if note not in diff.state.of(vault).pins:
            yield c.NotePinned(note), pin.publisher
    if list(wanted.pins) != list(diff.state.of(vault).pins):
        yield c.PinnedNotesReordered(tuple(wanted.pins)), next(iter(wanted.pins.values())).publisher


def _tabs(diff: PauseDiff, vault: VaultId, wanted: VaultState) -> Steps:
    before = diff.state.of(vault).tabs
    for note, tab in before.items():
        there = wanted.tabs.get(note)
        if there is None or (there.publisher, there.source) != (tab.publisher, tab.source):
            yield c.TemporaryTabClosed(note=note), tab.publisher
    for note, tab in wanted.tabs.items():
        if note not in diff.state.of(vault).tabs:
            yield c.TemporaryTabOpened(note, tab.source), tab.publisher
    for note, tab in diff.state.of(vault).tabs.items():
        stayed = tab is before.get(note)
        if stayed and tab.last_accessed != wanted.tabs[note].last_accessed:  # looked at: it does not expire yet
            yield c.TemporaryTabOpened(note, tab.source), tab.publisher
    tabs = diff.state.of(vault).tabs
    if list(wanted.tabs) != list(tabs):
        order = tuple(tabs[note].id for note in wanted.tabs)
        yield c.TemporaryTabsReordered(order), next(iter(wanted.tabs.values())).publisher


def _archived(diff: PauseDiff, vault: VaultId, wanted: VaultState) -> Steps:
    before = diff.state.of(vault).archived
    for note in wanted.archived:
        if note not in before:
            yield c.NoteArchived(note), None
    for note in before:
        if note not in wanted.archived:
            yield c.NoteUnarchived(note), None
