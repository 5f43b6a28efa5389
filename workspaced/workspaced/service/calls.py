"""`Calls`: tools run for callers, each as far as the share policy allows, and how long that took.

Which notes are private may come to light only while a call reads them. So each call looks afterwards whether its
view would be made the same way now, and is made again where it would not: an answer never names a note that was
known to be private when it left.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import Clock
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import Visit, VisitLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.log_cursor import LogMoments, Moment
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.errors import ArgumentInvalid, ToolError
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import ManifestStore
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.format import Raised, raised
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault, PastVersions
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.sharing.gate import (
    AllWithheld,
    KnownLists,
    Withheld,
    is_current,
    policy_kept_changing,
    refusal,
    shared_view,
    sharing_off,
)
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Tool, payload_of, run
from workspaced_tools.vault.nonblocking import NonBlockingPast, NonBlockingPrompts, WouldBlock
from workspaced_tools.vault.withheld_names import WithheldNames

from ..limits import LATENCY_SAMPLES
from .past_calls import AT_HINT, VersionsUntilNow
from .served_vault import ServedVault

R = TypeVar("R")
ATTEMPTS_MAX: Final = 4
"""How often a call is made while notes keep being found private; then it fails."""


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool answered: its JSON, whether it is a failure, and the moment it is of."""

    payload: bytes
    ok: bool
    as_of_seq: int
    tail_seq: int
    now: str
    made_from: ViewRecorder | Raised
    """What the tool read; or why none was run."""


class ReconcileFirst(Exception):
    """The vault has to be compared with its files first: its ignore rules are others than those it was compared by
    last, or a note that was shown is missing, and may have moved to where it is withheld."""


class WithheldDuringRead(Exception):
    """What was made tells of a note that is withheld by now."""


