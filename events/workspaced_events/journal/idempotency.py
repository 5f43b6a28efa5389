"""The latest event ids: a publisher that retries after a lost answer is recognised and gets the first answer.

What was sent with an id is kept as a checksum of its type and data, the same in every process, so that snapshots
can hold the window. 32 bits will do: the question is only whether two actions *with one id* are the same.
"""

from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Final
from zlib import crc32

import msgspec

from ..errors import Conflict
from ..ids import EventId, VaultId
from ..limits import ID_WINDOW_EVENTS
from ..schema.catalogue import DAEMON_TYPES, ENTRY_OF, Data, Event, UnknownEvent

_DAEMONS_OWN: Final = 0
_GENERATIONS: Final = 4
"""Of an id window, beside the one that fills: with more of them less memory comes and goes."""
_SEEDS: Final = {data: crc32(entry.name.encode()) for data, entry in ENTRY_OF.items()}
_ENCODER: Final = msgspec.json.Encoder()


def fingerprint(data: Data) -> int:
    """What tells one action from another with the same id; what no UI may publish is equal to nothing."""
    if type(data) in DAEMON_TYPES:
        return _DAEMONS_OWN
    return crc32(_ENCODER.encode(data), _SEEDS[type(data)]) or 1


class Seen(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Where an id was used first, and for what."""

    seq: int
    print: int
    vault: VaultId | None


def seen_in(event: Event) -> Seen:
    """What the window keeps of an event."""
    known = type(event) is not UnknownEvent
    return Seen(event.seq, fingerprint(event.data) if known else _DAEMONS_OWN, event.vault)


class IdWindow:
    """The ids of at least the last `size` events.

    They are kept in generations: when the youngest is full, the oldest is forgotten whole. A former generation
    never changes, so a copy shares it.
    """

    def __init__(self, size: int = ID_WINDOW_EVENTS) -> None:
        self.size = size
        self._generation_size = -(-size // _GENERATIONS)
        self._generations: deque[dict[EventId, Seen]] = deque([{}], maxlen=_GENERATIONS + 1)
        """The youngest first."""

    def get(self, event_id: EventId) -> Seen | None:
        """Where the id was used, as far back as the window reaches."""
        for generation in self._generations:
            if (seen := generation.get(event_id)) is not None:
                return seen
        return None

    def add(self, seen: Mapping[EventId, Seen]) -> None:
        """Remembers the ids of appended events."""
        if len(self._generations[0]) >= self._generation_size:
            self._generations.appendleft({})
        self._generations[0].update(seen)

    def copy(self) -> "IdWindow":
        """The window as it is now; costs far less than `latest`."""
        copied = IdWindow(self.size)
        copied._generations = self._generations.copy()
        copied._generations[0] = self._generations[0].copy()
        return copied

    def latest(self) -> dict[EventId, Seen]:
        """At least the last `size` ids, oldest first."""
        latest: dict[EventId, Seen] = {}
        for generation in reversed(self._generations):
            latest.update(generation)
        surplus = max(0, len(latest) - max(self.size, len(self._generations[0])))
        return dict(islice(latest.items(), surplus, None))


def first_seq(seen: Seen, event_id: EventId, data: Data, vault: VaultId | None) -> int:
    """The sequence at which the very same action was appended.

    Args:
        seen: what is known of the id.
        event_id: the publisher's.
        data: of the action that came now.
        vault: the one it names; None fits every vault, since the current one may have changed since.

    Raises:
        Conflict: the id was used for something else.
    """
    same = seen.print != _DAEMONS_OWN and seen.print == fingerprint(data) and vault in (None, seen.vault)
    if not same:
        raise Conflict(
            f"The id {event_id!r} already names another event, number {seen.seq}.",
            hint="Give each action an id of its own; repeat an id only to retry the very same action.",
            seq=seen.seq,
        )
    return seen.seq
