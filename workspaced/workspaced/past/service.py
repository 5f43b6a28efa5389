"""`PastService`: the parts of a daemon put together over a moment of a recorded log."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.blobs.durable import DurableBlobStore
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import VaultId
from workspaced_events.journal.opening import Journal
from workspaced_events.log.disk import Disk
from workspaced_events.log.segments import SegmentLog
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import WorkspaceState, client_key
from workspaced_events.replay.log_cursor import LogMoments, Moment, moment_of
from workspaced_events.schema.catalogue import ContextVolunteered, Event
from workspaced_tools.errors import NotRecorded
from workspaced_tools.tools.registry import MEMORY
from workspaced_tools.volunteering.tool import VOLUNTEER

from ..calls.calls import Calls
from ..recording.call_recorder import Sweeper
from ..service.service import Service
from ..settings.link import LinkSettings
from ..settings.settings import TracesSettings
from ..traces.live import LiveTraces
from ..traces.wire import TextsFrom
from ..vaults.served_vault import ServedVault
from ..volunteering.volunteering import SessionKey, Sessions, Told
from .answers import EarlierAnswers, MomentAnswers, Recorded, read_only
from .recorded_log import RecordedCalls, RecordedLog

if TYPE_CHECKING:
    import asyncio


class ContinuedTexts(DurableBlobStore):
    """The texts that events name.

    What is read of the other log is kept, so that a prompt that continues one of its conversations verifies alone.
    """

    def __init__(self, disk: Disk, before: RecordedLog, keep: Callable[[bytes], object]) -> None:
        super().__init__(disk)
        self._before = before
        self._keep = keep

    def get(self, name: str) -> bytes | None:
        content = super().get(name)
        if content is None and (content := self._before.blob(name)) is not None:
            with suppress(OSError):  # a full disk: the prompt is made all the same
                self._keep(content)
        return content


class ContinuedRecordings(EvictableBlobStore):
    """What agents were shown. Any thread calls `keep`."""

    def __init__(self, data: Path, before: RecordedLog) -> None:
        super().__init__(data)
        self._before = before

    def keep(self, content: bytes, name: str | None = None) -> str:
        with self._before.lock:
            return super().keep(content, name)

    def get(self, name: str) -> bytes | None:
        content = super().get(name)
        return content if content is not None else self._before.blob(name)


class ContinuedMoments(LogMoments):
    """The moments of the other log up to the one at which the daemon stands, and then those of its own."""

    def __init__(self, own: SegmentLog, before: RecordedLog) -> None:
        super().__init__(own)
        self._other = before

    def before(self, seq: int) -> Iterator[Event]:
        here = self._other.here.seq
        if seq > here:
            yield from reversed([event for event in self.after(here) if event.seq <= seq])
        yield from self._other.events_before(min(seq, here))

    def moment(self, at: int | str) -> Moment:
        here = self._other.here.seq
        if isinstance(at, int) and here < at <= self.tail:
            return moment_of(self._event(at))
        return self._other.moment(at)

    def state_at(self, seq: int) -> WorkspaceState:
        here = self._other.here.seq
        state = self._other.state_at(min(seq, here))
        for event in self.after(here) if seq > here else ():
            if event.seq > seq:
                break
            state = apply(state, event)
        return state


class _Sight(msgspec.Struct):
    sight: dict[str, Any]


class _Answer(msgspec.Struct):
    data: _Sight


class RecordedSessions(Sessions):
    """As `Sessions`, which also knows who was told something before the moment. It reads the log once, when it is
    first asked."""

    def __init__(self, log: RecordedLog) -> None:
        super().__init__()
        self._log = log
        self._recorded: dict[SessionKey, Event] | None = None
        """The last event of each session, in the order of the log."""

    def told(self, key: SessionKey) -> Told | None:
        found = super().told(key)
        if found is None and (event := self._before().pop(key, None)) is not None:
            found = self._told_by(event)
            if found is not None:
                self.tell(key, found)
        return found

    def forget(self, key: SessionKey) -> None:
        self._before().pop(key, None)
        super().forget(key)

    def latest_of(self, client: str) -> SessionKey | None:
        found = super().latest_of(client)
        if found is None:
            wanted = client_key(client)
            found = next((key for key in reversed(self._before()) if key.client == wanted), None)
        return found

    def _before(self) -> dict[SessionKey, Event]:
        if self._recorded is None:
            self._recorded = {}
            for event in self._log.events_of(ContextVolunteered, until=self._log.here.seq):
                data: ContextVolunteered = event.data
                if data.tool == VOLUNTEER.name and event.vault is not None:
                    key = SessionKey.of(data.caller, data.session, event.vault)
                    self._recorded.pop(key, None)
                    self._recorded[key] = event
        return self._recorded

    def _told_by(self, event: Event) -> Told | None:
        """None: it is not kept what the session was told, so it is told everything."""
        try:
            content = self._log.blob(event.data.result_sha256)
            sight = msgspec.json.decode(content, type=_Answer).data.sight if content is not None else None
        except (LogDamaged, msgspec.MsgspecError):
            return None
        return Told(sight, event.data.as_of_seq) if sight is not None else None


_RECORD_BYTES: Final = 1024 * 1024 * 1024
_RECORD_DAYS: Final = 36_500.0
"""Nothing of a run is swept: it goes as a whole."""


class PastService(Service):
    """As `Service`, without folders: the log tells all, and only calls, conversations and confirmations are
    recorded, in a log of their own."""

    def __init__(
        self, journal: Journal, past: RecordedLog, *, workspace: str, loop: "asyncio.AbstractEventLoop", data: Path
    ) -> None:
        """
        Args:
            journal: of the log of this run, which begins at the moment.
            workspace: the name by which clients find this daemon.
            data: the run's directory.
        """
        self.past = past
        self._recorded_calls = RecordedCalls(past)
        recordings = ContinuedRecordings(data, past)
        super().__init__(
            replace(journal, blobs=ContinuedTexts(journal.blobs.disk, past, recordings.keep)),
            workspace=workspace,
            loop=loop,
            sweeper=Sweeper(recordings, _RECORD_BYTES, _RECORD_DAYS),
            record=True,
            data=data,
            link=LinkSettings(),
            traces=LiveTraces(TracesSettings(), journal.log.log_id, TextsFrom(str(data), (), ())),
        )
        self.memory.is_set = self._recorded_calls.asked(MEMORY.name)
        self.volunteering.sessions = RecordedSessions(past)
        here = f"event {past.here.seq} of log {past.log_id}, {past.here.time}"
        self.warnings[:0] = [f"This daemon stands at {here}; it answers from what was recorded.", *past.warnings]

    def _moments(self, journal: Journal) -> LogMoments:
        return ContinuedMoments(journal.log, self.past)

    def _calls(self, clock: Callable[[], str]) -> Calls:
        recorded = Recorded(self.past, self._recorded_calls, self.texts, self.sweeper.blobs.keep)
        past = EarlierAnswers(recorded, self.visits, self.texts, clock, self.wait_until_recorded)
        answers = MomentAnswers(recorded, self.visits, self.texts, past, self.memory, clock)
        return Calls(
            self.tail, self.served, answers, past, self.threads, self.call_recorder, ServedVault.reconcile
        )

    def read_events(self, first: int, limit: int) -> list[Event]:
        here = self.past.here.seq
        if first <= here and (found := self.past.read(first, min(limit, here - first + 1))):
            return found
        return super().read_events(first, limit)

    def vault_of(self, folders: list[str] | None) -> VaultId | None:  # noqa: ARG002 (they may be gone)
        return self.tail.state.current

    def served_vault(self, vault: str | None) -> ServedVault:  # noqa: ARG002
        raise NotRecorded(
            "Which files there were at that moment is not recorded",
            hint="Ask the tools: they answer from what agents were shown.",
        )

    def check_takes_writes(self) -> None:
        raise read_only()
