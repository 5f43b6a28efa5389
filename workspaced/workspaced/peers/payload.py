"""What a message holds under its seal."""

from typing import Final

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.schema.peer_events import SharedVault, VaultDifference

from .keys.message import MessageRefused

PAYLOAD_BYTES_MAX: Final = 256 * 1024
"""The log of each peer holds it as one event."""


class Payload(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One message."""

    ms: int
    """The sender's hybrid clock."""
    view: tuple[SharedVault, ...] | None = None
    """The whole view, with which a generation begins; None: `changed` alone."""
    changed: tuple[VaultDifference, ...] = ()
    forget: tuple[NoteId, ...] = ()


_PAYLOAD: Final = msgspec.json.Decoder(Payload)


def encode_payload(payload: Payload) -> bytes:
    """The bytes to seal."""
    return msgspec.json.encode(payload)


def decode_payload(data: bytes) -> Payload:
    """
    Raises:
        MessageRefused: DAMAGED, TOO_LARGE.
    """
    if len(data) > PAYLOAD_BYTES_MAX:
        raise MessageRefused("TOO_LARGE", f"A message holds {len(data)} bytes.")
    try:
        return _PAYLOAD.decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MessageRefused(
            "DAMAGED", "A message holds something unknown.", "A newer workspaced may have sent it."
        ) from error
