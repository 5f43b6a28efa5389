"""What a bridge and a daemon say to each other beside the agent's messages: what the daemon is, before anything is
passed on, and which tools the agent's list shows.

Imports only a small part of the standard library, because the bridge uses this module.
"""

from typing import Final

SERVES: Final = "io.github.workspaced/serves"
"""A key in `_meta` of a `ping`, and of its answer if it comes before any other request: there an object with
`workspace`, `vaults` (the paths of the folders) and `onDemand` (whether the daemon ends without clients)."""
GREETING: Final = b'{"jsonrpc":"2.0","id":0,"method":"ping","params":{"_meta":{"%s":true}}}\n' % SERVES.encode()
TOOLS_CHOSEN: Final = "notifications/workspaced/tools"
"""The notification by which an MCP client chooses the tools of its list. Its parameter `tools` is `core` or `all`.
It holds for the connection and may come before any request."""
CHOICES: Final = frozenset({"core", "all"})


def chosen(tools: str) -> bytes:
    """The notification's line for one of CHOICES."""
    assert tools in CHOICES
    return f'{{"jsonrpc":"2.0","method":"{TOOLS_CHOSEN}","params":{{"tools":"{tools}"}}}}\n'.encode()
