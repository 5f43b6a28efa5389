"""Calls of tools: answers on the loop if nothing blocks, else on a thread; counts and records each call.

A call that a pause refuses is not recorded. What takes long may end after a pause began, so it is checked again.
"""

import itertools
import time
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar, cast

from msgspec.structs import replace

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import check_not_paused
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.verdicts import Verdicts
from workspaced_tools.tools.linked_tools import LINKED
from workspaced_tools.tools.registry import MEMORY, TOOLS
from workspaced_tools.tools.tool import Tool, normalised

from ..journal.log_tail import LogTail
from ..recording.call_recorder import Call, CallRecorder, ToolAnswer
from ..vaults.served_vault import ReconcileFirst, ServedVault
from .answers import Answers, Present, Seen
from .past_calls import PastCalls
from .threads import Threads

_LATENCY_SAMPLES: Final = 1_024
_COMPARES_PER_CALL_MAX: Final = 3
"""How often one call reconciles its vault to find missing notes; then the notes stay withheld until the next
reconcile."""
R = TypeVar("R")


def tool_named(name: str, *, memory: bool, linked: bool) -> Tool[Any]:
    """The tool of that name.

    Args:
        memory: whether there is a memory folder.
        linked: whether the daemon takes part in a link.

    Raises:
        WorkspacedError: UNKNOWN_TOOL: there is none.
    """
    tools = {**TOOLS, MEMORY.name: MEMORY} if memory else TOOLS
    tool = LINKED.get(name) if linked else None
    if tool is None:
        tool = tools.get(name)
    if tool is None:
        raise WorkspacedError(
            f"There is no tool {name[:200]!r}.", hint=f"Tools: {', '.join(tools)}.", code="UNKNOWN_TOOL"
        )
    return tool


