"""A log that goes on from another one, and its blobs: what it lacks is read there."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workspaced_events.blobs.durable import DurableBlobStore
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.log.disk import Disk
from workspaced_events.log.segments import SegmentLog
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.log_cursor import LogMoments, Moment, moment_of
from workspaced_events.schema.catalogue import Event

from .recorded_log import RecordedLog

if TYPE_CHECKING:
    pass


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
