"""`Service`: the parts of a running daemon, without any socket."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from msgspec.structs import replace

from workspaced_events.clock import system_clock
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.opening import Journal
from workspaced_events.projections.visits import VisitLog
from workspaced_events.projections.workspace_state import StateJson, WorkspaceState, to_json
from workspaced_events.replay.log_cursor import LogMoments
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.prompts.model.kept_turns import KeptConversations
from workspaced_tools.prompts.model.stored_texts import TextCache, texts_in
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.sharing.machines import linked_state

from ..calls.answers import Answers
from ..calls.calls import Calls
from ..calls.past_calls import PastCalls
from ..calls.threads import Threads
from ..journal.log_tail import NOTES_MOVED, LogTail
from ..journal.pausing import Pausing
from ..journal.publishing import Publishing
from ..limits import PUBLISHER_GRACE_S
from ..memory.writing import Memory, Places
from ..overlay.overlays import Log as OverlayLog
from ..overlay.overlays import Overlays
from ..peers.link import Link
from ..recording.call_recorder import CallRecorder, Sweeper
from ..settings.link import LinkSettings
from ..traces.live import LiveTraces
from ..traces.spans import Parents
from ..vaults.served_vault import ServedVault, TimelyAnswers, notes_attached_in, notes_published_in
from ..volunteering.volunteering import Volunteering
from .open_views import OpenViews
from .uploads import Uploads

if TYPE_CHECKING:
    import asyncio

_CONTEXT_TEXTS_CHARS_MAX: Final = 16 * 1024 * 1024
"""The log's texts that are cached in memory for later prompts."""


