"""What calls read, from the blobs that `tool_called` events name, and the limit on it for one question.

Reading and decoding recordings is almost the whole cost of a question about the past. Therefore each recording is
decoded once and cached within a bound, and `ReadBudget` limits the number of recordings. The budget counts work
instead of time, and includes cached recordings, so that the same question about the same log always gets the same
answer.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from workspaced_events.blobs.latest_used import LatestUsed
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId
from workspaced_events.schema.catalogue import ToolCalled

from ..errors import NotRecorded, ReadFailed
from ..notes.note import NoteFailure
from ..ports.questions import Names, Read, Resolve
from ..ports.vault import NoteRef, Resolution
from ..recording.format import Blob, Exchange, RecordedName, RecordedNote, RecordedRead, Recording, read_recording
from .call_replay import Key, Notes

RECORDINGS_READ_MAX: Final = 5_000
"""The number of recordings that one question about the past may read."""
RECORDINGS_BYTES_MAX: Final = 8 * 1024 * 1024
"""The bytes of recordings that one question about the past may read."""
_KEPT_BYTES_MAX: Final = 12 * 1024 * 1024
_OVERHEAD: Final = 3
"""A decoded recording takes this many times its bytes in memory."""
_OVERHEAD_BYTES: Final = 1_500
"""The memory of a cached recording beside that."""

_READ_LIST: Final = msgspec.json.Decoder(list[RecordedRead])
_NAMES: Final = msgspec.json.Decoder(list[NoteRef | None])
_ASKED_NAMES: Final = msgspec.json.Decoder(Names)
_ASKED_REFERENCE: Final = msgspec.json.Decoder(Resolve)
_RESOLUTION: Final = msgspec.json.Decoder(Resolution)


class RecordedReads(NamedTuple):
    """What one call read, decoded."""

    recording: Recording
    kept: tuple[RecordedNote | NoteFailure, ...]
    """The notes that the call read, the latest first."""
    answers: tuple[tuple[Key, Exchange], ...]
    """The other questions with answers, the latest first. Without answers that say nothing about the vault."""
    names: tuple[tuple[NoteId, NoteRef | None], ...]
    """The notes that the call asked for by name; None: missing."""


class ReadBudget:
    """How much of the recordings one question may still read."""

    def __init__(self, recordings: int, size_bytes: int) -> None:
        self._recordings = recordings
        self._bytes = size_bytes

    def take(self, size_bytes: int) -> None:
        """Counts one more recording."""
        self._recordings -= 1
        self._bytes -= size_bytes

    @property
    def is_spent(self) -> bool:
        return self._recordings <= 0 or self._bytes <= 0


class Recordings:
    """The decoded recordings of one log, in a bounded cache. Shared between moments and safe from any thread."""

    def __init__(self, blob: Blob, check: Callable[[], object] = lambda: None) -> None:
        """`check` is called before each look-up. It raises if the caller no longer waits for the answer."""
        self._blob = blob
        self._check = check
        self._known = LatestUsed[str, tuple[RecordedReads | None, int]](_KEPT_BYTES_MAX, _memory_bytes)
        """With the size of each in bytes."""
        self.notes = Notes(blob)

    def text(self, sha256: str) -> str | None:
        """A text that a call read; None: it is not kept."""
        self._check()
        try:
            kept = self._blob(sha256)
        except LogDamaged:
            return None
        return kept.decode(errors="replace") if kept is not None else None

    def of(self, called: ToolCalled, budget: ReadBudget | None = None) -> RecordedReads | None:
        """What a call read of the vault, counted in `budget`.

        None if the recording is not kept, or if the call's client could not see the whole vault.
        """
        name = called.inputs_sha256
        if name is None:
            return None
        self._check()
        found = self._known.get(name) or self._known.put(name, self._read(name))
        if budget is not None:
            budget.take(found[1])
        return found[0]

    def _read(self, name: str) -> tuple[RecordedReads | None, int]:
        content = self._blob(name)
        if content is None:
            return None, 0
        try:
            recording = read_recording(content, name)
            whole = recording.level == "all" and recording.served
            return decode_reads(recording) if whole else None, len(content)
        except (LogDamaged, NotRecorded, msgspec.MsgspecError):
            return None, len(content)


def _memory_bytes(found: tuple[RecordedReads | None, int]) -> int:
    reads, size = found
    return _OVERHEAD_BYTES + (_OVERHEAD * size if reads is not None else 0)


def decode_reads(recording: Recording) -> RecordedReads:
    """Decodes what a recording says about the vault.

    Raises:
        msgspec.MsgspecError: the recording holds a value that no View returns.
    """
    kept: list[RecordedNote | NoteFailure] = []
    answers: list[tuple[Key, Exchange]] = []
    for exchange in reversed(recording.asked):
        if exchange.ask != Read.name:
            # An accident says nothing about the vault.
            if exchange.raised is None or exchange.raised.type not in ("Exception", "Busy", ReadFailed.__name__):
                answers.append(((exchange.ask, bytes(exchange.question)), exchange))
        elif exchange.raised is None:
            kept += [each for each in _READ_LIST.decode(exchange.answer) if not isinstance(each, RecordedName)]
    names = [name for exchange in recording.asked if exchange.raised is None for name in _names_in(exchange)]
    return RecordedReads(recording, tuple(kept), tuple(answers), tuple(names))


def _names_in(exchange: Exchange) -> list[tuple[NoteId, NoteRef | None]]:
    if exchange.ask == Names.name:
        asked = _ASKED_NAMES.decode(exchange.question).notes
        return list(zip(asked, _NAMES.decode(exchange.answer), strict=True))
    if exchange.ask == Resolve.name:
        found = _RESOLUTION.decode(exchange.answer)
        if found.note is None and not found.candidates:
            reference = _ASKED_REFERENCE.decode(exchange.question).reference
            return [(NoteId(reference), None)]
    return []
