"""Steps in the memory folder by descriptors of directories: none follows a link, and none leaves its directory.

A file counts only if it is a regular one with a single name: another name could lie outside.
"""

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from ..errors import MemoryChanged, MemoryFull, MemoryPathUnusable
from ..limits import MEMORY_DEPTH_MAX, MEMORY_ENTRIES_SEEN_MAX, MEMORY_FILE_BYTES_MAX
from ..vault.files.safe_open import is_utf8
from .paths import Parts, is_memory_name, shown

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO must not block the reader until a writer opens it.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_TEMPORARY_NAME: Final = re.compile(r"\.workspaced-[0-9a-f]{16}\.tmp")
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""What a file system without hard links answers."""


class Listed(NamedTuple):
    """A file that a walk found."""

    path: Parts
    size: int


class Found(NamedTuple):
    content: bytes
    status: os.stat_result

    def is_unchanged(self, folder: int, path: Parts) -> bool:
        """Whether the name still leads to the file, and the file has not been written since."""
        try:
            now = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return _version(now) == _version(self.status)


def _version(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def enter(folder: int, name: str, path: Parts, *, make: bool) -> int | None:
    """A descriptor of the folder `name`; None if there is none. `make`: makes it first."""
    if make:
        check_no_twin(folder, name, path)
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            os.fsync(folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path) from error


def check_no_twin(folder: int, name: str, path: Parts) -> None:
    """Checks that nothing has the name in another normal form: both would have one path in the vault.

    Raises:
        MemoryPathUnusable: something has.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name != name and unicodedata.normalize("NFC", entry.name) == name:
                raise unusable(path)


def read(folder: int, path: Parts) -> Found | None:
    """The file; None if there is none.

    Raises:
        MemoryPathUnusable: it is no regular file with a single name, or went or got another name meanwhile.
    """
    try:
        descriptor = os.open(path[-1], _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path) from error
    try:
        status = os.fstat(descriptor)
        if not _is_own(status):
            raise unusable(path)
        content = b""
        while len(content) <= MEMORY_FILE_BYTES_MAX and (more := os.read(descriptor, MEMORY_FILE_BYTES_MAX + 1)):
            content += more
        # Again: a second name may have gone before the first look, to come back or to stay away.
        if not _is_still_there(folder, path, status):
            raise unusable(path)
    finally:
        os.close(descriptor)
    return Found(content[: MEMORY_FILE_BYTES_MAX + 1], status)


def _is_still_there(folder: int, path: Parts, opened: os.stat_result) -> bool:
    try:
        now = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(now, opened) and _is_own(now)


def _is_own(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def expect(folder: int, path: Parts, content: bytes | None) -> Found | None:
    """The file, if its content is this one; None: neither is there."""
    found = read(folder, path)
    if (found.content if found is not None else None) != content:
        raise changed(path)
    return found


def write_new(name: str, content: bytes, folder: int, mode: int | None) -> None:
    """Writes and syncs a new file. `mode`: of the file it will replace; None: as the process makes files."""
    descriptor = os.open(
        name, (os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC), 0o666, dir_fd=folder
    )
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def link(name: str, folder: int, path: Parts, target: int) -> None:
    """Gives a file a second name that nobody has: unlike a rename, a link never replaces another file."""
    try:
        os.link(name, path[-1], src_dir_fd=folder, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        raise changed(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if read(target, path) is not None:
            raise changed(path) from None
        os.rename(name, path[-1], src_dir_fd=folder, dst_dir_fd=target)


def take_back(source: Parts, before: int, path: Parts, after: int) -> None:
    """Leaves a file that `link` gave the name `path` its former name alone."""
    try:
        os.stat(source[-1], dir_fd=before, follow_symlinks=False)
    except FileNotFoundError:  # It was moved.
        os.rename(path[-1], source[-1], src_dir_fd=after, dst_dir_fd=before)
    else:
        os.unlink(path[-1], dir_fd=after)


def walk(folder: int, path: Parts, room: list[int]) -> Iterator[Listed]:
    """The files below an open folder. `room`: the entries that may still be looked at, in all folders together."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in _at_most(entries, room)]
    for name in names:
        if not is_utf8(name) or not is_memory_name(name):
            continue
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:  # Gone since it was listed, or closed to us.
            continue
        if _is_own(status):
            yield Listed((*path, name), status.st_size)
        elif stat.S_ISDIR(status.st_mode) and len(path) < MEMORY_DEPTH_MAX:
            inner = _enter_walked(folder, name)
            if inner is not None:
                try:
                    yield from walk(inner, (*path, name), room)
                finally:
                    os.close(inner)


def _at_most(entries: "Iterator[os.DirEntry[str]]", room: list[int]) -> "Iterator[os.DirEntry[str]]":
    for entry in entries:
        room[0] -= 1
        if room[0] < 0:
            raise MemoryFull(
                f"The memory folder holds more than {MEMORY_ENTRIES_SEEN_MAX} entries.",
                hint="Ask the user to set a folder of its own for the memory.",
            )
        yield entry


def _enter_walked(folder: int, name: str) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:  # Gone or swapped since it was listed, or closed to us.
        return None


def remove_temporaries(folder: int, depth: int) -> None:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if _TEMPORARY_NAME.fullmatch(name):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
        elif depth > 0 and not name.startswith(".") and (inner := _enter_walked(folder, name)) is not None:
            try:
                remove_temporaries(inner, depth - 1)
            finally:
                os.close(inner)


def check_size(path: Parts, content: bytes) -> None:
    """Checks that `head` gave the whole file.

    Raises:
        MemoryFull: it is larger.
    """
    if len(content) > MEMORY_FILE_BYTES_MAX:
        raise MemoryFull(
            f"The file {shown(path)} is larger than {MEMORY_FILE_BYTES_MAX} bytes.",
            hint="Ask the user to shorten it, or use another file.",
        )


def unusable(path: Parts) -> MemoryPathUnusable:
    """The error for a path that may be taken by something that is not the agent's. Says no more than that."""
    return MemoryPathUnusable(f"The path {shown(path)} cannot be used.", hint="Choose another path.")


def changed(path: Parts) -> MemoryChanged:
    return MemoryChanged(
        f"The file {shown(path)} was changed by someone else meanwhile.", hint="View it again, then decide."
    )
