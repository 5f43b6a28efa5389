"""What a message holds under its seal."""

from collections.abc import Collection, Iterator
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from workspaced_events.errors import ActionError
from workspaced_events.ids import LinkedVaultId, NoteId, note_id
from workspaced_events.peers.differences import notes_of, notes_of_difference
from workspaced_events.schema.peer_events import SharedVault, VaultDifference

from .keys.message import MessageRefused

PAYLOAD_BYTES_MAX: Final = 256 * 1024
"""The log of each peer holds it as one event."""


class Payload(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One message."""

    ms: Annotated[int, Meta(ge=0, le=2**53)]
    """The sender's hybrid clock."""
    whole: bool = False
    """Whether a generation begins with it, so that `view` is all that is shared."""
    view: tuple[SharedVault, ...] = ()
    changed: tuple[VaultDifference, ...] = ()


_PAYLOAD: Final = msgspec.json.Decoder(Payload)


def decode_payload(data: bytes, vaults: Collection[LinkedVaultId]) -> Payload:
    """
    Args:
        vaults: those of the link.

    Raises:
        MessageRefused: DAMAGED, TOO_LARGE, UNKNOWN_VAULT.
    """
    if len(data) > PAYLOAD_BYTES_MAX:
        raise MessageRefused("TOO_LARGE", f"A message holds {len(data)} bytes.")
    try:
        payload = _PAYLOAD.decode(data)
        for note in _notes(payload):
            if note_id(note) != note:
                raise MessageRefused("DAMAGED", "A message names a note by no path of one.")
    except (msgspec.MsgspecError, ActionError, RecursionError) as error:
        raise MessageRefused(
            "DAMAGED", "A message holds something unknown.", "A newer workspaced may have sent it."
        ) from error
    parts: tuple[SharedVault | VaultDifference, ...] = (*payload.view, *payload.changed)
    if any(each.vault not in vaults for each in parts):
        raise MessageRefused("UNKNOWN_VAULT", "A message is of a vault that the roster does not name yet.")
    return payload


def _notes(payload: Payload) -> Iterator[NoteId]:
    for vault in payload.view:
        yield from notes_of(vault)
    for changed in payload.changed:
        yield from notes_of_difference(changed)
