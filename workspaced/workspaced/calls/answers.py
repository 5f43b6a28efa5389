"""Answers about the present: makes the view that the share policy allows, and runs a tool or function over it.

A read may reveal that a note is withheld. So the policy is compared before and after each answer, and the answer
is repeated if the policy changed. No answer names a note that was known to be withheld when the answer was sent.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, TypeVar

from workspaced_events.clock import Clock
from workspaced_events.projections.visits import VisitLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import check_may_wait, without_waiting
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import manifest_at
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.sharing.gate import policy_kept_changing, shared_view, sharing_off
from workspaced_tools.sharing.verdicts import Verdicts, WithheldNames
from workspaced_tools.tools.tool import Tool, run_call

from ..memory.writing import Memory
from ..recording.call_recorder import ToolAnswer, answered, refused
from ..vaults.served_vault import ServedVault, steady
from .past_calls import PastCalls, visits_until
from .traced_answers import TracedAnswers

R = TypeVar("R")


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
    withheld: Verdicts


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
        state, seq, served = present
        now = self._clock()
        if state.sharing_of(caller) == "none":
            return refused(sharing_off(caller), state, seq, now)
        least = Level.ON_REQUEST if tool.answers_on_request else Level.VOLUNTEER

        def make() -> tuple[ToolAnswer, tuple[Verdicts]]:
            view, verdicts = self._seen(present, now, caller, least)
            return self._traced.answer(tool, arguments, view, state, seq), (verdicts,)

        with without_waiting() if nonblocking else nullcontext():
            answer = self._write(tool, arguments, caller, present) if tool.writes else steady(served, make)
        return answer if answer is not None else refused(policy_kept_changing(), state, seq, now)

    def _write(self, tool: Tool[Any], arguments: dict[str, Any], caller: str, present: Present) -> ToolAnswer:
        """As `answer`, for a tool that writes: runs it once, since a second time would write again. The memory
        folder itself compares each file with the policy."""
        check_may_wait()
        view, _verdicts = self._seen(present, self._clock(), caller)
        recorder = ViewRecorder(view, present.state)
        return answered(run_call(tool, recorder.view, arguments), recorder, present.seq)

    def with_views(self, make: Callable[[Seen, Seen], R], caller: str, present: Present) -> R:
        """The result of `make`, called with what the caller is shown unasked, and what on request. Blocks.

        Calls `make` again as `steady` does, or if it raises WithheldDuringRead.

        Raises:
            SharingOff: the caller is shown nothing.
            ReadFailed: the policy kept changing.
            ReconcileFirst: the vault must be reconciled first.
        """
        now = self._clock()
        if present.state.sharing_of(caller) == "none":
            raise sharing_off(caller)

        def both() -> tuple[tuple[R], tuple[Verdicts, Verdicts]]:
            shown = self._seen(present, now, caller)
            requested = self._seen(present, now, caller, Level.ON_REQUEST, shown.withheld)
            return (make(shown, requested),), (shown.withheld, requested.withheld)

        if (made := steady(present.served, both)) is None:
            raise policy_kept_changing()
        return made[0]

    def _seen(
        self,
        present: Present,
        now: str,
        caller: str,
        least: Level = Level.VOLUNTEER,
        unasked: Verdicts | None = None,
    ) -> Seen:
        """
        Args:
            least: the least level of the notes in the view.
            unasked: of a call that has both views: which notes are withheld where nobody asks for them. All others
                are shown on request too.
        """
        state, seq, served = present
        level = state.sharing_of(caller)
        prompts = partial(manifest_at, state.conversations, state.current, self._texts)
        memory = partial(self._memory.use, client=caller, vault=state.current)
        if served is None:
            nothing = Verdicts(lambda _name: True)  # is known of the notes of a folder that is not served
            view = shared_view(state, now, None, prompts=prompts, level=level, withheld=nothing, memory=memory)
            return Seen(view, nothing)
        notes = WithheldNames(served.vault, state.of(served.id).former, least=least)
        verdicts = Verdicts(notes, served.lists[least], unasked)
        view = shared_view(
            state,
            now,
            served.vault,
            partial(visits_until, self._visits, served.id, seq),
            partial(self._past.version, served, state),
            prompts,
            level=level,
            withheld=verdicts,
            memory=memory,
            lines_changed=partial(self._past.lines_changed, served),
            refresh_flags=served.vault.notes.names,
        )
        return Seen(view, verdicts)
