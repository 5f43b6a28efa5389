"""Reading a whole log: verifies the chain from the first header on, passes on the events, finds the end.

Opening, `log verify` and a replay of a data directory all go through `scan_log`; it writes nothing.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Final

import msgspec

from ..errors import LogDamaged, LogUnreadable
from ..limits import INDEX_STRIDE_BYTES
from ..schema.catalogue import Event
from ..schema.codec import decode_batch
from .data_directory import LOG
from .disk import Disk
from .head import Head, read_head
from .line_format import (
    FORMAT_VERSION,
    PREFIX_BYTES,
    BadLine,
    Header,
    Line,
    chain_text,
    digest,
    parse_header,
    parse_seal,
    segment_first,
    valid_line_after,
    verified_lines,
)

_ENDS_BYTES: Final = 4_096
"""A header and a seal each fit into this many bytes."""

_SALVAGE: Final = (
    "It opens read-only up to there; restore the file from a backup, or run `workspaced log salvage`."
)

Sink = Callable[[list[Event]], None]


class LogOffset(msgspec.Struct, frozen=True):
    """A line's position in the log, where reading may start; its first event is `seq`."""

    seq: int
    segment: str
    offset: int
    chain: int


class Tail(msgspec.Struct, frozen=True):
    """The end of the log: the last valid line of its last segment."""

    seq: int = 0
    segment: str = ""
    offset: int = 0
    chain: int = 0
    events: int = 0
    """Events in the last segment."""
    chain_before: int = 0
    """The chain's value before the last segment's header."""
    catalogue: int = 0
    sealed: bool = False


class Torn(msgspec.Struct, frozen=True):
    """An incomplete last line, which was never acknowledged."""

    segment: str
    offset: int
    bytes: int


class Scan(msgspec.Struct):
    """The result of a scan. With `damage` set, all other fields describe the part before it."""

    log_id: str = ""
    tail: Tail = Tail()
    positions: list[LogOffset] = []
    damage: LogDamaged | None = None
    torn: Torn | None = None
    head: Head | None = None
    warnings: list[str] = []
    segments: int = 0

    @property
    def clean(self) -> bool:
        """Whether an orderly shutdown wrote HEAD, and nothing followed."""
        head, tail = self.head, self.tail
        return bool(
            head and head.clean and (head.seq, head.segment, head.offset) == (tail.seq, tail.segment, tail.offset)
        )


def scan_log(
    disk: Disk, sink: Sink, *, after: int = 0, progress: Callable[[int, int], None] | None = None
) -> Scan:
    """Verifies the log and passes its events to `sink`, a line at a time, in order.

    Args:
        disk: its directory `log` is read.
        sink: gets each verified batch before any damage.
        after: the sequence before the log's first event.
        progress: gets the number of scanned segments and of all segments.

    Raises:
        LogUnreadable: the directory or a segment cannot be read.
    """
    scan = Scan(head=read_head(disk), tail=Tail(after))
    segments = _segments(disk, scan)
    for number, name in enumerate(segments, start=1):
        _scan_segment(disk, name, _following(segments, number), scan, sink)
        if scan.damage or scan.torn:
            break
        if progress:
            progress(number, len(segments))
    _compare_with_head(scan)
    return scan


def resume_scan(disk: Disk, sink: Sink, log_id: str, tail: Tail, positions: list[LogOffset]) -> Scan | None:
    """Like `scan_log`, but starts at `tail`, a former end of the log.

    Verifies only the chain of the tail's segment, and only header and end of earlier segments; `scan_log` and
    every read verify the rest.

    Args:
        disk: its directory `log` is read.
        sink: gets each verified batch after `tail`.
        log_id: the id of the tail's log.
        tail: from a snapshot.
        positions: where reading of the tail's segment may start.

    Returns:
        None if the log's bytes do not fit `tail`; `sink` got nothing then.

    Raises:
        LogUnreadable: the directory or a segment cannot be read.
    """
    scan = Scan(head=read_head(disk), log_id=log_id)
    segments = _segments(disk, scan)
    if tail.segment not in segments:
        return None
    number = segments.index(tail.segment) + 1
    for name, following in pairwise(segments[:number]):
        if not _skip_segment(disk, name, following, scan):
            return None
    data = read_segment(disk, tail.segment)
    header, _bad = _read_header(data, tail.segment, scan)
    if header is None or header.format > FORMAT_VERSION or not fits(data, tail):
        return None
    scan.segments, scan.tail = number, tail
    scan.positions.extend(positions)
    _scan_rest(data, _following(segments, number), scan, sink)
    for further, name in enumerate(segments[number:], start=number + 1):
        if scan.damage or scan.torn:
            break
        _scan_segment(disk, name, _following(segments, further), scan, sink)
    _compare_with_head(scan)
    return scan


