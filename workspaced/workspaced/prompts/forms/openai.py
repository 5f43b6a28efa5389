"""Chat completions."""

from collections.abc import Mapping, Sequence
from typing import Any

from workspaced_tools.prompts.model.blocks import BLANK_LINE

from .form import (
    BEGINNING,
    SYSTEM_ROLES,
    Earlier,
    ReadRequest,
    arguments_of,
    check_fields,
    detail_of,
    images_of,
    listed,
    message_of,
    no_block,
    no_system,
    parts_of,
    refused,
    role_of,
    text_of,
    words_of,
)


def read(messages: Sequence[Any], system: Any, earlier: Earlier | None) -> ReadRequest:
    """The messages of the system that come first are its prompt.

    Raises:
        InvalidArgument: a message is not in the form, or holds what a conversation cannot.
    """
    if system is not None:
        raise refused(None, "The messages hold the system prompt: leave `system` out.")
    others = (at for at, each in enumerate(messages) if role_of(each, at) not in SYSTEM_ROLES)
    first = next(others, len(messages)) if earlier is None else 0
    prompts = [text_of(each.get("content"), at) for at, each in enumerate(messages[:first])]
    reader = _Reader((earlier or BEGINNING).calls)
    found = tuple(
        message_of(reader.message(each, at), at) for at, each in enumerate(messages[first:], start=first)
    )
    return ReadRequest(BLANK_LINE.join(filter(None, prompts)), found)


class _Reader:
    def __init__(self, calls: Mapping[str, str]) -> None:
        self._names = dict(calls)
        """Of each call by its id."""

    def message(self, message: Any, at: int) -> dict[str, Any]:
        role = role_of(message, at)
        if role == "tool":
            check_fields(message, ("role", "content", "tool_call_id", "name"), at)
            call = message.get("tool_call_id")
            name = self._names.get(call, message.get("name") or "tool") if isinstance(call, str) else "tool"
            result = {"id": call, "name": name, "text": text_of(message.get("content"), at)}
            return {"role": "user", "toolResults": [result]}
        if role in SYSTEM_ROLES:
            raise no_system(at)
        check_fields(message, ("role", "content", "tool_calls"), at)
        if role == "assistant":
            calls = [self._call(each, at) for each in listed(message.get("tool_calls"), at)]
            return {"role": role, "text": text_of(message.get("content"), at), "toolCalls": calls}
        texts, images = [], []
        for part in parts_of(message.get("content"), at):
            if part.get("type") == "text":
                texts.append(words_of(part, at))
            elif part.get("type") == "image_url" and isinstance(part.get("image_url"), dict):
                check_fields(part["image_url"], ("url", *detail_of(part["image_url"])), at)
                images.append(str(part["image_url"].get("url")))
            else:
                raise no_block(part, at)
        return {"role": role, "text": BLANK_LINE.join(texts), "attachments": images_of(images, at)}

    def _call(self, call: Any, at: int) -> dict[str, Any]:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise refused(at, "Expected a call of a function.")
        check_fields(call, ("id", "type", "function", "index"), at)
        check_fields(function, ("name", "arguments"), at)
        self._names[str(call.get("id"))] = str(function.get("name"))
        arguments = arguments_of(function.get("arguments") or "", at)
        return {"id": call.get("id"), "name": function.get("name"), "arguments": arguments}
