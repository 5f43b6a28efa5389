"""Errors of the recording floor.

    WorkspacedError                 code, message, hint, details: what reaches the wire and the command line
      ActionError                   the caller's fault; carries the action's index in its batch
        InvalidArgument             INVALID_ARGUMENT
          NotInLog                  the same: the log tells of no note that has this path
        UnknownAction               UNKNOWN_ACTION
        NotAllowed                  NOT_ALLOWED
        OutsideVault                OUTSIDE_VAULT
        BatchTooLarge               BATCH_TOO_LARGE
        Conflict                    CONFLICT
      Busy                          BUSY: the queue before the disk is full; retry
      PredicateFailed               PREDICATE_FAILED: the command that tells states apart did not work
      NeverTrue                     NEVER_TRUE: no event that was looked at shows what was looked for
      AlreadyTrue                   ALREADY_TRUE: it shows before the first event that was looked at
      CannotTell                    CANNOT_TELL: one of some events shows it; the command could not tell which
      LogError                      the log's fault
        DiskFull                    DISK_FULL: nothing of the batch was kept; works again once there is space
        BlobFailed                  BLOB_FAILED: a blob could not be kept, so its batch was not; the log goes on
        LogFailed                   LOG_FAILED: poisoned until a restart
        LogReadOnly                 LOG_READ_ONLY: opened over damage
        LogDamaged                  LOG_DAMAGED: names file, offset and sequence
        LogUnreadable               LOG_UNREADABLE: a file of the log cannot be read; names it
        LogLocked                   ALREADY_RUNNING: another process holds the log

`code` is stable and part of the contract; the message is for people and may change.
"""

from typing import Any, ClassVar


class WorkspacedError(Exception):
    """An error that a caller is meant to see: what is wrong, where, and what to do.

    Attributes:
        code: stable identifier, upper snake case.
        message: what was expected, what came, where.
        hint: the step that repairs it; may be empty when the message already says so.
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
    """A publisher's action was refused; nothing of its batch was appended."""

    def at_index(self, index: int) -> "ActionError":
        """The same error, saying which action of the batch it speaks of."""
        self.details.setdefault("index", index)
        return self


class InvalidArgument(ActionError):
    code = "INVALID_ARGUMENT"


class NotInLog(InvalidArgument):
    """The log tells of no note that has this path."""


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
