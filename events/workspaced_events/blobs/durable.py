"""Durable blob store: texts too long for a log line, named by their sha256.

A file is one codec byte (`z`: zlib) and the compressed content. A blob is durable before the event that names it,
and every read verifies it. An existing file is verified before a `put` relies on it: once per store, and again if
its size has changed.
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
"""Files known to be whole; a `put` verifies and syncs any other file again."""

Problem = Literal["damaged", "missing", "unreadable"]


class BlobTrouble(msgspec.Struct, frozen=True):
    """A damaged, missing or unreadable blob that an event names."""

    file: str
    problem: Problem
    seq: int
    """The last event that names the blob."""

    def __str__(self) -> str:
        return f"{self.file}, which event {self.seq} names, is {self.problem}"


class DurableBlobStore:
    """The blobs of one data directory. Only the writer thread calls `put`; any thread calls the rest."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self._whole: OrderedDict[str, int] = OrderedDict()
        """File sizes of the blobs known to be whole and durable, by name, the oldest first; only the writer thread
        uses it."""
        self._troubles: dict[str, BlobTrouble] = {}
        """By blob name."""
        self._examining = threading.Lock()
        """Keeps `examine` from reporting a file that `put` is writing."""
        self._has_directory = False
        with suppress(OSError):  # a full disk; `put` retries
            self._make_directory()

    def put(self, content: bytes) -> str:
        """Stores `content` and returns its sha256 in lower-case hex. Cheap if it is already stored.

        Overwrites a file of that name if its content differs.

        Raises:
            OSError: the content was not stored.
        """
        name = sha256(content).hexdigest()
        directory = f"{BLOBS}/{name[:2]}"
        if not self._has_directory:
            self._make_directory()
        self.disk.make_directory(directory)
        if (size := self._whole_size(name)) is not None:
            if self._whole.get(name) != size:
                # A crash or a failed sync may have come between the rename and the sync of the directory.
                self.disk.sync_directory(directory)
                self._remember(name, size)
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
            OSError: the disk cannot list the directory.
        """
        return name in self.disk.names(f"{BLOBS}/{name[:2]}")

    def discard(self, name: str) -> None:
        """Removes a blob that no event names. Ignores errors, because an unused blob does no harm."""
        with suppress(OSError):
            self.disk.remove(blob_path(BLOBS, name))

    def get(self, name: str) -> bytes | None:
        """The content of the blob `name`; None if there is no such file.

        Raises:
            LogDamaged: the content has another hash.
            OSError: the file cannot be read.
        """
        return read_blob(self.disk, BLOBS, name)

    @property
    def troubles(self) -> list[BlobTrouble]:
        """The problems that `examine` found, except those that a `put` repaired."""
        return list(self._troubles.values())

    def examine(self, named: Mapping[str, int]) -> None:
        """Verifies the named blobs and notes their problems; `named` maps each to an event that names it."""
        for name, seq in named.items():
            with self._examining:
                if (problem := problem_of(self.disk, BLOBS, name)) is not None:
                    self._troubles[name] = BlobTrouble(blob_path(BLOBS, name), problem, seq)

    def _whole_size(self, name: str) -> int | None:
        """The size of the file if it exists and its content has the hash in its name."""
        try:
            size = self.disk.size(blob_path(BLOBS, name))
        except FileNotFoundError:
            return None
        is_whole = self._whole.get(name) == size or problem_of(self.disk, BLOBS, name) is None
        return size if is_whole else None

    def _remember(self, name: str, size: int) -> None:
        self._whole[name] = size
        if len(self._whole) > _KNOWN_MAX:
            self._whole.popitem(last=False)


def problem_of(disk: Disk, directory: str, name: str) -> Problem | None:
    """The problem of a blob; None if it is intact."""
    try:
        return "missing" if read_blob(disk, directory, name) is None else None
    except LogDamaged:
        return "damaged"
    except OSError:
        return "unreadable"


def read_blob(disk: Disk, directory: str, name: str) -> bytes | None:
    """The content of the blob `name` in `directory`; None if there is no such file.

    Raises:
        LogDamaged: the content has another hash.
        OSError: the file cannot be read.
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
    """The path of the blob `name`."""
    return f"{directory}/{name[:2]}/{name}"


def packed(content: bytes) -> bytes:
    """The bytes of the file for `content`."""
    return _ZLIB + zlib.compress(content, 6)


def unpacked(data: bytes) -> bytes:
    """The content of a blob's file; empty if the bytes are no such file."""
    try:
        return zlib.decompress(data[1:]) if data[:1] == _ZLIB else b""
    except zlib.error:
        return b""