def read_segment(disk: Disk, name: str, offset: int = 0, size: int = -1) -> bytes:
    """The bytes of a segment.

    Raises:
        LogUnreadable: the disk cannot read it.
    """
    try:
        return disk.read(f"{LOG}/{name}", offset, size)
    except OSError as error:
        raise LogUnreadable(
            f"log/{name} cannot be read: {error.strerror}.",
            hint="Check the disk and the file's permissions, or restore it from a backup; nothing was changed.",
            file=f"log/{name}",
        ) from error


def fits(data: bytes, tail: Tail) -> bool:
    """Whether the segment `data` verifies up to a line with the offset and chain value of `tail`."""
    line: Line | BadLine = BadLine(0, "incomplete")
    for line in verified_lines(data[: tail.offset], 0, tail.chain_before):  # noqa: B007
        pass
    return isinstance(line, Line) and (line.end, line.chain) == (tail.offset, tail.chain)


def _skip_segment(disk: Disk, name: str, following: str, scan: Scan) -> bool:
    """Moves the scan's tail over a sealed segment by its header and end alone; False if either is invalid."""
    start = read_segment(disk, name, 0, _ENDS_BYTES)
    header, _bad = _read_header(start, name, scan)
    if header is None or header.format > FORMAT_VERSION:
        return False
    offset, chain = start.index(b"\n") + 1, int(start[:8], 16)
    scan.positions.append(LogOffset(header.first, name, offset, chain))
    end = read_segment(disk, name, max(0, disk.size(f"{LOG}/{name}") - _ENDS_BYTES))
    last = end[end.rfind(b"\n", 0, -1) + 1 : -1]
    seal = parse_seal(last[PREFIX_BYTES:])
    if not end.endswith(b"\n") or seal is None or seal.last + 1 != segment_first(following):
        return False
    try:
        scan.tail = Tail(seal.last, name, chain=int(last[:8], 16))  # the next header's checksum proves it
    except ValueError:
        return False
    return True


def _segments(disk: Disk, scan: Scan) -> list[str]:
    try:
        names = disk.names(LOG)
    except OSError as error:
        raise LogUnreadable(
            f"{LOG} cannot be listed: {error.strerror}.",
            hint="Check the disk and the directory's permissions; nothing was changed.",
            file=LOG,
        ) from error
    ours = ("HEAD", "HEAD.tmp")
    stray = [
        each for each in names if each not in ours and segment_first(each) is None and not is_unfinished(each)
    ]
    scan.warnings.extend(f"log/{name} is no segment; ignored." for name in stray)
    return [name for name in names if segment_first(name) is not None]


def is_unfinished(name: str) -> bool:
    """Whether `name` is a temporary copy of a segment, left by an interrupted write."""
    return name.endswith(".tmp") and segment_first(name.removesuffix(".tmp")) is not None


def _following(segments: list[str], number: int) -> str | None:
    return segments[number] if number < len(segments) else None


def _scan_segment(disk: Disk, name: str, following: str | None, scan: Scan, sink: Sink) -> None:
    data = read_segment(disk, name)
    header, bad = _read_header(data, name, scan)
    if header is None:
        assert bad is not None
        # The last file without a header: the daemon died while it made the segment, which held no event.
        if following is None and not valid_line_after(data, bad, scan.tail.chain):
            scan.torn = Torn(name, 0, len(data))
        else:
            problem, hint = _no_header(bad)
            _damaged(scan, name, bad.offset, following, problem, hint=hint)
        return
    if header.format > FORMAT_VERSION:
        problem = f"it has format {header.format}; this version reads {FORMAT_VERSION}"
        _damaged(scan, name, 0, following, problem, hint="Use a newer workspaced; up to there this one reads it.")
        return
    scan.segments += 1
    scan.log_id = header.log
    start = data.index(b"\n") + 1
    scan.tail = Tail(scan.tail.seq, name, start, int(data[:8], 16), 0, scan.tail.chain, header.catalogue)
    _scan_rest(data, following, scan, sink)


def _no_header(bad: BadLine) -> tuple[str, str]:
    """What is wrong with a segment's first line, and what to do."""
    if bad.reason == "unknown":
        return (
            "another version of workspaced wrote it",
            "Go on with it, or with another data directory; nothing was changed.",
        )
    return f"the header does not verify ({bad.reason})", _SALVAGE


