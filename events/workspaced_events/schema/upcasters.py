"""Upcasters: convert events of an older catalogue to the present one while reading.

Written bytes never change; each segment's header and each export's header hold the catalogue version. An upcaster
is a pure function from one type's JSON data in version n to its data in version n + 1. Most types need none: a new
type or a new optional field decodes without one. A line is first searched for the names of types with an upcaster,
so old segments without these types are read as fast as new ones.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from .catalogue import CATALOGUE_VERSION


class Old(msgspec.Struct, frozen=True):
    """An event of an older catalogue, as an upcaster sees it."""

    type: str
    time: str
    data: dict[str, Any]


Upcaster = Callable[[Old], dict[str, Any]]


def _add_clock(event: Old) -> dict[str, Any]:
    # The tool's clock was not recorded; the record's time, a moment later, replaces it.
    return {"now": event.time, **event.data}


_UPCASTERS: Final[dict[int, dict[str, Upcaster]]] = {
    2: {"tool_called": _add_clock},
}
"""Upcasters by source version, then by type."""

_TYPES: Final = {
    version: frozenset(name for since, each in _UPCASTERS.items() if since >= version for name in each)
    for version in range(CATALOGUE_VERSION)
}
"""For each version, the types that may need upcasting."""
_MARKS: Final = {version: tuple(f'"{name}"'.encode() for name in names) for version, names in _TYPES.items()}
_OLD: Final = msgspec.json.Decoder(Old)
_RAW_BATCH: Final = msgspec.json.Decoder(list[msgspec.Raw])
_RAW_EVENT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def upcast_batch(payload: bytes | memoryview, version: int) -> bytes | memoryview:
    """Converts a line's JSON array of that version to the present catalogue; returns `payload` if nothing changes.

    Raises:
        msgspec.MsgspecError: the payload is no array.
    """
    if not _may_change(payload, version):
        return payload
    return b"[" + b",".join(bytes(upcast_event(raw, version)) for raw in _RAW_BATCH.decode(payload)) + b"]"


def upcast_event(payload: bytes | msgspec.Raw, version: int) -> bytes | msgspec.Raw:
    """Like `upcast_batch`, for one event. Returns anything that is no event of an older version unchanged."""
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
