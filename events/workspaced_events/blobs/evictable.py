"""What agents were served: a content-addressed store beside the log that may forget.

Results of tools and what they were made from are kept here so that a call can be replayed. The log names them and
does without them: a blob that was swept, or was lost with the power, makes a call `NOT_RECORDED` and nothing else.
So nothing here is synced, and a blob that is not whole counts as none. What the log itself consists of lies in
`blobs/`, which is never swept.

The time of a file says when its blob was last kept, within an hour. Any process may sweep at any time, beside one
that keeps and beside another sweep.
"""

import errno
import os
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ..errors import LogDamaged
from ..log.data_directory import SERVED
from ..log.disk import read_regular
from ..private_files import make_folder, write_file
from .durable import blob_path, packed, unpacked

FREE_BYTES_MIN: Final = 16 * 1024 * 1024
"""So much of the disk is left to the log: what agents were shown is never what fills it."""
_KNOWN_MAX: Final = 16_384
"""Files that are known to be whole; others are read again before they are taken as kept."""
_TOUCH_NS: Final = 3_600 * 10**9
"""How exactly the time of a blob's last use is known; and the age of a half-written file that nobody completes."""
_SLOT_NS: Final = 60 * 10**9
"""What is kept in one minute is put in order only where a sweep ends within it: a list of every file would take a
hundred megabytes."""
_FOLDER: Final = re.compile(r"[0-9a-f]{2}")
_NAME: Final = re.compile(r"[0-9a-f]{64}")
_ASIDE: Final = ".tmp"


class Swept(msgspec.Struct, frozen=True, rename="camel"):
    """What a sweep left and what it removed: blobs, and the bytes of their files."""

    kept: int
    kept_bytes: int
    removed: int
    removed_bytes: int


class _File(NamedTuple):
    used_ns: int
    path: str
    size: int


class EvictableBlobStore:
    """The served blobs of one data directory. `keep` belongs to one thread; everything else to any."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._whole: OrderedDict[str, int] = OrderedDict()
        """Bytes of the files that were seen to be whole, by name; those seen first come first."""
        self.written = 0
        """How many blobs were written,"""
        self.written_bytes = 0
        """and the bytes of their files."""

    def keep(self, content: bytes, name: str | None = None) -> str:
        """Keeps `content` and returns its sha256; give that as `name` where it is known. Cheap for what is kept.

        Raises:
            OSError: it was not kept.
        """
        name = name or sha256(content).hexdigest()
        path = self._data / blob_path(SERVED, name)
        if not self._is_kept(name, path):
            self._write(name, path, packed(content))
        return name

    def _is_kept(self, name: str, path: Path) -> bool:
        """Whether the file is there and whole, and noted as used now."""
        try:
            found = path.stat()
            if self._whole.get(name) != found.st_size:
                if self.get(name) is None:
                    return False
                self._remember(name, found.st_size)
            if time.time_ns() - found.st_mtime_ns >= _TOUCH_NS:
                os.utime(path)
        except FileNotFoundError:  # swept, perhaps just now
            return False
        return True

    def _write(self, name: str, path: Path, data: bytes) -> None:
        disk = os.statvfs(self._data)
        if disk.f_bavail * disk.f_frsize < FREE_BYTES_MIN:
            raise OSError(errno.ENOSPC, f"less than {FREE_BYTES_MIN >> 20} MiB are free, and they are the log's")
        make_folder(path.parent)
        aside = path.with_name(name + _ASIDE)
        write_file(aside, data)
        aside.replace(path)
        self._remember(name, len(data))
        self.written += 1
        self.written_bytes += len(data)

    def _remember(self, name: str, size: int) -> None:
        self._whole[name] = size
        if len(self._whole) > _KNOWN_MAX:
            self._whole.popitem(last=False)

    def get(self, name: str) -> bytes | None:
        """The content called `name`; None if it is not kept, or not whole, or cannot be read."""
        try:
            content = unpacked(read_regular(self._data / blob_path(SERVED, name)))
        except OSError:
            return None
        return content if sha256(content).hexdigest() == name else None

    def whole(self, name: str) -> bytes | None:
        """The content called `name`; None if it is not kept.

        Raises:
            LogDamaged: the file does not hold what its name says, or cannot be read.
        """
        path = blob_path(SERVED, name)
        try:
            content = unpacked((self._data / path).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise LogDamaged(f"The blob {path} cannot be read: {error.strerror}.", file=path) from error
        if sha256(content).hexdigest() != name:
            raise LogDamaged(f"The blob {path} does not hold what its name says.", file=path)
        return content

    # -- forgetting --

    def remove(self, name: str) -> None:
        """Keeps the blob of that name no longer."""
        (self._data / blob_path(SERVED, name)).unlink(missing_ok=True)

    def sweep(self, bytes_max: int, days_max: float, *, dry_run: bool = False) -> Swept:
        """Removes what was last kept more than `days_max` days ago, then the longest unused until the rest takes
        no more than `bytes_max`; also what was never completed. With `dry_run` it only says so.

        Raises:
            OSError: the store cannot be read, or a file in it not be removed.
        """
        now = time.time_ns()
        end = self._first_kept(bytes_max, now - int(days_max * 86_400e9))
        if not dry_run:
            self._remove_halves(now - _TOUCH_NS)
        kept = kept_bytes = removed = removed_bytes = 0
        for file in self._files():
            if (file.used_ns, file.path) >= end:
                kept, kept_bytes = kept + 1, kept_bytes + file.size
                continue
            if not dry_run:
                Path(file.path).unlink(missing_ok=True)
            removed, removed_bytes = removed + 1, removed_bytes + file.size
        return Swept(kept, kept_bytes, removed, removed_bytes)

    def _first_kept(self, bytes_max: int, oldest_ns: int) -> tuple[int, str]:
        """The file that is first to stay, in the order of last use."""
        slots: Counter[int] = Counter()
        for file in self._files():
            slots[file.used_ns // _SLOT_NS] += file.size
        room = bytes_max
        for slot in sorted(slots, reverse=True):
            if slots[slot] > room:
                return max(self._first_in(slot, room), (oldest_ns, ""))
            room -= slots[slot]
        return oldest_ns, ""

    def _first_in(self, slot: int, room: int) -> tuple[int, str]:
        """The first file to stay of those last used in one minute, of which only `room` bytes may."""
        end = ((slot + 1) * _SLOT_NS, "")
        for file in sorted((each for each in self._files() if each.used_ns // _SLOT_NS == slot), reverse=True):
            if file.size > room:
                break
            room, end = room - file.size, (file.used_ns, file.path)
        return end

    def _files(self) -> Iterator[_File]:
        """Every blob's file, in no order; nothing else that may lie here."""
        for entry in self._entries():
            if _NAME.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    yield _File(found.st_mtime_ns, entry.path, found.st_size)

    def _remove_halves(self, before_ns: int) -> None:
        for entry in self._entries():
            if entry.name.endswith(_ASIDE) and _NAME.fullmatch(entry.name.removesuffix(_ASIDE)):
                with suppress(FileNotFoundError):
                    if entry.stat(follow_symlinks=False).st_mtime_ns < before_ns:
                        Path(entry.path).unlink()

    def _entries(self) -> "Iterator[os.DirEntry[str]]":
        try:
            folders = list(os.scandir(self._data / SERVED))
        except FileNotFoundError:
            return
        for folder in folders:
            if _FOLDER.fullmatch(folder.name) and folder.is_dir(follow_symlinks=False):
                with os.scandir(folder) as entries:
                    yield from entries
