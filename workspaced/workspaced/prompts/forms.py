"""Reads messages in the forms of providers as messages of a conversation.

What a conversation cannot hold is an error, never left out: the caller then sends its request as it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.decoding import converted
from workspaced_tools.prompts.model.blocks import BLANK_LINE

from . import params as p

MessagesForm = Literal["openai", "anthropic"]
_HINT: Final = "Send the request as it is."
_Json = Mapping[str, Any]


class Told(NamedTuple):
    """A request's system prompt and messages."""

    system: str
    messages: tuple[p.Message, ...]


def told(form: MessagesForm, messages: Sequence[Any], system: Any, *, begins: bool) -> Told:
    """The messages of a request, and its system prompt: for `openai` the messages of the system that come first.

    `begins`: whether these are the first messages; otherwise there is no system prompt.

    Raises:
        InvalidArgument: a message is not in the form, or holds what a conversation cannot.
    """
    read: _OpenAi | _Anthropic
    if form == "openai":
        others = (at for at, each in enumerate(messages) if _role(each, at) not in _SYSTEM)
        first = next(others, len(messages)) if begins else 0
        prompts = [_text(each.get("content"), at) for at, each in enumerate(messages[:first])]
        read, begin = _OpenAi(), first
    else:
        prompts, read, begin = [_text(system, None)], _Anthropic(), 0
    found = []
    for at, message in enumerate(messages[begin:], start=begin):
        raw = read.message(message, at)
        try:
            found.append(converted(raw, p.Message))
        except msgspec.ValidationError as error:
            raise _refused(at, f"{error}.") from None
    return Told(BLANK_LINE.join(filter(None, prompts)), tuple(found))


_SYSTEM: Final = frozenset({"system", "developer"})


def _refused(at: int | None, what: str) -> InvalidArgument:
    where = f"messages[{at}]" if at is not None else "system"
    return InvalidArgument(f"{where}: {what}", hint=_HINT)


def _role(message: Any, at: int) -> str:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise _refused(at, "Expected an object with a `role`.")
    return str(message["role"])


def _checked(value: _Json, known: Iterable[str], at: int) -> None:
    unknown = sorted(name for name, each in value.items() if name not in known and each not in (None, [], {}))
    if unknown:
        raise _refused(at, f"A conversation does not hold `{unknown[0]}`.")


def _parts(content: Any, at: int | None) -> Iterator[dict[str, Any]]:
    """A message's content as blocks."""
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    if not isinstance(content, list) or not all(isinstance(each, dict) for each in content):
        raise _refused(at, "Expected a text or a list of blocks as `content`.")
    yield from content


def _text(content: Any, at: int | None) -> str:
    """The texts of a content that is nothing but text."""
    parts = list(_parts(content, at))
    if any(part.get("type") != "text" or not isinstance(part.get("text"), str) for part in parts):
        raise _refused(at, "Expected nothing but text.")
    return BLANK_LINE.join(part["text"] for part in parts)


