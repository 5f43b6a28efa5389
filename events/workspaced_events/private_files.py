"""Folders and files for their owner only, whatever the umask and the parent folder allow."""

import os
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_folder(path: Path) -> None:
    """Makes a folder and its missing parents; leaves an existing folder unchanged.

    Raises:
        OSError: the folder cannot be made, or `path` is no folder.
    """
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(FOLDER_MODE)  # mkdir applies the umask, which may remove the owner's rights too


def write_file(path: Path, data: bytes) -> None:
    """Writes or overwrites a file; does not sync it.

    Raises:
        OSError: the file cannot be written; its content is then undefined.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        os.fchmod(descriptor, FILE_MODE)
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def touch_file(path: Path) -> None:
    """Makes an empty file if `path` is missing; takes the rights of other users from an existing one.

    Raises:
        OSError: the file cannot be made, or another user owns it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    if path.lstat().st_mode & 0o777 != FILE_MODE:
        path.chmod(FILE_MODE)


def read_private(path: Path) -> bytes | None:
    """What a file holds; None: there is none.

    Raises:
        OSError: it cannot be read, is a symlink, or others than its owner may read it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mode & 0o077:
            raise PermissionError(f"others than its owner may read {path}: chmod 600 it")
        return file.read()


def write_durably(path: Path, data: bytes) -> None:
    """Replaces a file: after a crash it holds the old or the new bytes, and once this returns the new ones.

    Raises:
        OSError: the file is as it was, or holds the new bytes which may not be durable.
    """
    make_folder(path.parent)
    new = path.with_name(path.name + ".new")
    write_file(new, data)
    _sync(new)
    new.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
