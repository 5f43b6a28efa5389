"""Events of one workspace on several machines, and the values that their daemons share.

A daemon that takes part is an *origin*; the others are its *peers*. Its *shared view* is what it shares of its
workspace: without tab ids, sequences or paths of the machine. What travels are differences of shared views, in
messages that the origin numbers with `n`; a *generation* is a run of messages that begins with a whole view.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ..ids import LinkedVaultId, NoteId, OriginId, VaultId
from .registry import Data, Entry, Redact, Sha256

Count = Annotated[int, Meta(ge=0, le=2**53), Redact.PUBLIC]
Time = Count
"""Microseconds since 1970, in the log of the origin."""
Name = Annotated[str, Redact.CONTENT]
Replicate = Literal["all", "pins", "none"]
"""What of a vault is shared: all, only its pins and renames, or nothing."""


class Part(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A value in a shared view or its difference."""


class SharedActive(Part, frozen=True, gc=False):
    note: NoteId
    since_us: Time


class SharedSelection(Part, frozen=True, gc=False):
    note: NoteId
    start_line: Count
    end_line: Count
    text: Annotated[str, Redact.CONTENT] | None = None


class SharedTab(Part, frozen=True, gc=False):
    note: NoteId
    accessed_us: Time


class SharedPin(Part, frozen=True, gc=False):
    note: NoteId
    pinned_us: Time
    ms: Count
    """The hybrid clock when it was pinned."""
    n: Count
    """The message that brought it, by which a removal finds it."""


class SharedRename(Part, frozen=True, gc=False):
    former: NoteId
    note: NoteId


class Heard(Part, frozen=True, gc=False):
    """How far an origin's messages were applied."""

    origin: OriginId
    n: Count


class Removal(Part, frozen=True, gc=False):
    """A note that was unpinned where others had pinned it: hides the same person's pins known there."""

    note: NoteId
    ms: Count
    heard: tuple[Heard, ...]


class AskedName(Part, frozen=True, gc=False):
    """One ask to forget a note. Who forgets the same note again asks again: the others may have named it since."""

    name: Sha256
    """As `name_hash` makes it: who never had the note learns no name."""
    number: Count
    """At random."""


class Forgetting(Part, frozen=True, gc=False):
    """Which notes machines are to forget."""

    asks: tuple[AskedName, ...] = ()
    """What this origin has forgotten, and asks the others to forget, until all have heard of it."""
    heard: tuple[AskedName, ...] = ()
    """What others ask, which has reached this origin."""


class SharedPresence(Part, frozen=True, gc=False):
    """What is open: another one replaces all of it."""

    active: SharedActive | None = None
    selection: SharedSelection | None = None
    tabs: tuple[SharedTab, ...] = ()


class SharedVault(Part, frozen=True, gc=False):
    """What is shared of one vault. Pins and tabs are in the user's order, the rest in the order of its notes."""

    vault: LinkedVaultId
    active: SharedActive | None = None
    selection: SharedSelection | None = None
    pins: tuple[SharedPin, ...] = ()
    ordered_ms: Count = 0
    """The hybrid clock when the pins were last put in order by hand; 0: never."""
    tabs: tuple[SharedTab, ...] = ()
    renames: tuple[SharedRename, ...] = ()
    removals: tuple[Removal, ...] = ()
    forgetting: Forgetting | None = None


class NewPin(Part, frozen=True, gc=False):
    """A pin that a message brings."""

    at: Count
    """Its index, once the new ones before it are inserted."""
    note: NoteId
    pinned_us: Time
    ms: Count


class VaultDifference(Part, frozen=True, gc=False):
    """What changed of one vault; what is not set stays."""

    vault: LinkedVaultId
    presence: SharedPresence | None = None
    unpinned: tuple[NoteId, ...] = ()
    pinned: tuple[NewPin, ...] = ()
    order: tuple[NoteId, ...] = ()
    """All pins, where the order is another one than inserting gives."""
    ordered_ms: Count | None = None
    renames: tuple[SharedRename, ...] = ()
    """New, or leading elsewhere than before."""
    renames_gone: tuple[NoteId, ...] = ()
    """Former paths."""
    removals: tuple[Removal, ...] = ()
    removals_gone: tuple[NoteId, ...] = ()
    forgetting: Forgetting | None = None
    """Replaces what was asked and heard."""


class Position(Part, frozen=True, gc=False):
    """Which message of an origin was sent or applied last."""

    generation: Count = 0
    n: Count = 0
    digest: Annotated[str, Redact.HASH] | None = None
    """SHA-256 of the message as it was carried, in hexadecimal digits."""


class LinkMember(Part, frozen=True, gc=False):
    origin: OriginId
    person: Name
    machine: Name


class VaultMapping(Part, frozen=True, gc=False):
    """Which vault of this machine is which vault of the link."""

    vault: VaultId
    linked: LinkedVaultId
    replicate: Replicate = "all"


@Entry(
    "link_changed",
    says=lambda data: (
        "left the link" if data.origin is None else f"is linked with {len(data.members) - 1} other machines"
    ),
    changes_state=False,
    in_pause=True,
)
class LinkChanged(Data, frozen=True, gc=False):
    """The whole of the daemon's link from now on; without an origin there is none, and what peers shared goes."""

    origin: OriginId | None = None
    """This daemon."""
    members: tuple[LinkMember, ...] = ()
    """This daemon too. What members shared that are gone from here goes."""
    vaults: tuple[VaultMapping, ...] = ()


@Entry(
    "remote_events_applied", says="heard message {0.position.n} of the machine {0.origin:.8}", changes_state=False
)
class RemoteEventsApplied(Data, frozen=True, gc=False):
    """A peer's message: changes what is known of the peer's shared view, and nothing else."""

    origin: OriginId
    position: Position
    ms: Count
    """The peer's hybrid clock when it sent the message."""
    whole: bool = False
    """Whether `view` replaces what was known; otherwise there is only `changed`."""
    view: tuple[SharedVault, ...] = ()
    changed: tuple[VaultDifference, ...] = ()
