"""Records of running daemons, for clients that do not know the socket: one small file each, in a private folder.

The folder is below HOME, and no other variable moves it. Agents' runtimes start their servers with little more of
the environment (the official SDKs pass on HOME, LOGNAME, PATH, SHELL, TERM and USER), so the default socket, which
depends on XDG_RUNTIME_DIR and TMPDIR, has another path there than in the user's shell.

A record is a hint: connecting to its socket shows whether the daemon runs. Any client removes a record with a dead
socket. A file that may not be ours (a symlink, another owner, open to others, garbage) is ignored and left alone.

Imports only a small part of the standard library: the bridge starts with this module, and pathlib alone would take
a tenth of its memory.
"""

import errno
import json
import os
import socket
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

from ..limits import PROBE_S, RECORD_BYTES_MAX

RECORD_VERSION: Final = 1
_SUFFIX: Final = ".json"


class Record(NamedTuple):
    """The description of a running daemon. All paths are absolute."""

    pid: int
    socket: str
    workspace: str
    version: str
    data_dir: str
    vaults: tuple[str, ...]
    """Real paths of the served folders."""


# -- for clients --


def find(folder: "str | os.PathLike[str]") -> Record | None:
    """The running daemon that serves this folder, or else the nearest one above it; None if there is none."""
    return serving(running(), [folder])


def serving(records: Iterable[Record], folders: "Sequence[str | os.PathLike[str]]") -> Record | None:
    """The daemon that serves every one of these folders or a folder above it; of several the one nearest to the
    first folder."""
    wanted = [os.path.realpath(os.path.expanduser(folder)) for folder in folders]
    if not wanted:
        return None
    fits = [each for each in records if all(_nearest(each, path) for path in wanted)]
    return max(fits, key=lambda each: _nearest(each, wanted[0]), default=None)


def running() -> list[Record]:
    """Every reachable daemon of this user on this machine, by workspace and socket."""
    reachable = []
    for path, seen, record in _read_all():
        listening = is_listening(record.socket)
        if listening:
            reachable.append(record)
        elif listening is not None:
            _sweep(path, seen)
    return sorted(reachable, key=lambda each: (each.workspace, each.socket))


def is_listening(path: str) -> bool | None:
    """Whether a process of this user accepts connections at `path`, however slowly; None if that is unknown."""
    try:
        if os.stat(path).st_uid != os.getuid():
            return None
    except OSError:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_S)
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except TimeoutError:
            return True  # its queue is full
        except OSError:
            return None
    return True


def state_directory() -> str:
    """The folder of the records and of the files for starting on demand. Does not make it."""
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    return os.path.join(os.path.expanduser("~"), below, "workspaced", "daemons")


def make_state_directory() -> str:
    """Makes the state directory if it is missing.

    Raises:
        OSError: it cannot be made, is open to others, or belongs to another user.
    """
    path = state_directory()
    _make_folder(path)
    if not _is_private(path):
        raise PermissionError(errno.EPERM, "Expected a directory of ours, closed to others (chmod 700)", path)
    return path


