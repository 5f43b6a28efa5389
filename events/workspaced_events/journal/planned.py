"""`Planned`: the state as the writer will have it once the actions of a plan are appended. Pure."""

from collections.abc import Callable, Sequence

import msgspec

from ..ids import VaultId
from ..projections.workspace_fold import apply
from ..projections.workspace_state import WorkspaceState
from ..schema import catalogue as c
from .actions import Action


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A state, and the moment at which the next action is appended to it."""

    state: WorkspaceState
    seq: int
    """The last sequence; new tabs are named by sequences."""
    time: str
    """Of the events to append."""

    def then(self, data: c.Data, vault: VaultId | None, source: str) -> "Planned":
        """After an action with `data`, folded as the writer folds its event."""
        seq = self.seq + 1
        event = c.ENTRY_OF[type(data)].event(seq, "", self.time, source, vault, data)
        return Planned(apply(self.state, event), seq, self.time)

    def after(self, actions: Sequence[Action], source: str) -> "Planned":
        """After `actions`; those that name no source are of `source`."""
        planned = self
        for action in actions:
            planned = planned.then(action.data, action.vault, action.source or source)
        return planned


Plan = Callable[[Planned], Sequence[Action]]
"""Chooses the actions at the moment of the append."""
