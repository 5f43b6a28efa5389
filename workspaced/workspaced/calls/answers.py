"""Answers about the present: makes the view that the share policy allows, and runs a tool or function over it.

A read may reveal that a note is withheld. So the policy is compared before and after each answer, and the answer
is repeated if the policy changed. No answer names a note that was known to be withheld when the answer was sent.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from workspaced_events.clock import Clock
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import VisitLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import WouldBlock, check_may_wait, may_wait, without_waiting
from workspaced_tools.ports.history import ChangedLines, VersionAt
from workspaced_tools.ports.memory import MemoryAnswer
from workspaced_tools.ports.questions import UseMemory
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import ManifestStore
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.sharing.gate import (
    AllWithheld,
    KnownLists,
    Withheld,
    is_current,
    policy_kept_changing,
    shared_view,
    sharing_off,
)
from workspaced_tools.tools.tool import Tool, run_call
from workspaced_tools.vault.withheld_names import WithheldNames

from ..memory.writing import Memory
from ..recording.tool_answer import ToolAnswer, answered, refused
from ..vaults.served_vault import ReconcileFirst, ServedVault
from .past_calls import PastCalls, VaultHistory
from .traced_answers import TracedAnswers

R = TypeVar("R")
ATTEMPTS_MAX: Final = 4
"""Attempts at one answer while each attempt reveals more withheld notes; then the call fails."""


class WithheldDuringRead(Exception):
    """The result names a note that is withheld at present."""


class Present(NamedTuple):
    """The present moment, as one answer sees it."""

    state: WorkspaceState
    seq: int
    """The log's last sequence; greater than `state.seq` if later events changed no state."""
    served: ServedVault | None
    """The current vault, if its folder is served."""


class Seen(NamedTuple):
    """What one audience sees."""

    view: View
    withheld: Withheld


