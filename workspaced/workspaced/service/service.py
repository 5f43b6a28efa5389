"""`Service`: what a running daemon can do, without any socket.

It joins the recorder with the vaults and the tools. Everything here runs on the event loop's thread except what is
handed to a worker thread; the recorder's writer thread reaches the loop through `_committed`, once a group.
"""

import hashlib
import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import msgspec
from anyio import to_thread
from msgspec.structs import replace
from pyee import EventEmitter

from workspaced_events.errors import Busy, DiskFull, InvalidArgument, LogError, WorkspacedError
from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import Action, parse_actions
from workspaced_events.journal.opening import Journal
from workspaced_events.journal.view_diff import Snapshot, checked, differences
from workspaced_events.journal.writer import OWN_SOURCE, Committed, Done, Outcome, Plan, Receipt
from workspaced_events.limits import ACTION_BYTES, SLOW_SYNC_S, SOURCE_CHARS_MAX
from workspaced_events.projections.visits import Visit, VisitLog
from workspaced_events.projections.workspace_fold import expired_tabs
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.blob_check import texts_of_tail
from workspaced_events.replay.log_cursor import LogMoments
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.cache_accounting import conversations_status
from workspaced_tools.prompts.model.stored_inputs import texts_in
from workspaced_tools.prompts.model.text_store import TextCache
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.sharing.gate import Withheld
from workspaced_tools.sharing.levels import sharing_status
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import Tool
from workspaced_tools.vault.nonblocking import WouldBlock

from ..__about__ import __version__
from ..errors import TimedOut, UnknownTool
from ..limits import (
    CATCH_UPS_MAX,
    COMPARES_PER_CALL_MAX,
    CONTEXT_TEXTS_CHARS_MAX,
    MIN_SEQ_WAIT_S,
    NONBLOCKING_CALL_S,
    NONBLOCKING_PAUSE_S,
    RECENT_EVENTS,
    ROOM_CHECK_S,
    TOOL_THREADS,
)
from .call_recorder import Call, CallRecorder
from .calls import Calls, ReconcileFirst, ToolAnswer
from .served_vault import ServedVault, notes_attached, notes_attached_in, notes_published, notes_published_in
from .sweeper import Sweeper

if TYPE_CHECKING:
    import asyncio

logger = logging.getLogger(__name__)

R = TypeVar("R")
COMMITTED = "committed"
"""The tail moved. Like every signal it carries nothing; who needs the events reads them."""
NOTES_MOVED = "notes-moved"
"""Notes of a vault came, went or changed; of those in no list the log says nothing."""


