"""Durable blob store: texts too long for a log line, named by their sha256.

A file is one codec byte (`z`: zlib) and the compressed content. The files of several new texts may lie in one pack
(packs.py), which readers do not notice. A blob is durable before the event that names it, and every read verifies
it. An existing file is verified before a `put` relies on it: once per store, and again if its size has changed.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final, Literal, NamedTuple

import msgspec

from ..errors import LogDamaged
from ..log.data_directory import BLOBS
from ..log.disk import Disk, write_whole
from .packs import Pack, Packs

PACKED_MIN: Final = 2
"""New texts that are packed; one alone gets a file of its own."""
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


class _Place(NamedTuple):
    """The file that a blob lies in, and the file's size."""

    path: str
    size: int


class DurableBlobs:
    """The durable blobs of a data directory, for reading, also beside the process that stores them."""

    _is_writer = False
    """Whether nobody else adds packs. It must not look again: it would find one whose batch may yet be refused."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.packs = Packs(disk)

    def get(self, name: str) -> bytes | None:
        """The content of the blob `name`; None if there is none.

        Raises:
            LogDamaged: the content has another hash.
            OSError: its file cannot be read, or a pack that may hold it.
        """
        content = self.find(name)
        if content is None and not self._is_writer:
            self.packs.look()
            content = self.find(name)
        if content is None and self.packs.failure is not None:
            raise self.packs.failure
        return content

    def find(self, name: str) -> bytes | None:
        """As `get`, but only in the packs known so far: cheap if there is none."""
        if (content := read_blob(self.disk, BLOBS, name)) is not None:
            return content
        if (member := self.packs.find(name)) is None:
            return None
        try:
            return _checked(self.disk.read(*member), name, member.path)
        except FileNotFoundError:
            return None

    def trouble(self, name: str, seq: int) -> BlobTrouble | None:
        """The problem of the blob that event `seq` names; None if it is intact."""
        if (problem := problem_of(self.get, name)) is None:
            return None
        member = self.packs.find(name)
        is_packed = member is not None and name not in self.disk.names(f"{BLOBS}/{name[:2]}")
        return BlobTrouble(member.path if member and is_packed else blob_path(BLOBS, name), problem, seq)


class DurableBlobStore(DurableBlobs):
    """The blobs of one data directory. Only the writer thread calls `put`, `add` and `discard`, only one thread
    `pack`; any thread calls the rest."""

    _is_writer = True

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk)
        self._whole: OrderedDict[str, _Place] = OrderedDict()
        """The places of the blobs known to be whole and durable, by name, the oldest first; only the writer thread
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
        if (place := self._whole_place(name)) is not None:
            if self._whole.get(name) != place:
                # A crash or a failed sync may have come between the rename and the sync of the directory.
                self.disk.sync_directory(place.path.rpartition("/")[0])
                self._remember(name, place)
            return name
        self.disk.make_directory(directory)
        data = packed(content)
        with self._examining:
            write_whole(self.disk, f"{directory}/{name}", data)
            self._troubles.pop(name, None)
        self._remember(name, _Place(f"{directory}/{name}", len(data)))
        return name

    def _make_directory(self) -> None:
        self.disk.make_directory(BLOBS)
        self._has_directory = True

    def pack(self, contents: Iterable[bytes]) -> Pack | None:
        """Writes those of the contents that are not stored yet as one pack; None if they are too few for one.

        Nothing is found in it before `add`, so no other batch relies on a pack that may be discarded.

        Raises:
            OSError: there is no such pack.
        """
        new: dict[str, bytes] = {}
        for content in contents:
            name = sha256(content).hexdigest()
            if name not in new and not self.has(name):
                new[name] = packed(content)
        if len(new) < PACKED_MIN:
            return None
        if not self._has_directory:
            self._make_directory()
        return self.packs.write(new)

    def add(self, pack: Pack) -> None:
        """Lets the members of a pack be found."""
        self.packs.add(pack)
        for name, member in pack.members.items():
            self._remember(name, _Place(member.path, pack.size))
            self._troubles.pop(name, None)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name, or a pack that holds the blob.

        Raises:
            OSError: the disk cannot say.
        """
        try:
            self.disk.size(blob_path(BLOBS, name))
        except FileNotFoundError:
            return self.packs.find(name) is not None
        return True

    def discard(self, name: str) -> None:
        """Removes a blob's file that no event names. Ignores errors, because an unused blob does no harm."""
        with suppress(OSError):
            self.disk.remove(blob_path(BLOBS, name))

    @property
    def troubles(self) -> list[BlobTrouble]:
        """The problems that `examine` found, except those that a `put` repaired."""
        return list(self._troubles.values())

    def examine(self, named: Mapping[str, int]) -> None:
        """Verifies the named blobs and notes their problems; `named` maps each to an event that names it."""
        for name, seq in named.items():
            with self._examining:
                if (trouble := self.trouble(name, seq)) is not None:
                    self._troubles[name] = trouble

    def _whole_place(self, name: str) -> _Place | None:
        """Where the blob lies, if its content has the hash in its name."""
        path = blob_path(BLOBS, name)
        try:
            size = self.disk.size(path)
        except FileNotFoundError:
            if (member := self.packs.find(name)) is None:
                return None
            path = member.path
            try:
                size = self.disk.size(path)
            except FileNotFoundError:
                return None
        place = _Place(path, size)
        is_whole = self._whole.get(name) == place or self.trouble(name, 0) is None
        return place if is_whole else None

    def _remember(self, name: str, place: _Place) -> None:
        self._whole[name] = place
        if len(self._whole) > _KNOWN_MAX:
            self._whole.popitem(last=False)


def problem_of(read: Callable[[str], bytes | None], name: str) -> Problem | None:
    """The problem of the blob that `read` reads; None if it is intact."""
    try:
        return "missing" if read(name) is None else None
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
        return _checked(disk.read(path), name, path)
    except FileNotFoundError:
        return None


def _checked(data: bytes, name: str, path: str) -> bytes:
    """The content of a blob's file, which lies at `path`.

    Raises:
        LogDamaged: the content has another hash.
    """
    content = unpacked(data)
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