def _make_folder(path: str) -> None:
    """Like `make_folder` of workspaced_events.private_files, which the bridge does not import."""
    if not path or os.path.isdir(path):
        return
    _make_folder(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    else:
        os.chmod(path, 0o700)  # mkdir applies the umask, which may remove the owner's rights too


def recorded() -> list[Record]:
    """Every daemon that has left a record, whether or not it runs: asking that would keep idle ones alive."""
    return [record for _, _, record in _read_all()]


def was_stopped(workspace: str) -> bool:
    """Whether the user has stopped the workspace's daemon, and none of it ran since."""
    return os.path.exists(_stop_mark(workspace))


def remember_stop(workspace: str) -> None:
    """Lets nobody whose daemon has ended start the workspace's next one; the next daemon forgets it."""
    with suppress(OSError):
        make_state_directory()
        os.close(os.open(_stop_mark(workspace), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))


def _stop_mark(workspace: str) -> str:
    return os.path.join(state_directory(), f"{workspace}.{os.uname().nodename}.stopped")


# -- for the daemon --


@contextmanager
def announced(record: Record) -> Iterator[None]:
    """Keeps a daemon's record while it runs; then removes it, unless another daemon has replaced it.

    Raises:
        OSError: the record cannot be written; clients must then know the socket.
    """
    import hashlib

    # One name per host and socket, so that a daemon replaces its predecessor's record. Hosts may share a home, but
    # not a socket.
    place = hashlib.sha256(os.fsencode(f"{os.uname().nodename}\0{record.socket}")).hexdigest()[:16]
    path = os.path.join(make_state_directory(), f"{record.workspace}-{place}{_SUFFIX}")
    _write(path, json.dumps(to_wire(record), indent=1).encode() + b"\n")
    written = os.lstat(path)
    with suppress(FileNotFoundError):
        os.unlink(_stop_mark(record.workspace))
    try:
        yield
    finally:
        _sweep(path, written)


def to_wire(record: Record) -> dict[str, Any]:
    """The record as in its file and in `workspaced status --all --json`."""
    return {
        "workspaced": RECORD_VERSION,
        "host": os.uname().nodename,
        "pid": record.pid,
        "socket": record.socket,
        "workspace": record.workspace,
        "version": record.version,
        "dataDir": record.data_dir,
        "vaults": list(record.vaults),
    }


def _write(path: str, content: bytes) -> None:
    draft = f"{path}.{os.getpid()}"
    with suppress(FileNotFoundError):
        os.unlink(draft)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
        os.rename(draft, path)
    except OSError:  # such as a full disk
        os.unlink(draft)
        raise
    finally:
        os.close(descriptor)


# -- reading untrusted files --


def _read_all() -> Iterator[tuple[str, os.stat_result, Record]]:
    directory = state_directory()
    if not _is_private(directory):
        return
    host = os.uname().nodename
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if name.endswith(_SUFFIX) and (read := _read(path)) is not None:
            seen, wire = read
            if wire.get("host") == host and (record := _from_wire(wire)) is not None:
                yield path, seen, record


def _read(path: str) -> tuple[os.stat_result, dict[str, Any]] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        seen = os.fstat(descriptor)
        ours = stat.S_ISREG(seen.st_mode) and seen.st_uid == os.getuid() and not seen.st_mode & 0o077
        if not ours or seen.st_size > RECORD_BYTES_MAX:
            return None
        wire = json.loads(os.read(descriptor, RECORD_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(descriptor)
    return (seen, wire) if isinstance(wire, dict) else None


def _from_wire(wire: dict[str, Any]) -> Record | None:
    pid, vaults = wire.get("pid"), wire.get("vaults")
    texts = [wire.get(name) for name in ("socket", "workspace", "version", "dataDir")]
    paths = [texts[0], *(vaults if isinstance(vaults, list) else [None])]
    if (
        wire.get("workspaced") != RECORD_VERSION
        or type(pid) is not int
        or not all(isinstance(text, str) for text in texts)
        or not all(isinstance(path, str) and path.startswith("/") and "\0" not in path for path in paths)
    ):
        return None
    place, workspace, version, data_dir = map(str, texts)
    return Record(pid, place, workspace, version, data_dir, vaults=tuple(map(str, paths[1:])))


def _sweep(path: str, seen: os.stat_result) -> None:
    """Removes the record that was read, unless another one has replaced it."""
    with suppress(OSError):
        if os.path.samestat(os.lstat(path), seen):
            os.unlink(path)


def _is_private(directory: str) -> bool:
    try:
        status = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _nearest(record: Record, folder: str) -> int:
    """The length of the path of the served folder that is or contains `folder`; 0 if there is none."""
    within = (vault for vault in record.vaults if folder == vault or folder.startswith(vault.rstrip("/") + "/"))
    return max((len(vault) for vault in within), default=0)
