"""What an editor's user is looking at, recorded as events, served to AI agents, replayable to the byte.

Floor 3: the process. Daemon, socket, command line, clients.

    Client, connect         talk to a running daemon (async, sync)
    WorkspacedError         the base of every error a caller is meant to see
"""

from typing import TYPE_CHECKING, Any

from workspaced_events.errors import WorkspacedError

from .__about__ import __version__

if TYPE_CHECKING:
    from .client import Client
    from .sync_client import SyncClient, connect

__all__ = ["Client", "SyncClient", "WorkspacedError", "__version__", "connect"]


def __getattr__(name: str) -> Any:
    """Loads the clients when they are first asked for: the command line must start fast."""
    if name == "Client":
        from .client import Client

        return Client
    if name in ("SyncClient", "connect"):
        from . import sync_client

        return getattr(sync_client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