class Calls:
    """One for each daemon."""

    def __init__(
        self,
        visits: VisitLog,
        moments: LogMoments,
        recordings: Recordings,
        texts: Texts,
        wait_until_recorded: Callable[[], None],
        clock: Clock,
    ) -> None:
        """
        Args:
            texts: those that the log names.
            wait_until_recorded: waits until the log holds all calls that were answered: the past goes up to now.
            clock: the present time, on the log's timeline.
        """
        self._visits = visits
        self._moments = moments
        self._recordings = recordings
        self._texts = texts
        self._wait_until_recorded = wait_until_recorded
        self._clock = clock
        self._lists: dict[VaultId, KnownLists] = {}
        self._digests: dict[VaultId, str] = {}
        """The rules that each vault was compared by."""
        self._unsearchable: dict[VaultId, bool] = {}
        """Whether notes that are missing could not be searched for when that was last tried."""
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
        nonblocking: bool,
    ) -> ToolAnswer:
        """The answer of one call over `state`.

        Args:
            caller: the name the client gave itself: it decides how much is shared.
            seq: the log's tail; more recent than `state.seq` where later events changed no state.
            served: the current vault.
            nonblocking: only from what needs no waiting and no file.

        Raises:
            WouldBlock: with `nonblocking`, that is not enough.
            ReconcileFirst: without `nonblocking`, where the vault has to be compared first.
        """
        now = self._clock()
        level = state.sharing_of(caller)
        if level == "none":
            return _refused(sharing_off(caller), state, seq, now)
        for _ in range(ATTEMPTS_MAX):
            if served is None:
                prompts = NonBlockingPrompts() if nonblocking else self._prompts(state)
                view = shared_view(state, now, None, prompts=prompts, level=level, withheld=AllWithheld())
                recorder = ViewRecorder(view, state)
                return _answered(run(tool, recorder.view, arguments), recorder, seq)
            self._check_rules(served, WouldBlock if nonblocking else ReconcileFirst)
            version = _version(served)
            withheld = _withheld(served, state, nonblocking=nonblocking)
            view = self._view(state, seq, now, served, level, withheld, nonblocking=nonblocking)
            recorder = ViewRecorder(view, state)
            result = run(tool, recorder.view, arguments)
            self._check_missing(served, WouldBlock if nonblocking else ReconcileFirst)
            if _version(served) == version or is_current(view, state, withheld):
                return _answered(result, recorder, seq)
            if nonblocking:
                raise WouldBlock
        return _refused(policy_kept_changing(), state, seq, now)

    def _view(
        self,
        state: WorkspaceState,
        seq: int,
        now: str,
        served: ServedVault,
        level: Sharing,
        withheld: Withheld,
        *,
        nonblocking: bool,
    ) -> View:
        return shared_view(
            state,
            now,
            served.nonblocking if nonblocking else served.vault,
            _History(self._visits, served.id, seq, nonblocking=nonblocking),
            NonBlockingPast()
            if nonblocking
            else VersionsUntilNow(self._wait_until_recorded, partial(self._versions, served, state)),
            NonBlockingPrompts() if nonblocking else self._prompts(state, served.vault.names),
            level=level,
            withheld=withheld,
            withdrew=withheld.withdrew,
            lists=self._lists_of(served),
        )

    def _prompts(
        self, state: WorkspaceState, refresh_flags: Callable[[list[NoteId]], object] | None = None
    ) -> ManifestStore:
        return ManifestStore(state.conversations, state.current, self._texts, refresh_flags)

    def with_view(
        self,
        make: Callable[[View, Withheld], R],
        caller: str,
        state: WorkspaceState,
        seq: int,
        served: ServedVault | None,
    ) -> R:
        """What `make` makes of the world as `caller` may see it; it is also told which notes are withheld. Blocks.

        Where notes were found private meanwhile, or `make` raises WithheldDuringRead, it is called again, until
        no note was or the result is the same.

        Raises:
            SharingOff: the caller is shown nothing.
            ReadFailed: notes kept being found private.
            ReconcileFirst: the vault has to be compared first.
        """
        now = self._clock()
        level = state.sharing_of(caller)
        if level == "none":
            raise sharing_off(caller)
        if served is None:
            nothing = AllWithheld()
            return make(shared_view(state, now, None, level=level, withheld=nothing), nothing)
        last: R | None = None
        for _ in range(ATTEMPTS_MAX):
            self._check_rules(served, ReconcileFirst)
            version = _version(served)
            withheld = _withheld(served, state, nonblocking=False)
            try:
                made = make(self._view(state, seq, now, served, level, withheld, nonblocking=False), withheld)
            except WithheldDuringRead:
                self._check_missing(served, ReconcileFirst)
                continue
            self._check_missing(served, ReconcileFirst)
            if _version(served) == version or made == last:
                return made
            last = made
        raise policy_kept_changing()

    def vault_at(self, at: Any) -> VaultId | None:
        """The vault that was the current one at a moment; None too where that is none."""
        try:
            return self._moments.state_at(self._moment(at).seq).current
        except ArgumentInvalid:
            return None

    def answer_at(
        self,
        tool: Tool[Any],
        arguments: dict[str, Any],
        caller: str,
        present: WorkspaceState,
        served: ServedVault | None,
    ) -> ToolAnswer:
        """The answer of one call for the past moment `at`, from the log and what was recorded alone. Blocks.

        What is shared is decided by the present: a note that is withheld by now is not shown as it was.

        Args:
            served: the vault that was the current one then.

        Raises:
            ReconcileFirst: the vault has to be compared first.
        """
        now = self._clock()
        level = present.sharing_of(caller)
        if level == "none":
            return _refused(sharing_off(caller), present, present.seq, now)
        self._wait_until_recorded()
        try:
            tool.check(arguments)
            moment = self._moment(arguments["at"])
        except ArgumentInvalid as error:
            return _refused(error, present, present.seq, now)
        state = self._moments.state_at(moment.seq)
        if served is None:
            prompts = self._prompts(state)
            view = shared_view(state, moment.time, None, prompts=prompts, level=level, withheld=AllWithheld())
        else:
            self._check_rules(served, ReconcileFirst)
            withheld = _LookedAt(served, present)
            past = Past(self._moments, self._recordings, served.id, moment)
            view = shared_view(
                state,
                moment.time,
                PastVault(past, withheld, some_withheld=served.vault.withholds_some),
                _History(self._visits, served.id, moment.seq, nonblocking=False),
                self._versions(served, present, moment),
                self._prompts(state),
                level=level,
                withheld=withheld,
                withdrew=withheld.withdrew,
            )
        # Their states' sequences: others would tell how many events there are that no tool sees.
        also = tuple(self._moments.state_at(seq).seq for seq in moment.also)
        recorder = ViewRecorder(replace(view, also_at=also), state)
        result = run(tool, recorder.view, arguments)
        if served is not None:
            self._check_missing(served, ReconcileFirst)
        return _answered(result, recorder, moment.seq)

    def _moment(self, at: Any) -> Moment:
        """
        Raises:
            ArgumentInvalid: `at` is no moment of the log.
        """
        if type(at) not in (int, str):  # asked before the tool's schema is
            raise ArgumentInvalid("Argument 'at': expected a sequence or an ISO 8601 time.", hint=AT_HINT)
        try:
            return self._moments.moment(at)
        except InvalidArgument as error:
            raise ArgumentInvalid(f"Argument 'at': {error.message}", hint=error.hint or AT_HINT) from None

    def _versions(
        self, served: ServedVault, present: WorkspaceState, moment: Moment | None = None
    ) -> PastVersions:
        """`moment`: the view's; None: the present."""
        until = moment or Moment(self._moments.tail, self._clock(), lasts=True)
        return PastVersions(self._moments, self._recordings, served.id, until, _LookedAt(served, present))

    def _check_rules(self, served: ServedVault, moved: type[BaseException]) -> None:
        """Raises `moved` where the vault was not compared by its present rules: counts and scores would still tell
        of notes that the new rules withhold."""
        served.vault.policy.refresh()
        if self._digests[served.id] != served.vault.policy.digest:
            raise moved

    def _check_missing(self, served: ServedVault, missing: type[BaseException]) -> None:
        """Raises `missing` where a note that was shown is not where it was, and nobody searched for it yet."""
        if served.vault.visibility.wants_search and not self._unsearchable.get(served.id):
            raise missing

    def policy_enforced(self, served: ServedVault, digest: str, *, searched: bool = True) -> None:
        """Takes note that the vault is, or will be, compared by these rules; first before its first call.

        `searched`: whether that settled where missing notes are; if not, they stay withheld until the next time.
        """
        self._digests[served.id] = digest
        self._unsearchable[served.id] = not searched

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


