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
    """Writes `HEAD`. Not thread-safe; the writer owns it.

    Attributes:
        problem: why the file could not be made; each write tries again.
    """

    def __init__(self, disk: Disk, head: Head) -> None:
        """Makes the file anew, saying `head` in both slots, durably. A log can do without it: see `problem`."""
        self._disk = disk
        self._stamp = head.stamp
        self._file: DiskFile | None = None
        self.problem: str | None = None
        try:
            self._file = self._made(head)
        except OSError as error:
            self.problem = error.strerror or str(error)

    def _made(self, head: Head) -> DiskFile:
        slot = _format(head)
        write_whole(self._disk, NAME, slot + slot)
        return self._disk.open(NAME)

    def write(self, head: Head) -> None:
        """Puts `head` into the slot that is due; not synced.

        Raises:
            OSError: the file is as it was, or torn in that slot.
        """
        self._stamp += 1
        stamped = msgspec.structs.replace(head, stamp=self._stamp)
        if self._file is None:
            self._file, self.problem = self._made(stamped), None
        else:
            write_all(self._file, (self._stamp % 2) * SLOT_BYTES, _format(stamped))

    def sync(self) -> None:
        """Makes the last write durable.

        Raises:
            OSError: it may not be.
        """
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
        """Gives the descriptor back."""
        if self._file is not None:
            self._file.close()


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
