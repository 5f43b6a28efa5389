"""Messages as they are recorded: what each role may bring, and its texts on their way to the blobs."""

from collections.abc import Iterable
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import ConversationId, MessageId, uuid7
from workspaced_events.schema import catalogue as c
from workspaced_tools.prompts.model.text_store import BlobStaging

from . import params

READ_BY_US: Final = ("note", "active_note", "folder", "tag")
"""Attachments whose text is read when a prompt is made."""
NEEDS_NO_ID: Final = ("active_note", "selected_text")
"""Attachments that the workspace itself tells of."""


def recorded(
    conversation: ConversationId, message: params.Message, index: int
) -> tuple[c.MessageData, Iterable[bytes]]:
    """The data of a message's event, and the texts that it names. `index`: which of those said at once it is.

    Raises:
        InvalidArgument: nobody can have said it.
    """
    _check(message, index)
    aside = BlobStaging()
    kind = c.MessageAdded if message.replaces is None else c.MessageReplaced
    data = kind(
        conversation,
        MessageId(message.replaces or message.id or uuid7()),
        message.role,
        aside.text(message.text) if message.text is not None else None,
        tuple(_attachment(each, aside) for each in message.attachments),
        tuple(c.ToolCall(each.id, each.name, _arguments(each, aside)) for each in message.tool_calls),
        tuple(_tool_result(each, aside) for each in message.tool_results),
        tuple(c.Thinking(aside.text(each.text), each.signature) for each in message.thinking),
    )
    return data, aside.blobs.values()


def _attachment(attached: params.Attached, aside: BlobStaging) -> c.Attachment:
    has_surroundings = attached.before is not None or attached.after is not None
    text = "" if attached.text is None and has_surroundings else attached.text
    return c.Attachment(
        attached.kind,
        attached.id,
        _given(text, attached.search, aside),
        attached.title,
        form="text" if attached.search is None else "search",
        before_sha256=aside.text(attached.before) if attached.before is not None else None,
        after_sha256=aside.text(attached.after) if attached.after is not None else None,
    )


def _tool_result(result: params.ToolResult, aside: BlobStaging) -> c.ToolResult:
    text = _given(result.text, result.search, aside)
    assert text is not None, "checked"
    return c.ToolResult(
        result.id, result.name, text, result.is_error, form="text" if result.search is None else "search"
    )


def _given(text: str | None, search: params.Search | None, aside: BlobStaging) -> str | None:
    """The blob of a text, or of a search's JSON (workspaced_tools.prompts.sources.search_block)."""
    if search is not None:
        return aside.keep(msgspec.json.encode(search))
    return aside.text(text) if text is not None else None


def _arguments(call: params.ToolCall, aside: BlobStaging) -> str:
    given = call.arguments
    return aside.text(given) if isinstance(given, str) else aside.keep(msgspec.json.encode(given))


def _check(message: params.Message, index: int) -> None:
    """Raises InvalidArgument where the parts do not fit the role, or each other."""

    def refuse(what: str, hint: str) -> InvalidArgument:
        error = InvalidArgument(f"messages[{index}]: {what}", hint=hint)
        error.at_index(index)
        return error

    if message.role != "assistant" and (message.tool_calls or message.thinking):
        raise refuse(f"`toolCalls` and `thinking` are the assistant's; the role is {message.role!r}.", "")
    if message.role != "user" and (message.tool_results or message.attachments):
        raise refuse(f"`toolResults` and `attachments` are the user's; the role is {message.role!r}.", "")
    if message.tool_results and message.attachments:
        raise refuse(
            "a message that brings results of tools goes on with the turn before it and attaches nothing.",
            "Attach to the user's message that the turn begins with.",
        )
    if message.replaces is not None and message.id not in (None, message.replaces):
        raise refuse("`id` is another one than `replaces`.", "What replaces a message keeps its id.")
    for attached in message.attachments:
        if (wrong := _wrong_with(attached)) is not None:
            raise refuse(*wrong)
    for result in message.tool_results:
        if (result.text is None) == (result.search is None):
            raise refuse("the result of a tool has either a `text` or a `search`.", "Give one of the two.")


def _wrong_with(attached: params.Attached) -> tuple[str, str] | None:
    """What is wrong with an attachment, and what to do; None: nothing."""
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
