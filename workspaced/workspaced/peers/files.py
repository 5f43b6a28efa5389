"""Files of a link in the data directory: read by their owner only, replaced as a whole, durably."""

import os
from pathlib import Path

from workspaced_events.private_files import make_folder, write_file


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
