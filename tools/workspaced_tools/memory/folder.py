"""The memory folder on disk: reads, lists and changes its files, and follows no link.

As in vault/files/safe_open.py every component is opened with O_NOFOLLOW relative to the descriptor of the one
before it. The folder itself is opened that way too, below a root that its owner named, so swapping any part of a
path for a link leads nowhere. A file counts only if it is a regular one with a single name: another name could
lie outside.

A file is replaced by a rename of a whole, synced one, so that no reader ever sees a part of it.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from ..errors import MemoryChanged, MemoryFull, MemoryPathUnusable, MemoryWriteFailed, ToolError
from ..limits import MEMORY_DEPTH_MAX, MEMORY_ENTRIES_SEEN_MAX, MEMORY_FILE_BYTES_MAX
from ..vault.files.safe_open import VaultRoot, is_utf8
from .paths import Parts, is_memory_name, shown

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO must not block the reader until a writer opens it.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_TEMPORARY: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY_PREFIX: Final = ".workspaced-"
_TEMPORARY_SUFFIX: Final = ".tmp"
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS})
"""What a file system without hard links answers."""


class Change(NamedTuple):
    """A change of one file."""

    path: Parts
    former: bytes | None
    """The content before; None: there is no such file."""
    text: bytes | None
    """The content after; None: the file goes."""
    source: Parts | None = None
    """The file's former path, if the change moves it; then `former` and `text` are its content."""


class Listed(NamedTuple):
    """A file that a walk found."""

    path: Parts
    size: int


