"""Gemini's contents. Its calls may come without ids: a result then answers the oldest open call of its name.

Fields may be written as its REST interface has them or as its Python client has (`inline_data`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

import msgspec

from workspaced_tools.prompts.model.blocks import BLANK_LINE

from .form import (
    BEGINNING,
    Earlier,
    ReadRequest,
    check_fields,
    check_order,
    images_of,
    message_of,
    refused,
    role_of,
    words_of,
)

_SNAKE: Final = {
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "mime_type": "mimeType",
    "thought_signature": "thoughtSignature",
}
_ORDER: Final = ("functionResponse", "thought", "text", "functionCall")
_ANSWERS: Final = ("output", "result", "error")
"""The field of a response that holds it, where it is the only one."""


def read(contents: Sequence[Any], system: Any, earlier: Earlier | None) -> ReadRequest:
    """`system`: the system instruction, a text or a content.

    Raises:
        InvalidArgument: a content is not in the form, or holds what a conversation cannot.
    """
    reader = _Reader(earlier or BEGINNING)
    found = tuple(message_of(reader.message(each, at), at) for at, each in enumerate(contents))
    return ReadRequest(_instruction(system), found)


def _instruction(system: Any) -> str:
    parts = system.get("parts") if isinstance(system, dict) else system
    texts = [{"text": parts}] if isinstance(parts, str) else [parts] if isinstance(parts, dict) else parts or []
    if not isinstance(texts, list) or not all(
        isinstance(each, dict) and isinstance(each.get("text"), str) for each in texts
    ):
        raise refused(None, "Expected nothing but text.")
    return BLANK_LINE.join(each["text"] for each in texts)


class _Reader:
    def __init__(self, earlier: Earlier) -> None:
        self._numbers = count(1 + len(earlier.calls))
        self._open: dict[str, list[str]] = {}
        """The ids of calls without a result, by name."""
        for known, name in earlier.calls.items():
            if known in earlier.open:
                self._open.setdefault(name, []).append(known)
        self._readers: dict[str, Callable[[Any, int, dict[str, Any]], None]] = {
            "text": self._add_text,
            "functionCall": self._add_call,
            "functionResponse": self._add_response,
            "inlineData": self._add_image,
        }

    def message(self, content: Any, at: int) -> dict[str, Any]:
        role = {"model": "assistant"}.get(found := role_of({"role": "user", **content}, at), found)
        made: dict[str, Any] = {"role": role}
        check_fields(content, ("role", "parts"), at)
        if not isinstance(content.get("parts"), list):
            raise refused(at, "Expected a list of `parts`.")
        parts = [_named(raw, at) for raw in content["parts"]]
        check_order([_kind(part) for part in parts], _ORDER, at)
        for part in parts:
            name = _held_in(part)
            if name not in self._readers:
                raise refused(at, f"A conversation does not hold a part with `{name}`.")
            self._sign(part, at, made)
            if not part.get("thought"):
                self._readers[name](part[name], at, made)
        texts, images = made.pop("texts", []), made.pop("images", [])
        return {**made, "text": BLANK_LINE.join(texts), "attachments": images_of(images, at)}

    def _sign(self, part: Mapping[str, Any], at: int, made: dict[str, Any]) -> None:
        """Holds a thought, and the signature of a call, which the body gives back to the first call.

        A signature of plain words is left out: the provider does not ask for it.
        """
        signature, is_thought = part.get("thoughtSignature"), bool(part.get("thought"))
        if is_thought:
            text = str(part.get("text") or "")
            made.setdefault("thinking", []).append({"text": text, "signature": signature})
        elif signature is not None and "functionCall" in part:
            if made.get("toolCalls"):
                raise refused(at, "A conversation holds the signature of a message's first call alone.")
            made.setdefault("thinking", []).append({"text": "", "signature": signature})

    def _add_text(self, text: Any, at: int, made: dict[str, Any]) -> None:
        made.setdefault("texts", []).append(words_of({"text": text}, at))

    def _add_call(self, call: Any, at: int, made: dict[str, Any]) -> None:
        check_fields(_object(call, at), ("id", "name", "args"), at)
        name = _name(call, at)
        known = call.get("id") or f"call_{next(self._numbers)}"
        self._open.setdefault(name, []).append(known)
        called = {"id": known, "name": name, "arguments": call.get("args") or {}}
        made.setdefault("toolCalls", []).append(called)

    def _add_response(self, response: Any, at: int, made: dict[str, Any]) -> None:
        check_fields(_object(response, at), ("id", "name", "response"), at)
        name = _name(response, at)
        waiting = self._open.get(name, [])
        known = response.get("id") or (waiting[0] if waiting else f"call_{next(self._numbers)}")
        if known in waiting:
            waiting.remove(known)
        text, is_error = _answer(response.get("response"))
        result = {"id": known, "name": name, "text": text, "isError": is_error}
        made.setdefault("toolResults", []).append(result)

    def _add_image(self, data: Any, at: int, made: dict[str, Any]) -> None:
        held = {_SNAKE.get(key, key): value for key, value in _object(data, at).items()}
        check_fields(held, ("mimeType", "data"), at)
        if not str(held.get("mimeType")).startswith("image/"):
            raise refused(at, f"A conversation does not hold {held.get('mimeType')!r}.")
        made.setdefault("images", []).append(f"data:{held['mimeType']};base64,{held.get('data')}")


def _named(raw: Any, at: int) -> dict[str, Any]:
    """The part with the names of the REST interface."""
    return {_SNAKE.get(key, key): value for key, value in _object(raw, at).items() if value is not None}


def _held_in(part: Mapping[str, Any]) -> str:
    """The name of the field that holds the part; of several one that no part may have beside another."""
    names = [name for name in part if name not in ("thought", "thoughtSignature")]
    return names[0] if len(names) == 1 else "+".join(names) or "nothing"


def _kind(part: Mapping[str, Any]) -> str:
    name = _held_in(part)
    return "thought" if part.get("thought") else name if name in _ORDER else "text"


def _name(value: Mapping[str, Any], at: int) -> str:
    if not isinstance(value.get("name"), str):
        raise refused(at, "Expected a text as `name`.")
    return str(value["name"])


def _object(value: Any, at: int) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise refused(at, "Expected an object.")
    return value


def _answer(response: Any) -> tuple[str, bool]:
    """The text of a tool's response, and whether it is an error."""
    names: Iterator[str] = (name for name in _ANSWERS if isinstance(response, dict) and set(response) == {name})
    name = next(names, None)
    if name is not None and isinstance(response[name], str):
        return response[name], name == "error"
    return msgspec.json.encode(response).decode(), name == "error"
