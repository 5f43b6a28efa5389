"""All tools, in the order of the list that agents see: the tools that a new agent needs first come first."""

from typing import Any, Final, Literal

from . import (
    get_context_manifest,
    get_current_note,
    get_navigation_history,
    get_note_by_reference,
    get_note_diff,
    get_related_notes,
    get_workspace_context,
    get_workspace_summary,
    memory,
    search_workspace,
)
from .tool import Tool

ToolSet = Literal["core", "all"]
"""The tools that one client's list shows. Every client may call every tool."""
CORE: Final = frozenset({"get_workspace_context", "get_current_note", "get_note_by_reference", "search_workspace"})
TOOLS: Final[dict[str, Tool[Any]]] = {
    tool.name: tool
    for tool in (
        get_workspace_context.TOOL,
        get_current_note.TOOL,
        get_note_by_reference.TOOL,
        get_note_diff.TOOL,
        search_workspace.TOOL,
        get_related_notes.TOOL,
        get_workspace_summary.TOOL,
        get_navigation_history.TOOL,
        get_context_manifest.TOOL,
    )
}
"""The tools that every daemon has. They only read."""
MEMORY: Final[Tool[Any]] = memory.TOOL
"""Only a daemon with a memory folder has it."""
EVERY_TOOL: Final[dict[str, Tool[Any]]] = {**TOOLS, MEMORY.name: MEMORY}
"""The tools that any daemon may have, and a log may hold calls of."""