class MemoryFolder:
    """One memory folder. Every call opens it anew, so it may be moved, made or removed at any time.

    A method that takes a path raises MemoryPathUnusable if a component of it is a link, a device or a file where
    a folder should be. Not safe for two writers at a time: the caller holds a lock.
    """

    def __init__(self, root: VaultRoot, parts: Parts) -> None:
        """The folder at `parts` below `root`. Neither needs to exist."""
        self._root = root
        self._parts = parts

    # -- reading --

    def read(self, path: Parts) -> bytes | None:
        """The file's content; None if there is no such file.

        Raises:
            MemoryFull: it is larger than MEMORY_FILE_BYTES_MAX.
        """
        content = self.head(path)
        if content is not None:
            check_size(path, content)
        return content

    def head(self, path: Parts) -> bytes | None:
        """As `read`; of a larger file its first MEMORY_FILE_BYTES_MAX + 1 bytes."""
        with self._folder_of(path) as folder:
            found = _read(folder, path) if folder is not None else None
        return found.content if found is not None else None

    def is_folder(self, path: Parts) -> bool:
        """Whether there is a folder; the memory folder itself always counts as one."""
        if not path:
            return True
        with self._folder_of(path) as folder:
            if folder is None:
                return False
            try:
                status = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
            except OSError:  # None, or one that is closed to us.
                return False
            return stat.S_ISDIR(status.st_mode)

    def files(self, path: Parts = ()) -> list[Listed]:
        """The files at and below the folder `path`, sorted; without links, devices and names no agent could give.

        Raises:
            MemoryFull: others made more than MEMORY_ENTRIES_SEEN_MAX entries.
        """
        with self._opened(path) as folder:
            found = [] if folder is None else list(_walk(folder, path, [MEMORY_ENTRIES_SEEN_MAX]))
        return sorted(found)

    # -- changing --

    def apply(self, change: Change) -> None:
        """Carries out a change, durably. Folders come and go with their files.

        Raises:
            MemoryChanged: the file is not as `change.former` says; nothing changed.
            MemoryWriteFailed: the disk refused; nothing changed.
        """
        try:
            if change.source is not None:
                self._move(change.source, change.path, change.former)
            elif change.text is None:
                self._remove(change.path, change.former)
            else:
                self._put(change.path, change.former, change.text)
        except OSError as error:
            raise MemoryWriteFailed(
                f"Writing {shown(change.path)} failed: {error.strerror}.",
                hint="Nothing changed. Ask the user to check the disk and the folder's permissions.",
            ) from error

    def remove_temporaries(self) -> None:
        """Removes what a crash left of half a write. A folder that cannot be read stays as it is."""
        with suppress(OSError, ToolError), self._opened(()) as folder:
            if folder is not None:
                _remove_temporaries(folder, MEMORY_DEPTH_MAX + 1)

    def finish_move(self, source: Parts, path: Parts) -> bool:
        """Removes the old name if a crash left a file under both names; whether it did."""
        with self._folder_of(source) as before, self._folder_of(path) as after:
            if before is None or after is None:
                return False
            try:
                old = os.stat(source[-1], dir_fd=before, follow_symlinks=False)
                new = os.stat(path[-1], dir_fd=after, follow_symlinks=False)
            except FileNotFoundError:
                return False
            if not stat.S_ISREG(old.st_mode) or (old.st_dev, old.st_ino) != (new.st_dev, new.st_ino):
                return False
            os.unlink(source[-1], dir_fd=before)
            os.fsync(before)
            return True

    def _put(self, path: Parts, former: bytes | None, text: bytes) -> None:
        with self._folder_of(path, make=True) as folder:
            if folder is None:  # Someone removed it just after it was made.
                raise _changed(path)
            found = _expect(folder, path, former)
            temporary = f"{_TEMPORARY_PREFIX}{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}"
            _write(temporary, text, folder, stat.S_IMODE(found.status.st_mode) if found is not None else None)
            try:
                if found is None:
                    _link(temporary, folder, path, folder)
                elif not found.is_unchanged(folder, path):
                    raise _changed(path)
                else:
                    os.replace(temporary, path[-1], src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
            os.fsync(folder)

    def _remove(self, path: Parts, former: bytes | None) -> None:
        with self._folder_of(path) as folder:
            if folder is None or _expect(folder, path, former) is None:
                raise _changed(path)
            os.unlink(path[-1], dir_fd=folder)
            os.fsync(folder)
        self._remove_empty_folders(path)

    def _move(self, source: Parts, path: Parts, content: bytes | None) -> None:
        with self._folder_of(source) as before, self._folder_of(path, make=True) as after:
            if before is None or after is None or _expect(before, source, content) is None:
                raise _changed(source)
            _link(source[-1], before, path, after)
            os.fsync(after)
            try:
                os.unlink(source[-1], dir_fd=before)
            except FileNotFoundError:  # A file system without hard links has moved it.
                pass
            except OSError:
                os.unlink(path[-1], dir_fd=after)
                raise
            os.fsync(before)
        self._remove_empty_folders(source)

    def _remove_empty_folders(self, path: Parts) -> None:
        """Removes the folders above a removed file, as far as they are empty."""
        for depth in range(len(path) - 1, 0, -1):
            with self._opened(path[: depth - 1]) as above:
                if above is None:
                    return
                try:
                    os.rmdir(path[depth - 1], dir_fd=above)
                except OSError:  # Not empty, which is the usual case.
                    return

    # -- opening --

    @contextmanager
    def _folder_of(self, path: Parts, *, make: bool = False) -> Iterator[int | None]:
        """A descriptor of the folder that holds `path`; None if there is none. `make`: makes it first."""
        with self._opened(path[:-1], make=make) as folder:
            yield folder

    @contextmanager
    def _opened(self, path: Parts, *, make: bool = False) -> Iterator[int | None]:
        root = self._root.directory()  # Held: its descriptor is used below.
        folder = root.fd
        try:
            for name in (*self._parts, *path):
                inner = _enter(folder, name, path, make=make)
                if folder != root.fd:
                    os.close(folder)
                folder = root.fd if inner is None else inner
                if inner is None:
                    yield None
                    return
            yield folder
        finally:
            if folder != root.fd:
                os.close(folder)


class _Found(NamedTuple):
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


def _enter(folder: int, name: str, path: Parts, *, make: bool) -> int | None:
    """A descriptor of the folder `name`; None if there is none."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            os.fsync(folder)
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path) from error


def _read(folder: int, path: Parts) -> _Found | None:
    try:
        descriptor = os.open(path[-1], _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unusable(path) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise unusable(path)
        content = b""
        while len(content) <= MEMORY_FILE_BYTES_MAX and (more := os.read(descriptor, MEMORY_FILE_BYTES_MAX + 1)):
            content += more
    finally:
        os.close(descriptor)
    return _Found(content[: MEMORY_FILE_BYTES_MAX + 1], status)


def _expect(folder: int, path: Parts, content: bytes | None) -> _Found | None:
    """The file, if its content is this one; None: neither is there."""
    found = _read(folder, path)
    if (found.content if found is not None else None) != content:
        raise _changed(path)
    return found


def _write(name: str, content: bytes, folder: int, mode: int | None) -> None:
    """Writes and syncs a new file. `mode`: of the file it will replace; None: as the process makes files."""
    descriptor = os.open(name, _TEMPORARY, 0o666, dir_fd=folder)
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


def _link(name: str, folder: int, path: Parts, target: int) -> None:
    """Gives a file a second name that nobody has: unlike a rename, a link never replaces another file."""
    try:
        os.link(name, path[-1], src_dir_fd=folder, dst_dir_fd=target, follow_symlinks=False)
    except FileExistsError:
        raise _changed(path) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _read(target, path) is not None:
            raise _changed(path) from None
        os.rename(name, path[-1], src_dir_fd=folder, dst_dir_fd=target)


def _walk(folder: int, path: Parts, room: list[int]) -> Iterator[Listed]:
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
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            yield Listed((*path, name), status.st_size)
        elif stat.S_ISDIR(status.st_mode) and len(path) < MEMORY_DEPTH_MAX:
            inner = _enter_walked(folder, name)
            if inner is not None:
                try:
                    yield from _walk(inner, (*path, name), room)
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


def _remove_temporaries(folder: int, depth: int) -> None:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if name.startswith(_TEMPORARY_PREFIX) and name.endswith(_TEMPORARY_SUFFIX):
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
        elif depth > 0 and not name.startswith(".") and (inner := _enter_walked(folder, name)) is not None:
            try:
                _remove_temporaries(inner, depth - 1)
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


def _changed(path: Parts) -> MemoryChanged:
    return MemoryChanged(
        f"The file {shown(path)} was changed by someone else meanwhile.", hint="View it again, then decide."
    )
