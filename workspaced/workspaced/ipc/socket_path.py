"""The socket's path, and its protection from other users.

The directory must belong to us, be no symlink and be closed to others; the socket's mode is set before it has a
name. Every check uses lstat and refuses a failure: nothing that somebody else made is repaired.
"""

import os
import re
import socket
import stat
import sys
from pathlib import Path
from typing import Final

from ..errors import SettingsInvalid, SocketUnusable

_SOCKET_PATH_BYTES_MAX: Final = 103 if sys.platform == "darwin" else 107
WORKSPACE_NAME: Final = re.compile(r"^[a-z0-9][a-z0-9._-]{0,31}$", re.ASCII)


def default_socket(workspace: str) -> Path:
    """The default socket of a workspace.

    Raises:
        SettingsInvalid: the name is invalid.
    """
    if not WORKSPACE_NAME.match(workspace):
        raise SettingsInvalid(
            f"{workspace[:100]!r} is no name of a workspace.",
            hint="Lower-case letters, digits, '.', '_' and '-', at most 32, beginning with a letter or digit.",
        )
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(runtime, "workspaced", f"{workspace}.sock")
    import tempfile  # Not above: it imports bz2, lzma and shutil, which a client and the bridge do without.

    return Path(tempfile.gettempdir(), f"workspaced-{os.getuid()}", f"{workspace}.sock")


def inherited_socket() -> socket.socket | None:
    """The socket passed by a service manager (systemd's LISTEN_FDS protocol), if any."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
        return None
    return socket.socket(fileno=3)


def bind_socket(path: Path) -> socket.socket:
    """A listening socket at `path`, closed to other users from its first moment.

    Raises:
        SocketUnusable: the path is too long or taken, its directory unsafe, or another daemon listens there.
    """
    encoded = os.fsencode(path)
    if len(encoded) > _SOCKET_PATH_BYTES_MAX:
        raise SocketUnusable(
            f"The socket path is {len(encoded)} bytes long; the system takes {_SOCKET_PATH_BYTES_MAX}.",
            hint="Give a shorter one with --socket or WORKSPACED_SOCKET.",
            path=str(path),
        )
    _ensure_private_directory(path.parent)
    _remove_stale(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        before = os.umask(0o177)
        try:
            if sys.platform == "linux":
                os.fchmod(server.fileno(), 0o600)
            server.bind(str(path))
        finally:
            os.umask(before)
        server.listen(128)
        server.setblocking(False)
    except OSError as error:
        server.close()
        raise SocketUnusable(
            f"Cannot listen on {path}: {error.strerror}.", hint="Give another --socket."
        ) from error
    return server


def remove_socket(path: Path, bound: os.stat_result) -> None:
    """Removes the socket bound at `path`, unless another daemon has replaced it."""
    try:
        if os.path.samestat(path.lstat(), bound):
            path.unlink()
    except FileNotFoundError:
        return


def _ensure_private_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.lstat(directory)
    except OSError as error:
        raise SocketUnusable(
            f"Cannot make the socket's directory {directory}: {error.filename or directory}: {error.strerror}.",
            hint="Name one in a folder that you may write to: --socket PATH, or WORKSPACED_SOCKET. The default "
            "one is below XDG_RUNTIME_DIR, else TMPDIR.",
        ) from error
    if not stat.S_ISDIR(status.st_mode):
        raise SocketUnusable(f"{directory} is no directory.", hint="Remove it, or give another --socket.")
    if status.st_uid != os.getuid():
        raise SocketUnusable(f"{directory} belongs to another user.", hint="Give another --socket.")
    if status.st_mode & 0o022:
        raise SocketUnusable(
            f"Others may write to {directory}.",
            hint="Put the socket into a directory of your own that is closed to others (chmod 700).",
        )


def _remove_stale(path: Path) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise SocketUnusable(f"{path} exists and is no socket.", hint="Remove it, or give another --socket.")
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.settimeout(1.0)
        probe.connect(str(path))
    except (ConnectionRefusedError, FileNotFoundError):
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SocketUnusable(f"Cannot tell who listens on {path}: {error.strerror or error}.") from error
    else:
        raise SocketUnusable(
            f"Another daemon listens on {path}.",
            hint="For another vault beside it: `workspaced serve --workspace NAME --vault DIR`. Otherwise use "
            "that one, or stop it with `workspaced stop`.",
        )
    finally:
        probe.close()
