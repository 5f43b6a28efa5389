"""The user at the other end of a socket. The daemon and all our clients check it before the first byte: the kernel
knows it, while a path may be in a folder that others can write to.

Imports only a small part of the standard library, because the bridge and the hooks use this module.
"""

import errno
import os
import socket
import struct
import sys

from ..errors import NoDaemon


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end; for a client, the user who listens.

    Raises:
        OSError: the system does not know it.
    """
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    # LOCAL_PEERCRED of macOS and the BSDs: struct xucred {version, uid, ...}.
    credentials = connection.getsockopt(0, 1, 76)  # pragma: no cover
    return int(struct.unpack_from("=II", credentials)[1])  # pragma: no cover


def check_daemon(connection: socket.socket, path: str | os.PathLike[str]) -> None:
    """Checks that a connection is to a program of this user.

    Raises:
        NoDaemon: it is another user's, or the user is unknown. Nothing was sent; the caller closes the connection.
    """
    place = os.fspath(path)
    try:
        uid = peer_uid(connection)
    except OSError as error:
        raise NoDaemon(
            f"Who listens on {place} cannot be known: {error.strerror or error}.",
            hint="Name another socket with --socket or WORKSPACED_SOCKET.",
        ) from None
    if uid != os.getuid():
        raise NoDaemon(
            f"What listens on {place} belongs to another user ({uid}; we are {os.getuid()}). Nothing was sent.",
            hint="Name your own daemon's socket with --socket or WORKSPACED_SOCKET.",
        )


def open_socket(path: str, timeout_s: float | None = None) -> socket.socket | None:
    """Connects to a daemon of this user; None if nobody listens there.

    Args:
        timeout_s: of the socket; None: it waits, also while the daemon accepts nobody.

    Raises:
        NoDaemon: it cannot be connected to, or is another user's. Nothing was sent.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        if os.stat(path).st_uid != os.getuid():  # the default socket may be in a directory that all can write to
            raise PermissionError(errno.EPERM, "it belongs to another user")
        connection.connect(path)
        check_daemon(connection, path)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise NoDaemon(f"Cannot connect to {path}: {error.strerror or error}.", hint="Check --socket.") from None
    except NoDaemon:
        connection.close()
        raise
    return connection
