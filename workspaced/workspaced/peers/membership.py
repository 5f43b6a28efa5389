"""What this daemon knows of its link: one private file in the data directory, replaced with each change."""

from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import LinkedVaultId, OriginId, VaultId
from workspaced_events.private_files import read_private, write_durably
from workspaced_events.schema.peer_events import AskedName, LinkChanged, LinkMember, VaultMapping

from .keys.invitation import Code, Invitation
from .keys.roster import Member, Roster

FILE: Final = "link.json"


class Ask(msgspec.Struct, frozen=True):
    """A note that was forgotten here, which others are asked to forget until all have heard of it."""

    vault: LinkedVaultId
    asked: AskedName


class Membership(msgspec.Struct, frozen=True):
    """Immutable; a change is another one, which `save` keeps."""

    link: str
    """The link's name on the server: 32 random hexadecimal digits."""
    creator_key: str
    """The creator's public signing key, by which rosters are known."""
    machine: str
    servers: tuple[str, ...] = ()
    code: Code | None = None
    """The invitation, until a roster has this machine."""
    roster: Roster | None = None
    sealed_roster: bytes = b""
    """As the creator publishes it."""
    auto_approve: bool = False
    invitations: tuple[Invitation, ...] = ()
    requests: tuple[Member, ...] = ()
    """Who has asked to join, with a valid invitation, and waits to be approved."""
    vaults: dict[VaultId, VaultMapping] = {}
    was_removed: bool = False
    asks: tuple[Ask, ...] = ()

    def is_creator(self, origin: OriginId) -> bool:
        """Whether `origin` has made the link."""
        return self.roster is not None and self.roster.creator == origin

    def as_event(self, origin: OriginId) -> LinkChanged:
        """What the log says of it."""
        roster = self.roster
        if roster is None or self.was_removed or roster.member(origin) is None:
            return LinkChanged()
        members = sorted(roster.members, key=lambda each: each.origin)
        return LinkChanged(
            origin,
            tuple(LinkMember(each.origin, each.person, each.machine) for each in members),
            tuple(own for _vault, own in sorted(self.vaults.items()) if own.linked in roster.vaults),
        )


def load_membership(folder: Path) -> Membership | None:
    """The membership that a folder holds; None: there is none.

    Raises:
        OSError: the file cannot be read, or others may read it.
        msgspec.MsgspecError: it holds something else.
    """
    data = read_private(folder / FILE)
    return None if data is None else msgspec.json.decode(data, type=Membership)


def save_membership(folder: Path, membership: Membership) -> None:
    """Keeps a membership, durably.

    Raises:
        OSError: it may not be kept.
    """
    write_durably(folder / FILE, msgspec.json.encode(membership))


def with_request(membership: Membership, joining: Member, secret: str) -> Membership:
    """With someone who asks to join; the invitation is used up."""
    invitations = tuple(
        replace(each, origin=joining.origin) if each.secret == secret else each for each in membership.invitations
    )
    others = (each for each in membership.requests if each.origin != joining.origin)
    return replace(membership, invitations=invitations, requests=(*others, joining))
