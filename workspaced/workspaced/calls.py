"""`Calls`: tools run for callers, each as far as the share policy allows, and how long that took.

Which notes are private may come to light only while a call reads them. So each call looks afterwards whether its
view would be made the same way now, and is made again where it would not: an answer never names a note that was
known to be private when it left.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from workspaced_events.clock import system_clock
from workspaced_events.ids import VaultId
from workspaced_events.state import WorkspaceState
from workspaced_events.visits import Visit, VisitLog
from workspaced_tools.catalogue import TOOLS
from workspaced_tools.recording import Tape
from workspaced_tools.sharing import KnownLists, is_current, refusal, shared_view, sharing_off, unsettled
from workspaced_tools.tool import Tool, payload_of, run
from workspaced_tools.vault.warm import NotWarm

from .limits import LATENCY_SAMPLES
from .vaults import ServedVault

ATTEMPTS_MAX: Final = 4
"""How often a call is made while notes keep being found private; then it fails."""


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool answered: its JSON, whether it is a failure, and the moment it is of."""

    payload: bytes
    ok: bool
    as_of_seq: int
    tail_seq: int
    now: str
    tape: Tape | None = None
    """What it was made from; None: nothing is shared with the client."""


class RulesMoved(Exception):
    """The vault's rules of sharing are others than those its index was last compared by: compare it first."""


class Calls:
    """One for each daemon."""

    def __init__(self, visits: VisitLog) -> None:
        self._visits = visits
        self._lists: dict[VaultId, KnownLists] = {}
        self._digests: dict[VaultId, str] = {}
        """The rules that each vault was compared by."""
        self._latencies: dict[str, deque[int]] = {}
        self._counts: dict[str, int] = {}

    def answer(
        self,
        tool: Tool[Any],
        arguments: dict[str, Any],
        caller: str,
        state: WorkspaceState,
        seq: int,
        served: ServedVault | None,
        *,
        warm: bool,
    ) -> ToolAnswer:
        """The answer of one call over `state`.

        Args:
            caller: the name the client gave itself: it decides how much is shared.
            seq: the log's tail; more recent than `state.seq` where later events changed no state.
            served: the current vault.
            warm: only from what needs no waiting and no file.

        Raises:
            NotWarm: with `warm`, that is not enough.
            RulesMoved: without `warm`, where the vault was not compared by its present rules yet.
        """
        now = system_clock()
        level = state.sharing_of(caller)
        if level == "none":
            return _encoded(refusal(sharing_off(caller), state.seq), state, seq, now)
        for _ in range(ATTEMPTS_MAX):
            if served is None:
                tape = Tape(shared_view(state, now, None, level=level, withheld=lambda _note: True), state)
                return _encoded(run(tool, tape.view, arguments), state, seq, now, tape)
            vault = served.vault
            vault.policy.refresh()
            if self._digests[served.id] != vault.policy.digest:
                # Counts and scores would still tell of notes that the new rules withhold.
                raise NotWarm if warm else RulesMoved
            version = _version(served)
            view = shared_view(
                state,
                now,
                served.warm if warm else vault,
                _History(self._visits, served.id, seq, warm=warm),
                level=level,
                withheld=vault.is_withheld,
                lists=self._lists_of(served),
            )
            tape = Tape(view, state)
            result = run(tool, tape.view, arguments)
            if _version(served) == version or is_current(view, state, vault.is_withheld):
                return _encoded(result, state, seq, now, tape)
            if warm:
                raise NotWarm
        tape.give_up()
        return _encoded(refusal(unsettled(), state.seq), state, seq, now, tape)

    def compared(self, served: ServedVault, digest: str) -> None:
        """Takes note that the vault is, or will be, compared by these rules; first before its first call."""
        self._digests[served.id] = digest

    def count(self, tool: str, duration_us: int) -> None:
        """Takes note of a call that was answered."""
        self._counts[tool] = self._counts.get(tool, 0) + 1
        self._latencies.setdefault(tool, deque(maxlen=LATENCY_SAMPLES)).append(duration_us)

    def status(self) -> dict[str, Any]:
        """Calls and their latencies, for every tool."""
        return {name: self._status_of(name) for name in TOOLS}

    def _status_of(self, name: str) -> dict[str, Any]:
        samples = sorted(self._latencies.get(name, ()))
        if not samples:
            return {"calls": 0}
        return {
            "calls": self._counts[name],
            "p50Us": samples[len(samples) // 2],
            "p99Us": samples[min(len(samples) - 1, len(samples) * 99 // 100)],
            "maxUs": samples[-1],
        }

    def _lists_of(self, served: ServedVault) -> KnownLists:
        known = self._lists.get(served.id)
        if known is None:
            known = self._lists[served.id] = KnownLists(lambda: _version(served))
        return known


class _History:
    """Implements `HistoryPort` for one vault at one sequence."""

    def __init__(self, visits: VisitLog, vault: VaultId, seq: int, *, warm: bool) -> None:
        self._visits = visits
        self._vault = vault
        self._seq = seq
        self._warm = warm

    def visits(self) -> Sequence[Visit]:
        if not self._warm:
            return self._visits.visits(self._vault, self._seq)
        found = self._visits.warm_visits(self._vault, self._seq)
        if found is None:
            raise NotWarm
        return found


def _version(served: ServedVault) -> tuple[int, str]:
    """Another value whenever other notes may be withheld."""
    return served.vault.privacy_version, served.vault.policy.digest


def _encoded(
    result: dict[str, Any], state: WorkspaceState, seq: int, now: str, tape: Tape | None = None
) -> ToolAnswer:
    return ToolAnswer(payload_of(result), bool(result["success"]), state.seq, seq, now, tape)
