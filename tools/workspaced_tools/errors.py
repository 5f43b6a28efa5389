"""Errors of the reading floor.

    WorkspacedError                (workspaced_events.errors: code, message, hint, details)
      ToolError                    a tool cannot answer; becomes a result with success: false
        NoActiveNote               NO_ACTIVE_NOTE
        NoActiveVault              NO_ACTIVE_VAULT
        NoteNotFound               NOTE_NOT_FOUND
        AmbiguousReference         AMBIGUOUS_REFERENCE
        ReferenceOutsideVault      OUTSIDE_VAULT
        ArgumentInvalid            INVALID_ARGUMENT
        ReadFailed                 READ_ERROR
        SharingOff                 SHARING_OFF
        NotRecorded                NOT_RECORDED: of the past, and not kept
      BudgetExceeded               BUDGET_EXCEEDED: a prompt needs more tokens than it may have
      UnknownShape                 UNKNOWN_SHAPE: there is no template of that name that can be used
      TemplateFailed               TEMPLATE_FAILED: a template could not be rendered, or gave no JSON object
      BodyInvalid                  BODY_INVALID: a template gave a body that its provider would refuse

An error's `details` become the failed result's `data`: candidates, near titles.

`message` is the short sentence of a result's `error`, `hint` the one of its `message`: what to try next.
"""

from workspaced_events.errors import WorkspacedError


class ToolError(WorkspacedError):
    """A tool cannot answer; the caller sees a result with `success: false` in the usual shape."""


class NoActiveNote(ToolError):
    code = "NO_ACTIVE_NOTE"


class NoActiveVault(ToolError):
    code = "NO_ACTIVE_VAULT"


class NoteNotFound(ToolError):
    code = "NOTE_NOT_FOUND"


class AmbiguousReference(ToolError):
    code = "AMBIGUOUS_REFERENCE"


class ReferenceOutsideVault(ToolError):
    code = "OUTSIDE_VAULT"


class ArgumentInvalid(ToolError):
    code = "INVALID_ARGUMENT"


class ReadFailed(ToolError):
    code = "READ_ERROR"


class SharingOff(ToolError):
    code = "SHARING_OFF"


class NotRecorded(ToolError):
    code = "NOT_RECORDED"


class BudgetExceeded(WorkspacedError):
    """A prompt cannot be made to fit: what must be in it is too much, even without the library and old rounds.

    `details`, in tokens: `needed`, the `limit`; what is needed for `system`, `tools`, `turn`, `summary` and
    `history`; the `library`, which is not.
    """

    code = "BUDGET_EXCEEDED"


class UnknownShape(WorkspacedError):
    """No template of that name can be used. `details`: the names of what is `known`."""

    code = "UNKNOWN_SHAPE"


class TemplateFailed(WorkspacedError):
    """A template could not be rendered. `details`: its `template` and, where it is known, the `line`."""

    code = "TEMPLATE_FAILED"


class BodyInvalid(WorkspacedError):
    """A template's body would be refused. `details`: the `template`, and the JSON `path` of what is wrong."""

    code = "BODY_INVALID"
