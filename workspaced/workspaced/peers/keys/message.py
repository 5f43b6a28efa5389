"""A message between daemons as the server sees it: a frame of random-looking bytes.

    length of the header, 2 bytes | header | nonce, 24 | ciphertext | signature, 64

The header names link, origin, generation, number, predecessor and key; it is the associated data of the ciphertext
(XChaCha20-Poly1305, which allows random nonces). The origin signs all of it (Ed25519), so no other member can
write in its name. A frame is a power of two long, so that its length tells little; the padding is inside the
ciphertext.
"""

import hashlib
import os
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import BadSignatureError, CryptoError
from nacl.signing import SigningKey, VerifyKey

from workspaced_events.ids import OriginId

VERSION: Final = 1
FRAME_BYTES_MIN: Final = 512
FRAME_BYTES_MAX: Final = 512 * 1024
_CONTEXT: Final = b"workspaced-link-1"
_HEADER_BYTES_MAX: Final = 1_024
_NONCE: Final = 24
_TAG: Final = 16
_SIGNATURE: Final = 64
_LENGTH: Final = 4


Count = Annotated[int, Meta(ge=1, le=2**53)]
"""As the log can hold it."""


class Header(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a server and every member may see of a message."""

    version: int
    link: str
    origin: OriginId
    generation: Count
    n: Count
    previous: str
    """The digest of the message before; of the first of a generation: ""."""
    epoch: int
    """Which of the link's keys seals it."""


_HEADER: Final = msgspec.msgpack.Decoder(Header)
_LIST: Final = msgspec.msgpack.Decoder(list)


class MessageRefused(Exception):
    """A message or roster that is not what it should be. `code` is counted in the link's status."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def digest(frame: bytes) -> str:
    """SHA-256 of a frame, in hexadecimal digits."""
    return hashlib.sha256(frame).hexdigest()


def seal(header: Header, payload: bytes, key: bytes, signing: SigningKey) -> bytes:
    """The frame of a message.

    Raises:
        ValueError: the payload does not fit in FRAME_BYTES_MAX.
    """
    encoded = msgspec.msgpack.encode(header)
    head = len(encoded).to_bytes(2) + encoded
    fixed = len(head) + _NONCE + _TAG + _SIGNATURE
    size = max(FRAME_BYTES_MIN, 1 << (fixed + _LENGTH + len(payload) - 1).bit_length())
    if size > FRAME_BYTES_MAX:
        raise ValueError(f"a payload of {len(payload)} bytes is too long for one message")
    plain = (len(payload).to_bytes(_LENGTH) + payload).ljust(size - fixed, b"\0")
    nonce = os.urandom(_NONCE)
    sealed = crypto_aead_xchacha20poly1305_ietf_encrypt(plain, _CONTEXT + head, nonce, key)
    body = head + nonce + sealed
    return body + signing.sign(_CONTEXT + body).signature


def header_of(frame: bytes) -> Header:
    """The header of a frame, which is not verified yet.

    Raises:
        MessageRefused: TOO_LARGE, DAMAGED, NEWER_VERSION.
    """
    if len(frame) > FRAME_BYTES_MAX:
        raise MessageRefused("TOO_LARGE", f"A message has {len(frame)} bytes.")
    if len(frame) < FRAME_BYTES_MIN or len(frame) & (len(frame) - 1):
        raise _damaged("its length is no length of a message")
    length = int.from_bytes(frame[:2], "big")
    if length > _HEADER_BYTES_MAX or 2 + length + _NONCE + _TAG + _LENGTH + _SIGNATURE > len(frame):
        raise _damaged("its header does not fit in it")
    try:
        version, *_ = _LIST.decode(frame[2 : 2 + length])
        if isinstance(version, int) and version > VERSION:
            raise MessageRefused(
                "NEWER_VERSION", "A message has a newer form.", "Install the newer workspaced here too."
            )
        return _HEADER.decode(frame[2 : 2 + length])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _damaged("its header cannot be read") from error


def open_frame(frame: bytes, header: Header, key: bytes, verify_key: str) -> bytes:
    """The payload of a frame whose header this is.

    Raises:
        MessageRefused: BAD_SIGNATURE, DAMAGED.
    """
    body, signature = frame[:-_SIGNATURE], frame[-_SIGNATURE:]
    try:
        VerifyKey(bytes.fromhex(verify_key)).verify(_CONTEXT + body, signature)
    except (BadSignatureError, ValueError) as error:
        raise MessageRefused("BAD_SIGNATURE", f"A message in the name of {header.origin} is forged.") from error
    head = 2 + int.from_bytes(frame[:2], "big")
    nonce, sealed = body[head : head + _NONCE], body[head + _NONCE :]
    try:
        plain = crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, _CONTEXT + body[:head], nonce, key)
    except CryptoError as error:
        raise _damaged("the key of its epoch does not open it") from error
    length = int.from_bytes(plain[:_LENGTH], "big")
    if _LENGTH + length > len(plain) or any(plain[_LENGTH + length :]):
        raise _damaged("its padding is wrong")
    return plain[_LENGTH : _LENGTH + length]


def _damaged(why: str) -> MessageRefused:
    return MessageRefused("DAMAGED", f"A message is damaged: {why}.")
