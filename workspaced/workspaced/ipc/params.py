"""The base of all our methods' parameters, and hints for invalid ones: what is valid at that place."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import inspect

_PLACE: Final = re.compile(r" - at `\$(?P<path>[^`]*)`\Z")
_STEP: Final = re.compile(r"\.(?P<field>\w+)|\[(?:\d+|\.\.\.)\]")
_LISTED_MAX: Final = 30


class Params(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Parameters of a method; an unknown one is an error."""


def hint_for(method: str, params: Any, error: msgspec.ValidationError) -> str:
    """A sentence with the valid values at the error's place, or with where to read of them.

    `params`: the expected type.
    """
    text = str(error)
    place = _PLACE.search(text)
    types = [inspect.type_info(params)]
    for step in _STEP.finditer(place["path"] if place is not None else ""):
        types = list(_inside(types, step["field"]))
    if text.startswith("Invalid enum value"):
        words = [
            str(value) for each in _flat(types) if isinstance(each, inspect.LiteralType) for value in each.values
        ]
        return _listed("Expected one of", words)
    if text.startswith("Object contains unknown field"):
        fields = [field.encode_name for each in _structs(types) for field in each.fields]
        return _listed("Fields", fields) or "It takes no parameters."
    if text.startswith("Object missing required field"):
        every = [field for each in _structs(types) for field in each.fields]
        return _listed("Needed", [field.encode_name for field in every if field.required])
    return f"`workspaced schema methods/{method.removeprefix('workspaced/')}` prints what is valid."


def _listed(what: str, words: list[str]) -> str:
    more = f" and {len(words) - _LISTED_MAX} more" if len(words) > _LISTED_MAX else ""
    return f"{what}: {', '.join(words[:_LISTED_MAX])}{more}." if words else ""


def _inside(types: Iterable[inspect.Type], field: str | None) -> Iterable[inspect.Type]:
    """The types of a field, or of a list's items."""
    if field is None:
        return [each.item_type for each in _flat(types) if isinstance(each, inspect.ListType)]
    return [each.type for struct in _structs(types) for each in struct.fields if each.encode_name == field]


def _structs(types: Iterable[inspect.Type]) -> list[inspect.StructType]:
    return [each for each in _flat(types) if isinstance(each, inspect.StructType)]


def _flat(types: Iterable[inspect.Type]) -> list[inspect.Type]:
    """The types, with each union replaced by its members."""
    flat: list[inspect.Type] = []
    for each in types:
        if isinstance(each, inspect.UnionType):
            flat += _flat(each.types)
        elif isinstance(each, inspect.Metadata):
            flat += _flat([each.type])
        else:
            flat.append(each)
    return flat
