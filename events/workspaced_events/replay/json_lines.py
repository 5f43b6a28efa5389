"""Exports: a log as JSON Lines for grep, jq and other programs.

The first line is a header, `{"workspaced": "log", "version": 1, ...}` without a `type`; then one event a line, in
order, batches flattened.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from ..errors import InvalidArgument, LogDamaged
from ..limits import BATCH_BYTES_MAX, EVENT_DEPTH_MAX
from ..log.disk import Disk
from ..log.recovery import open_log
from ..log.scan import scan_log
from ..log.segments import Batch
from ..projections.note_visibility import without_visibility
from ..schema.catalogue import CATALOGUE_VERSION, Event
from ..schema.codec import decode_event, encode_event
from ..schema.nesting import is_deeper

VERSION: Final = 1
_IMPORT_EVENTS: Final = 1_000


class ExportHeader(msgspec.Struct, frozen=True):
    """First line of an export."""

    workspaced: str
    version: int
    log: str = ""
    catalogue: int = CATALOGUE_VERSION
    redacted: bool | msgspec.UnsetType = msgspec.UNSET
    """True if pseudonyms replace names and texts; omitted otherwise."""


_HEADER: Final = msgspec.json.Decoder(ExportHeader)


def export_lines(
    log_id: str, events: Iterable[Event], *, redacted: bool = False, visibility: bool = False
) -> Iterator[bytes]:
    """The lines of an export, each with its LF.

    Args:
        redacted: whether the events are redacted.
        visibility: keeps the events about notes' visibility; otherwise tombstones replace them.
    """
    header = ExportHeader("log", VERSION, log_id, redacted=redacted or msgspec.UNSET)
    yield msgspec.json.encode(header) + b"\n"
    for event in events if visibility else without_visibility(events):
        yield encode_event(event) + b"\n"


def read_export(lines: Iterable[bytes], name: str) -> Iterator[Event]:
    """The events of an export.

    Args:
        lines: the file's.
        name: the file's name in errors.

    Raises:
        InvalidArgument: the file is no export, or one of a newer version.
        LogDamaged: a line is no event, or a sequence is missing; names the line.
    """
    expected: int | None = None
    number = 0
    for number, line in enumerate(lines, start=1):
        if number == 1:
            read_header(line, name)
            continue
        if not line.strip():
            continue
        if is_deeper(line, EVENT_DEPTH_MAX):
            raise _damaged(name, number, f"no event: it is nested deeper than {EVENT_DEPTH_MAX}")
        try:
            event = decode_event(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _damaged(name, number, f"no event: {error}") from None
        if expected is None and event.seq < 1:
            raise _damaged(name, number, f"expected a sequence from 1 on, got {event.seq}")
        if expected is not None and event.seq != expected:
            raise _damaged(name, number, f"expected sequence {expected}, got {event.seq}")
        expected = event.seq + 1
        yield event
    if number == 0:
        read_header(b"", name)


def _damaged(name: str, line: int, problem: str) -> LogDamaged:
    return LogDamaged(
        f"{name}, line {line}: {problem}.",
        hint="The lines before it can be read. Ask for the file again, or make it anew from its log.",
        line=line,
    )


def import_events(disk: Disk, events: Iterable[Event], *, version: str, now: str) -> int:
    """Makes a new log of events, which keep sequence, id, time and source. Returns the last sequence.

    Raises:
        InvalidArgument: the directory already holds a log, or the events do not begin with sequence 1.
        OSError, LogError: a disk operation failed.
    """
    present = scan_log(disk, lambda _events: None)
    if present.segments or present.torn or present.damage:
        raise InvalidArgument(
            "The data directory already holds a log.", hint="Import into a new one; logs are not merged."
        )
    log = open_log(disk, present, version=version, now=lambda: now)
    try:
        for batch in _batches(events):
            log.append(batch, log.tail.seq)
        return log.tail.seq
    finally:
        log.close()


def _batches(events: Iterable[Event]) -> Iterator[Batch]:
    """The events from sequence 1 on, in batches that fit a line."""
    parts: list[bytes] = []
    size = last = 0
    for event in events:
        if event.seq != last + 1:
            raise InvalidArgument(
                f"Expected sequence {last + 1}, got {event.seq}.",
                hint="Only an export from sequence 1 on makes a log.",
            )
        part = encode_event(event)
        if parts and (len(parts) >= _IMPORT_EVENTS or size + len(part) >= BATCH_BYTES_MAX):
            yield Batch(last - len(parts) + 1, last, b"[" + b",".join(parts) + b"]")
            parts, size = [], 0
        parts.append(part)
        size, last = size + len(part) + 1, event.seq
    if parts:
        yield Batch(last - len(parts) + 1, last, b"[" + b",".join(parts) + b"]")


def read_header(line: bytes, name: str) -> ExportHeader:
    """Decodes the header in an export's first line.

    Raises:
        InvalidArgument: the line is no header, or one of a newer version.
    """
    if not line:
        raise InvalidArgument(f"{name} is empty.", hint="Make an export with `workspaced log export`.")
    try:
        header = _HEADER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        header = ExportHeader("", 0)
    if header.workspaced != "log":
        raise InvalidArgument(
            f"{name} is no export of a workspaced log.", hint="Its first line must be the export's header."
        )
    if header.version > VERSION:
        raise InvalidArgument(
            f"{name} is an export of version {header.version}; this program reads up to {VERSION}.",
            hint="Use a newer workspaced.",
        )
    return header
