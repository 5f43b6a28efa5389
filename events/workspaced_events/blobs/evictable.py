"""Evictable blob store, beside the log: the results of tool calls and their inputs, for replaying the calls.

The log names these blobs but does not need them: a call whose blob was swept, or lost in a power cut, is
`NOT_RECORDED`, and nothing else changes. So nothing here is synced, and an incomplete blob counts as missing.
Blobs that the log needs are in `blobs/` and never swept.

A file's mtime is the time of the blob's last use, within an hour. Any process may sweep at any time, beside a
process that stores blobs and beside another sweep.
"""

import errno
import os
import re
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ..clock import event_time
from ..errors import LogDamaged
from ..log.data_directory import SERVED, SWEPT
from ..log.disk import read_regular
from ..private_files import make_folder, write_file
from .durable import blob_path, packed, unpacked

FREE_BYTES_MIN: Final = 16 * 1024 * 1024
"""Free space on the disk reserved for the log: evictable blobs must not fill it."""
_KNOWN_MAX: Final = 16_384
"""Verified files remembered; a `keep` verifies any other file again."""
_TOUCH_NS: Final = 3_600 * 10**9
"""Precision of a blob's last use, and the age at which an incomplete file is removed."""
_SLOT_NS: Final = 60 * 10**9
"""A sweep sorts files by last use only within the minute where it ends: a list of all files would take 100 MB."""
_FOLDER: Final = re.compile(r"[0-9a-f]{2}")
_NAME: Final = re.compile(r"[0-9a-f]{64}")
_TEMPORARY_SUFFIX: Final = ".tmp"


class Swept(msgspec.Struct, frozen=True, rename="camel"):
    """The result of a sweep: blobs kept and removed, with the bytes of their files."""

    kept: int
    kept_bytes: int
    removed: int
    removed_bytes: int


class _File(NamedTuple):
    used_ns: int
    path: str
    size: int


