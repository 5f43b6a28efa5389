"""Decodes JSON to structs, from any thread.

msgspec prepares a type when it is first used. Two threads that first use a struct at the same time can end the
process with a segmentation fault, since the one reads what the other has half prepared (msgspec 0.22; seen in a
daemon that assembled two prompts at once). So the first use of each type is behind one lock. Decoders that a
module makes when it is imported need none: the import has a lock.
"""

import threading
from types import UnionType
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")
Content = bytes | bytearray | memoryview | str

_PREPARING: Final = threading.Lock()
_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


@overload
def decoded(content: Content, type_: type[T]) -> T: ...
@overload
def decoded(content: Content, type_: UnionType) -> Any: ...
def decoded(content: Content, type_: Any) -> Any:
    """The value of a JSON text.

    Raises:
        msgspec.MsgspecError: the text is no JSON, or holds something else.
    """
    return _decoder(type_).decode(content)


def converted(value: object, type_: type[T], *, strict: bool = True) -> T:
    """The value made of JSON values.

    Args:
        strict: a text is no number, though it is written like one.

    Raises:
        msgspec.ValidationError: they hold something else.
    """
    _decoder(type_)
    return msgspec.convert(value, type_, strict=strict)


def _decoder(type_: Any) -> "msgspec.json.Decoder[Any]":
    found = _DECODERS.get(type_)
    if found is None:
        with _PREPARING:
            found = _DECODERS[type_] = msgspec.json.Decoder(type_)
    return found
