"""What the machines of a link share, as a tool sees it."""

import msgspec

from workspaced_events.ids import OriginId
from workspaced_events.schema.peer_events import SharedVault


class Machine(msgspec.Struct, frozen=True):
    """One machine of one person, with what it shares of the current vault and the client may see."""

    origin: OriginId
    person: str
    machine: str
    here: bool
    """Whether it is the one that answers."""
    heard_at: str
    """When it was last heard of, by the clock of the one that answers; "": it is that one."""
    ms: int
    """The hybrid clock when its user last did something; 0: nothing is known of it."""
    vault: SharedVault


class LinkedMachines(msgspec.Struct, frozen=True):
    """All machines of the link, the one that answers first."""

    seq: int
    """The sequence of the event that last told of a peer."""
    machines: tuple[Machine, ...]
