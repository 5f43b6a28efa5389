"""The writes to the memory folder that have no end yet, folded from the log (schema/memory_events.py)."""

from collections.abc import Iterable
from typing import Self

import msgspec

from ..ids import VaultId
from ..schema import catalogue as c
from ..schema.catalogue import Event


class PendingWrite(msgspec.Struct, frozen=True):
    """A write whose file may or may not have changed."""

    vault: VaultId | None
    data: c.MemoryWritten


class PendingWrites(msgspec.Struct):
    """The pending writes by sequence, oldest first. For one thread only."""

    by_seq: dict[int, PendingWrite] = {}

    def feed(self, events: Iterable[Event]) -> None:
        """Takes the next events."""
        for event in events:
            data = event.data
            if type(data) is c.MemoryWritten:
                self.by_seq[event.seq] = PendingWrite(event.vault, data)
            elif type(data) is c.MemoryWriteEnded:
                self.by_seq.pop(data.write, None)

    def copy(self) -> Self:
        """A copy with the same writes."""
        return type(self)(dict(self.by_seq))
