"""Folders and files that only their owner can open, whatever the umask and the folder that they lie in."""

import os
from contextlib import suppress
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_folder(path: Path) -> None:
    """Makes a folder, and those above it that are missing; one that is there stays as it is.

    Raises:
        OSError: it cannot be made, or something else has its name.
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
        path.chmod(FOLDER_MODE)  # a strict umask has taken rights from its owner, too


def write_file(path: Path, data: bytes) -> None:
    """Writes a file anew; nothing is synced.

    Raises:
        OSError: it cannot be written; what it holds then is not known.
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
    """Makes an empty file where there is none, and closes one that is there to others.

    Raises:
        OSError: it cannot be made, or is another user's.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    if path.lstat().st_mode & 0o777 != FILE_MODE:
        path.chmod(FILE_MODE)
