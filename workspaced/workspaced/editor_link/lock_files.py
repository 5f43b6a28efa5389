"""The lock file by which Claude Code finds an editor: `~/.claude/ide/<port>.lock`.

The file holds the token that opens the port, so it is its user's alone from its first byte, and it appears whole.
Other editors have theirs in the same folder: none of them is ever changed. Only a file that one of us left behind,
because it was killed, is removed.

As described in coder/claudecode.nvim, PROTOCOL.md (2026-06-25). Claude Code ignores CLAUDE_CONFIG_DIR here.
"""

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from workspaced_events.private_files import make_folder, write_file

from ..errors import SettingsInvalid

_LINK_LOCK_BYTES_MAX: Final = 64 * 1024
"""A longer lock file is none of ours."""
IDE_NAME: Final = "workspaced"
_SUFFIX: Final = ".lock"
_OTHERS_WRITE: Final = 0o022


class Lock(msgspec.Struct, frozen=True, rename="camel"):
    """What a lock file says."""

    pid: int
    workspace_folders: list[str]
    ide_name: str
    auth_token: str
    transport: str = "ws"


def lock_folder() -> Path:
    """The folder of the lock files; may be missing."""
    return Path.home() / ".claude" / "ide"


@contextmanager
def announced(port: int, folders: Sequence[str], token: str) -> Iterator[Path]:
    """Keeps the lock file of `port`, which this process listens on; folders that were made for it go with it.

    Raises:
        FileExistsError: another editor has a lock file of this port, so the link needs another port.
        SettingsInvalid: other users may write to the folder.
        SettingsInvalid: the file cannot be written.
    """
    folder = lock_folder()
    path = folder / f"{port}{_SUFFIX}"
    missing = [each for each in (folder, folder.parent) if not each.exists()]
    try:
        make_folder(folder)
        status = folder.stat()
        if status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
            raise SettingsInvalid(
                f"Other users may write to {folder}, and would read or replace the token of the link.",
                hint=f"If you trust what is in it: chmod 700 {folder}",
                path=str(folder),
            )
        for other, stale in own_locks():
            if is_gone(stale):
                _remove(other, stale)
        lock = Lock(os.getpid(), list(folders), IDE_NAME, token)
        _write(path, lock)
    except FileExistsError:
        raise
    except OSError as error:
        raise SettingsInvalid(
            f"Cannot write the lock file {path}: {error.strerror or error}.",
            hint="Claude Code looks for editors in this folder: make it writable for you.",
        ) from None
    try:
        yield path
    finally:
        _remove(path, lock)
        for made in missing:
            with suppress(OSError):  # it holds something
                made.rmdir()


def _write(path: Path, lock: Lock) -> None:
    """Makes the file whole and at once, or not at all where there is one."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    write_file(draft, msgspec.json.encode(lock))
    try:
        os.link(draft, path)
    finally:
        draft.unlink()


def own_locks() -> Iterator[tuple[Path, Lock]]:
    """The lock files of links of ours, by path, also of those that are gone."""
    for path in sorted(lock_folder().glob(f"*{_SUFFIX}")):
        lock = _read(path)
        if lock is not None and lock.ide_name == IDE_NAME:
            yield path, lock


def is_gone(lock: Lock) -> bool:
    """Whether its process has ended."""
    if lock.pid <= 0:
        return False
    try:
        os.kill(lock.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False  # another user's, so it is there
    return False


def _read(path: Path) -> Lock | None:
    """A lock file that is a plain one of this user; None: it is not, or it holds something else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if (
            not stat.S_ISREG(status.st_mode)
            or status.st_uid != os.getuid()
            or status.st_size > _LINK_LOCK_BYTES_MAX
        ):
            return None
        lock: Lock = msgspec.json.decode(os.read(descriptor, _LINK_LOCK_BYTES_MAX), type=Lock)
    except (OSError, msgspec.MsgspecError):
        return None
    finally:
        os.close(descriptor)
    return lock


def _remove(path: Path, lock: Lock) -> None:
    """Removes the lock file, unless another one stands in its place. The token tells: inodes are used again."""
    if _read(path) == lock:
        with suppress(OSError):
            path.unlink()
