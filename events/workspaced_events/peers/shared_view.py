"""What a daemon shares of its workspace with the other daemons of one link: values without tab ids, sequences or paths of
this machine.

A daemon that takes part is an *origin*; the others are its *peers*. Its shared view is a function of its log and of what
may leave (`projecting`). What travels is the difference of two shared views, in messages that the origin numbers with `n`;
a *generation* is a run of messages that begins with a whole view.
"""

from typing import Literal, NewType

import msgspec

from ..ids import NoteId

OriginId = NewType("OriginId", str)
"""32 hexadecimal digits."""
LinkedVaultId = NewType("LinkedVaultId", str)
"""The random id that all daemons of a link know a vault by: 32 hexadecimal digits."""
Replicate = Literal["all", "pins", "none"]
"""What of a vault is shared: all, only its pins and renames, or nothing."""


class SharedActive(msgspec.Struct, frozen=True, rename="camel"):
    note: NoteId
    since: str


class SharedPin(msgspec.Struct, frozen=True, rename="camel"):
    """A pin with its tag: the message that brought it, in which a peer's removal finds it."""

    note: NoteId
    n: int
    ms: int
    """The hybrid clock of that message."""


class SharedTab(msgspec.Struct, frozen=True, rename="camel"):
    note: NoteId
    last_accessed: str


class SharedSelection(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    note: NoteId
    start_line: int
    end_line: int
    text: str | None = None


class SharedRename(msgspec.Struct, frozen=True, rename="camel"):
    former: NoteId
    note: NoteId


class Removal(msgspec.Struct, frozen=True, rename="camel"):
    """A note that the person unpinned here: hides pins of it that this origin had applied then, of the same person."""

    note: NoteId
    ms: int
    applied: dict[OriginId, int]
    """For each origin the `n` applied last: its pins of the note with that `n` or a lower one are hidden."""


class SharedVault(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Of one vault. Lists have the order in which the user has them."""

    active: SharedActive | None = None
    pins: tuple[SharedPin, ...] = ()
    ordered_ms: int = 0
    """The hybrid clock of the message that brought the latest order of pins by hand; 0: there was none."""
    tabs: tuple[SharedTab, ...] = ()
    selection: SharedSelection | None = None
    renames: tuple[SharedRename, ...] = ()
    removals: tuple[Removal, ...] = ()


SharedView = dict[LinkedVaultId, SharedVault]
"""Vaults without anything to share are left out."""


class Position(msgspec.Struct, frozen=True, rename="camel"):
    """Which message of an origin was sent or applied last."""

    generation: int = 0
    n: int = 0
    digest: str = ""
    """SHA-256 of the message as it was carried, in hexadecimal digits."""
