"""The daemon's own directories: what lies there is the truth about its person, so it must be that person's alone.

A directory that is another user's, or that others may write to, is refused with the command that repairs it:
nothing is taken over that somebody else may have prepared. Where others may look into one (0755), what the daemon
keeps in it is closed to them, and the directory itself where nothing else lies there.
"""

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from workspaced_events.private_files import FILE_MODE, FOLDER_MODE, make_folder

from ..errors import FolderUnsafe, SettingsInvalid

_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_OURS = frozenset(
    {"log", "blobs", "served", "policy", "quarantine", "snapshots", "forgetting", "cache", "lock", "imported"}
)
"""What the daemon keeps in a data directory,"""
_INDEX = re.compile(r"[0-9a-f]{24}\.(sqlite.*|seal|new)")
"""and in a cache directory (tools/vault/index_file)."""
_LEVELS = 2
"""So many below the directory are looked at: its folders, and what is in them."""


def own_folder(directory: Path, what: str) -> None:
    """Makes the directory, or makes sure that it and what is in it are ours alone.

    Args:
        what: `data` or `cache`, as the option calls it.

    Raises:
        FolderUnsafe: something there is another user's, or a folder may be written to by others.
        SettingsInvalid: it cannot be made or looked at.
    """
    try:
        make_folder(directory)
        found = directory.stat()
        _check(directory, found, what)
        for path, inner in _within(directory, _LEVELS):
            _check(path, inner, what)
        if stat.S_IMODE(found.st_mode) & _OTHERS:
            _close(directory)
    except OSError as error:
        raise SettingsInvalid(
            f"Cannot use the {what} directory {directory}: {error.strerror}.", hint=f"Give another --{what}-dir."
        ) from error


def _within(directory: Path, levels: int) -> Iterator[tuple[Path, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            path = Path(entry.path)
            try:
                found = entry.stat()
            except FileNotFoundError:  # a link that leads nowhere, or gone by now
                continue
            yield path, found
            if levels > 1 and stat.S_ISDIR(found.st_mode):
                yield from _within(path, levels - 1)


def _check(path: Path, found: os.stat_result, what: str) -> None:
    quoted = shlex.quote(str(path))
    if found.st_uid != os.getuid():
        raise FolderUnsafe(
            f"{path} in the {what} directory belongs to user {found.st_uid}, and we are {os.getuid()}.",
            hint=f"Give another --{what}-dir; if you trust what is in it: sudo chown -R {os.getuid()} {quoted}",
            path=str(path),
        )
    if stat.S_ISDIR(found.st_mode) and found.st_mode & _OTHERS_WRITE:
        raise FolderUnsafe(
            f"Others may write to {path} in the {what} directory (mode {stat.S_IMODE(found.st_mode):04o}).",
            hint=f"If you trust what is in it: chmod 700 {quoted}",
            path=str(path),
        )


def _close(directory: Path) -> None:
    """Takes from others what they can do with our files and folders in a directory that they may look into."""
    names = set(os.listdir(directory))
    ours = {name for name in names if name in _OURS or _INDEX.fullmatch(name)}
    for name in ours:
        _close_one(directory / name)
        for folder, folders, files in os.walk(directory / name):
            for inner in (*folders, *files):
                _close_one(Path(folder, inner))
    if ours == names:
        directory.chmod(FOLDER_MODE)


def _close_one(path: Path) -> None:
    found = path.lstat()
    if stat.S_IMODE(found.st_mode) & _OTHERS and not stat.S_ISLNK(found.st_mode):
        path.chmod(FOLDER_MODE if stat.S_ISDIR(found.st_mode) else FILE_MODE)
