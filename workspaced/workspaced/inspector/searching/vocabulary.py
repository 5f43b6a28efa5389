"""What an expression may be made of: the fields of a state, the values they have at a moment, and functions."""

from collections.abc import Iterator
from typing import Any, Final, Literal

import jmespath
import msgspec
from jmespath.functions import Functions

from workspaced_events.projections.workspace_state import StateJson

VALUES_MAX: Final = 100
"""Values of one field."""


class Word(msgspec.Struct, rename="camel"):
    """Something that can be put into an expression."""

    text: str
    kind: Literal["field", "function"]
    about: str
    """What it is, in a few words."""
    values: list[str]
    """What a field holds at the moment, written as in an expression."""


def vocabulary(state: dict[str, Any]) -> list[Word]:
    """The words for a state, which is a `StateJson` as plain values."""
    fields = [Word(path, "field", about, _values(path, state)) for path, about in _FIELDS]
    functions = [
        Word(f"{name}(", "function", _about(signature["signature"]), [])
        for name, signature in sorted(Functions.FUNCTION_TABLE.items())
    ]
    return fields + functions


def _fields(kind: type[msgspec.Struct], before: str) -> Iterator[tuple[str, str]]:
    for field in msgspec.inspect.type_info(kind).fields:  # type: ignore[attr-defined]
        yield from _field(before + field.encode_name, field.type)


def _field(path: str, kind: msgspec.inspect.Type) -> Iterator[tuple[str, str]]:
    match kind:
        case msgspec.inspect.UnionType():
            for each in kind.types:
                yield from _field(path, each)
        case msgspec.inspect.StructType():
            yield path, "an object, or null"
            yield from _fields(kind.cls, f"{path}.")
        case msgspec.inspect.CollectionType():
            yield path, "a list"
            if isinstance(kind.item_type, msgspec.inspect.StructType):
                yield from _fields(kind.item_type.cls, f"{path}[].")
            else:
                yield f"{path}[]", "its entries"
        case msgspec.inspect.DictType():
            yield path, "an object by client"
        case msgspec.inspect.IntType():
            yield path, "a number"
        case msgspec.inspect.StrType() | msgspec.inspect.LiteralType():
            yield path, "a text"


_FIELDS: Final = tuple(_fields(StateJson, ""))
"""The paths of a state, each with what stands there."""


def _values(path: str, state: dict[str, Any]) -> list[str]:
    found = jmespath.search(path, state)
    each = found if isinstance(found, list) else [found]
    plain = dict.fromkeys(value for value in each if isinstance(value, str | int) and not isinstance(value, bool))
    return [written(value) for value in list(plain)[:VALUES_MAX]]


def written(value: str | int) -> str:
    """A value as an expression writes it."""
    if isinstance(value, int):
        return f"`{value}`"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _about(signature: tuple[dict[str, Any], ...]) -> str:
    """The types of a function's arguments."""
    return "of " + ", ".join(" or ".join(each["types"]) or "anything" for each in signature)