class _OpenAi:
    """Chat completions."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        """Of each call by its id."""

    def message(self, message: Any, at: int) -> dict[str, Any]:
        role = _role(message, at)
        if role == "tool":
            _checked(message, ("role", "content", "tool_call_id", "name"), at)
            call = message.get("tool_call_id")
            name = self._names.get(call, message.get("name") or "tool") if isinstance(call, str) else "tool"
            result = {"id": call, "name": name, "text": _text(message.get("content"), at)}
            return {"role": "user", "toolResults": [result]}
        if role in _SYSTEM:
            return {"role": "system", "text": _text(message.get("content"), at)}
        _checked(message, ("role", "content", "tool_calls"), at)
        if role == "assistant":
            calls = [self._call(each, at) for each in message.get("tool_calls") or []]
            return {"role": role, "text": _text(message.get("content"), at), "toolCalls": calls}
        texts, images = [], []
        for part in _parts(message.get("content"), at):
            if part.get("type") == "text":
                texts.append(str(part.get("text")))
            elif part.get("type") == "image_url" and isinstance(part.get("image_url"), dict):
                images.append(str(part["image_url"].get("url")))
            else:
                raise _refused(at, f"A conversation does not hold a block of type {part.get('type')!r}.")
        return {"role": role, "text": BLANK_LINE.join(texts), "attachments": _images(images, at)}

    def _call(self, call: Any, at: int) -> dict[str, Any]:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise _refused(at, "Expected a call of a function.")
        self._names[str(call.get("id"))] = str(function.get("name"))
        return {"id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments") or "{}"}


class _Anthropic:
    """Messages."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._read: dict[str, Callable[[_Json, int, dict[str, Any]], None]] = {
            "text": self._add_text,
            "image": self._add_image,
            "thinking": self._add_thinking,
            "redacted_thinking": self._add_thinking,
            "tool_use": self._add_call,
            "tool_result": self._add_result,
        }

    def message(self, message: Any, at: int) -> dict[str, Any]:
        role = _role(message, at)
        _checked(message, ("role", "content"), at)
        made: dict[str, Any] = {"role": role}
        for part in _parts(message.get("content"), at):
            if (add := self._read.get(str(part.get("type")))) is None:
                raise _refused(at, f"A conversation does not hold a block of type {part.get('type')!r}.")
            add(part, at, made)
            if (mark := part.get("cache_control")) is not None:
                made["cacheControl"] = mark
        texts, images = made.pop("texts", []), made.pop("images", [])
        return {**made, "text": BLANK_LINE.join(texts), "attachments": _images(images, at)}

    def _add_text(self, part: _Json, at: int, made: dict[str, Any]) -> None:
        _checked(part, ("type", "text", "cache_control"), at)
        made.setdefault("texts", []).append(str(part.get("text")))

    def _add_image(self, part: _Json, at: int, made: dict[str, Any]) -> None:
        made.setdefault("images", []).append(_data_uri(part, at))

    def _add_thinking(self, part: _Json, at: int, made: dict[str, Any]) -> None:
        _checked(part, ("type", "thinking", "signature", "data"), at)
        thought = (
            {"redacted": part.get("data")}
            if part["type"] == "redacted_thinking"
            else {"text": part.get("thinking"), "signature": part.get("signature")}
        )
        made.setdefault("thinking", []).append(thought)

    def _add_call(self, part: _Json, at: int, made: dict[str, Any]) -> None:
        _checked(part, ("type", "id", "name", "input", "cache_control"), at)
        self._names[str(part.get("id"))] = str(part.get("name"))
        call = {"id": part.get("id"), "name": part.get("name"), "arguments": part.get("input") or {}}
        made.setdefault("toolCalls", []).append(call)

    def _add_result(self, part: _Json, at: int, made: dict[str, Any]) -> None:
        _checked(part, ("type", "tool_use_id", "content", "is_error", "cache_control"), at)
        inner = list(_parts(part.get("content"), at))
        images = [{"text": _data_uri(each, at)} for each in inner if each.get("type") == "image"]
        text = _text([each for each in inner if each.get("type") != "image"], at)
        call = part.get("tool_use_id")
        result = {"id": call, "name": self._names.get(str(call), "tool"), "text": text, "images": images}
        made.setdefault("toolResults", []).append({**result, "isError": bool(part.get("is_error"))})


def _data_uri(part: _Json, at: int) -> str:
    source = part.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        raise _refused(at, "A conversation holds images as base64 alone.")
    return f"data:{source.get('media_type')};base64,{source.get('data')}"


def _images(uris: Sequence[str], at: int) -> list[dict[str, str]]:
    if any(not uri.startswith("data:") for uri in uris):
        raise _refused(at, "A conversation holds images as data URIs alone.")
    return [{"kind": "image", "id": f"image {number}", "text": uri} for number, uri in enumerate(uris, start=1)]
