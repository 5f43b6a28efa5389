"""Packs: files that hold several blobs each, so that the new texts of a prompt cost one sync and not one each.

`blobs/packs/<number>.wpack` is the bytes of its blobs' files one after the other, then the index, a line
`crc SP json LF` of names and sizes, then that line's length: eight hex digits and LF. A pack never changes, except
that an erasure rewrites it. Without a sound index the blobs are found by unpacking one after the other, so damage
in one place costs one blob at most.
"""

import re
import threading
import zlib
from collections.abc import Mapping, Set
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from ..log.data_directory import BLOBS
from ..log.disk import Disk, write_whole
from ..log.line_format import PREFIX_BYTES, frame_line

PACKS: Final = "packs"
"""Folder in `blobs/`."""
SUFFIX: Final = ".wpack"
_FOLDER: Final = f"{BLOBS}/{PACKS}"
_NAME: Final = re.compile(r"([0-9]{20})\.wpack", re.ASCII)
_FOOTER_BYTES: Final = 9
_BLOB_MARK: Final = b"z"
_HEX: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class Member(NamedTuple):
    """The place of a blob's bytes in a pack."""

    path: str
    offset: int
    size: int


class Pack(NamedTuple):
    """A pack's file, and its members by name."""

    path: str
    size: int
    members: dict[str, Member]


class Packs:
    """The packs of a data directory. Safe from any thread.

    Reads their indexes when a blob is first looked for.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._members: dict[str, Member] = {}
        self._known: set[str] = set()
        """The file names of the packs whose members are known."""
        self._last = 0
        """The highest number of a pack."""
        self._has_looked = False
        self._has_folder = False
        self._looking = threading.Lock()
        self.failure: OSError | None = None
        """Why a pack could not be read at the last look."""

    def find(self, name: str) -> Member | None:
        """The place of a blob in the packs known so far."""
        if not self._has_looked:
            self.look()
        return self._members.get(name)

    def look(self) -> None:
        """Reads the indexes of packs that are not known yet."""
        with self._looking:
            self.failure = None
            try:
                names = self._disk.names(_FOLDER)
            except OSError as error:
                names, self.failure = [], error
            for name in names:
                if (match := _NAME.fullmatch(name)) is None or name in self._known:
                    continue
                self._last = max(self._last, int(match[1]))
                try:
                    self._take(members_of(self._disk, f"{_FOLDER}/{name}"))
                    self._known.add(name)
                except OSError as error:
                    self.failure = error
            self._has_looked = True

    def write(self, files: Mapping[str, bytes]) -> Pack:
        """Writes a pack durably; its members are not found before `add`.

        Args:
            files: the bytes of the blobs' files by the blobs' names.

        Raises:
            OSError: there is no such pack.
        """
        if not self._has_looked:
            self.look()
        if not self._has_folder:
            self._disk.make_directory(_FOLDER)
            self._has_folder = True
        with self._looking:
            self._last += 1
            path = f"{_FOLDER}/{self._last:020d}{SUFFIX}"
            self._known.add(path.rpartition("/")[2])
        data = encode(files)
        try:
            write_whole(self._disk, path, data)
        except OSError:
            self._remove(path)
            raise
        return Pack(path, len(data), _laid_out(path, {name: len(data) for name, data in files.items()}))

    def add(self, pack: Pack) -> None:
        """Lets the members of a new pack be found."""
        self._take(pack.members)

    def _take(self, members: Mapping[str, Member]) -> None:
        for name, member in members.items():
            # Of two packs with one blob the first counts: the other one may be removed, with a batch that failed.
            self._members.setdefault(name, member)

    def remove(self, pack: Pack) -> None:
        """Removes a pack that no event names. Ignores errors, because an unused pack does no harm."""
        for name, member in pack.members.items():
            if self._members.get(name) == member:
                del self._members[name]
        self._remove(pack.path)

    def _remove(self, path: str) -> None:
        with suppress(OSError):
            self._disk.remove(path)


def encode(files: Mapping[str, bytes]) -> bytes:
    """The bytes of a pack of blobs' files."""
    index, _ = frame_line(msgspec.json.encode([(name, len(data)) for name, data in files.items()]), 0)
    return b"".join([*files.values(), index, b"%08x\n" % len(index)])


def members_of(disk: Disk, path: str) -> dict[str, Member]:
    """The blobs in a pack: those of its index, or if that is damaged, those that can be unpacked.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        return _laid_out(path, _index(disk, path))
    except (ValueError, msgspec.MsgspecError):
        # Those blobs that can be unpacked from the beginning on.
        data = disk.read(path)
        sizes: dict[str, int] = {}
        offset = 0
        while data[offset : offset + 1] == _BLOB_MARK:
            stream = zlib.decompressobj()
            try:
                content = stream.decompress(memoryview(data)[offset + 1 :])
            except zlib.error:
                break
            end = len(data) - len(stream.unused_data)
            if not stream.eof:
                break
            sizes[sha256(content).hexdigest()] = end - offset
            offset = end
        return _laid_out(path, sizes)


def only(disk: Disk, path: str, names: Set[str]) -> bytes:
    """The bytes of a pack that holds those of its blobs that have one of these names.

    Raises:
        OSError: the file cannot be read.
    """
    members, data = members_of(disk, path), disk.read(path)
    return encode(
        {
            name: data[member.offset : member.offset + member.size]
            for name, member in members.items()
            if name in names
        }
    )


def _index(disk: Disk, path: str) -> dict[str, int]:
    """The sizes of a pack's blobs by name, in their order.

    Raises:
        ValueError, MsgspecError: the index is damaged.
        OSError: the file cannot be read.
    """
    end = disk.size(path) - _FOOTER_BYTES
    begin = end - int(disk.read(path, max(end, 0), _FOOTER_BYTES), 16)
    line = disk.read(path, begin, end - begin) if 0 <= begin < end else b""
    payload = line[PREFIX_BYTES:-1]
    if line != b"%08x %s\n" % (zlib.crc32(payload), payload):
        raise ValueError("its checksum is wrong")
    sizes = dict(msgspec.json.decode(payload, type=list[tuple[str, int]]))
    if sum(sizes.values()) != begin or not all(map(_HEX.fullmatch, sizes)):
        raise ValueError("it is not of this file")
    return sizes


def _laid_out(path: str, sizes: Mapping[str, int]) -> dict[str, Member]:
    members = {}
    offset = 0
    for name, size in sizes.items():
        members[name] = Member(path, offset, size)
        offset += size
    return members
