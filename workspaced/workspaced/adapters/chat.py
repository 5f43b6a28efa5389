"""A framework's messages in the form of chat completions, and back.

The daemon puts context into messages of the user, and takes turns out at a fold. An answer is sent to it as words
and calls alone, by which it is recognised: one that comes back unchanged is the framework's own message, with all
that the form does not hold. A framework's message that is not sent to the daemon stays in its place.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from .placing import Json, Transform

Own = TypeVar("Own")
"""A framework's own message."""
_TRIMMED: Final = " \t\r\n"
"""The daemon trims these from both ends of a text."""


class Pair(NamedTuple, Generic[Own]):
    """A message of the framework, and its form for the daemon; None: the daemon does not get it."""

    own: Own
    converted: Json | None


class Placed(NamedTuple, Generic[Own]):
    """Messages with context in place."""

    library: str
    """To stand behind the system prompt: what folds took over. Mostly empty."""
    messages: list[Own]
    """Without those of the system that came first."""


def placed(
    transform: Transform, system: str, given: Sequence[Pair[Own]], build: Callable[[Json, Own | None], Own]
) -> Placed[Own]:
    """The messages with context in place.

    Args:
        build: makes a framework's message of one in the form that came back changed, with the ids of the
            framework's own calls, and of the message that it was made of, if there is one.

    Raises:
        WorkspacedError: as `transform`.
    """
    converted = [each.converted for each in given if each.converted is not None]
    head = [{"role": "system", "content": system}] if system else []
    made: list[Json] = list(transform("openai", [*head, *converted])["messages"])
    prompt = text_of(made.pop(0)["content"]) if made and made[0]["role"] == "system" else ""
    library = prompt.removeprefix(system.strip(_TRIMMED)).strip(_TRIMMED)
    return Placed(library, list(_in_place(given, made, build)))


def answer(text: str, calls: Iterable[tuple[str, str, str]]) -> Json | None:
    """The form of an assistant's message; None for one without words and calls.

    Args:
        calls: of each its id, name and arguments as JSON.
    """
    made: Json = {"role": "assistant", "content": text}
    converted = [
        {"id": name, "type": "function", "function": {"name": function, "arguments": arguments}}
        for name, function, arguments in calls
    ]
    return {**made, "tool_calls": converted} if converted else made if text else None


def result(call: str, text: str) -> Json:
    """The form of a tool's result."""
    return {"role": "tool", "tool_call_id": call, "content": text}


def text_of(content: Any) -> str:
    """The texts of a content, as the daemon joins them."""
    if isinstance(content, str):
        return content
    return "\n\n".join(str(each["text"]) for each in content or () if each.get("type") == "text")


def _in_place(
    given: Sequence[Pair[Own]], made: Sequence[Json], build: Callable[[Json, Own | None], Own]
) -> Iterator[Own]:
    own_ids: dict[str, str] = {}
    """Of calls, by the daemon's: a framework may have given other ids the first time."""
    at = 0
    for message in made:
        message = _with_ids(message, own_ids)
        found = next((place for place in range(at, len(given)) if _is_of(message, given[place].converted)), None)
        if found is None:
            yield build(message, None)
            continue
        yield from (each.own for each in given[at:found] if each.converted is None)
        own, converted = given[found]
        assert converted is not None
        own_ids |= zip(_call_ids(message), _call_ids(converted), strict=False)
        yield own if _says(message) == _says(converted) else build(message, own)
        at = found + 1
    yield from (each.own for each in given[at:] if each.converted is None)


def _with_ids(message: Json, own_ids: dict[str, str]) -> Json:
    if message["role"] != "tool":
        return message
    return {**message, "tool_call_id": own_ids.get(message["tool_call_id"], message["tool_call_id"])}


def _is_of(made: Json, converted: Json | None) -> bool:
    """Whether the one was made of the other: with context before it, or with a shorter result."""
    if converted is None or made["role"] != converted["role"]:
        return False
    if made["role"] == "tool":
        return bool(made["tool_call_id"] == converted["tool_call_id"])
    if made["role"] == "user":
        return text_of(made["content"]).endswith(text_of(converted["content"]).strip(_TRIMMED))
    return bool(_says(made) == _says(converted))


def _says(message: Json) -> Any:
    """The content of a message, without ids."""
    content = message.get("content")
    images = [each for each in content if each["type"] != "text"] if isinstance(content, list) else []
    calls = [each["function"] for each in message.get("tool_calls") or ()]
    return text_of(content), images, [(each["name"], _value(each["arguments"])) for each in calls]


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:  # written by a model
        return arguments


def _call_ids(message: Json) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]
