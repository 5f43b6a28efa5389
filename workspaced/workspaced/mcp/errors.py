"""Errors of MCP requests. Each carries its JSON-RPC number but no exit code, because the command line never sees
them.

WorkspacedError
  McpError
    MetaMissing            META_MISSING, -32602: a request without what MCP 2026-07-28 needs in `_meta`
    Refused                UNKNOWN_RESOURCE, UNKNOWN_PROMPT, or the code of the tool that answered; -32602 or
                           -32603, with `uri` or `prompt`
"""

from typing import Any, Final

import msgspec

from workspaced_tools.answers import Result

from ..errors import McpError
from ..recording.call_recorder import ToolAnswer

_TRANSIENT: Final = frozenset({"READ_ERROR", "INDEX_BUILDING", "INTERNAL"})
"""Errors on our side, not the caller's."""


class MetaMissing(McpError):
    code = "META_MISSING"


class Refused(McpError):
    """A resource or a prompt that does not exist, or cannot be made now; with the code of what answered."""

    def __init__(self, code: str, message: str, *, hint: str, jsonrpc: int = -32602, **details: Any) -> None:
        super().__init__(message, code=code, hint=hint, **details)
        self.jsonrpc = jsonrpc


_REFUSAL: Final = msgspec.json.Decoder(Result)


def refused_by_tool(answer: ToolAnswer, **details: Any) -> Refused:
    """The error for a tool's failed answer."""
    refusal = _REFUSAL.decode(answer.payload)
    code = refusal.code or "INTERNAL"
    number = -32603 if code in _TRANSIENT else -32602
    message = f"{(refusal.error or '').rstrip('.')}."
    return Refused(code, message, hint=refusal.message, jsonrpc=number, **details)
