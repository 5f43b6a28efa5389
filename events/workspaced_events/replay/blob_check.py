"""Checks the blobs that the log names.

Texts in `blobs/` are part of the log: a missing text is damage, like a text with another content. Blobs in
`served/` may be swept at any time, so only a file with another content is damaged there, and the log does not need
it.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

import msgspec

from ..blobs.durable import BlobTrouble, DurableBlobs, blob_path, problem_of, read_blob
from ..limits import READ_EVENTS_MAX
from ..log.data_directory import SERVED
from ..log.disk import Disk
from ..log.segments import SegmentLog
from ..projections.conversations import FORGOTTEN, blobs_named
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Event

_BLOB_CHECK_EVENTS: Final = 1_000
"""Opening checks the blobs that this many latest events name; `log verify` checks all."""


class Examined(msgspec.Struct, frozen=True):
    """The state of the blobs that a log names."""

    whole: int
    """Intact texts of the log."""
    damaged: list[BlobTrouble]
    """Damaged, missing or unreadable ones."""
    served: int
    """Intact blobs of recorded calls."""
    swept: int
    """Missing blobs of recorded calls."""
    served_damaged: list[BlobTrouble]
    """Damaged blobs of recorded calls."""


class NamedBlobs:
    """A sink that collects the blobs that events name, each with the last event that names it."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.served: dict[str, int] = {}

    def __call__(self, events: list[Event]) -> None:
        for event in events:
            self.texts.update(dict.fromkeys(texts_named(event), event.seq))
            self.served.update(dict.fromkeys(_served_named(event), event.seq))

    def examine(self, disk: Disk) -> Examined:
        """Checks all collected blobs.

        Raises:
            OSError: the data directory cannot be read.
        """
        texts = DurableBlobs(disk)
        damaged = [each for name, seq in self.texts.items() if (each := texts.trouble(name, seq)) is not None]
        served = [
            BlobTrouble(blob_path(SERVED, name), problem, seq)
            for name, seq in self.served.items()
            if (problem := problem_of(partial(read_blob, disk, SERVED), name)) is not None
        ]
        swept = sum(each.problem == "missing" for each in served)
        return Examined(
            whole=len(self.texts) - len(damaged),
            damaged=damaged,
            served=len(self.served) - len(served),
            swept=swept,
            served_damaged=[each for each in served if each.problem != "missing"],
        )


def texts_named(event: Event) -> Iterator[str]:
    """The log's texts that an event names."""
    entry = ENTRY_OF.get(type(event.data))
    if entry is not None and entry.names_texts:
        yield from (name for name in blobs_named(event.data) if name != FORGOTTEN)


def _served_named(event: Event) -> Iterator[str]:
    data = event.data
    if isinstance(data, c.ToolCalled) and data.inputs_sha256 is not None:
        yield data.result_sha256
        yield data.inputs_sha256
        if data.arguments_sha256 is not None:
            yield data.arguments_sha256


def texts_of_tail(log: SegmentLog) -> dict[str, int]:
    """The texts that the last _BLOB_CHECK_EVENTS events name.

    Raises:
        LogError: the log cannot be read.
    """
    named = NamedBlobs()
    following = max(log.tail.seq - _BLOB_CHECK_EVENTS, 0) + 1
    while events := log.read(following, READ_EVENTS_MAX):
        named(events)
        following = events[-1].seq + 1
    return named.texts