class Service:
    """The core of a daemon."""

    def __init__(
        self,
        journal: Journal,
        *,
        workspace: str,
        loop: "asyncio.AbstractEventLoop",
        sweeper: Sweeper,
        record: bool,
        templates: Path | None = None,
    ) -> None:
        """
        Args:
            record: whether what agents are shown is kept, in the sweeper's blobs.
            templates: the folder of own templates of provider bodies.
        """
        self.recorder = journal.recorder
        self.log = journal.log
        self.blobs = journal.blobs
        self.warnings = list(journal.warnings)
        self.workspace = workspace
        self.templates = templates
        self.instance = os.urandom(8).hex()
        self.served: dict[VaultId, ServedVault] = {}
        self.signals = EventEmitter()
        self.recent: deque[Event] = deque(maxlen=RECENT_EVENTS)
        self.started_at = time.monotonic()
        self.connections = 0
        self.client_names: Callable[[], Iterable[str]] = tuple
        """The names that the connected clients gave themselves."""
        self.stopping = anyio.Event()
        self._ending = threading.Event()
        """The same for threads."""
        self.stop_reason = "requested"
        self.catching_up = anyio.Semaphore(CATCH_UPS_MAX)
        """Of subscribers that read the log."""
        self.history_problem: str | None = None
        """Why what lies before a snapshot could not be read at the start, if so."""
        self._slow_syncs_warned = 0
        self._visits = VisitLog(self.log)
        recorder = self.recorder
        self._moments = LogMoments(
            self.log, recorder.state, recorder.now, lambda: recorder.state.clock_steps, self._check_running
        )
        self.texts = TextCache(texts_in(journal.blobs.get), chars_max=CONTEXT_TEXTS_CHARS_MAX)
        """What the log names by its sha256."""
        recordings = Recordings(sweeper.blobs.get, self._check_running)
        self._calls = Calls(
            self._visits, self._moments, recordings, self.texts, self.wait_until_recorded, self.recorder.now
        )
        self.sweeper = sweeper
        self._record = record
        self.call_recorder = CallRecorder(sweeper.blobs if record else None, self._submit_call)
        self._threads = ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix="workspaced-tool")
        self._loop = loop
        # What an answer starts belongs to anyio, which looks in the context for the loop that it runs on.
        self._context = copy_context()

    # -- recording --

    def deliver(self, committed: Committed) -> None:
        """For the recorder: hands a group's outcome from the writer thread to the loop, in one hop."""
        with suppress(RuntimeError):  # the loop has ended; so have the clients
            self._loop.call_soon_threadsafe(self._committed, committed, context=self._context)

    def _committed(self, committed: Committed) -> None:
        if self.recorder.slow_syncs > self._slow_syncs_warned:
            self._slow_syncs_warned = self.recorder.slow_syncs
            logger.warning("the disk is slow: a sync of the log took more than %g s", SLOW_SYNC_S)
        self.recent.extend(committed.events)
        self._visits.feed(committed.events)
        self._feed_vaults(committed.events)
        for done, outcome in committed.outcomes:
            done(outcome)
        if committed.events:
            self.signals.emit(COMMITTED)

    def _feed_vaults(self, events: Sequence[Event]) -> None:
        """Tells the vaults which notes the log names from now on, and which have moved."""
        for event in events:
            served = self.served.get(event.vault) if event.vault is not None else None
            if served is None:
                continue
            if isinstance(event.data, c.NoteRenamed):
                served.vault.renamed(event.data.from_, event.data.to)
            served.settler.named(notes_published_in(event))
            served.settler.named(notes_attached_in(event), guessed=True)

    def record_findings(self, actions: list[Action]) -> None:
        """Records what was found of notes' visibility, soon; on any thread."""
        try:
            self.recorder.submit(actions, OWN_SOURCE, lambda _outcome: None)
        except WorkspacedError as error:
            logger.warning("what was found of %d notes is not recorded: %s", len(actions), error)

    def publish(
        self, raw: Sequence[Any], source: str, done: Done, *, client: Hashable = None, line_bytes: int = 0
    ) -> None:
        """Checks and queues a batch; `done` is called on the loop with the receipts, or the error.

        Args:
            client: whose share of the queue it takes.
            line_bytes: how long the line was that it came in.

        Raises:
            ActionError: the batch is wrong in itself.
            Busy: too much waits for the disk.
        """
        if not 1 <= len(source) <= SOURCE_CHARS_MAX:
            raise InvalidArgument(f"Expected a source of 1 to {SOURCE_CHARS_MAX} characters, got {len(source)}.")
        actions = parse_actions(raw, keep_text=_sha256)
        size_bytes = line_bytes + ACTION_BYTES * len(actions)
        self.recorder.submit(actions, source, done, client=client, size_bytes=size_bytes)

    def publish_snapshot(
        self, snapshot: Snapshot, done: Done, *, client: Hashable = None, line_bytes: int = 0
    ) -> None:
        """Queues what makes the state show `snapshot`, decided at the moment of appending. Like `publish`.

        Raises:
            ActionError: a path that cannot be a note's.
            Busy: too much waits for the disk.
        """
        wanted = checked(snapshot)

        def plan(state: WorkspaceState, seq: int) -> Sequence[Action]:
            return differences(state, seq, wanted)

        self.recorder.submit(plan, snapshot.source, done, client=client, size_bytes=line_bytes)

    async def record(
        self, actions: list[Action] | Plan, source: str = OWN_SOURCE, *, size_bytes: int = 0
    ) -> list[Receipt]:
        """Appends actions, or what a plan makes of the state, and waits until they are synced.

        Args:
            source: also whose share of the queue they take.
            size_bytes: how much they keep in memory until then; 0: what the daemon itself records.

        Raises:
            WorkspacedError: what became of them.
        """
        submit = partial(self.recorder.submit, client=source, size_bytes=size_bytes)
        return await self._recorded(submit, actions, source)

    async def _recorded(
        self, submit: Callable[..., None], actions: list[Action] | Plan, source: str
    ) -> list[Receipt]:
        finished = anyio.Event()
        outcomes: list[Outcome] = []

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            finished.set()

        submit(actions, source, done)
        await finished.wait()
        if isinstance(outcomes[0], WorkspacedError):
            raise outcomes[0]
        return outcomes[0]

    async def begin(self, actions: list[Action]) -> bool:
        """Records what a start has to, ahead of all else; False where the disk has no room for it."""

        def plan(_state: WorkspaceState, _seq: int) -> list[Action]:
            recovered = self.log.recovered
            return [*([Action(recovered)] if recovered is not None else []), *actions]

        try:
            await self._recorded(self.recorder.begin, plan, OWN_SOURCE)
        except DiskFull as error:
            logger.debug("not recorded yet: %s", error)
            return False
        except WorkspacedError as error:
            logger.warning("not recorded: %s", error)
        return True

    async def begin_once_there_is_room(self, actions: list[Action]) -> None:
        """`begin`, again and again until it is done."""
        logger.warning("the disk is full: nothing is recorded until there is room")
        begun = False
        while not begun:
            await anyio.sleep(ROOM_CHECK_S)
            begun = await self.begin(actions)
        logger.warning("there is room again: what happens is recorded")

    async def note(self, actions: list[Action]) -> None:
        """Appends what the daemon observed; a log that takes nothing more must not stop it from serving."""
        try:
            await self.record(actions)
        except WorkspacedError as error:
            logger.warning("not recorded: %s", error)

    # -- reading --

    def serve(self, served: ServedVault) -> None:
        """Answers for this vault too, from now on."""
        self.served[served.id] = served
        served.on_changes = partial(self.signals.emit, NOTES_MOVED)
        served.vault.visibility.remember(self.recorder.visibility.of(served.id))
        self._calls.policy_enforced(served, served.vault.policy.digest)

    @property
    def state(self) -> WorkspaceState:
        """The fold of everything acknowledged."""
        return self.recorder.state

    @property
    def seq(self) -> int:
        """The last synced sequence."""
        return self.log.tail.seq

    def clock(self) -> str:
        """Names a moment of this log."""
        return f"{self.log.log_id}:{self.seq}"

    async def reached(self, min_seq: int) -> None:
        """Waits until the log holds `min_seq`.

        Raises:
            TimedOut: it does not after MIN_SEQ_WAIT_S.
        """
        if self.seq >= min_seq:
            return
        moved = anyio.Event()

        def check() -> None:
            if self.seq >= min_seq:
                moved.set()

        self.signals.on(COMMITTED, check)
        try:
            with anyio.move_on_after(MIN_SEQ_WAIT_S):
                await moved.wait()
        finally:
            self.signals.remove_listener(COMMITTED, check)
        if not moved.is_set():
            raise TimedOut(
                f"Sequence {min_seq} was not reached within {MIN_SEQ_WAIT_S} s; the log is at {self.seq}.",
                hint="Give the sequence of an acknowledged event of this log.",
                seq=self.seq,
            )

    async def state_json(self, *, at: int | str | None, vault: str | None) -> StateJson:
        """The state now, or as it was at the sequence or time `at`.

        Raises:
            InvalidArgument: a moment the log does not hold, or an unknown vault.
        """
        state, also = self.state, ()
        if at is not None:
            moment = await self.in_thread(self._moments.moment, at)
            state, also = await self.in_thread(self._moments.state_at, moment.seq), moment.also
        if vault is not None and vault not in state.vaults:
            raise InvalidArgument(
                f"There is no vault {vault[:200]!r}.", hint=f"Vaults: {', '.join(state.vaults) or 'none'}."
            )
        return to_json(state, VaultId(vault) if vault is not None else None, also)

    @property
    def current_vault(self) -> ServedVault | None:
        """The current vault, if its folder is served."""
        return self.served.get(self.state.current) if self.state.current is not None else None

    def tool(self, name: str) -> Tool[Any]:
        """The tool of that name.

        Raises:
            UnknownTool: there is none.
        """
        tool = TOOLS.get(name)
        if tool is None:
            raise UnknownTool(f"There is no tool {name[:200]!r}.", hint=f"Tools: {', '.join(TOOLS)}.")
        return tool

    def call_nonblocking(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer | None:
        """Runs a tool right here, and records the call, if that needs no waiting and no file read; else None."""
        started = time.perf_counter_ns()
        answer = self._answer_nonblocking(tool, arguments, caller)
        if answer is not None:
            self._record_call(tool, caller, arguments, answer, (time.perf_counter_ns() - started) // 1000)
        return answer

    async def call_tool(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer:
        """Runs a tool over the present state, on a worker thread, and records the call.

        Raises:
            TimedOut: `minSeq` was not reached.
        """
        min_seq = arguments.get("minSeq")
        if isinstance(min_seq, int):
            await self.reached(min_seq)
        started = time.perf_counter_ns()
        answer = await self._answer_blocking(tool, arguments, caller)
        self._record_call(tool, caller, arguments, answer, (time.perf_counter_ns() - started) // 1000)
        return answer

    async def preview(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer:
        """What a call would answer; only to compare with: shown to nobody, so neither counted nor recorded."""
        answer = self._answer_nonblocking(tool, arguments, caller)
        return answer if answer is not None else await self._answer_blocking(tool, arguments, caller)

    def _answer_nonblocking(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer | None:
        """Even a stat may hang on a network: a vault that once made the loop wait is spared this for a while."""
        min_seq = arguments.get("minSeq")
        if "at" in arguments or (isinstance(min_seq, int) and min_seq > self.seq):
            return None
        served = self.current_vault
        started = time.perf_counter_ns()
        if served is not None and started < served.blocking_until_ns:
            return None
        try:
            return self._calls.answer(tool, arguments, caller, self.state, self.seq, served, nonblocking=True)
        except WouldBlock:
            return None
        finally:
            if served is not None and time.perf_counter_ns() - started > NONBLOCKING_CALL_S * 1e9:
                served.blocking_until_ns = started + int(NONBLOCKING_PAUSE_S * 1e9)

    async def _answer_blocking(self, tool: Tool[Any], arguments: dict[str, Any], caller: str) -> ToolAnswer:
        for attempt in itertools.count(1):
            state, seq, served = self.state, self.seq, self.current_vault
            try:
                if "at" in arguments:
                    served = self.served.get(await self.in_thread(self._calls.vault_at, arguments["at"]))
                    answer = partial(self._calls.answer_at, tool, arguments, caller, state, served)
                else:
                    answer = partial(
                        self._calls.answer, tool, arguments, caller, state, seq, served, nonblocking=False
                    )
                return cast(ToolAnswer, await self.in_thread(answer))
            except ReconcileFirst:
                await self._compare(served, attempt)
        raise AssertionError("it ends with an answer")

    async def with_view(self, make: Callable[[View, Withheld], R], caller: str, vault: VaultId | None) -> R:
        """What `make` makes of the present as `caller` may see it; `vault` is the current one (`Calls.with_view`).

        Raises:
            SharingOff: the caller is shown nothing.
            ReadFailed: notes kept being found private.
        """
        for attempt in itertools.count(1):
            state = self.state if vault == self.state.current else replace(self.state, current=vault)
            served = self.served.get(vault) if vault is not None else None
            try:
                return cast(R, await self.in_thread(self._calls.with_view, make, caller, state, self.seq, served))
            except ReconcileFirst:
                await self._compare(served, attempt)
        raise AssertionError("it ends with an answer")

    async def _compare(self, served: ServedVault | None, attempt: int) -> None:
        """Compares a vault with its files, by the rules it has now, for a call that needs it for the n-th time."""
        assert served is not None, "rules and files are a vault's"
        digest = served.vault.policy.digest
        await served.reconcile(lambda: self.state, self.note)
        searched = served.vault.error is None and attempt < COMPARES_PER_CALL_MAX
        self._calls.policy_enforced(served, digest, searched=searched)

    async def in_thread(self, function: Any, *args: Any) -> Any:
        """Runs a blocking function on one of the service's threads."""
        return await self._loop.run_in_executor(self._threads, function, *args)

    def _record_call(
        self, tool: Tool[Any], caller: str, arguments: dict[str, Any], answer: ToolAnswer, duration_us: int
    ) -> None:
        self._calls.count(tool.name, duration_us)
        self.call_recorder.record(Call(tool.name, caller, arguments, answer, duration_us))

    def _submit_call(self, called: c.ToolCalled) -> None:
        try:  # What becomes of it interests nobody: a failing log says so itself.
            self.recorder.submit([Action(called)], OWN_SOURCE, lambda _outcome: None, buffered=True)
        except WorkspacedError as error:
            logger.warning("call of %s not recorded: %s", called.tool, error)

    def wait_until_recorded(self) -> None:
        """Waits until the log holds every call that was answered; of a log that takes nothing more, not at all.

        Not on the loop's thread.
        """
        self.call_recorder.flush()
        written = threading.Event()
        with suppress(WorkspacedError):  # What is buffered is written before what is not.
            self.recorder.submit([], OWN_SOURCE, lambda _outcome: written.set())
            written.wait(MIN_SEQ_WAIT_S)

    # -- upkeep --

    async def expire_tabs(self) -> None:
        """Records the tabs of every vault that were not accessed for a day."""
        now, state = self.recorder.now(), self.state
        actions = [
            Action(c.TemporaryTabsExpired(tuple(tab.id for tab in gone)), vault=vault)
            for vault, sub in state.by_vault.items()
            if (gone := expired_tabs(sub, now, state.clock_steps)) and state.vaults[vault].open
        ]
        if actions:
            await self.note(actions)

    async def reconcile(self) -> None:
        """Compares every served folder with what is known of it, now instead of at the next turn, and waits until
        what is new has settled."""
        for served in list(self.served.values()):
            await served.reconcile(lambda: self.state, self.note)
            await served.settled(lambda: self.state, self.note)

    async def look_at_known_notes(self, served: ServedVault) -> None:
        """Looks once at every note that the log names and nobody has looked at: in logs of older versions, or just
        before a crash."""
        visits: list[Visit] = []
        try:
            visits = await self.in_thread(self._visits.visits, served.id, self.seq)
        except LogError as error:
            # Notes that only the part before the damage names stay withheld until somebody looks at them.
            self.history_problem = f"The log's past cannot be read: {error}"
            logger.warning("%s", self.history_problem)
        served.settler.named({*notes_published(self.state, served.id), *(visit.note for visit in visits)})
        served.settler.named(notes_attached(self.state, served.id), guessed=True)

    def flush_findings(self) -> None:
        """Records what was found of notes' visibility so far; on any thread."""
        for served in list(self.served.values()):
            served.settler.flush()

    def status(self, *, named: bool = True) -> dict[str, Any]:
        """What `workspaced/status` says.

        Args:
            named: also what is nothing for agents, since it may tell of withheld notes: the names of files that
                something is wrong with, counts of the cache, how long calls took.
        """
        recorder, log = self.recorder, self.log
        degraded = [trouble.message for trouble in (log.damage, log.failure) if trouble is not None]
        problems = (log.waiting, log.head_problem, self.history_problem)
        degraded += [str(problem) for problem in problems if problem is not None]
        degraded += self._damaged_texts(named=named)
        policies = [(served.id, served.vault.policy.problem) for served in self.served.values()]
        degraded += [problem for served in self.served.values() for problem in served.problems()]
        degraded += [f"Vault {vault}: {problem}" for vault, problem in policies if problem is not None]
        recording = self._recording_status()
        degraded += [recording["problem"]] if recording["problem"] is not None else []
        return {
            "version": __version__,
            "pid": os.getpid(),
            "workspace": self.workspace,
            "instance": self.instance,
            "uptimeS": round(time.monotonic() - self.started_at, 3),
            "seq": self.seq,
            "asOfSeq": self.state.seq,
            "clock": self.clock(),
            "log": {
                "id": log.log_id,
                "durability": "none" if log.damage or log.failure or log.waiting else "synced",
                "slowSyncs": recorder.slow_syncs,
                "unknownEvents": self.state.unknown_events,
            },
            "queues": {
                "publish": recorder.queued,
                "publishBytes": recorder.queued_bytes,
                "connections": self.connections,
            },
            "vaults": [self._vault_status(served, named=named) for served in self.served.values()],
            **({"tools": self._calls.status()} if named else {}),
            "recording": recording,
            "conversations": conversations_status(self.state.conversations),
            "sharing": sharing_status(self.state, self.client_names()),
            "degraded": degraded,
            "warnings": self.warnings,
        }

    def _damaged_texts(self, *, named: bool) -> list[str]:
        troubles = self.blobs.troubles
        if not troubles:
            return []
        said = f"{len(troubles)} text{'s' if len(troubles) > 1 else ''} of the log cannot be read back"
        return [f"{said}: {'; '.join(map(str, troubles))}." if named else f"{said}."]

    async def examine_texts(self) -> None:
        """Reads the texts that the last events name; `status` names those that are damaged."""
        try:
            await to_thread.run_sync(self._examine_texts, abandon_on_cancel=True)
        except (LogError, OSError) as error:
            logger.warning("the texts of the last events are not checked: %s", error)

    def _examine_texts(self) -> None:
        self.blobs.examine(texts_of_tail(self.blobs.disk, self.log))
        for trouble in self.blobs.troubles:
            logger.warning("damaged: %s", trouble)

    def _recording_status(self) -> dict[str, Any]:
        return {
            "record": "served" if self._record else "none",
            **self.sweeper.status(),
            "skipped": self.call_recorder.skipped,
            "problem": self.call_recorder.problem or self.sweeper.problem,
        }

    def _vault_status(self, served: ServedVault, *, named: bool) -> dict[str, Any]:
        return {
            "id": served.id,
            "path": str(served.path),
            "current": served.id == self.state.current,
            "watcher": served.watcher,
            **msgspec.to_builtins(served.vault.statistics(named=named)),
        }

    def offline_vaults(self) -> list[str]:
        """Open vaults of the log whose folder this daemon does not serve."""
        return [vault.id for vault in self.state.vaults.values() if vault.open and vault.id not in self.served]

    def stop(self, reason: str) -> None:
        """Asks the daemon to end in good order."""
        if not self.stopping.is_set():
            self.stop_reason = reason
            self._ending.set()
            self.stopping.set()

    def _check_running(self) -> None:
        """For what runs long on other threads.

        Raises:
            Busy: the daemon is ending.
        """
        if self._ending.is_set():
            raise Busy("The daemon is ending.", hint="Ask again once it runs.")

    def close_threads(self) -> None:
        """Gives the worker threads back; what still runs there is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def events_from(self, first: int) -> list[Event] | None:
        """The events from `first` on if they are all still in memory, else None: then read the log."""
        if first > self.seq:
            return []
        if not self.recent or self.recent[0].seq > first:
            return None
        return list(itertools.islice(self.recent, first - self.recent[0].seq, None))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