class Service:
    """The core of a daemon. Belongs to the loop's thread."""

    def __init__(
        self,
        journal: Journal,
        *,
        workspace: str,
        loop: "asyncio.AbstractEventLoop",
        sweeper: Sweeper,
        record: bool,
        templates: Path | None = None,
        memory: Path | None = None,
        publisher_grace_s: float = PUBLISHER_GRACE_S,
        is_on_demand: bool = False,
        data: Path,
        link: LinkSettings,
        traces: LiveTraces,
    ) -> None:
        """
        Args:
            record: whether answers and what tools read for them are stored in the sweeper's blobs.
            templates: the folder of the user's own templates of request bodies.
            memory: as `Places` takes it.
            publisher_grace_s: as `OpenViews` takes it.
            is_on_demand: whether the daemon ends without clients, so that who needs it may start it again.
            data: the data directory.
            link: how the server of a link is reached.
            traces: takes the log's events.
        """
        self.writer = writer = journal.writer
        self.log = journal.log
        self.blobs = journal.blobs
        self.warnings = list(journal.warnings)
        self.workspace = workspace
        self.is_on_demand = is_on_demand
        self.templates = templates
        self.instance = os.urandom(8).hex()
        self.started_at = time.monotonic()
        self.connections = 0
        self.client_names: Callable[[], Iterable[str]] = tuple
        """The names of the connected clients, as each client gave it."""
        self.stopping = anyio.Event()
        self.stop_reason = "requested"
        self.history_problem: str | None = None
        """Why the log before the snapshot could not be read at the start; None: it was read."""
        self.served: dict[VaultId, ServedVault] = {}
        self.sweeper = sweeper
        self.records_calls = record
        self.threads = threads = Threads(loop)
        self.visits = VisitLog(self.log)
        self.texts = TextCache(texts_in(journal.blobs.get), chars_max=_CONTEXT_TEXTS_CHARS_MAX)
        """The texts that the log names by their hashes."""
        self.kept_turns = KeptConversations()
        self.uploads = Uploads()
        self.levels = TimelyAnswers()
        """Whether notes may be shown unasked; for the writer's thread."""
        self.parents = Parents()
        self.traces = traces
        self.publishing = Publishing(writer, self.log, self._volunteers)
        self.pausing = Pausing(writer, self.publishing)
        self.views = OpenViews(self.publishing, loop, publisher_grace_s)
        self.memory = Memory(
            Places(memory, self.served), self.publishing, journal.blobs.get, threads.check_running
        )
        self.interrupted_writes = dict(writer.pending.by_seq)
        """The writes to the memory folder that had no end when the log was opened, by sequence."""
        self.tail = LogTail(writer, self.log, loop, self._committed)
        self.link = Link(data, link, self.publishing, self.tail, self.served, threads)
        self.moments = self._moments(journal)
        self.call_recorder = CallRecorder(sweeper.blobs if record else None, self.publishing.record_call)
        self.calls = self._calls(writer.now)
        self.volunteering = Volunteering(self.calls, lambda: self.tail.state, self.call_recorder.record)
        log = OverlayLog(
            lambda: self.tail.state,
            self.publishing.record,
            self.call_recorder.record,
            self.wait_until_recorded,
            self.sweeper.blobs.get,
        )
        self.overlays = Overlays(self.volunteering, self.calls, log, self.threads, data)

    def _moments(self, journal: Journal) -> LogMoments:
        writer = journal.writer
        return LogMoments(
            self.log, writer.state, writer.now, lambda: writer.state.clock_steps, self.threads.check_running
        )

    def _calls(self, clock: Callable[[], str]) -> Calls:
        recordings = Recordings(self.sweeper.blobs.get, self.threads.check_running)
        past = PastCalls(self.moments, recordings, self.visits, self.texts, clock, self.wait_until_recorded)
        answers = Answers(self.visits, self.texts, past, self.memory, clock)
        return Calls(
            self.tail, self.served, answers, past, self.threads, self.call_recorder, ServedVault.reconcile
        )

    # -- the log --

    def _committed(self, events: Sequence[Event]) -> None:
        """Passes new events to the visits and the traces, and renamed and newly named notes to their vaults."""
        self.visits.feed(events)
        self.traces.take(events)
        for event in events:
            served = self.served.get(event.vault) if event.vault is not None else None
            if served is None:
                continue
            if isinstance(event.data, c.NoteRenamed):
                served.vault.renamed(event.data.from_, event.data.to)
            served.visibility_checker.named(notes_published_in(event))
            served.visibility_checker.named(notes_attached_in(event), guessed=True)

    def _volunteers(self, vault: VaultId | None, note: NoteId) -> bool:
        """As `Publishing` takes it."""
        served = self.served.get(vault) if vault is not None else self.current_vault
        return served is not None and self.levels.ask(lambda: served.vault.volunteers(note))

    async def state_json(self, *, at: int | str | None, vault: str | None, of: str | None = None) -> StateJson:
        """The present state, or the state at the sequence or time `at`.

        Args:
            of: whose, where the vault is linked, as in the tools of a link; None: this machine's.

        Raises:
            InvalidArgument: the log does not hold that moment, or the vault is unknown or not linked.
            ArgumentInvalid: nobody of the link has that name.
        """
        state, also = self.tail.state, ()
        if at is not None:
            moment = await self.threads.run(self.moments.moment, at)
            state, also = await self.threads.run(self.moments.state_at, moment.seq), moment.also
        if vault is not None and vault not in state.vaults:
            raise InvalidArgument(
                f"There is no vault {vault[:200]!r}.", hint=f"Vaults: {', '.join(state.vaults) or 'none'}."
            )
        if of is not None and of != "here":
            state = _state_of(state, VaultId(vault) if vault is not None else state.current, of)
        return to_json(state, VaultId(vault) if vault is not None else None, also)

    def read_events(self, first: int, limit: int) -> list[Event]:
        """Some events of the log from sequence `first` on, at least one if there is one. Blocks.

        Raises:
            LogError: they cannot be read.
        """
        return self.log.read(first, limit)

    def check_takes_writes(self) -> None:
        """Called before each method that changes the workspace, or what is shared of it.

        Raises:
            ReadOnly: this daemon takes no changes.
        """

    def wait_until_recorded(self) -> None:
        """Blocks until the log holds every answered call. Returns at once if the log accepts nothing.

        Must not run on the loop's thread.
        """
        self.call_recorder.flush()
        self.publishing.wait_until_written()

    # -- vaults --

    def serve(self, served: ServedVault) -> None:
        """Adds a vault: calls may be answered from it."""
        self.served[served.id] = served
        served.state, served.record = lambda: self.tail.state, self.publishing.note
        served.on_changes = partial(self.tail.signals.emit, NOTES_MOVED)
        served.vault.levels.remember(self.writer.visibility.of(served.id))
        served.policy_enforced(served.vault.policy.digest)

    @property
    def current_vault(self) -> ServedVault | None:
        """The current vault, if its folder is served."""
        return self.served.get(self.tail.state.current) if self.tail.state.current is not None else None

    def vault_of(self, folders: list[str] | None) -> VaultId | None:
        """The vault that holds the first of these folders that is in any; without folders the current one."""
        if folders is None:
            return self.current_vault.id if self.current_vault is not None else None
        for folder in folders:
            path = Path(os.path.normpath(folder))
            holding = [each for each in self.served.values() if path.is_relative_to(each.path)]
            if holding:
                return max(holding, key=lambda each: len(each.path.parts)).id
        return None

    def served_vault(self, vault: str | None) -> ServedVault:
        """The vault of that id; None: the current one.

        Raises:
            InvalidArgument: there is no such vault, or the vault is not served.
        """
        found = self.current_vault if vault is None else self.served.get(VaultId(vault))
        if found is None:
            known = ", ".join(self.served) or "none"
            what = "No vault is current." if vault is None else f"The vault {vault[:100]!r} is not served."
            raise InvalidArgument(what, hint=f"Served: {known}.")
        return found

    # -- the end --

    def stop(self, reason: str) -> None:
        """Begins an orderly shutdown. Only the first `reason` counts."""
        if not self.stopping.is_set():
            self.stop_reason = reason
            self.threads.end()
            self.stopping.set()


def _state_of(state: WorkspaceState, vault: VaultId | None, of: str) -> WorkspaceState:
    """With the workspace of other machines in place of the vault's own."""
    found = linked_state(state, vault, of, system_clock())
    if found is None or vault is None:
        raise InvalidArgument("The vault is not linked.", hint="`workspaced link map FOLDER NAME` says which is.")
    return replace(state, by_vault={**state.by_vault, vault: found})
