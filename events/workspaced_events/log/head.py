"""`HEAD`: the last acknowledged position, in a file beside the log, so that missing events are noticed.

Writes alternate between two slots of fixed size, so a torn write leaves the other slot intact. A slot never names
an unsynced sequence. HEAD is synced only now and then: it may be behind the log, never ahead of it.
"""

import zlib
from typing import Final

import msgspec

from .disk import Disk, DiskFile, write_all, write_whole

NAME: Final = "log/HEAD"
SLOT_BYTES: Final = 256


class Head(msgspec.Struct, frozen=True):
    """The log's acknowledged end. An orderly shutdown sets `clean` in its last write."""

    log: str
    seq: int
    segment: str
    offset: int
    chain: str
    stamp: int = 0
    """Counts writes; of two valid slots the one with the higher stamp is newer."""
    clean: bool = False


_DECODER: Final = msgspec.json.Decoder(Head)


def read_head(disk: Disk) -> Head | None:
    """The newer valid slot; None if the file is missing or unreadable, or has no valid slot."""
    try:
        data = disk.read(NAME)
    except OSError:
        return None
    slots = [_parse(data[start : start + SLOT_BYTES]) for start in (0, SLOT_BYTES)]
    return max((slot for slot in slots if slot), key=lambda slot: slot.stamp, default=None)


class HeadFile:
    """Writes `HEAD`. Recreates the file at the first write and after a failed one. Not thread-safe; the writer
    owns it."""

    def __init__(self, disk: Disk, stamp: int) -> None:
        """`stamp`: of the newest existing slot, or 0."""
        self._disk = disk
        self._stamp = stamp
        self._file: DiskFile | None = None

    def write(self, head: Head) -> None:
        """Writes `head` to the next slot, unsynced; a new file gets it in both slots, durably.

        Raises:
            OSError: the content of HEAD is unknown, but names nothing unacknowledged.
        """
        self._stamp += 1
        payload = msgspec.json.encode(msgspec.structs.replace(head, stamp=self._stamp))
        slot = b"%08x %s" % (zlib.crc32(payload), payload)
        assert len(slot) < SLOT_BYTES
        slot = slot.ljust(SLOT_BYTES - 1) + b"\n"
        if self._file is None:
            write_whole(self._disk, NAME, slot + slot)
            self._file = self._disk.open(NAME)
            return
        try:
            write_all(self._file, (self._stamp % 2) * SLOT_BYTES, slot)
        except OSError:
            self.close()
            raise

    def sync(self) -> None:
        """Makes the last write durable.

        Raises:
            OSError: the last write may not be durable.
        """
        assert self._file is not None
        try:
            self._file.sync()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _parse(slot: bytes) -> Head | None:
    payload = slot[9:].rstrip()
    if slot[:8] != b"%08x" % zlib.crc32(payload):
        return None
    try:
        return _DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None
