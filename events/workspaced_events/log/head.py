"""`HEAD`: what was acknowledged, written beside the log so that missing events are noticed.

Two slots of fixed size are written in turn, so a torn write leaves the other one. A slot never names a sequence
that is not synced. It is synced itself only now and then: it may be behind, never ahead.
"""

import zlib
from typing import Final

import msgspec

from .disk import Disk, DiskFile, write_all, write_whole

NAME: Final = "log/HEAD"
SLOT_BYTES: Final = 256


class Head(msgspec.Struct, frozen=True):
    """The log's end as acknowledged. `clean` is written last of all by an orderly shutdown."""

    log: str
    seq: int
    segment: str
    offset: int
    chain: str
    stamp: int = 0
    """Counts the writes; of two good slots the higher one is right."""
    clean: bool = False


_DECODER: Final = msgspec.json.Decoder(Head)


def read_head(disk: Disk) -> Head | None:
    """The newest good slot, or None where there is no file, or one that cannot be read, or no good slot."""
    try:
        data = disk.read(NAME)
    except OSError:
        return None
    slots = [_parse(data[start : start + SLOT_BYTES]) for start in (0, SLOT_BYTES)]
    return max((slot for slot in slots if slot), key=lambda slot: slot.stamp, default=None)


class HeadFile:
    """Writes `HEAD`, made anew at the first write and after every one that failed. Not thread-safe; the writer
    owns it."""

    def __init__(self, disk: Disk, stamp: int) -> None:
        """`stamp`: of the newest slot there is, or 0."""
        self._disk = disk
        self._stamp = stamp
        self._file: DiskFile | None = None

    def write(self, head: Head) -> None:
        """Puts `head` into the slot that is due, not synced; into both, durably, where the file is made anew.

        Raises:
            OSError: what HEAD says is not known; it says nothing that was not acknowledged.
        """
        self._stamp += 1
        slot = _format(msgspec.structs.replace(head, stamp=self._stamp))
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
            OSError: it may not be.
        """
        assert self._file is not None
        try:
            self._file.sync()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Gives the descriptor back."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _format(head: Head) -> bytes:
    payload = msgspec.json.encode(head)
    slot = b"%08x %s" % (zlib.crc32(payload), payload)
    assert len(slot) < SLOT_BYTES
    return slot.ljust(SLOT_BYTES - 1) + b"\n"


def _parse(slot: bytes) -> Head | None:
    payload = slot[9:].rstrip()
    if slot[:8] != b"%08x" % zlib.crc32(payload):
        return None
    try:
        return _DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None
