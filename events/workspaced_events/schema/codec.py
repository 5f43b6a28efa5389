"""The codec between events and the JSON of a log line or an export.

A line's JSON is an array of events. Decoding is typed and strict; an event with an unknown type or data is kept
whole as an `UnknownEvent` and encodes to the same bytes.
"""

from collections.abc import Iterable
from typing import Any, Final, Union

import msgspec

from .catalogue import CATALOGUE, Event, UnknownEvent

_ENCODER: Final = msgspec.json.Encoder()
_KNOWN: Final[Any] = Union[tuple(entry.event for entry in CATALOGUE.values())]  # noqa: UP007
_BATCH: Final = msgspec.json.Decoder(list[_KNOWN])
_EVENT: Final = msgspec.json.Decoder(_KNOWN)
_UNKNOWN: Final = msgspec.json.Decoder(UnknownEvent)
_RAW_BATCH: Final = msgspec.json.Decoder(list[msgspec.Raw])


def encode_event(event: Event) -> bytes:
    """The event as one JSON object."""
    return _ENCODER.encode(event)


def encode_batch(events: Iterable[Event]) -> bytes:
    """The events as one JSON array, without a raw newline."""
    return _ENCODER.encode(list(events))


def decode_event(payload: bytes | msgspec.Raw) -> Event:
    """Decodes one JSON object.

    Raises:
        msgspec.MsgspecError: invalid JSON, or no envelope of an event.
    """
    try:
        return _event(payload)
    except RecursionError:
        raise _too_deep() from None


def _event(payload: bytes | msgspec.Raw) -> Event:
    try:
        event: Event = _EVENT.decode(payload)
    except msgspec.ValidationError:
        event = _UNKNOWN.decode(payload)
        # The raw data is a slice of the line; a copy lets the line be freed.
        return msgspec.structs.replace(event, data=msgspec.Raw(bytes(event.data)))
    return event


def decode_batch(payload: bytes | memoryview) -> list[Event]:
    """Decodes the JSON array of one line; keeps the order.

    Raises:
        msgspec.MsgspecError: the payload is no array of events.
    """
    try:
        return _batch(payload)
    except RecursionError:
        raise _too_deep() from None


def _batch(payload: bytes | memoryview) -> list[Event]:
    try:
        batch: list[Event] = _BATCH.decode(payload)
    except msgspec.ValidationError:
        return [_event(raw) for raw in _RAW_BATCH.decode(payload)]
    return batch


def _too_deep() -> msgspec.DecodeError:
    """The error for JSON beyond the parser's stack; no action of ours is nested so deep."""
    return msgspec.DecodeError("it is nested too deep")
