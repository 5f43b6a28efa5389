"""`PastService`: the parts of a daemon put together over a moment of a recorded log."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from workspaced_events.ids import VaultId
from workspaced_events.journal.opening import Journal
from workspaced_events.replay.log_cursor import LogMoments
from workspaced_events.schema.catalogue import Event
from workspaced_tools.errors import NotRecorded
from workspaced_tools.tools.registry import MEMORY

from ..calls.calls import Calls
from ..recording.call_recorder import Sweeper
from ..service.service import Service
from ..settings.link import LinkSettings
from ..settings.settings import TracesSettings
from ..traces.live import LiveTraces
from ..traces.wire import TextsFrom
from ..vaults.served_vault import ServedVault
from .answers import EarlierAnswers, MomentAnswers, Recorded, read_only
from .continued import ContinuedMoments, ContinuedRecordings, ContinuedTexts
from .recorded_calls import RecordedCalls
from .recorded_log import RecordedLog
from .sessions import RecordedSessions

if TYPE_CHECKING:
    import asyncio


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
