"""Protects the daemon's own directories: their content is trusted, so only their user may access it.

A directory of another user, or one that others may write to, is refused with the command that repairs it, because
somebody else may have prepared its content. If others may only read a directory (0755), the daemon closes its own
files there to them, and the directory itself if it holds nothing else.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from workspaced_events.private_files import FILE_MODE, FOLDER_MODE, make_folder

from ..errors import SettingsInvalid

_OTHERS = 0o077
_OTHERS_WRITE = 0o022
DATA_NAMES = frozenset(
    (
        *("log", "start", "blobs", "served", "swept", "policy", "quarantine", "snapshots", "states", "forgetting"),
        *("cache", "lock", "link", "overlay-key"),
    )
)
"""The daemon's names in a data directory."""
INDEX_NAME = re.compile(r"[0-9a-f]{24}\.(sqlite.*|seal|new)")
"""The daemon's names in a cache directory (tools/vault/index/database.py)."""
_LEVELS = 2
"""Levels below the directory that are checked: its folders and their entries."""


def own_folder(directory: Path, what: str) -> None:
    """Makes the directory, or checks that it and its content are ours alone.

    Args:
        what: `data` or `cache`, as in the option's name.

    Raises:
        SettingsInvalid: an entry belongs to another user, or others may write to a folder.
        SettingsInvalid: the directory cannot be made or checked.
    """
    try:
        make_folder(directory)
        status = directory.stat()
        _check(directory, status, what)
        for path, inner in _within(directory, _LEVELS):
            _check(path, inner, what)
        if stat.S_IMODE(status.st_mode) & _OTHERS:
            _close(directory)
    except OSError as error:
        raise SettingsInvalid(
            f"Cannot use the {what} directory {directory}: {error.filename or directory}: {error.strerror}.",
            hint=f"Give a folder that you may write to: --{what}-dir DIR, or WORKSPACED_{what.upper()}_DIR.",
            path=str(directory),
        ) from error


def _within(directory: Path, levels: int) -> Iterator[tuple[Path, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            path = Path(entry.path)
            try:
                status = entry.stat()
            except FileNotFoundError:  # a dangling link, or removed meanwhile
                continue
            yield path, status
            if levels > 1 and stat.S_ISDIR(status.st_mode):
                yield from _within(path, levels - 1)


def _check(path: Path, status: os.stat_result, what: str) -> None:
    quoted = shlex.quote(str(path))
    if status.st_uid != os.getuid():
        raise SettingsInvalid(
            f"{path} in the {what} directory belongs to user {status.st_uid}, and we are {os.getuid()}.",
            hint=f"Give another --{what}-dir; if you trust what is in it: sudo chown -R {os.getuid()} {quoted}",
            path=str(path),
        )
    if stat.S_ISDIR(status.st_mode) and status.st_mode & _OTHERS_WRITE:
        raise SettingsInvalid(
            f"Others may write to {path} in the {what} directory (mode {stat.S_IMODE(status.st_mode):04o}).",
            hint=f"If you trust what is in it: chmod 700 {quoted}",
            path=str(path),
        )


def _close(directory: Path) -> None:
    """Removes other users' rights on our files and folders in a directory that others may read."""
    names = set(os.listdir(directory))
    ours = {name for name in names if name in DATA_NAMES or INDEX_NAME.fullmatch(name)}
    for name in ours:
        _close_one(directory / name)
        for folder, folders, files in os.walk(directory / name):
            for inner in (*folders, *files):
                _close_one(Path(folder, inner))
    if ours == names:
        directory.chmod(FOLDER_MODE)


def _close_one(path: Path) -> None:
    status = path.lstat()
    if stat.S_IMODE(status.st_mode) & _OTHERS and not stat.S_ISLNK(status.st_mode):
        path.chmod(FOLDER_MODE if stat.S_ISDIR(status.st_mode) else FILE_MODE)
