"""Whether the blobs that the log names are there and whole.

Texts in `blobs/` are part of the log: a missing one is damage like one that holds something else. What agents were
shown lies in `served/` and may be swept at any time: there only a file that holds something else is wrong, and the
log does without it. A log made of an export never had the texts of the events it was made of.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from ..blobs.durable import BlobTrouble, blob_path, problem_of
from ..limits import BLOB_CHECK_EVENTS, READ_EVENTS_MAX
from ..log.data_directory import BLOBS, SERVED
from ..log.disk import Disk, write_whole
from ..log.segments import SegmentLog
from ..projections.conversations import CONVERSATION_EVENT_TYPES, FORGOTTEN, blobs_named
from ..schema import catalogue as c
from ..schema.catalogue import Event

IMPORTED: Final = "imported"
"""A file of the data directory: up to which event the log was made of an export, which holds no texts."""


class Examined(msgspec.Struct, frozen=True):
    """What became of the blobs that a log names."""

    whole: int
    """Texts of the log that are as they were."""
    damaged: list[BlobTrouble]
    """Those that are not."""
    not_exported: int
    """Those that an export left behind."""
    served: int
    """Blobs of what agents were shown, as far as they are whole,"""
    swept: int
    """as far as they are gone,"""
    served_damaged: list[BlobTrouble]
    """and as far as they hold something else."""


class NamedBlobs:
    """A sink: the blobs that the events name, each with the sequence of the last event that does."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.served: dict[str, int] = {}

    def __call__(self, events: list[Event]) -> None:
        for event in events:
            self.texts.update(dict.fromkeys(texts_named(event), event.seq))
            self.served.update(dict.fromkeys(_served_named(event), event.seq))

    def examine(self, disk: Disk) -> Examined:
        """Reads them all.

        Raises:
            OSError: the data directory cannot be read.
        """
        imported = imported_up_to(disk)
        damaged = list(_troubles(disk, BLOBS, self.texts))
        left_behind = [each for each in damaged if each.problem == "missing" and each.seq <= imported]
        served = list(_troubles(disk, SERVED, self.served))
        swept = sum(each.problem == "missing" for each in served)
        return Examined(
            whole=len(self.texts) - len(damaged),
            damaged=[each for each in damaged if each not in left_behind],
            not_exported=len(left_behind),
            served=len(self.served) - len(served),
            swept=swept,
            served_damaged=[each for each in served if each.problem != "missing"],
        )


def texts_named(event: Event) -> Iterator[str]:
    """The blobs of the log that an event names."""
    data = event.data
    if type(data) is c.SelectionChanged:
        if data.text_sha256 is not None:
            yield data.text_sha256
    elif type(data) in CONVERSATION_EVENT_TYPES:
        yield from (name for name in blobs_named(data) if name != FORGOTTEN)


def _served_named(event: Event) -> Iterator[str]:
    data = event.data
    if type(data) is c.ToolCalled and data.inputs_sha256 is not None:
        yield data.result_sha256
        yield data.inputs_sha256
        if data.arguments_sha256 is not None:
            yield data.arguments_sha256


def _troubles(disk: Disk, directory: str, named: dict[str, int]) -> Iterator[BlobTrouble]:
    for name, seq in named.items():
        if (problem := problem_of(disk, directory, name)) is not None:
            yield BlobTrouble(blob_path(directory, name), problem, seq)


def texts_of_tail(disk: Disk, log: SegmentLog) -> dict[str, int]:
    """The texts that the last BLOB_CHECK_EVENTS events name and that should be there.

    Raises:
        LogError: the log cannot be read.
        OSError: the data directory cannot be read.
    """
    named = NamedBlobs()
    following = max(log.tail.seq - BLOB_CHECK_EVENTS, imported_up_to(disk)) + 1
    while events := log.read(following, READ_EVENTS_MAX):
        named(events)
        following = events[-1].seq + 1
    return named.texts


def imported_up_to(disk: Disk) -> int:
    """The last event that came out of an export; 0 where the log is its own."""
    try:
        return int(disk.read(IMPORTED))
    except (OSError, ValueError):  # then what an export left behind is named as missing
        return 0


def put_imported(disk: Disk, seq: int) -> None:
    """Notes that the events up to `seq` came out of an export.

    Raises:
        OSError: it is not noted.
    """
    write_whole(disk, IMPORTED, b"%d\n" % seq)
