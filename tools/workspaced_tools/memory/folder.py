"""The memory folder on disk: reads, lists and changes its files, and follows no link.

As in vault/files/safe_open.py every component is opened with O_NOFOLLOW relative to the descriptor of the one
before it. The folder itself is opened that way too, below a root that its owner named, so swapping any part of a
path for a link leads nowhere. A file counts only if it is a regular one with a single name: another name could
lie outside.

A file is replaced by a rename of a whole, synced one, so that no reader ever sees a part of it.
"""

import errno
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from ..errors import MemoryChanged, MemoryFull, MemoryPathUnusable, MemoryWriteFailed, ToolError
from ..limits import MEMORY_DEPTH_MAX, MEMORY_ENTRIES_SEEN_MAX, MEMORY_FILE_BYTES_MAX
from ..vault.files.safe_open import VaultRoot, is_utf8
from .paths import Parts, is_memory_name, shown


class Change(NamedTuple):
    """A change of one file."""

    path: Parts
    former: bytes | None
    """The content before; None: there is no such file."""
    text: bytes | None
    """The content after; None: the file goes."""
    source: Parts | None = None
    """The file's former path, if the change moves it; then `former` and `text` are its content."""


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
            found = read(folder, path) if folder is not None else None
        return found.content if found is not None else None

    def exists(self) -> bool:
        """Whether there is the memory folder itself."""
        with self._opened(()) as folder:
            return folder is not None

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

    def files(self, path: Parts = ()) -> list["Listed"]:
        """The files at and below the folder `path`, sorted; without links, devices and names no agent could give.

        Raises:
            MemoryFull: others made more than MEMORY_ENTRIES_SEEN_MAX entries.
        """
        with self._opened(path) as folder:
            found = [] if folder is None else list(walk(folder, path, [MEMORY_ENTRIES_SEEN_MAX]))
        return sorted(found)

    # -- changing --

    def apply(self, change: Change) -> None:
        """Carries out a change, durably. Folders come and go with their files.

        Raises:
            MemoryChanged: the file is not as `change.former` says; nothing changed.
            MemoryPathUnusable: also if a name of a new file is there in another normal form.
            MemoryWriteFailed: the disk refused; nothing changed.
        """
        try:
            if change.source is not None:
                self._move(change.source, change.path, change.former)
            elif change.text is None:
                self._remove(change.path, change.former)
            else:
                self._put(change.path, change.former, change.text)
        except (OSError, ToolError) as error:
            with suppress(OSError, ToolError):  # Those that were made for the file.
                self._remove_empty_folders(change.path)
            if not isinstance(error, OSError):
                raise
            raise MemoryWriteFailed(
                f"Writing {shown(change.path)} failed: {error.strerror}.",
                hint="Nothing changed. Ask the user to check the disk and the folder's permissions.",
            ) from error

    def remove_temporaries(self) -> None:
        """Removes what a crash left of half a write. A folder that cannot be read stays as it is."""
        with suppress(OSError, ToolError), self._opened(()) as folder:
            if folder is not None:
                remove_temporaries(folder, MEMORY_DEPTH_MAX + 1)

    def remove_second_name(self, path: Parts, kept: Parts) -> bool:
        """Removes the name `path` if a crash left a file under it and under `kept`; whether it did."""
        with self._folder_of(path) as folder, self._folder_of(kept) as other:
            if folder is None or other is None:
                return False
            try:
                status = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
                second = os.stat(kept[-1], dir_fd=other, follow_symlinks=False)
            except FileNotFoundError:
                return False
            if not stat.S_ISREG(status.st_mode) or not os.path.samestat(status, second):
                return False
            os.unlink(path[-1], dir_fd=folder)
            os.fsync(folder)
        self._remove_empty_folders(path)
        return True

    def _put(self, path: Parts, former: bytes | None, text: bytes) -> None:
        with self._folder_of(path, make=former is None) as folder:
            if folder is None:  # Someone removed it, maybe just after it was made.
                raise changed(path)
            found = expect(folder, path, former)
            if found is None:
                check_no_twin(folder, path[-1], path)
            # A name that `remove_temporaries` knows.
            temporary = f".workspaced-{secrets.token_hex(8)}.tmp"
            write_new(temporary, text, folder, stat.S_IMODE(found.status.st_mode) if found is not None else None)
            try:
                if found is None:
                    link(temporary, folder, path, folder)
                elif not found.is_unchanged(folder, path):
                    raise changed(path)
                else:
                    os.replace(temporary, path[-1], src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
            os.fsync(folder)

    def _remove(self, path: Parts, former: bytes | None) -> None:
        with self._folder_of(path) as folder:
            if folder is None or expect(folder, path, former) is None:
                raise changed(path)
            os.unlink(path[-1], dir_fd=folder)
            os.fsync(folder)
        self._remove_empty_folders(path)

    def _move(self, source: Parts, path: Parts, content: bytes | None) -> None:
        with self._folder_of(source) as before, self._folder_of(path, make=True) as after:
            if before is None or after is None or expect(before, source, content) is None:
                raise changed(source)
            check_no_twin(after, path[-1], path)
            link(source[-1], before, path, after)
            try:
                os.fsync(after)
                with suppress(FileNotFoundError):  # A file system without hard links has moved it.
                    os.unlink(source[-1], dir_fd=before)
            except OSError:
                take_back(source, before, path, after)
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
                inner = enter(folder, name, path, make=make)
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
