"""Where the values of a JSON text stand, in bytes, without decoding them.

Decoding and encoding again changes a text (`1.10`, `-0`, `\u00e9`, a name that stands twice), so a change is made
in the text itself, at these places.
"""

import re
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

_NAME: Final = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:[ \t\r\n]*', re.DOTALL)
_BEGIN: Final = re.compile(rb"[ \t\r\n]*[\[{][ \t\r\n]*")
_NEXT: Final = re.compile(rb"[ \t\r\n]*,?[ \t\r\n]*")
_OBJECT: Final = msgspec.json.Decoder(dict[str, Raw])
_LIST: Final = msgspec.json.Decoder(list[Raw])
_ANY: Final = msgspec.json.Decoder(Raw)
_STRING: Final = msgspec.json.Decoder(str)
_SURROGATE: Final = re.compile(  # with one beginning, which is searched fast
    rb"\\(?:(\\|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class Unreadable(Exception):
    """The text is no JSON, or says two things at once; the request goes on as it came."""


class Place(NamedTuple):
    """Where a value of a JSON text stands, in bytes, without decoding it.

    Decoding and encoding again changes a text (`1.10`, `-0`, `\\u00e9`, a name that stands twice), so a change is
    made in the text itself, at such places.
    """

    start: int
    end: int

    def of(self, text: bytes) -> bytes:
        return text[self.start : self.end]


def readable(text: bytes) -> bytes:
    """A copy to look into, with each byte at its place: a lone surrogate, which clients send of a cut emoji, is no
    text to the decoder.

    Raises:
        Unreadable: it is no JSON.
    """
    try:
        text.decode()  # Raw does not look into texts
        try:
            _ANY.decode(text)
        except msgspec.MsgspecError:
            text = _SURROGATE.sub(lambda found: found[0] if found[1] else rb"\ufffd", text)
            _ANY.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    return text


def fields_of(text: bytes, at: Place) -> dict[str, Place]:
    """The values of an object, by name.

    Raises:
        Unreadable: it is no object, or a name stands twice: who reads which one is not known.
    """
    try:
        values = _OBJECT.decode(at.of(text))
    except msgspec.MsgspecError as error:
        raise Unreadable(str(error)) from None
    found: dict[str, Place] = {}
    end = _begin(text, at)
    for name, value in values.items():
        named = _NAME.match(text, end)
        if named is None or _STRING.decode(named[1]) != name:
            raise Unreadable(f"the field {name!r} stands twice")
        found[name] = place = Place(named.end(), named.end() + len(value))
        if place.of(text) != bytes(value):
            raise Unreadable(f"the field {name!r} stands twice")
        end = _behind(text, place.end)
    if text[end : end + 1] != b"}":
        raise Unreadable("a field stands twice")
    return found


def items_of(text: bytes, at: Place) -> list[Place]:
    """The items of a list.

    Raises:
        Unreadable: it is none.
    """
    try:
        values = _LIST.decode(at.of(text))
    except msgspec.MsgspecError as error:
        raise Unreadable(str(error)) from None
    found = []
    end = _begin(text, at)
    for value in values:
        found.append(place := Place(end, end + len(value)))
        end = _behind(text, place.end)
    return found


def text_at(text: bytes, at: Place) -> str | None:
    """The string that stands there; None: it is none."""
    return _STRING.decode(at.of(text)) if text[at.start : at.start + 1] == b'"' else None


def _begin(text: bytes, at: Place) -> int:
    """Where the first value of an object or a list stands, or its end."""
    begun = _BEGIN.match(text, at.start)
    assert begun is not None, "it was decoded"
    return begun.end()


def _behind(text: bytes, end: int) -> int:
    """Where the next value stands, behind one that ends there, or the end of what holds both."""
    return _NEXT.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
