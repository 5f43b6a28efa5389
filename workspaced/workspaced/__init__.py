"""What an editor's user is looking at, recorded as events, served to AI agents, replayable to the byte.

Floor 3: the process. Daemon, socket, command line, clients.

    Client, connect         talk to a running daemon (async, sync)
    replay                  read a log without one: `replay.open("bug.wsb")`
    WorkspacedError         the base of every error a caller is meant to see
"""

import importlib
from typing import TYPE_CHECKING, Any

from workspaced_events.errors import WorkspacedError

from .__about__ import __version__

if TYPE_CHECKING:
    from . import replay
    from .client.async_client import Client
    from .client.sync_client import SyncClient, connect

__all__ = ["Client", "SyncClient", "WorkspacedError", "__version__", "connect", "replay"]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, because the command line must start fast."""
    if name == "Client":
        from .client.async_client import Client

        return Client
    if name in ("SyncClient", "connect"):
        from .client import sync_client

        return getattr(sync_client, name)
    if name == "replay":
        return importlib.import_module(".replay", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
