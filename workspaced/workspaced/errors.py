"""Errors of the process floor, and the one table from codes to JSON-RPC numbers and exit codes."""

from typing import Any, Final, NamedTuple

from workspaced_events.errors import WorkspacedError
from workspaced_events.interpreter import installation_of


class Wire(NamedTuple):
    """The JSON-RPC error number and the command line's exit code of an error code."""

    jsonrpc: int
    exit: int


CODES: Final[dict[str, Wire]] = {
    "INVALID_ARGUMENT": Wire(-32602, 2),
    "UNKNOWN_ACTION": Wire(-32602, 2),
    "NOT_ALLOWED": Wire(-32602, 2),
    "OUTSIDE_VAULT": Wire(-32602, 2),
    "BATCH_TOO_LARGE": Wire(-32602, 2),
    "UNKNOWN_TOOL": Wire(-32602, 2),
    "UNKNOWN_CONVERSATION": Wire(-32602, 2),
    "UNKNOWN_MESSAGE": Wire(-32602, 2),
    "UNKNOWN_BLOB": Wire(-32602, 2),
    "UNKNOWN_SHAPE": Wire(-32602, 2),
    "SHARING_OFF": Wire(-32602, 1),
    "CONFLICT": Wire(4001, 1),
    "BUSY": Wire(4002, 5),
    "DISK_FULL": Wire(4003, 4),
    "LOG_FAILED": Wire(4003, 4),
    "BLOB_FAILED": Wire(4003, 4),
    "LOG_READ_ONLY": Wire(4003, 4),
    "LOG_DAMAGED": Wire(4003, 4),
    "LOG_UNREADABLE": Wire(4003, 4),
    "TIMEOUT": Wire(4004, 5),
    "INVALID_JSON": Wire(-32700, 2),
    "INVALID_REQUEST": Wire(-32600, 2),
    "LINE_TOO_LARGE": Wire(-32600, 2),
    "UNKNOWN_METHOD": Wire(-32601, 2),
    "INTERNAL": Wire(-32603, 1),
    "NO_DAEMON": Wire(4005, 3),
    "SOCKET_UNUSABLE": Wire(4005, 3),
    "ALREADY_RUNNING": Wire(4005, 3),
    "WORKSPACE_NOT_NAMED": Wire(4005, 2),
    "BUDGET_EXCEEDED": Wire(4006, 1),
    "PAUSED": Wire(4007, 1),
    "READ_ONLY": Wire(4008, 1),
    "TEMPLATE_FAILED": Wire(-32603, 1),
    "NOT_RECORDED": Wire(-32602, 1),
    "SERVICE_FAILED": Wire(-32603, 1),
    "PACKAGE_MISSING": Wire(-32603, 1),
    "PORT_TAKEN": Wire(-32603, 1),
    "NOT_DELIVERED": Wire(-32603, 1),
    "NOT_LINKED": Wire(-32602, 1),
    "ALREADY_LINKED": Wire(-32602, 1),
    "NOT_CREATOR": Wire(-32602, 1),
    "READ_ERROR": Wire(-32603, 1),
    "MEMORY_OFF": Wire(-32602, 1),
    "MEMORY_CHANGED": Wire(4001, 1),
    "MEMORY_WRITE_FAILED": Wire(-32603, 1),
    "NEVER_TRUE": Wire(-32603, 1),
    "ALREADY_TRUE": Wire(-32603, 1),
}
"""Codes of tools are not listed: they come in results with `success: false`, and their exit code is 1."""


def wire(code: str) -> Wire:
    """The numbers for `code`."""
    return CODES.get(code, Wire(-32603, 1))


class NoDaemon(WorkspacedError):
    code = "NO_DAEMON"  # none listens, or the connection was refused or lost


class SocketUnusable(WorkspacedError):
    code = "SOCKET_UNUSABLE"


class SettingsInvalid(WorkspacedError):
    code = "INVALID_ARGUMENT"


class TimedOut(WorkspacedError):
    code = "TIMEOUT"


class PackageMissing(WorkspacedError):
    """`what` needs packages that only an extra brings. The hint installs them, wherever we came from."""

    code = "PACKAGE_MISSING"

    def __init__(self, what: str, extra: str) -> None:
        import shlex  # these are slow, and seldom needed
        from importlib.metadata import requires

        every = [each.partition(";") for each in requires("workspaced") or ()]
        wanted = [package for package, _, marker in every if marker.strip() == f"extra == '{extra}'"]
        command = shlex.join(installation_of(*wanted))
        super().__init__(f"{what} needs packages that are not installed.", hint=f"Install them: {command}")


class UnknownConversation(WorkspacedError):
    code = "UNKNOWN_CONVERSATION"


class UnknownMessage(WorkspacedError):
    code = "UNKNOWN_MESSAGE"


class RequestError(WorkspacedError):
    """An invalid request: INVALID_JSON, INVALID_REQUEST, UNKNOWN_METHOD, LINE_TOO_LARGE."""

    code = "INVALID_REQUEST"

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message, code=code, hint=hint, **details)


class RemoteError(WorkspacedError):
    """The daemon refused a request, with a code of its own, known here or not."""

    def __init__(self, code: str, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message, code=code, hint=hint, **details)


class McpError(WorkspacedError):
    """An error of MCP with its own JSON-RPC number."""

    jsonrpc: int = -32602


class UnsupportedVersion(McpError):
    code = "UNSUPPORTED_VERSION"
    jsonrpc = -32022