class Calls:
    """One for each daemon. Belongs to the loop's thread."""

    def __init__(
        self,
        tail: LogTail,
        served: dict[VaultId, ServedVault],
        answers: Answers,
        past: PastCalls,
        threads: Threads,
        recorder: CallRecorder,
        reconcile: Callable[[ServedVault], Awaitable[None]],
    ) -> None:
        """
        Args:
            served: the vaults that this daemon serves.
            reconcile: reconciles a vault's index with its files.
        """
        self._tail = tail
        self._served = served
        self._answers = answers
        self._past = past
        self._threads = threads
        self._recorder = recorder
        self._reconcile = reconcile
        self.statistics = CallStatistics()

    def try_call(
        self, tool: Tool[Any], arguments: dict[str, Any], caller: str, traceparent: str | None = None
    ) -> ToolAnswer:
        """Answers a call on the calling thread, without blocking, and records it with the arguments as they came.

        Args:
            traceparent: the caller's span, which is only recorded.

        Raises:
            Paused: the user has paused the workspace.
            WouldBlock: the call might wait; use `call`.
        """
        started = time.perf_counter_ns()
        answer = self._try_answer(tool, normalised(arguments, tool.input_schema), caller)
        self._record(tool, caller, arguments, answer, started, traceparent)
        return answer

    async def call(
        self, tool: Tool[Any], arguments: dict[str, Any], caller: str, traceparent: str | None = None
    ) -> ToolAnswer:
        """As `try_call`, on a thread, however long it takes.

        Raises:
            Paused: the user has paused the workspace.
            TimedOut: the log did not reach `minSeq` in time.
        """
        wanted = normalised(arguments, tool.input_schema)
        min_seq = wanted.get("minSeq")
        if isinstance(min_seq, int):
            await self._tail.reached(min_seq)
        started = time.perf_counter_ns()
        answer = await self._answer(tool, wanted, caller)
        if not tool.writes:  # what is written is written, and its agent is to know
            check_not_paused(self._tail.state)
        self._record(tool, caller, arguments, answer, started, traceparent)
        return answer

    async def preview(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer:
        """The answer that a call would get. Not recorded, because no client is shown it.

        Raises:
            Paused: the user has paused the workspace.
        """
        try:
            return self._try_answer(tool, arguments, caller)
        except WouldBlock:
            answer = await self._answer(tool, arguments, caller)
            check_not_paused(self._tail.state)
            return answer

    async def with_view(self, make: Callable[[View, Verdicts], R], caller: str, vault: VaultId | None) -> R:
        """As `with_views`, for what is shown unasked alone."""
        return await self.with_views(lambda shown, _requested: make(*shown), caller, vault)

    async def with_views(
        self, make: Callable[[Seen, Seen], R], caller: str, vault: VaultId | None, *, works_paused: bool = False
    ) -> R:
        """As `Answers.with_views`, on a thread, with `vault` as the current one.

        Raises:
            Paused: the user has paused the workspace, and not `works_paused`.
            SharingOff: the caller is shown nothing.
            ReadFailed: the policy kept changing.
        """
        for attempt in itertools.count(1):
            state = self._tail.state
            if vault != state.current:
                state = replace(state, current=vault)
            served = self._served.get(vault) if vault is not None else None
            present = Present(state, self._tail.seq, served)
            try:
                if not works_paused:
                    check_not_paused(state)
                made = await self._threads.run(self._answers.with_views, make, caller, present)
                if not works_paused:
                    check_not_paused(self._tail.state)
                return cast(R, made)
            except ReconcileFirst:
                await self._enforce_policy(served, attempt)
        raise AssertionError("it ends with an answer")

    def _present(self) -> Present:
        """
        Raises:
            Paused: the user has paused the workspace.
        """
        state = self._tail.state
        check_not_paused(state)
        served = self._served.get(state.current) if state.current is not None else None
        return Present(state, self._tail.seq, served)

    def _try_answer(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer:
        """A stat may hang on a network file system. So a vault whose call took long gets no attempt on the loop
        while its `LoopPause` lasts."""
        min_seq = arguments.get("minSeq")
        if "at" in arguments or (isinstance(min_seq, int) and min_seq > self._tail.seq):
            raise WouldBlock
        present = self._present()
        served, started = present.served, time.perf_counter_ns()
        if served is not None and started < served.loop_pause.until:
            raise WouldBlock
        try:
            return self._answers.answer(tool, arguments, caller, present, nonblocking=True)
        finally:
            if served is not None:
                served.loop_pause.answered(started, time.perf_counter_ns())

    async def _answer(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer:
        for attempt in itertools.count(1):
            present = self._present()
            served = present.served
            try:
                if "at" in arguments:
                    state = present.state
                    served = self._served.get(await self._threads.run(self._past.vault_at, arguments["at"]))
                    made = await self._threads.run(self._past.answer, tool, arguments, caller, state, served)
                else:
                    run = self._threads.run_writing if tool.writes else self._threads.run
                    answer = partial(self._answers.answer, nonblocking=False)
                    made = await run(answer, tool, arguments, caller, present)
                return cast(ToolAnswer, made)
            except ReconcileFirst:
                await self._enforce_policy(served, attempt)
        raise AssertionError("it ends with an answer")

    async def _enforce_policy(self, served: ServedVault | None, attempt: int) -> None:
        """Reconciles a vault with its present rules before attempt number `attempt` + 1 of a call."""
        assert served is not None, "only a served vault has rules"
        digest = served.vault.policy.digest
        await self._reconcile(served)
        searched = served.vault.error is None and attempt < _COMPARES_PER_CALL_MAX
        served.policy_enforced(digest, searched=searched)

    def _record(
        self,
        tool: Tool[Any],
        caller: str,
        arguments: dict[str, Any],
        answer: ToolAnswer,
        started_ns: int,
        traceparent: str | None,
    ) -> None:
        duration_us = (time.perf_counter_ns() - started_ns) // 1000
        self.statistics.add(tool.name, duration_us)
        # The recorder's queue does not hold each answer twice.
        call = Call(tool.name, caller, arguments, replace(answer, text=None), duration_us, traceparent=traceparent)
        self._recorder.record(call)


class CallStatistics:
    """Counts and durations of calls, for each tool. Belongs to the loop's thread."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._latencies: dict[str, deque[int]] = {}

    def add(self, tool: str, duration_us: int) -> None:
        """Counts an answered call."""
        self._counts[tool] = self._counts.get(tool, 0) + 1
        self._latencies.setdefault(tool, deque(maxlen=_LATENCY_SAMPLES)).append(duration_us)

    def status(self) -> dict[str, Any]:
        """Calls and latencies of every tool, in the form of `workspaced/status`."""
        return {name: self._status_of(name) for name in {**TOOLS, **self._counts}}

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
