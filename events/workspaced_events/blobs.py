"""Content-addressed store: text that belongs to the record but not into a log line, named by its sha256.

A file is one codec byte (`z`: zlib) and the compressed content. Blobs are written durably before the event that
names them, and verified when read.
"""

import zlib
from contextlib import suppress
from hashlib import sha256

from .errors import LogDamaged
from .log.disk import Disk, write_whole

DIRECTORY = "blobs"
_ZLIB = b"z"


class BlobStore:
    """The blobs of one data directory. `put` belongs to the writer thread; `get` to any."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        disk.make_directory(DIRECTORY)

    def put(self, content: bytes) -> str:
        """Keeps `content` and returns its name, its sha256 in lower-case hex. Again it costs next to nothing.

        Raises:
            OSError: it was not kept.
        """
        name = sha256(content).hexdigest()
        directory = f"{DIRECTORY}/{name[:2]}"
        self._disk.make_directory(directory)
        if name not in self._disk.names(directory):
            write_whole(self._disk, f"{directory}/{name}", packed(content))
        else:
            # A crash or a failed sync may have come between the renaming and the name's durability.
            self._disk.sync_directory(directory)
        return name

    def has(self, name: str) -> bool:
        """Whether there is a file of this name.

        Raises:
            OSError: the disk does not say.
        """
        return name in self._disk.names(f"{DIRECTORY}/{name[:2]}")

    def discard(self, name: str) -> None:
        """Removes a blob that no event names, if it is there and the disk lets us: one that stays harms nobody."""
        with suppress(OSError):
            self._disk.remove(blob_path(DIRECTORY, name))

    def get(self, name: str) -> bytes | None:
        """The content called `name`, or None if it is not kept.

        Raises:
            LogDamaged: the file does not hold what its name says.
        """
        return read_blob(self._disk, DIRECTORY, name)


def read_blob(disk: Disk, directory: str, name: str) -> bytes | None:
    """The content called `name` in a directory of blobs, or None if it is not there.

    Raises:
        LogDamaged: the file does not hold what its name says.
    """
    path = blob_path(directory, name)
    try:
        content = unpacked(disk.read(path))
    except FileNotFoundError:
        return None
    if sha256(content).hexdigest() != name:
        raise LogDamaged(f"The blob {path} does not hold what its name says.", file=path)
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
