"""Where a daemon over the past listens: under a name that no daemon of the present has."""

from pathlib import Path

import platformdirs

from ...errors import SettingsInvalid
from ...ipc.socket_path import default_socket


def past_socket(workspace: str) -> Path:
    """The socket of a daemon over the past with that name.

    Raises:
        SettingsInvalid: it is no name, or that of a workspace that the user has: its clients would find the past.
    """
    path = default_socket(workspace)
    if workspace == "default" or (platformdirs.user_data_path("workspaced") / workspace).exists():
        raise SettingsInvalid(
            f"{workspace!r} names a workspace of yours, whose clients would be answered from the past.",
            hint="Give another name.",
        )
    return path