def _withheld(served: ServedVault, state: WorkspaceState, *, nonblocking: bool) -> WithheldNames:
    return WithheldNames(
        served.vault, state.of(served.id).former, served.nonblocking.withholds if nonblocking else None
    )


class _LookedAt(WithheldNames):
    """Whether a note that is named in the past is withheld at present. Reads the note's file each time, since
    nothing else of a past moment does."""

    def __init__(self, served: ServedVault, present: WorkspaceState) -> None:
        self._read = served.vault.read
        self._now = present.of(served.id).former
        super().__init__(served.vault, self._now)

    def __call__(self, name: NoteId) -> bool:
        self._read(list({name, self._now.get(name, name)}))
        return super().__call__(name)


class _History:
    """Implements `HistoryPort` for one vault at one sequence."""

    def __init__(self, visits: VisitLog, vault: VaultId, seq: int, *, nonblocking: bool) -> None:
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


def _version(served: ServedVault) -> tuple[int, str]:
    """Another value whenever other notes may be withheld."""
    return served.vault.privacy_version, served.vault.policy.digest


def _answered(result: dict[str, Any], recorder: ViewRecorder, seq: int) -> ToolAnswer:
    view = recorder.view
    return ToolAnswer(payload_of(result), bool(result["success"]), view.as_of_seq, seq, view.now, recorder)


def _refused(error: ToolError, state: WorkspaceState, seq: int, now: str) -> ToolAnswer:
    return ToolAnswer(payload_of(refusal(error, state.seq)), False, state.seq, seq, now, raised(error))
