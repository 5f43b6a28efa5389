"""A value of each block, item and part that the type packages of the providers name, made from their types.

So what a new version of such a package names is a new case of tests/world/test_requests.py.
"""

import collections.abc
import typing
from collections.abc import Iterator
from typing import Any, Final, Literal

import pydantic
from pydantic.alias_generators import to_camel
from typing_extensions import is_typeddict

DEPTH_MAX: Final = 6
Json = dict[str, Any]


def blocks() -> Iterator[Json]:
    """Of Anthropic's messages, the user's and the assistant's."""
    from anthropic.types import ContentBlockParam, beta

    for kind in (ContentBlockParam, beta.BetaContentBlockParam):
        yield from map(_object, _members(kind))


def items() -> Iterator[Json]:
    """Of the input of OpenAI's responses; of messages one for each role."""
    from openai.types.responses import ResponseInputItemParam

    for kind in _members(ResponseInputItemParam):
        roles = typing.get_args(typing.get_type_hints(kind).get("role", Literal[""]))
        for role in roles:
            yield _object(kind) | ({"role": role} if role else {})


def input_contents() -> Iterator[Json]:
    """Of a message in them."""
    from openai.types.responses import ResponseInputContentParam

    yield from map(_object, _members(ResponseInputContentParam))


def chat_parts() -> Iterator[Json]:
    """Of a message of the user in chat completions."""
    from openai.types.chat import ChatCompletionContentPartParam

    yield from map(_object, _members(ChatCompletionContentPartParam))


def chat_messages() -> Iterator[Json]:
    """Of chat completions."""
    from openai.types.chat import ChatCompletionMessageParam

    yield from map(_object, _members(ChatCompletionMessageParam))


def gemini_parts() -> Iterator[Json]:
    """One for each field of a part, in both spellings that Gemini's interface takes."""
    from google.genai.types import Part

    for name, field in Part.model_fields.items():
        value = _value(field.annotation, 0)
        yield from ({each: value} for each in sorted({name, to_camel(name)}))


def _members(kind: Any) -> Iterator[Any]:
    kind = getattr(kind, "__value__", kind)
    if not is_typeddict(kind):
        for each in typing.get_args(kind):
            yield from _members(each)
        return
    yield kind


def _object(kind: Any, depth: int = 0) -> Json:
    """With each field of the type that has a value at all."""
    hints = typing.get_type_hints(kind)
    made = {name: _value(hint, depth + 1) for name, hint in hints.items()}
    return {name: value for name, value in made.items() if value is not None}


def _value(kind: Any, depth: int) -> Any:
    kind = getattr(kind, "__value__", kind)
    if depth > DEPTH_MAX or kind is type(None):
        return None
    if is_typeddict(kind):
        return _object(kind, depth)
    if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        fields = {to_camel(name): _value(field.annotation, depth + 1) for name, field in kind.model_fields.items()}
        return {name: value for name, value in fields.items() if value is not None}
    return (
        _composed(typing.get_origin(kind), typing.get_args(kind), depth) if typing.get_args(kind) else _plain(kind)
    )


def _composed(origin: Any, arguments: tuple[Any, ...], depth: int) -> Any:
    if origin is Literal:
        return arguments[0]
    if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        item = _value(arguments[0], depth + 1)
        return [] if item is None else [item]
    if origin in (dict, collections.abc.Mapping):
        return {}
    values = (_value(each, depth) for each in arguments)  # a union, or a type with remarks
    return next((each for each in values if each is not None), None)


def _plain(kind: Any) -> Any:
    values = {str: "words", int: 1, float: 1.5, bool: True, bytes: "AA==", object: {}, Any: {}}
    return values.get(kind, "words")
