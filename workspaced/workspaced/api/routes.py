"""The daemon's methods: the rows of all modules here, and MCP's calls of tools.

A handler returns the result, a coroutine that returns it, or DEFERRED if it answers through the session later.
"""

from typing import Final

from ..mcp.tools import CallTool, Page, call_tool, list_tools
from ..service.session import Method
from . import calls, conversations, daemon, editing, link, memory, publish, sharing, state_and_log, volunteering

_MODULES: Final = (
    *(daemon, publish, state_and_log, editing, calls, sharing, volunteering, memory, conversations, link),
)
METHODS: Final[dict[str, Method]] = {
    **{name: method for module in _MODULES for name, method in module.METHODS.items()},
    "tools/list": Method(Page, list_tools, works_paused=True),
    "tools/call": Method(CallTool, call_tool, works_paused=True),
}
