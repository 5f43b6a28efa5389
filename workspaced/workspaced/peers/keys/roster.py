"""The roster of a link: its members, vaults and keys, as its creator says.

The creator signs it; each later one has a higher version. It travels as a frame of its own kind, sealed under a
key that is sealed for each member alone, so that the server reads neither names of persons nor of vaults. A key of
an *epoch* seals the messages of all members; a member has the keys of the epochs since it joined, and none that
came after its removal.
"""

import os
from typing import Final

import msgspec
from msgspec.structs import replace
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import BadSignatureError, CryptoError
from nacl.public import PublicKey, SealedBox
from nacl.signing import VerifyKey

from workspaced_events.ids import LinkedVaultId, OriginId
from workspaced_events.schema.peer_events import Position

from .message import MessageRefused
from .origin_keys import OriginKeys

ROSTER_BYTES_MAX: Final = 512 * 1024
MEMBERS_MAX: Final = 256
_CONTEXT: Final = b"workspaced-roster-1"
_NONCE: Final = 24


class Member(msgspec.Struct, frozen=True):
    """One machine of one person."""

    origin: OriginId
    person: str
    machine: str
    verify_key: str
    box_key: str
    keys: dict[int, bytes] = {}
    """For each epoch since it joined its key, sealed for this member."""


class Removed(msgspec.Struct, frozen=True):
    """A member that was removed: what it sent up to then stays valid."""

    origin: OriginId
    verify_key: str
    last: Position


class Roster(msgspec.Struct, frozen=True):
    """Immutable; every change gives another one, of the next version."""

    link: str
    creator: OriginId
    version: int
    epoch: int
    members: tuple[Member, ...]
    vaults: dict[LinkedVaultId, str] = {}
    removed: tuple[Removed, ...] = ()

    def member(self, origin: OriginId) -> Member | None:
        return next((each for each in self.members if each.origin == origin), None)

    def was_removed(self, origin: OriginId) -> Removed | None:
        return next((each for each in self.removed if each.origin == origin), None)

    def vault_named(self, name: str) -> LinkedVaultId | None:
        return next((vault for vault, own in self.vaults.items() if own == name), None)


