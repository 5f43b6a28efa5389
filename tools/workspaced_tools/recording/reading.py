"""Reads recordings from the blobs that the log names."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_events.schema.decoding import decoded

from ..errors import NotKept, NotRecorded
from .format import VERSION, Recording

Blob = Callable[[str], bytes | None]
"""The content of a blob, or None if it is not kept."""


SWEPT: Final = (
    "It was swept to keep the store within record_bytes and record_days, forgotten with a note, or lost with the "
    "power."
)


def read_recording(content: bytes, name: str) -> Recording:
    """Decodes the recording in a blob.

    Raises:
        LogDamaged: the blob holds no recording.
        NotRecorded: the recording has a newer version.
    """
    try:
        recording = decoded(content, Recording)
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
        NotRecorded: the arguments are in a blob that is not kept.
        LogDamaged: the blob holds no arguments.
    """
    name = called.arguments_sha256
    if name is None:
        return called.arguments
    content = blob(name)
    if content is None:
        raise NotKept("The arguments are not kept", hint=SWEPT)
    try:
        return decoded(content, dict[str, Any])
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {name} holds no arguments: {error}.") from None
