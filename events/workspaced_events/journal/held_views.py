"""`HeldViews`: what publishers do during a pause. It is in memory only, and becomes events when the pause ends.

Their actions are checked and folded as always, but into a state of their own. So what is held is where the
publishers have come to, not the way there, and it is bounded as a state is. Renames alone are kept one by one:
references that agents hold follow them.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from ..errors import ActionError
from ..ids import EventId
from ..limits import HELD_BYTES_MAX
from ..projections.workspace_fold import apply
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema import catalogue as c
from .actions import Action, admit, is_recorded_in_pause
from .balance import Balance
from .idempotency import Seen, first_seq

_EVENT_BYTES: Final = 256
"""An event's bytes beside its data, at most: id, source, vault and time."""


class HeldViews:
    """Used by plans only, so only by the writer's thread."""

    def __init__(self, seen: Callable[[EventId], Seen | None]) -> None:
        """`seen`: the first use of an id in the log."""
        self._seen = seen
        self._since: str | None = None
        """The beginning of the pause that `_shown` belongs to."""
        self._shown = EMPTY
        self._renames: list[Action] = []
        self._renames_bytes = 0

    def shown(self, state: WorkspaceState) -> WorkspaceState:
        """The state as publishers see it: what they did during the pause included."""
        is_held = state.paused is not None and state.paused.since == self._since
        return self._shown if is_held else state

    def hold(self, state: WorkspaceState, actions: Sequence[Action], source: str) -> list[Action]:
        """Holds the actions of one batch, all or none; returns those that are recorded even in a pause.

        Raises:
            ActionError: an action does not fit what publishers show, or its id names another event.
        """
        assert state.paused is not None, "without a pause actions are appended"
        shown, held = self.shown(state), list[Action]()
        for index, action in enumerate(actions):
            try:
                if is_recorded_in_pause(action.data) or self._is_retry(action):
                    continue
                vault = admit(shown, action, during_pause=True)
            except ActionError as error:
                raise error.at_index(index) from None
            action = msgspec.structs.replace(action, id=None, vault=vault, source=action.source or source)
            event = c.ENTRY_OF[type(action.data)].event
            shown = apply(shown, event(shown.seq + 1, "", "", action.source, vault, action.data))
            held.append(action)
        self._keep(state.paused.since, shown, held)
        return [action for action in actions if is_recorded_in_pause(action.data)]

    def _is_retry(self, action: Action) -> bool:
        """Whether the log holds the action already. Raises Conflict if its id names another event."""
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

    def ended(self, state: WorkspaceState, seq: int, source: str) -> list[Action]:
        """The actions that end the pause: `pause_ended`, and behind it what changed on balance. Empty without a
        pause.

        What takes more than HELD_BYTES_MAX is left to the next snapshots of its publishers.

        Args:
            source: of `pause_ended`, and of changes of which no publisher is known.
        """
        if state.paused is None:
            return []
        balance = Balance(state, seq)
        shown = self.shown(state)
        balance.add(c.PauseEnded(), state.current, source)
        if shown is not state:
            for rename in self._renames:
                balance.add(rename.data, rename.vault, rename.source or source)
            balance.lead_to(shown, source)
        return _fitting(balance.actions)

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
