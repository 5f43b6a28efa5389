"""Snapshots of the fold: with one, opening reads only the log's last part, however long the log is.

A snapshot is a file `snapshots/<seq>.wsnap` of one line, `crc SP json LF`: the state, the id window and the place
in the log they belong to. It is taken of synced events only, and believed only where the log's bytes at that place
carry the same chain value (`resume_scan`). All may be deleted at any time; a bad one costs time, nothing else.
"""

import contextlib
import re
import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from ..ids import EventId
from ..log.data_directory import SNAPSHOTS
from ..log.disk import Disk, write_whole
from ..log.line_format import PREFIX_BYTES, frame_line
from ..log.scan import LogOffset, Tail
from ..projections.note_visibility import VisibilityFold
from ..projections.workspace_fold import FOLD_VERSION
from ..projections.workspace_state import WorkspaceState
from ..schema.catalogue import CATALOGUE_VERSION
from .idempotency import Seen

FORMAT_VERSION: Final = 1
_NAME: Final = re.compile(r"^[0-9]{20}\.wsnap\Z", re.ASCII)


class Made(msgspec.Struct, frozen=True):
    """By which versions a snapshot was made: any other one folds the log anew."""

    format: int = FORMAT_VERSION
    catalogue: int = CATALOGUE_VERSION
    fold: int = FOLD_VERSION


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The fold of a log up to `tail`, and all else that opening the log would have made of its events."""

    made: Made = Made()
    log: str
    tail: Tail
    positions: list[LogOffset]
    """Of the tail's segment."""
    last_time: str
    state: WorkspaceState
    ids: dict[EventId, Seen]
    visibility: VisibilityFold


class _Envelope(msgspec.Struct, frozen=True):
    made: Made


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_SNAPSHOT: Final = msgspec.json.Decoder(Snapshot)


class Snapshots:
    """The snapshots of one data directory. Not thread-safe: one thread at a time."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._kept = ""
        """The latest one known to fit the log."""

    def newest_first(self, warnings: list[str]) -> Iterator[Snapshot]:
        """Those of this program's versions that verify; the caller asks for the next one if one does not fit.

        Args:
            warnings: are told of those that cannot be read, do not verify, or did not fit.
        """
        try:
            names = [name for name in self._disk.names(SNAPSHOTS) if _NAME.match(name)]
        except OSError as error:
            warnings.append(f"{SNAPSHOTS} cannot be read ({error.strerror}); ignored.")
            return
        for name in reversed(names):
            try:
                snapshot = parse(self._disk.read(f"{SNAPSHOTS}/{name}"))
            except ValueError as error:
                warnings.append(f"{SNAPSHOTS}/{name} is no good snapshot ({error}); ignored.")
                continue
            except OSError as error:
                warnings.append(f"{SNAPSHOTS}/{name} cannot be read ({error.strerror}); ignored.")
                continue
            if snapshot is not None:
                self._kept = name
                yield snapshot
                self._kept = ""
                warnings.append(f"{SNAPSHOTS}/{name} does not fit the log; ignored.")

    def put(self, snapshot: Snapshot) -> None:
        """Puts a snapshot in place, durably; of the others only the latest that fits the log is kept.

        Raises:
            OSError: the older ones are as they were.
        """
        self._disk.make_directory(SNAPSHOTS)
        name = f"{snapshot.tail.seq:020d}.wsnap"
        try:
            write_whole(self._disk, f"{SNAPSHOTS}/{name}", encode(snapshot))
        except OSError:
            with contextlib.suppress(OSError):
                self._disk.remove(f"{SNAPSHOTS}/{name}.tmp")
            raise
        kept, self._kept = {name, self._kept}, name
        for each in self._disk.names(SNAPSHOTS):
            if each not in kept and _NAME.match(each.removesuffix(".tmp")):
                self._disk.remove(f"{SNAPSHOTS}/{each}")


def encode(snapshot: Snapshot) -> bytes:
    """The file of a snapshot."""
    return frame_line(msgspec.json.encode(snapshot), 0)[0]


def parse(data: bytes) -> Snapshot | None:
    """The snapshot of a file, or None where other versions made it.

    Raises:
        ValueError: the file is torn, damaged, or none.
    """
    payload = data[PREFIX_BYTES:-1]
    if data[:PREFIX_BYTES] != b"%08x " % zlib.crc32(payload) or data[-1:] != b"\n":
        raise ValueError("its checksum is wrong")
    try:
        if _ENVELOPE.decode(payload).made != Made():
            return None
        return _SNAPSHOT.decode(payload)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
