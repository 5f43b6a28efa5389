"""Who is at the other end of a socket. Asked before the first byte, by the daemon and by every client of ours:
the kernel knows it, while a path may lie where others can write, or be swapped.

Only a small part of the standard library is imported: the bridge uses it too.
"""

import os
import socket
import struct
import sys

from ..errors import NoDaemon


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end; of a server, the one who listened.

    Raises:
        OSError: the system does not say.
    """
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    # LOCAL_PEERCRED of macOS and the BSDs: struct xucred {version, uid, ...}.
    credentials = connection.getsockopt(0, 1, 76)  # pragma: no cover
    return int(struct.unpack_from("=II", credentials)[1])  # pragma: no cover


def check_daemon(connection: socket.socket, path: str | os.PathLike[str]) -> None:
    """Makes sure that a connection is to a program of this user.

    Raises:
        NoDaemon: it is another user's, or that cannot be known. Nothing was sent; the caller closes it.
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
