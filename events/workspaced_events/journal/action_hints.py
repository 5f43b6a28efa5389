"""Hints for refused actions: what an action takes, with the allowed values."""

from difflib import get_close_matches
from typing import Any, Final

from msgspec import inspect

from ..schema.catalogue import CATALOGUE, Entry

ENVELOPE_HINT: Final = (
    'An action is {"type": "note_pinned", "data": {"note": "work/plan.md"}}, with "id" and "vault" where needed.'
)
_NEAR_MAX: Final = 3


def actions_hint(wanted: str = "") -> str:
    """The actions that a client may publish; first those of a name near to `wanted`."""
    names = sorted(name for name, entry in CATALOGUE.items() if entry.by_ui)
    near = get_close_matches(wanted, names, _NEAR_MAX)
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{meant}Actions: {', '.join(names)}."


def data_hint(entry: Entry) -> str:
    """The fields of an action's data, each with what it may hold."""
    fields = inspect.type_info(entry.data).fields  # type: ignore[attr-defined]  # data are structs
    words = [_field(each, each.name in entry.notes) for each in fields]
    return f"{entry.name} takes {'; '.join(words) or 'no fields'}."


def _field(field: inspect.Field, is_note: bool) -> str:
    optional = "" if field.required else " (optional)"
    type_ = _type(field.type)
    if is_note:
        type_ = type_.replace("text", "a note's path")
    return f"{field.encode_name}: {type_}{optional}"


def _type(type_: Any) -> str:
    match type_:
        case inspect.Metadata():
            return _type(type_.type)
        case inspect.UnionType():
            return " or ".join(_type(each) for each in type_.types)
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return f"one of {', '.join(map(str, type_.values))}"
        case inspect.EnumType():
            return f"one of {', '.join(str(each.value) for each in type_.cls)}"
        case inspect.IntType():
            return "a whole number" + (f" of at least {type_.ge}" if type_.ge is not None else "")
        case inspect.BoolType():
            return "true or false"
        case inspect.VarTupleType() | inspect.ListType():
            return f"a list of {_type(type_.item_type)}"
        case inspect.StrType():
            return "text"
        case _:
            return "a value"