def _scan_rest(data: bytes, following: str | None, scan: Scan, sink: Sink) -> None:
    """Scans the segment `data` from the scan's tail on."""
    name = scan.tail.segment
    problem = _scan_lines(data, following, scan, sink)
    if problem is None and scan.torn is None and following is not None:
        if not scan.tail.sealed:
            problem = "the segment ends without its seal"
        elif segment_first(following) != scan.tail.seq + 1:
            problem = f"the next segment, log/{following}, does not begin with sequence {scan.tail.seq + 1}"
    if problem is not None:
        _damaged(scan, name, scan.tail.offset, following, problem)


def _scan_lines(data: bytes, following: str | None, scan: Scan, sink: Sink) -> str | None:
    """Moves the scan's tail over the segment's valid lines; returns the problem of the first invalid one."""
    tail = scan.tail
    seq, offset, chain, events, sealed = tail.seq, tail.offset, tail.chain, tail.events, tail.sealed
    indexed = -INDEX_STRIDE_BYTES
    problem = None
    for line in verified_lines(data, offset, chain):
        if isinstance(line, BadLine):
            # After the seal too: an earlier cut of a torn line may not have reached the platter.
            if following is not None or valid_line_after(data, line, chain):
                problem = f"a line does not verify ({line.reason})"
            else:
                scan.torn = Torn(tail.segment, line.offset, len(data) - line.offset)
            break
        if sealed:
            problem = "there is a line behind the seal"
            break
        if line.is_batch:
            batch = _consecutive(line.payload, seq + 1)
            if not batch:
                problem = f"expected an array of events from sequence {seq + 1} on"
                break
            if offset - indexed >= INDEX_STRIDE_BYTES:
                scan.positions.append(LogOffset(seq + 1, tail.segment, offset, chain))
                indexed = offset
            sink(batch)
            seq, events = seq + len(batch), events + len(batch)
        else:
            seal = parse_seal(line.payload)
            if seal is None or (seal.count, seal.last, seal.blake2b) != (events, seq, digest(data[:offset])):
                problem = "the seal does not fit the segment"
                break
            sealed = True
        offset, chain = line.end, line.chain
    scan.tail = msgspec.structs.replace(tail, seq=seq, offset=offset, chain=chain, events=events, sealed=sealed)
    return problem


def _consecutive(payload: bytes, first: int) -> list[Event] | None:
    try:
        batch = decode_batch(payload)
    except msgspec.MsgspecError:
        return None
    return batch if [event.seq for event in batch] == list(range(first, first + len(batch))) else None


def _read_header(data: bytes, name: str, scan: Scan) -> tuple[Header | None, BadLine | None]:
    line = next(verified_lines(data, 0, scan.tail.chain), BadLine(0, "incomplete"))
    if isinstance(line, BadLine):
        return None, line
    header = parse_header(line.payload)
    if header is None:
        return None, BadLine(0, "unknown")
    fits = (
        header.first == segment_first(name) == scan.tail.seq + 1
        and header.chain == chain_text(scan.tail.chain)
        and header.log == (scan.log_id or header.log)
    )
    return (header, None) if fits else (None, BadLine(0, "framing"))


def _compare_with_head(scan: Scan) -> None:
    head, tail = scan.head, scan.tail
    if head is None:
        if scan.segments:
            scan.warnings.append("log/HEAD is missing or unreadable; opened from the segments alone.")
        return
    if scan.damage is not None:
        return
    if scan.log_id and head.log != scan.log_id:
        scan.warnings.append("log/HEAD belongs to another log; ignored.")
    elif tail.seq < head.seq:
        name = scan.torn.segment if scan.torn else tail.segment or head.segment
        offset = scan.torn.offset if scan.torn else tail.offset
        scan.torn = None
        _damaged(scan, name, offset, None, "acknowledged events are missing")
    elif scan.segments == 0 and scan.torn is None:
        # HEAD is made after the first segment, so a HEAD alone means that segments were removed.
        _damaged(scan, head.segment, 0, None, "the segment that HEAD names is missing")


def _damaged(
    scan: Scan, name: str, offset: int, following: str | None, problem: str, *, hint: str = _SALVAGE
) -> None:
    first = scan.tail.seq + 1
    last: int | None = None
    if following is not None and (begins := segment_first(following)) is not None and begins > first:
        last = begins - 1
    elif scan.head is not None and scan.head.seq >= first:
        last = scan.head.seq
    span = f"sequences {first} to {last}" if last is not None else f"sequences from {first} on"
    scan.damage = LogDamaged(
        f"log/{name} is damaged at offset {offset}: {problem}. Affected: {span}.",
        hint=hint,
        file=f"log/{name}",
        offset=offset,
        first_seq=first,
        last_seq=last,
    )
