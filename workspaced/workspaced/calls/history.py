"""`VaultHistory`: the visits of one vault's notes up to one sequence, for live calls and calls about the past."""

from collections.abc import Sequence

from workspaced_events.ids import VaultId
from workspaced_events.projections.visits import Visit, VisitLog
from workspaced_tools.ports.asking import WouldBlock


class VaultHistory:
    """Implements `HistoryPort`. Reads the log if memory lacks the visits; raises WouldBlock if `nonblocking`."""

    def __init__(self, visits: VisitLog, vault: VaultId, seq: int, *, nonblocking: bool = False) -> None:
        self._visits = visits
        self._vault = vault
        self._seq = seq
        self._nonblocking = nonblocking

    def visits(self) -> Sequence[Visit]:
        if not self._nonblocking:
            return self._visits.visits(self._vault, self._seq)
        found = self._visits.visits_nonblocking(self._vault, self._seq)
        if found is None:
            raise WouldBlock
        return found