class EvictableBlobStore:
    """The evictable blobs of one data directory. One thread calls `keep`; any thread calls the rest."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._whole: OrderedDict[str, int] = OrderedDict()
        """File sizes of the verified blobs by name, oldest verification first."""
        self.written = 0
        """The number of blobs written."""
        self.written_bytes = 0
        """The bytes of their files."""

    def keep(self, content: bytes, name: str | None = None) -> str:
        """Stores `content` and returns its sha256, which is `name` if given. Cheap if it is already stored.

        Raises:
            OSError: the content was not stored.
        """
        name = name or sha256(content).hexdigest()
        path = self._data / blob_path(SERVED, name)
        if not self._is_kept(name, path):
            self._write(name, path, packed(content))
        return name

    def _is_kept(self, name: str, path: Path) -> bool:
        """Whether the file exists intact; if so, updates the time of its last use."""
        try:
            status = path.stat()
            if self._whole.get(name) != status.st_size:
                if self.get(name) is None:
                    return False
                self._remember(name, status.st_size)
            if time.time_ns() - status.st_mtime_ns >= _TOUCH_NS:
                os.utime(path)
        except FileNotFoundError:  # possibly swept just now
            return False
        return True

    def _write(self, name: str, path: Path, data: bytes) -> None:
        disk = os.statvfs(self._data)
        if disk.f_bavail * disk.f_frsize < FREE_BYTES_MIN:
            raise OSError(errno.ENOSPC, f"less than {FREE_BYTES_MIN >> 20} MiB are free, and they are the log's")
        make_folder(path.parent)
        temporary = path.with_name(name + _TEMPORARY_SUFFIX)
        write_file(temporary, data)
        temporary.replace(path)
        self._remember(name, len(data))
        self.written += 1
        self.written_bytes += len(data)

    def _remember(self, name: str, size: int) -> None:
        self._whole[name] = size
        if len(self._whole) > _KNOWN_MAX:
            self._whole.popitem(last=False)

    def get(self, name: str) -> bytes | None:
        """The content of the blob `name`; None if it is missing, incomplete or unreadable."""
        with suppress(LogDamaged):
            return self.whole(name)
        return None

    def whole(self, name: str) -> bytes | None:
        """The content of the blob `name`; None if it is missing.

        Raises:
            LogDamaged: the content has another hash, or the file cannot be read.
        """
        path = blob_path(SERVED, name)
        try:
            content = unpacked(read_regular(self._data / path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise LogDamaged(f"The blob {path} cannot be read: {error.strerror}.", file=path) from error
        if sha256(content).hexdigest() != name:
            raise LogDamaged(f"The blob {path} does not hold what its name says.", file=path)
        return content

    # -- removing --

    def remove(self, name: str) -> None:
        """Removes the blob `name`, if it is there."""
        (self._data / blob_path(SERVED, name)).unlink(missing_ok=True)

    def swept_until(self) -> str:
        """The event time up to which calls may name blobs that were removed here; empty: none were."""
        try:
            return (self._data / SWEPT).read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def tell_swept(self, used_ns: int) -> None:
        """Blobs that were last used before this time are removed on purpose.

        Raises:
            OSError: it cannot be told.
        """
        # A call may name a blob that was stored or touched an hour before its event; the rest is room for delay.
        until = event_time(used_ns + 2 * _TOUCH_NS)
        if until > self.swept_until():
            temporary = self._data / f"{SWEPT}-{secrets.token_hex(4)}{_TEMPORARY_SUFFIX}"  # others may sweep too
            write_file(temporary, until.encode())
            temporary.replace(self._data / SWEPT)

    def sweep(self, bytes_max: int, days_max: float) -> Swept:
        """Removes blobs unused for `days_max` days, then the longest unused ones until the rest takes at most
        `bytes_max`; also removes incomplete files.

        Raises:
            OSError: a file cannot be listed or removed.
        """
        now = time.time_ns()
        end = self._first_kept(bytes_max, now - int(days_max * 86_400e9))
        # What a crash left half written.
        for entry in self._entries():
            name, suffix, rest = entry.name.partition(_TEMPORARY_SUFFIX)
            if suffix and not rest and _NAME.fullmatch(name):
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime_ns < now - _TOUCH_NS:
                        Path(entry.path).unlink()
        kept = kept_bytes = removed = removed_bytes = 0
        for file in self._files():
            if (file.used_ns, file.path) >= end:
                kept, kept_bytes = kept + 1, kept_bytes + file.size
                continue
            if removed == 0:
                self.tell_swept(end[0])
            Path(file.path).unlink(missing_ok=True)
            removed, removed_bytes = removed + 1, removed_bytes + file.size
        return Swept(kept, kept_bytes, removed, removed_bytes)

    def _first_kept(self, bytes_max: int, oldest_ns: int) -> tuple[int, str]:
        """The time and path of the first file to keep, in the order of last use."""
        slots: Counter[int] = Counter()
        for file in self._files():
            slots[file.used_ns // _SLOT_NS] += file.size
        room = bytes_max
        for slot in sorted(slots, reverse=True):
            if slots[slot] > room:
                # Of those last used in this minute, as many of the latest stay as fit.
                end = ((slot + 1) * _SLOT_NS, "")
                in_slot = (each for each in self._files() if each.used_ns // _SLOT_NS == slot)
                for file in sorted(in_slot, reverse=True):
                    if file.size > room:
                        break
                    room, end = room - file.size, (file.used_ns, file.path)
                return max(end, (oldest_ns, ""))
            room -= slots[slot]
        return oldest_ns, ""

    def _files(self) -> Iterator[_File]:
        """Every blob's file, in no order; skips all other files."""
        for entry in self._entries():
            if _NAME.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    yield _File(status.st_mtime_ns, entry.path, status.st_size)

    def _entries(self) -> "Iterator[os.DirEntry[str]]":
        try:
            folders = list(os.scandir(self._data / SERVED))
        except FileNotFoundError:
            return
        for folder in folders:
            if _FOLDER.fullmatch(folder.name) and folder.is_dir(follow_symlinks=False):
                with os.scandir(folder) as entries:
                    yield from entries
