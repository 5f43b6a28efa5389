"""The memory folder on disk: reads, lists and changes its files, and follows no link.

As in vault/files/safe_open.py every component is opened with O_NOFOLLOW relative to the descriptor of the one
before it. The folder itself is opened that way too, below a root that its owner named, so swapping any part of a
path for a link leads nowhere. A file counts only if it is a regular one with a single name: another name could
lie outside.

A file is replaced by a rename of a whole, synced one, so that no reader ever sees a part of it.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..errors import MemoryWriteFailed, ToolError
from ..limits import MEMORY_DEPTH_MAX, MEMORY_ENTRIES_SEEN_MAX
from ..vault.files.safe_open import VaultRoot
from .paths import Parts, shown
from .steps import (
    Listed,
    changed,
    check_no_twin,
    check_size,
    enter,
    expect,
    link,
    read,
    remove_temporaries,
    take_back,
    walk,
    write_new,
)


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

    def files(self, path: Parts = ()) -> list[Listed]:
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
