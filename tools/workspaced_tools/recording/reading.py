"""Recordings read back from the blobs that the log names."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.schema.catalogue import ToolCalled

from ..errors import NotRecorded
from .format import VERSION, Recording

Blob = Callable[[str], bytes | None]
"""The content of a blob, or None if it is not kept."""


SWEPT: Final = "It was swept to keep the store within record_bytes and record_days, or lost with the power."


def read_recording(content: bytes, name: str) -> Recording:
    """The recording that a blob holds.

    Raises:
        LogDamaged: it holds none.
        NotRecorded: it is one of a newer version.
    """
    try:
        recording = msgspec.json.decode(content, type=Recording)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {name} is no recording of a call: {error}.") from None
    if recording.version > VERSION:
        raise NotRecorded(
            f"The recording is of version {recording.version}; this program reads up to {VERSION}",
            hint="Use a newer workspaced.",
        )
    return recording


def arguments_of(called: ToolCalled, blob: Blob) -> dict[str, Any]:
    """The arguments of a recorded call.

    Raises:
        NotRecorded: they are long and not kept.
        LogDamaged: what is kept are none.
    """
    name = called.arguments_sha256
    if name is None:
        return called.arguments
    content = blob(name)
    if content is None:
        raise NotRecorded("The arguments are not kept", hint=SWEPT)
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {name} holds no arguments: {error}.") from None
