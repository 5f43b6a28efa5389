"""What calls read, out of the blobs that `tool_called` events name, and how much of it one question may read.

Reading and decoding recordings is nearly all that a question about the past costs. So each is taken apart once and
kept within a bound, and `Reach` counts them. It counts work and not time, and also what is kept already: the same
question about the same log always gets the same answer.
"""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final, NamedTuple

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId
from workspaced_events.schema.catalogue import ToolCalled

from ..errors import NotRecorded, ReadFailed
from ..ports.questions import Names, Read, Resolve
from ..ports.vault import NoteRef, Resolution
from ..recording.format import Exchange, Kept, RecordedFailure, RecordedName, RecordedNote, Recording
from ..recording.reading import Blob, read_recording
from .call_replay import Key, Notes

RECORDINGS_READ_MAX: Final = 5_000
"""So many recordings are read for one question about the past,"""
RECORDINGS_BYTES_MAX: Final = 8 * 1024 * 1024
"""and so many bytes of them."""
_KEPT_BYTES_MAX: Final = 12 * 1024 * 1024
_OVERHEAD: Final = 3
"""A recording that is taken apart takes so many times its bytes in memory,"""
_OVERHEAD_BYTES: Final = 1_500
"""and so many more."""

_READ_LIST: Final = msgspec.json.Decoder(list[Kept])
_NAMES: Final = msgspec.json.Decoder(list[NoteRef | None])
_ASKED_NAMES: Final = msgspec.json.Decoder(Names)
_ASKED_REFERENCE: Final = msgspec.json.Decoder(Resolve)
_RESOLUTION: Final = msgspec.json.Decoder(Resolution)


class Recalled(NamedTuple):
    """What one call read, taken apart."""

    recording: Recording
    kept: tuple[RecordedNote | RecordedFailure, ...]
    """The notes that it read, the latest first."""
    answers: tuple[tuple[Key, Exchange], ...]
    """What else it asked and was answered, the latest first; without what says nothing of the vault."""
    names: tuple[tuple[NoteId, NoteRef | None], ...]
    """Notes that were looked for by name; None: not there."""


class Reach:
    """How much of the recordings one question may still read."""

    def __init__(self, recordings: int, size_bytes: int) -> None:
        self._recordings = recordings
        self._bytes = size_bytes

    def take(self, size_bytes: int) -> None:
        """One more was read."""
        self._recordings -= 1
        self._bytes -= size_bytes

    @property
    def is_spent(self) -> bool:
        return self._recordings <= 0 or self._bytes <= 0


class Recordings:
    """The recordings of one log. Bounded; shared between moments and safe from any thread."""

    def __init__(self, blob: Blob, check: Callable[[], object] = lambda: None) -> None:
        """`check` is asked before each one is looked up; it raises where nobody waits for the answer any more."""
        self._blob = blob
        self._check = check
        self._known: OrderedDict[str, tuple[Recalled | None, int]] = OrderedDict()
        """With the bytes of each; those used last come last."""
        self._known_bytes = 0
        self._lock = Lock()
        self.notes = Notes(blob)

    def of(self, called: ToolCalled, reach: Reach | None = None) -> Recalled | None:
        """What a call read of the vault, counted in `reach`; None where that is not kept, or was shown in part."""
        name = called.inputs_sha256
        if name is None:
            return None
        self._check()
        with self._lock:
            found = self._known.get(name)
            if found is not None:
                self._known.move_to_end(name)
        if found is None:
            found = self._read(name)
            self._keep(name, found)
        if reach is not None:
            reach.take(found[1])
        return found[0]

    def _read(self, name: str) -> tuple[Recalled | None, int]:
        content = self._blob(name)
        if content is None:
            return None, 0
        try:
            recording = read_recording(content, name)
            whole = recording.level == "all" and recording.served
            return taken_apart(recording) if whole else None, len(content)
        except (LogDamaged, NotRecorded, msgspec.MsgspecError):
            return None, len(content)

    def _keep(self, name: str, found: tuple[Recalled | None, int]) -> None:
        with self._lock:
            if name not in self._known:
                self._known_bytes += _memory_bytes(found)
            self._known[name] = found
            while self._known_bytes > _KEPT_BYTES_MAX:
                _name, oldest = self._known.popitem(last=False)
                self._known_bytes -= _memory_bytes(oldest)


def _memory_bytes(found: tuple[Recalled | None, int]) -> int:
    recalled, size = found
    return _OVERHEAD_BYTES + (_OVERHEAD * size if recalled is not None else 0)


def taken_apart(recording: Recording) -> Recalled:
    """What a recording tells of the vault.

    Raises:
        msgspec.MsgspecError: it holds what no View answers.
    """
    kept: list[RecordedNote | RecordedFailure] = []
    answers: list[tuple[Key, Exchange]] = []
    for exchange in reversed(recording.asked):
        if exchange.ask != Read.name:
            if not _is_accident(exchange):
                answers.append(((exchange.ask, bytes(exchange.question)), exchange))
        elif exchange.raised is None:
            kept += [each for each in _READ_LIST.decode(exchange.answer) if not isinstance(each, RecordedName)]
    names = [name for exchange in recording.asked if exchange.raised is None for name in _names_in(exchange)]
    return Recalled(recording, tuple(kept), tuple(answers), tuple(names))


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


def _is_accident(exchange: Exchange) -> bool:
    """Whether the answer says nothing of the vault."""
    return exchange.raised is not None and exchange.raised.type in ("Exception", "Busy", ReadFailed.__name__)
