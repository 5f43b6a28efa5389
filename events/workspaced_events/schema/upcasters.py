"""Upcasters: an event as an older catalogue wrote it becomes one of the present catalogue when it is read.

What was written is never rewritten; the catalogue's version stands in each segment's header and in an export's.
An upcaster is a pure function from the data of one type, as JSON, in version n to its data in version n + 1. Most
types need none: a new type, or a new optional field, is read without. Before a line is taken apart its bytes are
searched for the names of the types that do, so old segments without them are read as fast as new ones.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from .catalogue import CATALOGUE_VERSION


class Old(msgspec.Struct, frozen=True):
    """What an upcaster may look at: an event of an older catalogue."""

    type: str
    time: str
    data: dict[str, Any]


Upcaster = Callable[[Old], dict[str, Any]]


def _with_the_time_as_its_clock(event: Old) -> dict[str, Any]:
    # The clock that the tool saw was not recorded; the time of the record, a moment later, has to stand for it.
    return {"now": event.time, **event.data}


_UPCASTERS: Final[dict[int, dict[str, Upcaster]]] = {
    2: {"tool_called": _with_the_time_as_its_clock},
}
"""From which version, and of which type."""

_TYPES: Final = {
    version: frozenset(name for since, each in _UPCASTERS.items() if since >= version for name in each)
    for version in range(CATALOGUE_VERSION)
}
"""The types that an event of that version may have to be upcast of."""
_MARKS: Final = {version: tuple(f'"{name}"'.encode() for name in names) for version, names in _TYPES.items()}
_OLD: Final = msgspec.json.Decoder(Old)
_RAW_BATCH: Final = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_EVENT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def upcast_batch(payload: bytes | memoryview, version: int) -> bytes | memoryview:
    """The JSON array of events of a line of that version as the present catalogue has it; `payload` if it is it.

    Raises:
        msgspec.MsgspecError: the payload is no array.
    """
    if not _may_change(payload, version):
        return payload
    return b"[" + b",".join(bytes(upcast_event(raw, version)) for raw in _RAW_BATCH.decode(payload)) + b"]"


def upcast_event(payload: bytes | msgspec.Raw, version: int) -> bytes | msgspec.Raw:
    """As `upcast_batch`, of one event. What is no event that an older version could have written stays so."""
    if not _may_change(payload, version):
        return payload
    try:
        event = _OLD.decode(payload)
    except msgspec.ValidationError:
        return payload
    if event.type not in _TYPES[max(version, 0)]:
        return payload
    data = event.data
    for since in range(max(version, 0), CATALOGUE_VERSION):
        if (upcaster := _UPCASTERS.get(since, {}).get(event.type)) is not None:
            data = upcaster(Old(event.type, event.time, data))
    fields = {**_RAW_EVENT.decode(payload), "data": msgspec.Raw(msgspec.json.encode(data))}
    return msgspec.json.encode(fields)


def _may_change(payload: bytes | memoryview | msgspec.Raw, version: int) -> bool:
    if version >= CATALOGUE_VERSION:
        return False
    content = payload if type(payload) is bytes else bytes(payload)
    for mark in _MARKS[max(version, 0)]:  # noqa: SIM110 (this is every line of an old log; any() takes twice as long)
        if mark in content:
            return True
    return False
