"""`View`: a tool's only access to state, log and vault.

A tool is a function `(View, arguments) -> Answer`. It learns everything through its View: the state at one
sequence, a clock, and the answers to its questions (questions.py). Therefore the same function answers a live call
and a replayed call, and the questions with their answers determine an agent's answer.

Questions and answers are plain values, so that they can be recorded and replayed.
"""

import msgspec

from workspaced_events.projections.workspace_state import Vault, VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing

from .asking import VaultPort


class View(msgspec.Struct, frozen=True):
    """State, log and vault at one moment, as far as one client may see them."""

    state: WorkspaceState
    """Without the notes that the share policy withholds."""
    now: str
    """UTC, six fractional digits, `Z`: the form of an event's time."""
    vault: VaultPort
    """Answers every question of a tool. If no vault is served, only `ManifestOf` may be asked."""
    served: bool = True
    """Whether there is a current vault and its folder is served."""
    sharing: Sharing = "all"
    """The client's level: `names` means ids and titles only. (A client with `none` gets no view.)"""
    withheld: int = 0
    """The number of withheld notes in the current vault's lists."""
    also_at: tuple[int, ...] = ()
    """The sequences of other moments with the same time, if the question's time is ambiguous because the clock was
    set."""

    @property
    def current(self) -> Vault | None:
        """The current vault's registration."""
        return self.state.vaults.get(self.state.current) if self.state.current is not None else None

    @property
    def vault_state(self) -> VaultState:
        """The state of the current vault."""
        return self.state.of(self.state.current)

    @property
    def as_of_seq(self) -> int:
        """The last sequence that could have changed the state."""
        return self.state.seq
