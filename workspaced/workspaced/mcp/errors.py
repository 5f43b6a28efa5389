"""Errors of MCP requests. Each carries its JSON-RPC number but no exit code, because the command line never sees
them.

WorkspacedError
  McpError
    UnsupportedVersion     UNSUPPORTED_VERSION, -32022: `supported` and `requested`, as the specification wants
    MetaMissing            META_MISSING, -32602: a request without what MCP 2026-07-28 needs in `_meta`
    ResourceRefused        the code of the tool that answered, -32602 or -32603, with `uri`
"""

from typing import Any

from ..errors import McpError


class UnsupportedVersion(McpError):
    code = "UNSUPPORTED_VERSION"
    jsonrpc = -32022


class MetaMissing(McpError):
    code = "META_MISSING"


class ResourceRefused(McpError):
    """A resource that does not exist, or cannot be read now."""

    def __init__(self, code: str, message: str, *, hint: str, jsonrpc: int = -32602, **details: Any) -> None:
        super().__init__(message, hint=hint, **details)
        self.code = code  # type: ignore[misc]  # the code of the tool that answered
        self.jsonrpc = jsonrpc