class Answers:
    """One for each daemon."""

    def __init__(self, visits: VisitLog, texts: Texts, past: PastCalls, memory: Memory, clock: Clock) -> None:
        """
        Args:
            texts: the texts that the log names.
            clock: the present time, on the log's timeline.
        """
        self._visits = visits
        self._texts = texts
        self._past = past
        self._memory = memory
        self._clock = clock
        self._traced = TracedAnswers()
        self._lists: dict[tuple[VaultId, Level], KnownLists] = {}

    def answer(
        self, tool: Tool[Any], arguments: dict[str, Any], caller: str, present: Present, *, nonblocking: bool
    ) -> ToolAnswer:
        """The answer of one call.

        Args:
            caller: the client's name; it decides the sharing level.
            nonblocking: does not wait.

        Raises:
            WouldBlock: with `nonblocking`: the answer might wait, as for a file.
            ReconcileFirst: without `nonblocking`: the vault must be reconciled first.
        """
        with without_waiting() if nonblocking else nullcontext():
            return self._answer(tool, arguments, caller, present)

    def _answer(self, tool: Tool[Any], arguments: dict[str, Any], caller: str, present: Present) -> ToolAnswer:
        state, seq, served = present
        now = self._clock()
        if state.sharing_of(caller) == "none":
            return refused(sharing_off(caller), state, seq, now)
        if tool.writes:
            return self._write(tool, arguments, caller, present)
        error = ReconcileFirst if may_wait() else WouldBlock
        for _ in range(ATTEMPTS_MAX):
            if served is not None:
                served.check_rules(error)
            version = served.policy_version if served is not None else None
            least = Level.ON_REQUEST if tool.answers_on_request else Level.VOLUNTEER
            withheld = _withheld(present, least)
            view = self._view(present, now, caller, withheld, least)
            answer = self._traced.answer(tool, arguments, view, state, seq)
            if served is None:
                return answer
            served.check_missing(error)
            if served.policy_version == version or is_current(view, state, withheld, withheld.uncounted):
                return answer
            check_may_wait()
        return refused(policy_kept_changing(), state, seq, now)

    def _write(self, tool: Tool[Any], arguments: dict[str, Any], caller: str, present: Present) -> ToolAnswer:
        """As `answer`, for a tool that writes: runs it once, since a second time would write again. The memory
        folder itself compares each file with the policy."""
        check_may_wait()
        view = self._view(present, self._clock(), caller, _withheld(present))
        recorder = ViewRecorder(view, present.state)
        return answered(run_call(tool, recorder.view, arguments), recorder, present.seq)

    def with_views(self, make: Callable[[Seen, Seen], R], caller: str, present: Present) -> R:
        """The result of `make`, called with what the caller is shown unasked, and what on request. Blocks.

        Calls `make` again if the policy changed meanwhile or `make` raised WithheldDuringRead, until the policy
        stays or two results are equal.

        Raises:
            SharingOff: the caller is shown nothing.
            ReadFailed: the policy changed at each of ATTEMPTS_MAX attempts.
            ReconcileFirst: the vault must be reconciled first.
        """
        served, now = present.served, self._clock()
        if present.state.sharing_of(caller) == "none":
            raise sharing_off(caller)
        if served is None:
            return make(*self._seen(present, now, caller))
        last: R | None = None
        for _ in range(ATTEMPTS_MAX):
            served.check_rules(ReconcileFirst)
            version = served.policy_version
            try:
                made = make(*self._seen(present, now, caller))
            except WithheldDuringRead:
                served.check_missing(ReconcileFirst)
                continue
            served.check_missing(ReconcileFirst)
            if served.policy_version == version or made == last:
                return made
            last = made
        raise policy_kept_changing()

    def _seen(self, present: Present, now: str, caller: str) -> tuple[Seen, Seen]:
        def seen(least: Level) -> Seen:
            withheld = _withheld(present, least)
            return Seen(self._view(present, now, caller, withheld, least), withheld)

        return seen(Level.VOLUNTEER), seen(Level.ON_REQUEST)

    def _view(
        self, present: Present, now: str, caller: str, withheld: Withheld, least: Level = Level.VOLUNTEER
    ) -> View:
        """`least`: the least level of the notes in the view."""
        state, seq, served = present
        level = state.sharing_of(caller)
        names = served.vault.notes.names if served is not None else None
        prompts = partial(ManifestStore, state.conversations, state.current, self._texts, names)
        memory = _MemoryOf(self._memory, caller, state.current)
        if served is None:
            return shared_view(state, now, None, prompts=prompts, level=level, withheld=withheld, memory=memory)
        return shared_view(
            state,
            now,
            served.vault,
            VaultHistory(self._visits, served.id, seq),
            _PastOf(self._past, served, state),
            prompts,
            level=level,
            withheld=withheld,
            withdrew=withheld.withdrew,
            uncounted=withheld.uncounted,
            lists=self._lists_of(served, least),
            memory=memory,
            least=least,
        )

    def _lists_of(self, served: ServedVault, least: Level) -> KnownLists:
        known = self._lists.get((served.id, least))
        if known is None:
            known = self._lists[served.id, least] = KnownLists(lambda: served.policy_version)
        return known


class _PastOf:
    """Implements `PastPort` for a call about the present: the past ends at the moment of the call."""

    def __init__(self, past: PastCalls, served: ServedVault, state: WorkspaceState) -> None:
        self._past = past
        self._served = served
        self._state = state

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        return self._past.version(self._served, self._state, note, since, current)

    def lines_changed(self, note: NoteId, before_sha256: str) -> ChangedLines | None:
        return self._past.lines_changed(self._served, note, before_sha256)


class _MemoryOf:
    """Implements `MemoryPort` for one client."""

    def __init__(self, memory: Memory, client: str, vault: VaultId | None) -> None:
        self._memory = memory
        self._client = client
        self._vault = vault

    def use(self, command: UseMemory) -> MemoryAnswer:
        return self._memory.use(command, self._client, self._vault)


def _withheld(present: Present, least: Level = Level.VOLUNTEER) -> Withheld:
    served = present.served
    if served is None:
        return AllWithheld()
    return WithheldNames(served.vault, present.state.of(served.id).former, least=least)
