"""`HeldViews`: what publishers do during a pause. It is in memory only, and becomes events when the pause ends.

Their actions are checked and folded as always, but into a state of their own. So what is held is where the
publishers have come to, not the way there, and it is bounded as a state is. Renames alone are kept one by one:
references that agents hold follow them.

Of the latest actions the ids are kept too, so that a retry is known: during the pause, and after it where the very
action is part of what is recorded. Of others no trace is left, so after the pause they are new.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from ..errors import ActionError, Conflict
from ..ids import EventId, VaultId
from ..limits import HELD_BYTES_MAX
from ..projections.workspace_state import EMPTY, WorkspaceState
from ..schema import catalogue as c
from .actions import Action, admit, is_recorded_in_pause
from .balance import Balance
from .idempotency import Seen, fingerprint, first_seq
from .planned import Planned

_HELD_IDS_MAX: Final = 1_000
"""Ids of actions that are known as retries during a pause."""
_EVENT_BYTES: Final = 256
"""An event's bytes beside its data, at most: id, source, vault and time."""

_Named = tuple[int, VaultId | None]
"""The fingerprint of an action's data, and its vault."""


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
        self._ids: dict[EventId, _Named] = {}
        """What the latest ids name, oldest first."""

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
        shown, held, ids = self.shown(now), list[Action](), dict(self._ids_of(state))
        for index, action in enumerate(actions):
            try:
                if is_recorded_in_pause(action.data) or self._is_retry(action, ids):
                    continue
                vault = admit(shown.state, action, during_pause=True)
                if action.id is not None:
                    ids[action.id] = fingerprint(action.data), vault
            except ActionError as error:
                raise error.at_index(index) from None
            action = msgspec.structs.replace(action, id=None, vault=vault, source=action.source or source)
            shown = shown.after([action], source)
            held.append(action)
        self._keep(state.paused.since, shown.state, held)
        self._ids = dict(list(ids.items())[-_HELD_IDS_MAX:])
        return [action for action in actions if is_recorded_in_pause(action.data)]

    def _ids_of(self, state: WorkspaceState) -> dict[EventId, _Named]:
        """The ids of the present pause."""
        return self._ids if state.paused is not None and state.paused.since == self._since else {}

    def _is_retry(self, action: Action, ids: Mapping[EventId, _Named]) -> bool:
        """Whether the log or `ids` hold the action already. Raises Conflict if its id names another one."""
        if action.id is None:
            return False
        if (held := ids.get(action.id)) is not None:
            if held[0] != fingerprint(action.data) or action.vault not in (None, held[1]):
                raise Conflict(
                    f"The id {action.id!r} already names another action of this pause.",
                    hint="Give each action an id of its own; repeat an id only to retry the very same action.",
                )
            return True
        if (seen := self._seen(action.id)) is None:
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
        balance = Balance(now)
        shown = self.shown(now).state
        balance.add(c.PauseEnded(), state.current, source)
        if shown is not state:
            for rename in self._renames:
                balance.add(rename.data, rename.vault, rename.source or source)
            balance.lead_to(shown, source)
        return self._named(_fitting(balance.actions), state)

    def _named(self, actions: list[Action], state: WorkspaceState) -> list[Action]:
        """The actions with the ids that publishers gave them, of several the latest."""
        # An id that the log got meanwhile, for what is recorded even in a pause, would refuse the whole batch.
        latest = {held: name for name, held in self._ids_of(state).items() if self._seen(name) is None}
        return [
            msgspec.structs.replace(each, id=latest.pop((fingerprint(each.data), each.vault), None))
            for each in actions
        ]

    def forget(self, state: WorkspaceState) -> None:
        """Frees the memory unless the workspace is paused. To be called once the end of the pause was appended."""
        if state.paused is None:
            self._since, self._shown, self._renames, self._renames_bytes = None, EMPTY, [], 0
            self._ids = {}


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
