"""Invitations: a code that one machine may use once, and the request to join that rests on it.

The code holds the link's id, the creator's public key and a secret. The request is sealed under the secret, so the
server learns nothing of it, and only who has the code can have written it.
"""

import base64
import binascii
import hashlib
import os
import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from workspaced_events.errors import InvalidArgument
from workspaced_events.escaping import escape_control

from .message import MessageRefused
from .origin_keys import OriginKeys
from .roster import Member

VALID_FOR: Final = timedelta(minutes=15)
REQUEST_BYTES_MAX: Final = 4_096
_CONTEXT: Final = b"workspaced-join-1"
_PREFIX: Final = "wsl1-"
_LINK, _KEY, _SECRET, _CHECK = 16, 32, 16, 4
_NONCE: Final = 24
_ORIGIN: Final = re.compile("[0-9a-f]{32}")


class Code(msgspec.Struct, frozen=True):
    """What an invitation's code says."""

    link: str
    creator_key: str
    secret: str


class Invitation(msgspec.Struct, frozen=True):
    """One that this daemon has given out."""

    secret: str
    person: str
    expires: str
    """UTC, ISO 8601."""
    origin: str | None = None
    """Who has used it."""

    def is_valid(self, now: datetime, origin: str) -> bool:
        """Whether `origin` may use it now, or has."""
        return self.origin == origin or (self.origin is None and now < datetime.fromisoformat(self.expires))


def new_invitation(person: str, now: datetime) -> Invitation:
    """An invitation of a person, with a new secret."""
    return Invitation(
        os.urandom(_SECRET).hex(), person, (now + VALID_FOR).astimezone(UTC).isoformat(timespec="seconds")
    )


def code_of(link: str, creator_key: str, invitation: Invitation) -> str:
    """The code to give to the other machine."""
    data = bytes.fromhex(link) + bytes.fromhex(creator_key) + bytes.fromhex(invitation.secret)
    return _PREFIX + base64.urlsafe_b64encode(data + _check(data)).decode().rstrip("=")


def read_code(text: str) -> Code:
    """Raises InvalidArgument: the text is no code, or part of one."""
    text = "".join(text.split())
    try:
        data = base64.urlsafe_b64decode(text.removeprefix(_PREFIX) + "==")
    except (binascii.Error, ValueError):
        data = b""
    data, check = data[:-_CHECK], data[-_CHECK:]
    if not text.startswith(_PREFIX) or len(data) != _LINK + _KEY + _SECRET or check != _check(data):
        raise InvalidArgument(
            "This is no code of an invitation, or only a part of one.",
            hint="Paste the whole line that `workspaced link invite` printed; it begins with 'wsl1-'.",
        )
    return Code(data[:_LINK].hex(), data[_LINK:-_SECRET].hex(), data[-_SECRET:].hex())


def _check(data: bytes) -> bytes:
    return hashlib.sha256(_CONTEXT + data).digest()[:_CHECK]


class _Request(msgspec.Struct, frozen=True):
    origin: str
    machine: str
    verify_key: str
    box_key: str


_REQUEST: Final = msgspec.msgpack.Decoder(_Request)


def seal_request(code: Code, keys: OriginKeys, machine: str) -> bytes:
    """The request to join, as it is published."""
    request = _Request(keys.origin, machine, keys.verify_key, keys.box_key)
    nonce = os.urandom(_NONCE)
    plain = msgspec.msgpack.encode(request)
    return nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(plain, _CONTEXT, nonce, _key_of(code.secret))


def open_request(data: bytes, invitation: Invitation, subject: str) -> Member:
    """Who asks to join, as the person that was invited. Its keys are not sealed yet.

    Raises:
        MessageRefused: TOO_LARGE, DAMAGED (also if another invitation's secret seals it), NOT_OURS.
    """
    if len(data) > REQUEST_BYTES_MAX:
        raise MessageRefused("TOO_LARGE", f"A request to join has {len(data)} bytes.")
    try:
        plain = crypto_aead_xchacha20poly1305_ietf_decrypt(
            data[_NONCE:], _CONTEXT, data[:_NONCE], _key_of(invitation.secret)
        )
        request = _REQUEST.decode(plain)
        keys = bytes.fromhex(request.verify_key), bytes.fromhex(request.box_key)
    except (CryptoError, msgspec.MsgspecError, ValueError, TypeError) as error:
        raise MessageRefused("DAMAGED", "A request to join cannot be read.") from error
    if request.origin != subject or not _ORIGIN.fullmatch(subject) or {len(each) for each in keys} != {_KEY}:
        raise MessageRefused("NOT_OURS", "A request to join is of another origin.")
    machine = escape_control(request.machine[:64])[:64]
    return Member(subject, invitation.person, machine, request.verify_key, request.box_key)  # type: ignore[arg-type]


def _key_of(secret: str) -> bytes:
    return hashlib.sha256(_CONTEXT + bytes.fromhex(secret)).digest()
