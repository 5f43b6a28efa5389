"""The notification by which an MCP client chooses the tools of its list.

Imports only a small part of the standard library, because the bridge uses this module.
"""

from typing import Final

TOOLS_CHOSEN: Final = "notifications/workspaced/tools"
"""Its parameter `tools` is `core` or `all`. It holds for the connection and may come before any request."""
CHOICES: Final = frozenset({"core", "all"})


def chosen(tools: str) -> bytes:
    """The notification's line for one of CHOICES."""
    assert tools in CHOICES
    return f'{{"jsonrpc":"2.0","method":"{TOOLS_CHOSEN}","params":{{"tools":"{tools}"}}}}\n'.encode()
