"""`View`: a tool's only door to the world.

A tool is a function `(View, arguments) -> Result`. All it learns comes through here: the folded state at one
sequence, a clock, and the answers to its questions (questions.py). The same function therefore answers a live call
and a replayed one, and the questions with their answers are what an agent's answer was made from.

Questions and answers are plain values, so that they can be recorded and given again.
"""

import msgspec

from workspaced_events.projections.workspace_state import Vault, VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing

from .asking import VaultPort


class View(msgspec.Struct, frozen=True):
    """The world at one moment, as one client may see it."""

    state: WorkspaceState
    """Without what the share policy withholds."""
    now: str
    """UTC, six fractional digits, `Z`: the form of an event's time."""
    vault: VaultPort
    """Answers every question of a tool. Where no vault is served, only `ManifestOf` may be asked."""
    served: bool = True
    """Whether there is a current vault and its folder is served."""
    sharing: Sharing = "all"
    """How much this client is shown: `names` means ids and titles only. (`none` gets no view.)"""
    withheld: int = 0
    """How many notes of the current vault's lists the share policy withholds."""
    also_at: tuple[int, ...] = ()
    """Sequences of the other moments that the time asked about names, where the clock was set."""

    @property
    def current(self) -> Vault | None:
        """The current vault's registration."""
        return self.state.vaults.get(self.state.current) if self.state.current is not None else None

    @property
    def vault_state(self) -> VaultState:
        """What is folded for the current vault."""
        return self.state.of(self.state.current)

    @property
    def as_of_seq(self) -> int:
        """The last sequence that could have changed the state."""
        return self.state.seq
