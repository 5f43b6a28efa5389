"""Errors of floor 1: what reaches the wire and the command line.

`code` is stable and part of the contract; the message is for people and may change.
"""

from typing import Any


class WorkspacedError(Exception):
    """An error for a caller: what is wrong, where, and what to do.

    Attributes:
        code: stable identifier, upper snake case.
        message: what was expected, what came, where.
        hint: the step that repairs it; may be empty if the message contains it.
        details: further fields for the wire, JSON-shaped, in snake_case.
    """

    code: str = "INTERNAL"

    def __init__(self, message: str, *, code: str | None = None, hint: str = "", **details: Any) -> None:
        """`code`: another one than the class's, for errors that differ in nothing else."""
        super().__init__(message)
        if code is not None:
            self.code = code
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = details

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ActionError(WorkspacedError):
    """The daemon refused a publisher's action and appended nothing of its batch."""

    def at_index(self, index: int) -> "ActionError":
        """Adds the action's index in its batch to the details; an index already there stays."""
        self.details.setdefault("index", index)
        return self


class InvalidArgument(ActionError):
    code = "INVALID_ARGUMENT"


class NotInLog(InvalidArgument):
    """No event in the log names a note with this path."""


class OutsideVault(ActionError):
    code = "OUTSIDE_VAULT"


class BatchTooLarge(ActionError):
    code = "BATCH_TOO_LARGE"


class Conflict(ActionError):
    code = "CONFLICT"


class Paused(ActionError):
    """The user paused the workspace: nothing is recorded or answered. `details`: `since`, `until` or None."""

    code = "PAUSED"


class Busy(WorkspacedError):
    code = "BUSY"  # the queue before the disk is full: retry


class NeverTrue(WorkspacedError):
    code = "NEVER_TRUE"  # the expression is true after no event


class LogError(WorkspacedError):
    code = "LOG_FAILED"


class DiskFull(LogError):
    code = "DISK_FULL"  # nothing of the batch was kept; works again once there is space


class LogFailed(LogError):
    """The log takes nothing more until a restart."""


class LogReadOnly(LogError):
    code = "LOG_READ_ONLY"  # it is damaged, so it was opened for reading


class LogDamaged(LogError):
    code = "LOG_DAMAGED"


class LogUnreadable(LogError):
    code = "LOG_UNREADABLE"


class LogLocked(LogError):
    code = "ALREADY_RUNNING"  # another process holds the log
