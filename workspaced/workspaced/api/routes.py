"""The daemon's methods: the rows of all modules here, and MCP's calls of tools.

A handler returns the result, a coroutine that returns it, or DEFERRED if it answers through the session later.
"""

from typing import Final

from ..mcp.tools import CallTool, Page, call_tool, list_tools
from ..service.session import Method
from . import (
    calls,
    conversations,
    daemon,
    editing,
    judging,
    link,
    memory,
    publish,
    sharing,
    state_and_log,
    volunteering,
)

METHODS: Final[dict[str, Method]] = {
    **daemon.METHODS,
    **publish.METHODS,
    **state_and_log.METHODS,
    **editing.METHODS,
    **calls.METHODS,
    **judging.METHODS,
    **sharing.METHODS,
    **volunteering.METHODS,
    **memory.METHODS,
    **conversations.METHODS,
    **link.METHODS,
    "tools/list": Method(Page, list_tools, works_paused=True),
    "tools/call": Method(CallTool, call_tool, works_paused=True),
}
