"""Every tool, in the order agents see them: what a fresh agent needs first comes first."""

from typing import Any, Final

from . import (
    get_context_manifest,
    get_current_note,
    get_navigation_history,
    get_note_by_reference,
    get_note_diff,
    get_related_notes,
    get_workspace_context,
    get_workspace_summary,
    search_workspace,
)
from .tool import Tool

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
