"""Salvage: copies a damaged log up to the damage into a new log, and valid events after it into a file.

The new log has its own id, so clocks of the old log do not apply to it. Events after the damage never enter the
new log, because events before them are lost; they go to `after-damage.jsonl`, with the missing ranges, for people
to read. The damaged log is only read.
"""

from typing import Final

import msgspec

from ..errors import InvalidArgument, LogDamaged
from ..schema.catalogue import CATALOGUE_VERSION, Event
from ..schema.codec import decode_batch, encode_batch, encode_event
from .data_directory import BLOBS, LOG
from .disk import Disk, write_whole
from .line_format import fitting_lines, segment_first
from .recovery import open_log
from .scan import read_segment, scan_log
from .segments import Batch

AFTER_DAMAGE: Final = "after-damage.jsonl"


class AfterDamageHeader(msgspec.Struct, frozen=True):
    """First line of the file; distinguishes it from an export, so that nobody imports it as a log."""

    log: str
    """The damaged log's id."""
    lost: list[tuple[int, int]]
    """Ranges of sequences without a valid event, both ends included."""
    workspaced: str = "after-damage"
    version: int = 1
    catalogue: int = CATALOGUE_VERSION


class Salvaged(msgspec.Struct, frozen=True):
    """The result of a salvage."""

    log_id: str
    """The new log's id."""
    last_seq: int
    """The new log holds everything up to this sequence."""
    damage: LogDamaged
    after: int
    """The number of valid events after the damage."""
    lost: list[tuple[int, int]]
    """Ranges of lost sequences; losses after the last valid event are unknown."""
    blobs: int
    """Files of blobs that were copied; a pack is one."""


def salvage(disk: Disk, to: Disk, *, version: str, now: str) -> Salvaged:
    """Copies everything before the damage in `disk` to a new log in `to`.

    Args:
        disk: the damaged log's data directory; it is only read, and nobody may write it meanwhile.
        to: an empty data directory.
        version: the program's.
        now: the present time.

    Raises:
        InvalidArgument: the log is not damaged, or `to` already holds a log.
        OSError, LogError: a disk operation failed.
    """
    damage = scan_log(disk, lambda _events: None)
    if damage.damage is None:
        raise InvalidArgument("The log is not damaged.", hint="Copy it with `workspaced log backup`.")
    if to.names(LOG) or AFTER_DAMAGE in to.names("."):
        raise InvalidArgument("The new directory already holds a log.", hint="Give one that does not exist yet.")
    # Byte by byte; every read verifies a blob against its name.
    blobs = 0
    to.make_directory(BLOBS)
    for directory in disk.names(BLOBS):
        to.make_directory(f"{BLOBS}/{directory}")
        for name in disk.names(f"{BLOBS}/{directory}"):
            write_whole(to, f"{BLOBS}/{directory}/{name}", disk.read(f"{BLOBS}/{directory}/{name}"))
            blobs += 1
    log = open_log(to, scan_log(to, lambda _events: None), version=version, now=lambda: now)

    def append(events: list[Event]) -> None:
        log.append(Batch(events[0].seq, events[-1].seq, encode_batch(events)), log.tail.seq)

    try:
        scan_log(disk, append)
        last = log.tail.seq
    finally:
        log.close()
    after = sorted(_behind(disk, last).values(), key=lambda event: event.seq)
    lost = _gaps(last, after, damage.head.seq if damage.head else 0)
    header = AfterDamageHeader(damage.log_id, lost)
    lines = [msgspec.json.encode(header), *map(encode_event, after)]
    write_whole(to, AFTER_DAMAGE, b"".join(line + b"\n" for line in lines))
    return Salvaged(log.log_id, last, damage.damage, len(after), lost, blobs)


def _behind(disk: Disk, last: int) -> dict[int, Event]:
    """The valid events after sequence `last`, whatever lies between them."""
    events_by_seq: dict[int, Event] = {}
    for name in disk.names(LOG):
        if segment_first(name) is None:
            continue
        data = read_segment(disk, name)
        for offset, payload in fitting_lines(data, 0, 0):
            try:
                events = decode_batch(payload) if data[offset + 8 : offset + 10] == b" [" else []
            except msgspec.MsgspecError:
                continue
            for event in events:
                if event.seq > last:
                    events_by_seq.setdefault(event.seq, event)
    return events_by_seq


def _gaps(last: int, after: list[Event], acknowledged: int) -> list[tuple[int, int]]:
    """The missing ranges after `last`; HEAD names `acknowledged` as the last event."""
    gaps = []
    for event in after:
        if event.seq > last + 1:
            gaps.append((last + 1, event.seq - 1))
        last = event.seq
    if acknowledged > last:
        gaps.append((last + 1, acknowledged))
    return gaps
