"""Checks which parts a message's role may have, and converts the message to the data of its event."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import system_clock
from workspaced_events.errors import ActionError, InvalidArgument
from workspaced_events.ids import ConversationId, MessageId, VaultId, uuid7
from workspaced_events.projections.conversations import Message
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.limits import ATTACHED_IMAGE_BYTES_MAX
from workspaced_tools.notes.images.types import decoded
from workspaced_tools.prompts.model.stored_texts import BlobStaging
from workspaced_tools.sharing.machines import linked_state

from . import params

READ_BY_US: Final = ("note", "active_note", "folder", "tag")
"""Kinds of attachments whose text the daemon reads when it assembles a prompt."""
NEEDS_NO_ID: Final = ("active_note", "selected_text")
"""Kinds of attachments that the workspace's state identifies."""

Uploaded = Callable[[str], bytes]
"""Returns the uploaded text of that sha256. Raises UNKNOWN_BLOB if there is none."""


def recorded(
    conversation: ConversationId, message: params.Message, index: int, uploaded: Uploaded
) -> tuple[c.MessageData, Iterable[bytes]]:
    """The data of a message's event, and the texts that the data names. `index`: the message's place in the
    request.

    Raises:
        InvalidArgument: the message's parts do not fit its role, or each other; an image is no data URI, or too
            large.
        UNKNOWN_BLOB: from `uploaded`.
    """
    _check(message, index)
    staging = _Staging(uploaded)
    kind = c.MessageAdded if message.replaces is None else c.MessageReplaced
    try:
        data = kind(
            conversation,
            MessageId(message.replaces or message.id or uuid7()),
            message.role,
            staging.content(message),
            tuple(_attachment(each, staging) for each in message.attachments),
            tuple(c.ToolCall(each.id, each.name, _arguments(each, staging)) for each in message.tool_calls),
            tuple(_tool_result(each, staging) for each in message.tool_results),
            tuple(_thinking(each, staging) for each in message.thinking),
        )
    except ActionError as error:
        error.at_index(index)
        raise
    return data, staging.blobs.values()


class _Staging(BlobStaging):
    """The texts of one message, given with it or uploaded before."""

    def __init__(self, uploaded: Uploaded) -> None:
        super().__init__()
        self._uploaded = uploaded

    def content(self, part: params.Message | params.Attached | params.ToolResult) -> str | None:
        """The hash of a part's text; None if it has none."""
        if part.text_sha256 is not None:
            return self.keep(self._uploaded(part.text_sha256))
        return self.text(part.text) if part.text is not None else None

    def uploaded(self, sha256: str) -> str:
        """The uploaded text itself, which is not staged."""
        return self._uploaded(sha256).decode()


def workspace_now(state: WorkspaceState, vault: VaultId | None) -> VaultState:
    """What the user looks at, at whichever machine of a link. What may not be shown is left out later."""
    return linked_state(state, vault, "me", system_clock()) or state.of(vault)


def resolved(message: c.MessageData, workspace: VaultState) -> tuple[c.MessageData, Iterable[bytes]]:
    """The message with the note and the selected text that it attaches, as the workspace has them now; and the
    texts that it names besides those given with it.

    The user may look at another note, or select something else, by the time that a prompt is assembled.
    """
    if not any(map(_needs_id, message.attachments)):
        return message, ()
    staging = BlobStaging()
    attachments = tuple(
        _as_it_is_now(each, workspace, staging) if _needs_id(each) else each for each in message.attachments
    )
    return replace(message, attachments=attachments), staging.blobs.values()


def as_given(message: Message | c.MessageData) -> Message | c.MessageData:
    """The message as the runtime gave it, to recognise it when it is sent again."""
    attachments = tuple(
        replace(each, id="", resolved=False, text_sha256=None) if each.resolved else each
        for each in message.attachments
    )
    return replace(message, attachments=attachments)


def _needs_id(attachment: c.Attachment) -> bool:
    return not attachment.id and attachment.kind in NEEDS_NO_ID and attachment.text_sha256 is None


def _as_it_is_now(attachment: c.Attachment, workspace: VaultState, staging: BlobStaging) -> c.Attachment:
    if attachment.kind == "active_note":
        active = workspace.active
        return replace(attachment, id=active.id if active is not None else "", resolved=True)
    selection = workspace.selection
    if selection is None:
        return replace(attachment, resolved=True)
    name = f"{selection.note}#L{selection.start_line}-L{selection.end_line}"
    text = staging.text(selection.text) if selection.text is not None else selection.text_sha256
    return replace(attachment, id=name, text_sha256=text, resolved=True)


def _attachment(attached: params.Attached, staging: _Staging) -> c.Attachment:
    return c.Attachment(attached.kind, attached.id, staging.content(attached), attached.title)


