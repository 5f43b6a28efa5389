"""Content-addressed store: text that belongs to the record but not into a log line, named by its sha256.

A file is one codec byte (`z`: zlib) and the compressed content. Blobs are written durably before the event that
names them, and verified when read. A file that is there already is read before it counts as kept: once in the life
of a store, and again where its size has changed.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final, Literal

import msgspec

from ..errors import LogDamaged
from ..log.data_directory import BLOBS
from ..log.disk import Disk, write_whole

_ZLIB = b"z"
_KNOWN_MAX: Final = 16_384
"""Files that are known to be whole; others are read again before they are taken as kept."""

Problem = Literal["damaged", "missing", "unreadable"]


class BlobTrouble(msgspec.Struct, frozen=True):
    """A blob that an event names and that is not there as it was."""

    file: str
    problem: Problem
    seq: int
    """Of the last event that names it."""

    def __str__(self) -> str:
        return f"{self.file}, which event {self.seq} names, is {self.problem}"


class DurableBlobStore:
    """The blobs of one data directory. `put` belongs to the writer thread; everything else to any."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self._whole: OrderedDict[str, int] = OrderedDict()
        """Bytes of the files that were seen to be whole, by name, those seen first before the others;
        the writer's own."""
        self._troubles: dict[str, BlobTrouble] = {}
        """By name."""
        self._examining = threading.Lock()
        """So that no trouble is noted of a file that is being put anew."""
        self._has_directory = False
        with suppress(OSError):  # a full disk; `put` tries again
            self._make_directory()

    def put(self, content: bytes) -> str:
        """Keeps `content` and returns its name, its sha256 in lower-case hex. Again it costs next to nothing.

        A file of that name that does not hold it is written anew.

        Raises:
            OSError: it was not kept.
        """
        name = sha256(content).hexdigest()
        directory = f"{BLOBS}/{name[:2]}"
        if not self._has_directory:
            self._make_directory()
        self.disk.make_directory(directory)
        if self._is_whole(name):
            # A crash or a failed sync may have come between the renaming and the name's durability.
            self.disk.sync_directory(directory)
            return name
        data = packed(content)
        with self._examining:
            write_whole(self.disk, f"{directory}/{name}", data)
            self._troubles.pop(name, None)
        self._remember(name, len(data))
        return name

    def _make_directory(self) -> None:
        self.disk.make_directory(BLOBS)
        self._has_directory = True

    def has(self, name: str) -> bool:
        """Whether there is a file of this name.

        Raises:
            OSError: the disk does not say.
        """
        return name in self.disk.names(f"{BLOBS}/{name[:2]}")

    def discard(self, name: str) -> None:
        """Removes a blob that no event names, if it is there and the disk lets us: one that stays harms nobody."""
        with suppress(OSError):
            self.disk.remove(blob_path(BLOBS, name))

    def get(self, name: str) -> bytes | None:
        """The content called `name`, or None if it is not kept.

        Raises:
            LogDamaged: the file does not hold what its name says.
            OSError: it cannot be read.
        """
        return read_blob(self.disk, BLOBS, name)

    @property
    def troubles(self) -> list[BlobTrouble]:
        """What was found by `examine` and not put anew since."""
        return list(self._troubles.values())

    def examine(self, named: Mapping[str, int]) -> None:
        """Reads the blobs of these names and keeps the troubles; `named` has an event's sequence for each."""
        for name, seq in named.items():
            with self._examining:
                if (problem := problem_of(self.disk, BLOBS, name)) is not None:
                    self._troubles[name] = BlobTrouble(blob_path(BLOBS, name), problem, seq)

    def _is_whole(self, name: str) -> bool:
        """Whether the file is there and holds what its name says."""
        try:
            size = self.disk.size(blob_path(BLOBS, name))
        except FileNotFoundError:
            return False
        if self._whole.get(name) == size:
            return True
        if problem_of(self.disk, BLOBS, name) is not None:
            return False
        self._remember(name, size)
        return True

    def _remember(self, name: str, size: int) -> None:
        self._whole[name] = size
        if len(self._whole) > _KNOWN_MAX:
            self._whole.popitem(last=False)


def problem_of(disk: Disk, directory: str, name: str) -> Problem | None:
    """What is wrong with a blob; None if it is there and whole."""
    try:
        return "missing" if read_blob(disk, directory, name) is None else None
    except LogDamaged:
        return "damaged"
    except OSError:
        return "unreadable"


def read_blob(disk: Disk, directory: str, name: str) -> bytes | None:
    """The content called `name` in a directory of blobs, or None if it is not there.

    Raises:
        LogDamaged: the file does not hold what its name says.
        OSError: it cannot be read.
    """
    path = blob_path(directory, name)
    try:
        content = unpacked(disk.read(path))
    except FileNotFoundError:
        return None
    if sha256(content).hexdigest() != name:
        raise LogDamaged(
            f"The blob {path} does not hold what its name says.",
            hint="Restore the file from a backup; `workspaced log verify` names every damaged one.",
            file=path,
        )
    return content


def blob_path(directory: str, name: str) -> str:
    """Where the blob `name` lies."""
    return f"{directory}/{name[:2]}/{name}"


def packed(content: bytes) -> bytes:
    """The bytes of the file that keeps `content`."""
    return _ZLIB + zlib.compress(content, 6)


def unpacked(data: bytes) -> bytes:
    """The content that a blob's file keeps; of a file that is none, nothing."""
    try:
        return zlib.decompress(data[1:]) if data[:1] == _ZLIB else b""
    except zlib.error:
        return b""
