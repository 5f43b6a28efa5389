"""States at the ends of segments: a past state is folded from the one before it, however long the log is.

A file `states/<seq>.wstate` is one line, `crc SP json LF`: the state after `seq`, the last event of a segment, and
where the next segment begins. It is used only if the log begins a segment there with the same chain value. Files
may be deleted at any time; a bad one only costs time.
"""

import logging
import re
import threading
from contextlib import suppress
from typing import Final

import msgspec

from ..log.data_directory import STATES
from ..log.disk import Disk, write_whole
from ..log.scan import LogOffset
from ..log.segments import SegmentLog
from ..projections.workspace_state import WorkspaceState
from .snapshots import Made, encode, parse

STATES_BYTES_MAX: Final = 64 * 1024 * 1024
"""Beyond it every second state is removed."""
_NAME: Final = re.compile(r"([0-9]{20})\.wstate", re.ASCII)
_logger: Final = logging.getLogger(__name__)


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    made: Made = Made()
    log: str
    following: LogOffset
    """Where the next segment begins."""
    state: WorkspaceState


class SegmentStates:
    """The kept states of an open log. Safe from any thread; blocks."""

    def __init__(self, disk: Disk, log: SegmentLog, bytes_max: int = STATES_BYTES_MAX) -> None:
        self._disk = disk
        self._log = log
        self._bytes_max = bytes_max
        self._lock = threading.Lock()

    def put(self, seq: int, state: WorkspaceState) -> None:
        """Keeps the state after `seq`, if a segment ends there. A failure is only logged."""
        if (following := self._beginnings().get(seq + 1)) is None:
            return
        with self._lock:
            try:
                self._disk.make_directory(STATES)
                write_whole(
                    self._disk, _path(seq), encode(_Kept(log=self._log.log_id, following=following, state=state))
                )
                kept = self._sequences()
                while len(kept) > 1 and self._bytes(kept) > self._bytes_max:
                    for each in kept[-2::-2]:
                        self._disk.remove(_path(each))
                    kept = self._sequences()
            except OSError as error:
                _logger.warning("a state of the past is not kept: %s", error)

    def before(self, seq: int, after: int) -> tuple[int, WorkspaceState] | None:
        """The last kept state up to `seq`, with its sequence; None if there is none later than `after`.

        Removes those that are of no use.
        """
        beginnings = self._beginnings()
        for kept in reversed(self._sequences()):
            if not after < kept <= seq:
                continue
            if (state := self._read(kept, beginnings.get(kept + 1))) is not None:
                return kept, state
            with suppress(OSError):
                self._disk.remove(_path(kept))
        return None

    def missing(self, after: int, until: int) -> set[int]:
        """The sequences after `after` and up to `until` whose states should be kept; none while room is scarce."""
        kept = self._sequences()
        if self._bytes(kept) > self._bytes_max // 2:
            return set()
        return {first - 1 for first in self._beginnings() if after < first - 1 <= until}.difference(kept)

    def _beginnings(self) -> dict[int, LogOffset]:
        return {each.seq: each for each in self._log.segment_beginnings()}

    def _sequences(self) -> list[int]:
        """Of the kept states, in order."""
        try:
            names = self._disk.names(STATES)
        except OSError:
            return []
        return [int(match[1]) for name in names if (match := _NAME.fullmatch(name)) is not None]

    def _read(self, seq: int, following: LogOffset | None) -> WorkspaceState | None:
        """The state, if this program made it of this log."""
        try:
            kept = parse(self._disk.read(_path(seq)), _Kept)
        except (OSError, ValueError):
            return None
        if kept is None or (kept.log, kept.following) != (self._log.log_id, following):
            return None
        return kept.state

    def _bytes(self, kept: list[int]) -> int:
        total = 0
        for seq in kept:
            with suppress(OSError):
                total += self._disk.size(_path(seq))
        return total


def _path(seq: int) -> str:
    return f"{STATES}/{seq:020d}.wstate"
