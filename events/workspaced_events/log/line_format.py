"""The bytes of a segment: lines, their checksum chain, header and seal. Pure functions, no files.

A line is `cccccccc SP json LF`, where c is zlib.crc32(json, previous c) in lower-case hex. JSON holds no raw
newline, so the next LF is where reading can take up again. The chain runs through header, batches and seal, and
from segment to segment: a line lost, doubled, swapped or taken from another log breaks it.

A batch's JSON is an array of events; a header's or seal's is an object with the key `wlog`. One appended batch is
one line written and synced before the next is begun, so a valid line behind a bad one proves that the bad one was
once synced: that is damage, and no torn tail.
"""

import re
import zlib
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

import msgspec

FORMAT_VERSION: Final = 1
PREFIX_BYTES: Final = 9
SUFFIX: Final = ".wlog"
_NAME: Final = re.compile(r"^([0-9]{20})\.wlog\Z", re.ASCII)
_HEX: Final = re.compile(rb"^[0-9a-f]{8}$")


class Header(msgspec.Struct, frozen=True, tag_field="wlog", tag="header"):
    """First line of a segment."""

    format: int
    catalogue: int
    version: str
    log: str
    """The log's id; a clock names it."""
    first: int
    chain: str
    """The chain's value before this line."""
    created: str


class Seal(msgspec.Struct, frozen=True, tag_field="wlog", tag="seal"):
    """Last line of a segment that takes no more."""

    count: int
    last: int
    blake2b: str
    """Of the file before this line, 32 bytes, hex."""


class Line(NamedTuple):
    """One verified line. `payload` is its JSON; `end` the offset behind its LF; `chain` the value after it."""

    payload: bytes
    end: int
    chain: int

    @property
    def is_batch(self) -> bool:
        return self.payload.startswith(b"[")


class BadLine(NamedTuple):
    """The first line that does not verify: where it starts and what is wrong."""

    offset: int
    reason: Literal["checksum", "incomplete", "framing"]


_HEADER_DECODER: Final = msgspec.json.Decoder(Header)
_SEAL_DECODER: Final = msgspec.json.Decoder(Seal)


def segment_name(first: int) -> str:
    """The file name of the segment whose first event is `first`."""
    return f"{first:020d}{SUFFIX}"


def segment_first(name: str) -> int | None:
    """The first sequence a segment's file name says, or None if it is no segment's name."""
    match = _NAME.match(name)
    return int(match[1]) if match else None


def frame_line(payload: bytes, chain: int) -> tuple[bytes, int]:
    """The line for `payload` and the chain's value after it."""
    assert b"\n" not in payload
    chain = zlib.crc32(payload, chain)
    return b"%08x %s\n" % (chain, payload), chain


def chain_text(chain: int) -> str:
    """The chain's value as headers and HEAD write it."""
    return f"{chain:08x}"


def digest(data: bytes) -> str:
    """What a seal says of the file before it."""
    return blake2b(data, digest_size=32).hexdigest()


def verified_lines(data: bytes, offset: int, chain: int) -> Iterator[Line | BadLine]:
    """The lines of `data` from `offset` on while they verify; a `BadLine`, if there is one, comes last."""
    crc32 = zlib.crc32
    find = data.find
    size = len(data)
    while offset < size:
        stop = find(b"\n", offset)
        if stop < 0:
            yield BadLine(offset, "incomplete")
            return
        payload = data[offset + PREFIX_BYTES : stop]
        if data[offset + 8 : offset + 9] != b" ":
            yield BadLine(offset, "framing")
            return
        chain = crc32(payload, chain)
        if data[offset : offset + 8] != b"%08x" % chain:
            yield BadLine(offset, "checksum")
            return
        offset = stop + 1
        yield Line(payload, offset, chain)


def valid_line_after(data: bytes, bad: BadLine, chain: int) -> bool:
    """Whether a line that verifies stands behind the bad one, which then is damage and no torn tail.

    The chain before such a line is what the line before it says of itself, or what its JSON gives.
    """
    offset, computed, stored = bad.offset, chain, chain
    while (stop := data.find(b"\n", offset)) >= 0:
        payload = data[offset + PREFIX_BYTES : stop]
        prefix = data[offset : offset + 8]
        candidates = {zlib.crc32(payload, computed), zlib.crc32(payload, stored)}
        if offset > bad.offset and payload and prefix in {b"%08x" % each for each in candidates}:
            return True
        computed = zlib.crc32(payload, computed)
        stored = int(prefix, 16) if _HEX.match(prefix) else computed
        offset = stop + 1
    return False


def parse_header(payload: bytes) -> Header | None:
    """The header of a line's JSON, or None if it is none."""
    try:
        return _HEADER_DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None


def parse_seal(payload: bytes) -> Seal | None:
    """The seal of a line's JSON, or None if it is none."""
    try:
        return _SEAL_DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None