def _tool_result(result: params.ToolResult, staging: _Staging) -> c.ToolResult:
    text = staging.content(result)
    return c.ToolResult(
        result.id,
        result.name,
        staging.text("") if text is None else text,
        result.is_error,
        images=tuple(_image(each, staging) for each in result.images),
    )


def _image(image: params.Image, staging: _Staging) -> c.ResultImage:
    uri = image.text if image.text_sha256 is None else staging.uploaded(image.text_sha256)
    found = decoded(uri or "")
    if found is None:
        raise InvalidArgument(
            "An image in a tool's result is no data URI in base64.", hint="Send `data:image/png;base64,...`."
        )
    if len(found.content) > ATTACHED_IMAGE_BYTES_MAX:
        raise InvalidArgument(
            f"An image in a tool's result has {len(found.content)} bytes; at most {ATTACHED_IMAGE_BYTES_MAX} are "
            "sent.",
            hint="Make it smaller.",
        )
    return c.ResultImage(staging.keep(found.content), found.media_type)


def _thinking(thinking: params.Thinking, staging: BlobStaging) -> c.Thinking:
    if thinking.redacted is not None:
        return c.Thinking(staging.text(thinking.redacted), redacted=True)
    assert thinking.text is not None, "checked"
    return c.Thinking(staging.text(thinking.text), thinking.signature)


def _arguments(call: params.ToolCall, staging: BlobStaging) -> str:
    arguments = call.arguments
    return staging.text(arguments) if isinstance(arguments, str) else staging.keep(msgspec.json.encode(arguments))


def _check(message: params.Message, index: int) -> None:
    """Raises InvalidArgument if the parts do not fit the role, or each other."""
    problems = chain(_problems_of_role(message), _problems_of_parts(message))
    if (problem := next(problems, None)) is not None:
        error = InvalidArgument(f"messages[{index}]: {problem[0]}", hint=problem[1])
        error.at_index(index)
        raise error


_Problem = tuple[str, str]
"""What is wrong, and its repair."""


_OF_ROLE: Final = "Give them with a message of that role."


def _problems_of_role(message: params.Message) -> Iterator[_Problem]:
    if message.role != "assistant" and (message.tool_calls or message.thinking):
        yield f"`toolCalls` and `thinking` are the assistant's; the role is {message.role!r}.", _OF_ROLE
    if message.role != "user" and (message.tool_results or message.attachments):
        yield f"`toolResults` and `attachments` are the user's; the role is {message.role!r}.", _OF_ROLE
    if message.tool_results and message.attachments:
        yield (
            "a message that brings results of tools goes on with the turn before it and attaches nothing.",
            "Attach to the user's message that the turn begins with.",
        )
    if message.replaces is not None and message.id not in (None, message.replaces):
        yield "`id` is another one than `replaces`.", "What replaces a message keeps its id."


def _problems_of_parts(message: params.Message) -> Iterator[_Problem]:
    if message.text is not None and message.text_sha256 is not None:
        yield _TWO_TEXTS
    for attached in message.attachments:
        if (problem := _problem_of(attached)) is not None:
            yield problem
    for result in message.tool_results:
        if result.text is not None and result.text_sha256 is not None:
            yield _TWO_TEXTS
        if result.text is None and result.text_sha256 is None and not result.images:
            yield "the result of a tool has neither `text` nor `images`.", "Give one of the two."
        if any((each.text is None) == (each.text_sha256 is None) for each in result.images):
            yield _TWO_TEXTS
    for thinking in message.thinking:
        if (thinking.text is None) == (thinking.redacted is None):
            yield "thinking has either a `text` or what is `redacted`.", "Give one of the two."
        elif thinking.redacted == "":
            yield "thinking that is `redacted` has no data.", "Leave it out."
        elif thinking.redacted is not None and thinking.signature is not None:
            yield "thinking that is `redacted` has no `signature`.", "Its data is all that goes back."


_TWO_TEXTS: Final = "what has a text has either `text` or `textSha256`.", "Give one of the two."


def _problem_of(attached: params.Attached) -> _Problem | None:
    """The problem of an attachment and its repair; None if there is none."""
    of_kind = f"an attachment of kind {attached.kind!r}"
    has_text = attached.text is not None or attached.text_sha256 is not None
    if attached.text is not None and attached.text_sha256 is not None:
        return _TWO_TEXTS
    if not attached.id and attached.kind not in NEEDS_NO_ID:
        return f"{of_kind} needs an `id`.", "Give its path, URL or name."
    if has_text and attached.kind in READ_BY_US:
        what = f"the text of {of_kind} is read from the vault."
        return what, "Leave `text` out; what the runtime itself read is of kind `file`."
    if attached.kind == "tool_result" and not has_text:
        return f"{of_kind} has no `text`.", "Give it what the tool answered."
    return None
