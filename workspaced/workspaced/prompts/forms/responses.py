"""OpenAI's responses: a list of items, of which those of the assistant that follow each other are one message."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from workspaced_tools.prompts.model.blocks import BLANK_LINE
from workspaced_tools.prompts.requests.reasoning import hold_reasoning

from .form import (
    BEGINNING,
    SYSTEM_ROLES,
    Earlier,
    ReadRequest,
    arguments_of,
    check_fields,
    check_order,
    detail_of,
    images_of,
    message_of,
    no_block,
    no_system,
    parts_of,
    refused,
    text_of,
    words_of,
)

_SIDES: Final = {"reasoning": "assistant", "function_call": "assistant", "function_call_output": "tool"}
_ORDER: Final = ("reasoning", "message", "function_call")
"""Of the assistant's items: a message of a conversation holds them in this one."""
_TEXTS: Final = ("input_text", "output_text")
_EMPTY: Final = ("annotations", "logprobs")
"""What the provider says of its own texts, and does not need again."""


def read(items: Sequence[Any], system: Any, earlier: Earlier | None) -> ReadRequest:
    """`system`: the instructions. The messages of the system that come first follow them.

    Raises:
        InvalidArgument: an item is not in the form, or is none that a conversation holds.
    """
    sides = [_side(item, at) for at, item in enumerate(items)]
    first = next((at for at, side in enumerate(sides) if side != "system"), len(sides)) if earlier is None else 0
    prompts = [text_of(system, None), *(_words(item, at) for at, item in enumerate(items[:first]))]
    reader, found = _Reader((earlier or BEGINNING).calls), []
    for side, group in groupby(range(first, len(items)), key=sides.__getitem__):
        places = list(group)
        if side == "assistant":
            raw = reader.answer([items[at] for at in places], places[0])
            found.append(message_of(raw, places[0]))
            continue
        found += [message_of(reader.message(items[at], side, at), at) for at in places]
    return ReadRequest(BLANK_LINE.join(filter(None, prompts)), tuple(found))


def _kind(item: Mapping[str, Any]) -> str:
    return str(item.get("type") or "message")


def _side(item: Any, at: int) -> str:
    if not isinstance(item, dict):
        raise refused(at, "Expected an item.")
    kind = _kind(item)
    if kind != "message":
        if kind not in _SIDES:
            raise refused(at, f"A conversation does not hold an item of type {kind!r}.")
        return _SIDES[kind]
    role = item.get("role")
    return "system" if role in SYSTEM_ROLES else str(role)


def _words(item: Mapping[str, Any], at: int) -> str:
    """The text of a message that is nothing but text."""
    check_fields(item, ("type", "role", "content", "id", "status", "phase"), at)
    return text_of(item.get("content"), at, _TEXTS, _EMPTY)


class _Reader:
    def __init__(self, calls: Mapping[str, str]) -> None:
        self._names = dict(calls)
        """Of each call by its id."""

    def message(self, item: Mapping[str, Any], side: str, at: int) -> dict[str, Any]:
        """Of anyone but the assistant."""
        if side == "system":
            raise no_system(at)
        if side == "tool":
            check_fields(item, ("type", "call_id", "output", "id", "status"), at)
            call = item.get("call_id")
            result = {"id": call, "name": self._names.get(str(call), "tool")}
            return {
                "role": "user",
                "toolResults": [{**result, "text": text_of(item.get("output"), at, _TEXTS, _EMPTY)}],
            }
        check_fields(item, ("type", "role", "content", "id", "status"), at)
        texts, images = [], []
        for part in parts_of(item.get("content"), at):
            if part.get("type") in {"text", *_TEXTS}:
                texts.append(words_of(part, at))
            elif part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
                check_fields(part, ("type", "image_url", *detail_of(part)), at)
                images.append(part["image_url"])
            else:
                raise no_block(part, at)
        return {"role": side, "text": BLANK_LINE.join(texts), "attachments": images_of(images, at)}

    def answer(self, items: Sequence[Mapping[str, Any]], at: int) -> dict[str, Any]:
        """The assistant's items as one message."""
        kinds = [_kind(item) for item in items]
        check_order(kinds, _ORDER, at)
        words = [item for item, kind in zip(items, kinds, strict=True) if kind == "message"]
        calls = [item for item, kind in zip(items, kinds, strict=True) if kind == "function_call"]
        reasoned = [item for item, kind in zip(items, kinds, strict=True) if kind == "reasoning"]
        ids = {str(call.get("call_id")): str(call["id"]) for call in calls if call.get("id")}
        first = next((str(each["id"]) for each in words if each.get("id")), None)
        phases = {each.get("phase") for each in words}
        if len(phases) > 1:
            raise refused(at, "A conversation holds an answer's words in one phase.")
        phase = next(iter(phases), None)
        held: list[Mapping[str, Any] | None] = [*reasoned]
        if phase and not held:
            held = [None]
        return {
            "role": "assistant",
            "text": BLANK_LINE.join(filter(None, (_words(each, at) for each in words))),
            "toolCalls": [self._call(each, at) for each in calls],
            "thinking": [{"redacted": hold_reasoning(each, first, ids, phase)} for each in held],
        }

    def _call(self, item: Mapping[str, Any], at: int) -> dict[str, Any]:
        check_fields(item, ("type", "call_id", "name", "arguments", "id", "status"), at)
        self._names[str(item.get("call_id"))] = str(item.get("name"))
        arguments = arguments_of(item.get("arguments") or "", at)
        return {"id": item.get("call_id"), "name": item.get("name"), "arguments": arguments}
