"""Errors of floor 2.

A `ToolError` becomes a failed result: `message` becomes its `error`, a short sentence; `hint` becomes its
`message`, the next thing to try; `details` become its `data`, such as candidates, near titles or the
note's outline.
"""

from workspaced_events.errors import WorkspacedError


class ToolError(WorkspacedError):
    """A tool cannot answer. The caller gets a result with `success: false` in the usual form."""


class NoActiveNote(ToolError):
    code = "NO_ACTIVE_NOTE"


class NoActiveVault(ToolError):
    code = "NO_ACTIVE_VAULT"


class NoteNotFound(ToolError):
    code = "NOTE_NOT_FOUND"


class SectionNotFound(ToolError):
    """The note has no such heading or block. `details`: the `note`, and its `outline`."""

    code = "SECTION_NOT_FOUND"


class IndexBuilding(ToolError):
    """What a name means is not sure before the index is built. `details`: what it means so far."""

    code = "INDEX_BUILDING"


class AmbiguousReference(ToolError):
    code = "AMBIGUOUS_REFERENCE"


class ReferenceOutsideVault(ToolError):
    code = "OUTSIDE_VAULT"


class SymlinkNotFollowed(ToolError):
    code = "SYMLINK"  # the path is a symlink, or leads through one


class ArgumentInvalid(ToolError):
    code = "INVALID_ARGUMENT"


class ReadFailed(ToolError):
    code = "READ_ERROR"


class NotDownloaded(ToolError):
    code = "NOT_DOWNLOADED"  # a sync program keeps the file elsewhere
    what_to_do = "Ask the user to download it: open it once, or keep the whole vault on this machine."


class BinaryFile(ToolError):
    """The file is no UTF-8 text, or holds a NUL; only its name is known."""

    code = "BINARY_FILE"


class FileTooLarge(ToolError):
    """The file is no Markdown and larger than NOTE_BYTES_MAX; only its name is known."""

    code = "FILE_TOO_LARGE"


class SharingOff(ToolError):
    code = "SHARING_OFF"


class NotRecorded(ToolError):
    code = "NOT_RECORDED"  # the question is about the past, and its answer is not kept


class NotKept(NotRecorded):
    """A blob that the log names is not there."""


class ReadOnly(ToolError):
    code = "READ_ONLY"  # the daemon stands at a moment of the past; trying again changes nothing


class MemoryOff(ToolError):
    code = "MEMORY_OFF"  # no memory folder is set


class MemoryNotFound(ToolError):
    code = "MEMORY_NOT_FOUND"


class MemoryExists(ToolError):
    code = "MEMORY_EXISTS"


class MemoryPathUnusable(ToolError):
    code = "MEMORY_PATH_UNUSABLE"  # a link, a device, a path that is not the agent's


class MemoryEditFailed(ToolError):
    code = "MEMORY_EDIT_FAILED"  # no such line, or no such text, or several


class MemoryFull(ToolError):
    code = "MEMORY_FULL"  # a bound on files, bytes or folders


class MemoryChanged(ToolError):
    """The file is not as a write expected it: someone else changed it."""

    code = "MEMORY_CHANGED"


class MemoryWriteFailed(ToolError):
    code = "MEMORY_WRITE_FAILED"


class BudgetExceeded(WorkspacedError):
    """A prompt cannot fit: its required parts exceed the limit, even without the library and old rounds.

    `details`, in tokens: `needed` and `limit`; the required parts `system`, `tools`, `turn`, `summary` and
    `history`; and the `library`, which is not required.
    """

    code = "BUDGET_EXCEEDED"


class UnknownShape(WorkspacedError):
    """No usable template has that name. `details`: the `known` names."""

    code = "UNKNOWN_SHAPE"


class TemplateFailed(WorkspacedError):
    """A template cannot be rendered. `details`: the `template` and, if known, the `line`."""

    code = "TEMPLATE_FAILED"
