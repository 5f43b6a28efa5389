"""Anthropic's Messages API."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from workspaced_tools.prompts.model.blocks import BLANK_LINE

from .form import (
    BEGINNING,
    SYSTEM_ROLES,
    Earlier,
    Json,
    ReadRequest,
    check_fields,
    check_order,
    images_of,
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
    """`system`: the system prompt, a text or blocks.

    Raises:
        InvalidArgument: a message is not in the form, or holds what a conversation cannot.
    """
    reader = _Reader((earlier or BEGINNING).calls)
    found = tuple(message_of(reader.message(each, at), at) for at, each in enumerate(messages))
    return ReadRequest(text_of(system, None, fields=_MARK), found)


class _Reader:
    def __init__(self, calls: Mapping[str, str]) -> None:
        self._names = dict(calls)
        self._read: dict[str, Callable[[Json, int, dict[str, Any]], None]] = {
            "text": self._add_text,
            "image": self._add_image,
            "thinking": self._add_thinking,
            "redacted_thinking": self._add_thinking,
            "tool_use": self._add_call,
            "tool_result": self._add_result,
        }

    def message(self, message: Any, at: int) -> dict[str, Any]:
        role = role_of(message, at)
        check_fields(message, ("role", "content"), at)
        if role in SYSTEM_ROLES:
            raise no_system(at)
        made: dict[str, Any] = {"role": role}
        parts = list(parts_of(message.get("content"), at))
        order = _ORDERS.get(role, _ORDERS["user"])
        check_order([_kind(part, order) for part in parts], order, at)
        for part in parts:
            if (add := self._read.get(str(part.get("type")))) is None:
                raise no_block(part, at)
            add(part, at, made)
            if (mark := part.get("cache_control")) is not None:
                made["cacheControl"] = mark
        texts, images = made.pop("texts", []), made.pop("images", [])
        return {**made, "text": BLANK_LINE.join(texts), "attachments": images_of(images, at)}

    def _add_text(self, part: Json, at: int, made: dict[str, Any]) -> None:
        made.setdefault("texts", []).append(words_of(part, at, _MARK))

    def _add_image(self, part: Json, at: int, made: dict[str, Any]) -> None:
        check_fields(part, ("type", "source", "cache_control"), at)
        made.setdefault("images", []).append(_data_uri(part, at))

    def _add_thinking(self, part: Json, at: int, made: dict[str, Any]) -> None:
        check_fields(part, ("type", "thinking", "signature", "data"), at)
        thought = (
            {"redacted": part.get("data")}
            if part["type"] == "redacted_thinking"
            else {"text": part.get("thinking"), "signature": part.get("signature")}
        )
        made.setdefault("thinking", []).append(thought)

    def _add_call(self, part: Json, at: int, made: dict[str, Any]) -> None:
        check_fields(part, ("type", "id", "name", "input", "cache_control"), at)
        self._names[str(part.get("id"))] = str(part.get("name"))
        call = {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("input") or {}}
        made.setdefault("toolCalls", []).append(call)

    def _add_result(self, part: Json, at: int, made: dict[str, Any]) -> None:
        check_fields(part, ("type", "tool_use_id", "content", "is_error", "cache_control"), at)
        inner = list(parts_of(part.get("content"), at))
        images = [{"text": _data_uri(each, at)} for each in inner if each.get("type") == "image"]
        text = text_of([each for each in inner if each.get("type") != "image"], at, fields=_MARK)
        call = part.get("tool_use_id")
        result = {"id": call, "name": self._names.get(str(call), "tool"), "text": text, "images": images}
        made.setdefault("toolResults", []).append({**result, "isError": bool(part.get("is_error"))})


_MARK: Final = ("cache_control",)
_ORDERS: Final = {"assistant": ("thinking", "text", "tool_use"), "user": ("tool_result", "text")}


def _kind(part: Json, order: Sequence[str]) -> str:
    """The block's place in the order; images stand with words."""
    kind = str(part.get("type")).removeprefix("redacted_")
    return kind if kind in order else "text"


def _data_uri(part: Json, at: int) -> str:
    source = part.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        raise refused(at, "A conversation holds images as base64 alone.")
    return f"data:{source.get('media_type')};base64,{source.get('data')}"
