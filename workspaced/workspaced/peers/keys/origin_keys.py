"""The keys of this daemon as an origin. They lie in the data directory, and never leave it."""

import os
from pathlib import Path
from typing import Final

import msgspec
from nacl.public import PrivateKey
from nacl.signing import SigningKey

from workspaced_events.ids import OriginId
from workspaced_events.private_files import read_private, write_durably

FILE: Final = "origin.json"


class _File(msgspec.Struct, frozen=True, rename="camel"):
    origin: OriginId
    signing: str
    box: str


class OriginKeys:
    """An origin's id with its two private keys."""

    def __init__(self, origin: OriginId, signing: SigningKey, box: PrivateKey) -> None:
        self.origin: Final = origin
        self.signing: Final = signing
        """Ed25519: signs what the origin says."""
        self.box: Final = box
        """X25519: opens what is sealed for the origin alone."""

    @property
    def verify_key(self) -> str:
        """The public half of `signing`, in hexadecimal digits."""
        return bytes(self.signing.verify_key).hex()

    @property
    def box_key(self) -> str:
        """The public half of `box`, in hexadecimal digits."""
        return bytes(self.box.public_key).hex()


def new_keys() -> OriginKeys:
    """A new origin."""
    return OriginKeys(OriginId(os.urandom(16).hex()), SigningKey.generate(), PrivateKey.generate())


def load_keys(folder: Path) -> OriginKeys | None:
    """The keys in a folder; None: there are none.

    Raises:
        OSError: the file cannot be read, or others may read it.
        msgspec.ValidationError, ValueError: it holds something else.
    """
    data = read_private(folder / FILE)
    if data is None:
        return None
    found = msgspec.json.decode(data, type=_File)
    return OriginKeys(found.origin, SigningKey(bytes.fromhex(found.signing)), PrivateKey(bytes.fromhex(found.box)))


def save_keys(folder: Path, keys: OriginKeys) -> None:
    """Keeps keys, durably, in place of those before.

    Raises:
        OSError: they could not be written.
    """
    kept = _File(keys.origin, bytes(keys.signing).hex(), bytes(keys.box).hex())
    write_durably(folder / FILE, msgspec.json.encode(kept))