class _Envelope(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    link: str
    version: int
    keys: dict[OriginId, bytes]
    """For each member the key of the content, sealed."""
    nonce: bytes
    sealed: bytes
    signature: bytes

    @property
    def context(self) -> bytes:
        return _CONTEXT + msgspec.msgpack.encode((self.link, self.version))

    @property
    def signed(self) -> bytes:
        return self.context + msgspec.msgpack.encode((sorted(self.keys.items()), self.nonce, self.sealed))


_ENVELOPE: Final = msgspec.msgpack.Decoder(_Envelope)
_ROSTER: Final = msgspec.msgpack.Decoder(Roster)


# -- changes, by the creator --


def new_roster(link: str, creator: OriginKeys, person: str, machine: str) -> Roster:
    """The first roster: the creator alone, with the key of epoch 1."""
    first = Member(creator.origin, person, machine, creator.verify_key, creator.box_key)
    return rotated(Roster(link, creator.origin, 0, 0, (first,)))


def rotated(roster: Roster) -> Roster:
    """With a new epoch, whose key every member gets."""
    epoch, key = roster.epoch + 1, os.urandom(32)
    members = (replace(each, keys={**each.keys, epoch: _sealed_for(each, key)}) for each in roster.members)
    return _changed(roster, epoch=epoch, members=tuple(members))


def with_member(roster: Roster, joining: Member, creator: OriginKeys) -> Roster:
    """With one more member, who gets the present key only."""
    own = roster.member(creator.origin)
    assert own is not None, "the creator is a member"
    key = SealedBox(creator.box).decrypt(own.keys[roster.epoch])
    joined = replace(joining, keys={roster.epoch: _sealed_for(joining, key)})
    others = (each for each in roster.members if each.origin != joining.origin)
    return _changed(roster, members=(*others, joined))


def without_member(roster: Roster, origin: OriginId, last: Position) -> Roster:
    """Without a member, whose messages are valid up to `last`; with a new epoch, whose key it does not get."""
    gone = roster.member(origin)
    assert gone is not None, "only a member can be removed"
    removed = (*roster.removed, Removed(origin, gone.verify_key, last))
    left = tuple(each for each in roster.members if each.origin != origin)
    return rotated(_changed(roster, members=left, removed=removed))


def with_vault(roster: Roster, name: str) -> Roster:
    """With one more vault, of a random id."""
    return _changed(roster, vaults={**roster.vaults, LinkedVaultId(os.urandom(16).hex()): name})


def _changed(roster: Roster, **changes: object) -> Roster:
    return replace(roster, version=roster.version + 1, **changes)


def _sealed_for(member: Member, key: bytes) -> bytes:
    return bytes(SealedBox(PublicKey(bytes.fromhex(member.box_key))).encrypt(key))


# -- on its way --


def seal_roster(roster: Roster, creator: OriginKeys) -> bytes:
    """The roster as it is published."""
    key, nonce = os.urandom(32), os.urandom(_NONCE)
    keys = {each.origin: _sealed_for(each, key) for each in roster.members}
    unsigned = _Envelope(roster.link, roster.version, keys, nonce, b"", b"")
    sealed = crypto_aead_xchacha20poly1305_ietf_encrypt(
        msgspec.msgpack.encode(roster), unsigned.context, nonce, key
    )
    unsigned = replace(unsigned, sealed=sealed)
    return msgspec.msgpack.encode(replace(unsigned, signature=creator.signing.sign(unsigned.signed).signature))


def open_roster(data: bytes, link: str, creator_key: str, keys: OriginKeys, known: int = 0) -> Roster | None:
    """The roster, if this origin is one of its members; None: it is none, or none any more.

    Args:
        creator_key: the creator's public signing key, in hexadecimal digits.
        known: the version of the newest roster that is known; what an older one says is over, whoever sends it.

    Raises:
        MessageRefused: TOO_LARGE, DAMAGED, NOT_OURS, BAD_SIGNATURE, OLD_ROSTER.
    """
    if len(data) > ROSTER_BYTES_MAX:
        raise MessageRefused("TOO_LARGE", f"A roster has {len(data)} bytes.")
    try:
        envelope = _ENVELOPE.decode(data)
        if envelope.link != link:
            raise MessageRefused("NOT_OURS", "A roster is of another link.")
        VerifyKey(bytes.fromhex(creator_key)).verify(envelope.signed, envelope.signature)
        if envelope.version < known:
            raise MessageRefused("OLD_ROSTER", f"A roster of version {envelope.version}, older than {known}.")
        if keys.origin not in envelope.keys:
            return None
        key = SealedBox(keys.box).decrypt(envelope.keys[keys.origin])
        plain = crypto_aead_xchacha20poly1305_ietf_decrypt(envelope.sealed, envelope.context, envelope.nonce, key)
        roster = _ROSTER.decode(plain)
    except BadSignatureError as error:
        raise MessageRefused("BAD_SIGNATURE", "A roster is not signed by the link's creator.") from error
    except (msgspec.MsgspecError, CryptoError, ValueError, RecursionError) as error:
        raise MessageRefused("DAMAGED", "A roster cannot be read.") from error
    if (roster.link, roster.version) != (envelope.link, envelope.version) or len(roster.members) > MEMBERS_MAX:
        raise MessageRefused("DAMAGED", "A roster does not hold what it says.")
    return roster


def epoch_keys(roster: Roster, keys: OriginKeys) -> dict[int, bytes]:
    """The keys of the epochs that this member may read.

    Raises:
        MessageRefused: DAMAGED: one of them is not sealed for this member.
    """
    own = roster.member(keys.origin)
    if own is None:
        return {}
    try:
        return {epoch: SealedBox(keys.box).decrypt(sealed) for epoch, sealed in own.keys.items()}
    except CryptoError as error:
        raise MessageRefused("DAMAGED", "A roster's keys cannot be opened.") from error
