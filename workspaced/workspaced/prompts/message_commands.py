"""Checks which parts a message's role may have, and converts the message to the data of its event."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import ConversationId, MessageId, uuid7
from workspaced_events.projections.conversations import Message
from workspaced_events.projections.workspace_state import VaultState
from workspaced_events.schema import catalogue as c
from workspaced_tools.prompts.model.text_store import BlobStaging

from . import params

READ_BY_US: Final = ("note", "active_note", "folder", "tag")
"""Kinds of attachments whose text the daemon reads when it assembles a prompt."""
NEEDS_NO_ID: Final = ("active_note", "selected_text")
"""Kinds of attachments that the workspace's state identifies."""


def recorded(
    conversation: ConversationId, message: params.Message, index: int
) -> tuple[c.MessageData, Iterable[bytes]]:
    """The data of a message's event, and the texts that the data names. `index`: the message's place in the
    request.

    Raises:
        InvalidArgument: the message's parts do not fit its role, or each other.
    """
    _check(message, index)
    staging = BlobStaging()
    kind = c.MessageAdded if message.replaces is None else c.MessageReplaced
    data = kind(
        conversation,
        MessageId(message.replaces or message.id or uuid7()),
        message.role,
        staging.text(message.text) if message.text is not None else None,
        tuple(_attachment(each, staging) for each in message.attachments),
        tuple(c.ToolCall(each.id, each.name, _arguments(each, staging)) for each in message.tool_calls),
        tuple(_tool_result(each, staging) for each in message.tool_results),
        tuple(_thinking(each, staging) for each in message.thinking),
    )
    return data, staging.blobs.values()


def resolved(message: c.MessageData, workspace: VaultState) -> c.MessageData:
    """The message with the ids of the note and the selection that it attaches, as the workspace has them now.

    The user may look at another note by the time that a prompt is assembled.
    """
    attachments = tuple(
        replace(each, id=_id_now(each, workspace), resolved=True) if _needs_id(each) else each
        for each in message.attachments
    )
    return replace(message, attachments=attachments) if attachments != message.attachments else message


def as_given(message: Message | c.MessageData) -> Message | c.MessageData:
    """The message as the runtime gave it, to recognise it when it is sent again."""
    attachments = tuple(
        replace(each, id="", resolved=False) if each.resolved else each for each in message.attachments
    )
    return replace(message, attachments=attachments)


def _needs_id(attachment: c.Attachment) -> bool:
    given = (attachment.text_sha256, attachment.before_sha256, attachment.after_sha256)
    return not attachment.id and attachment.kind in NEEDS_NO_ID and not any(given)


def _id_now(attachment: c.Attachment, workspace: VaultState) -> str:
    if attachment.kind == "active_note":
        return workspace.active.id if workspace.active is not None else ""
    selection = workspace.selection
    return f"{selection.note}#L{selection.start_line}-L{selection.end_line}" if selection is not None else ""


def _attachment(attached: params.Attached, staging: BlobStaging) -> c.Attachment:
    has_surroundings = attached.before is not None or attached.after is not None
    text = "" if attached.text is None and has_surroundings else attached.text
    return c.Attachment(
        attached.kind,
        attached.id,
        _content(text, attached.search, staging),
        attached.title,
        form="text" if attached.search is None else "search",
        before_sha256=staging.text(attached.before) if attached.before is not None else None,
        after_sha256=staging.text(attached.after) if attached.after is not None else None,
    )


def _tool_result(result: params.ToolResult, staging: BlobStaging) -> c.ToolResult:
    text = _content(result.text, result.search, staging)
    assert text is not None, "checked"
    return c.ToolResult(
        result.id, result.name, text, result.is_error, form="text" if result.search is None else "search"
    )


def _thinking(thinking: params.Thinking, staging: BlobStaging) -> c.Thinking:
    if thinking.redacted is not None:
        return c.Thinking(staging.text(thinking.redacted), redacted=True)
    assert thinking.text is not None, "checked"
    return c.Thinking(staging.text(thinking.text), thinking.signature)


def _content(text: str | None, search: params.Search | None, staging: BlobStaging) -> str | None:
    """The hash of the staged text, or of the staged JSON of a search; None if there is neither."""
    if search is not None:
        return staging.keep(msgspec.json.encode(search))
    return staging.text(text) if text is not None else None


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


def _problems_of_role(message: params.Message) -> Iterator[_Problem]:
    if message.role != "assistant" and (message.tool_calls or message.thinking):
        yield f"`toolCalls` and `thinking` are the assistant's; the role is {message.role!r}.", ""
    if message.role != "user" and (message.tool_results or message.attachments):
        yield f"`toolResults` and `attachments` are the user's; the role is {message.role!r}.", ""
    if message.tool_results and message.attachments:
        yield (
            "a message that brings results of tools goes on with the turn before it and attaches nothing.",
            "Attach to the user's message that the turn begins with.",
        )
    if message.replaces is not None and message.id not in (None, message.replaces):
        yield "`id` is another one than `replaces`.", "What replaces a message keeps its id."


def _problems_of_parts(message: params.Message) -> Iterator[_Problem]:
    for attached in message.attachments:
        if (problem := _problem_of(attached)) is not None:
            yield problem
    for result in message.tool_results:
        if (result.text is None) == (result.search is None):
            yield "the result of a tool has either a `text` or a `search`.", "Give one of the two."
    for thinking in message.thinking:
        if (thinking.text is None) == (thinking.redacted is None):
            yield "thinking has either a `text` or what is `redacted`.", "Give one of the two."
        elif thinking.redacted is not None and thinking.signature is not None:
            yield "thinking that is `redacted` has no `signature`.", "Its data is all that goes back."


def _problem_of(attached: params.Attached) -> _Problem | None:
    """The problem of an attachment and its repair; None if there is none."""
    of_kind = f"an attachment of kind {attached.kind!r}"
    if not attached.id and attached.kind not in NEEDS_NO_ID:
        return f"{of_kind} needs an `id`.", "Give its path, URL or name."
    if attached.text is not None and attached.kind in READ_BY_US:
        what = f"the text of {of_kind} is read from the vault."
        return what, "Leave `text` out; what the runtime itself read is of kind `file`."
    if attached.search is not None and attached.kind != "tool_result":
        return f"{of_kind} takes no `search`.", "Attach what a search found as kind `tool_result`."
    if attached.kind == "tool_result" and (attached.text is None) == (attached.search is None):
        return f"{of_kind} has either a `text` or a `search`.", "Give one of the two."
    if attached.kind != "selected_text" and (attached.before, attached.after) != (None, None):
        return f"{of_kind} takes no `before` and `after`.", "They stand around a selected text."
    return None
