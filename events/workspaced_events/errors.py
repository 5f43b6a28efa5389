"""Errors of floor 1.

    WorkspacedError                 code, message, hint, details: what reaches the wire and the command line
      ActionError                   the caller's fault; carries the action's index in its batch
        InvalidArgument             INVALID_ARGUMENT
          NotInLog                  the same: no event in the log names a note with this path
        UnknownAction               UNKNOWN_ACTION
        NotAllowed                  NOT_ALLOWED
        OutsideVault                OUTSIDE_VAULT
        BatchTooLarge               BATCH_TOO_LARGE
        Conflict                    CONFLICT
        Paused                      PAUSED: the user paused the workspace; `since` and `until`
      Busy                          BUSY: the queue before the disk is full; retry
      PredicateFailed               PREDICATE_FAILED: the predicate command failed
      NeverTrue                     NEVER_TRUE: the predicate holds after no event in the range
      AlreadyTrue                   ALREADY_TRUE: the predicate holds before the first event of the range
      CannotTell                    CANNOT_TELL: the predicate turned true in a range it cannot narrow further
      LogError                      the log's fault
        DiskFull                    DISK_FULL: nothing of the batch was kept; works again once there is space
        BlobFailed                  BLOB_FAILED: a blob was not written, so its batch was refused; the log is fine
        LogFailed                   LOG_FAILED: poisoned until a restart
        LogReadOnly                 LOG_READ_ONLY: the log is damaged, so it was opened for reading
        LogDamaged                  LOG_DAMAGED: names file, offset and sequence
        LogUnreadable               LOG_UNREADABLE: names the file that cannot be read
        LogLocked                   ALREADY_RUNNING: another process holds the log

`code` is stable and part of the contract; the message is for people and may change.
"""

from typing import Any, ClassVar


class WorkspacedError(Exception):
    """An error for a caller: what is wrong, where, and what to do.

    Attributes:
        code: stable identifier, upper snake case.
        message: what was expected, what came, where.
        hint: the step that repairs it; may be empty if the message contains it.
        details: further fields for the wire, JSON-shaped, in snake_case.
    """

    code: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
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


class UnknownAction(ActionError):
    code = "UNKNOWN_ACTION"


class NotAllowed(ActionError):
    code = "NOT_ALLOWED"


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
    code = "BUSY"


class PredicateFailed(WorkspacedError):
    code = "PREDICATE_FAILED"


class NeverTrue(WorkspacedError):
    code = "NEVER_TRUE"


class AlreadyTrue(WorkspacedError):
    code = "ALREADY_TRUE"


class CannotTell(WorkspacedError):
    code = "CANNOT_TELL"


class LogError(WorkspacedError):
    code = "LOG_FAILED"


class DiskFull(LogError):
    code = "DISK_FULL"


class BlobFailed(LogError):
    code = "BLOB_FAILED"


class LogFailed(LogError):
    code = "LOG_FAILED"


class LogReadOnly(LogError):
    code = "LOG_READ_ONLY"


class LogDamaged(LogError):
    code = "LOG_DAMAGED"


class LogUnreadable(LogError):
    code = "LOG_UNREADABLE"


class LogLocked(LogError):
    code = "ALREADY_RUNNING"
