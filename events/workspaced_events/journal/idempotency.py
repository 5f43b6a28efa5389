"""The window of latest event ids: recognises a retry after a lost answer and gives it the first answer.

For each id the window keeps a checksum of the action's type and data. The checksum is the same in every process,
so snapshots can hold the window. 32 bits suffice: it only distinguishes actions *with the same id*.
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
from ..schema.catalogue import ENTRY_OF, Data, Event, UnknownEvent

_DAEMONS_OWN: Final = 0
_GENERATIONS: Final = 4
"""Full generations per window, beside the one in use: more generations free memory in smaller steps."""
_SEEDS: Final = {data: crc32(entry.name.encode()) for data, entry in ENTRY_OF.items()}
_ENCODER: Final = msgspec.json.Encoder()


def fingerprint(data: Data) -> int:
    """Distinguishes actions with the same id. A daemon's type gets _DAEMONS_OWN, which matches nothing."""
    if not ENTRY_OF[type(data)].by_ui:
        return _DAEMONS_OWN
    return crc32(_ENCODER.encode(data), _SEEDS[type(data)]) or 1


class Seen(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The first use of an id: sequence, fingerprint and vault."""

    seq: int
    print: int
    vault: VaultId | None


def seen_in(event: Event) -> Seen:
    """The window's entry for an event."""
    known = type(event) is not UnknownEvent
    return Seen(event.seq, fingerprint(event.data) if known else _DAEMONS_OWN, event.vault)


class IdWindow:
    """The ids of at least the last `size` events.

    They are kept in generations: when the newest is full, the oldest is dropped whole. A full generation never
    changes, so a copy shares it.
    """

    def __init__(self, size: int = ID_WINDOW_EVENTS) -> None:
        self.size = size
        self._generation_size = -(-size // _GENERATIONS)
        self._generations: deque[dict[EventId, Seen]] = deque([{}], maxlen=_GENERATIONS + 1)
        """Newest first."""

    def get(self, event_id: EventId) -> Seen | None:
        """The first use of the id, if it is in the window."""
        for generation in self._generations:
            if (seen := generation.get(event_id)) is not None:
                return seen
        return None

    def add(self, seen: Mapping[EventId, Seen]) -> None:
        """Adds the ids of appended events."""
        if len(self._generations[0]) >= self._generation_size:
            self._generations.appendleft({})
        self._generations[0].update(seen)

    def copy(self) -> "IdWindow":
        """A copy of the window; costs far less than `latest`."""
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
    """The sequence of the first append of this action.

    Args:
        seen: the window's entry for the id.
        event_id: the publisher's.
        data: of the retried action.
        vault: of the retried action; None matches every vault, because the current vault may have changed.

    Raises:
        Conflict: the id was used for another action.
    """
    same = seen.print != _DAEMONS_OWN and seen.print == fingerprint(data) and vault in (None, seen.vault)
    if not same:
        raise Conflict(
            f"The id {event_id!r} already names another event, number {seen.seq}.",
            hint="Give each action an id of its own; repeat an id only to retry the very same action.",
            seq=seen.seq,
        )
    return seen.seq
