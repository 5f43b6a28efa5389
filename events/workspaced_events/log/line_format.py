"""The bytes of a segment: lines, their checksum chain, header and seal. Pure functions, no files.

A line is `cccccccc SP json LF`, where c is zlib.crc32(json, previous c) in lower-case hex. JSON holds no raw
newline, so reading can resume after the next LF. The chain runs through header, batches and seal, and from segment
to segment: a lost, duplicated, swapped or foreign line breaks it.

A batch's JSON is an array of events; a header's or seal's is an object with a `segment`. An append writes one
batch as one line and syncs it before the next, so a valid line after a bad one proves that the bad one was once
synced: the log is damaged, not torn.
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


class Header(msgspec.Struct, frozen=True):
    """A segment's first line."""

    segment: Literal["header"]
    format: int
    catalogue: int
    version: str
    log: str
    """The log's id; clocks contain it."""
    first: int
    chain: str
    """The chain's value before the header."""
    created: str


class Seal(msgspec.Struct, frozen=True, tag_field="segment", tag="seal"):
    """The last line of a full segment."""

    count: int
    last: int
    blake2b: str
    """Hash of the file before the seal: 32 bytes, hex."""


class Line(NamedTuple):
    """A verified line. `payload` is its JSON, `end` the offset after its LF, `chain` the value after it."""

    payload: bytes
    end: int
    chain: int

    @property
    def is_batch(self) -> bool:
        return self.payload.startswith(b"[")


class BadLine(NamedTuple):
    """The first line that does not verify: its offset and the reason."""

    offset: int
    reason: Literal["checksum", "incomplete", "framing", "unknown"]
    """`unknown`: it verifies, but is not what stands there in this format."""


_HEADER_DECODER: Final = msgspec.json.Decoder(Header)
_SEAL_DECODER: Final = msgspec.json.Decoder(Seal)


def segment_name(first: int) -> str:
    """The file name of the segment whose first event is `first`."""
    return f"{first:020d}{SUFFIX}"


def segment_first(name: str) -> int | None:
    """The first sequence in a segment's file name; None if `name` is no segment's name."""
    match = _NAME.match(name)
    return int(match[1]) if match else None


def frame_line(payload: bytes, chain: int) -> tuple[bytes, int]:
    """The line for `payload` and the chain's value after it."""
    assert b"\n" not in payload
    chain = zlib.crc32(payload, chain)
    return b"%08x %s\n" % (chain, payload), chain


def chain_text(chain: int) -> str:
    """The chain's value as written in headers and HEAD."""
    return f"{chain:08x}"


def digest(data: bytes) -> str:
    """The hash in a seal, of the file before it."""
    return blake2b(data, digest_size=32).hexdigest()


def verified_lines(data: bytes, offset: int, chain: int) -> Iterator[Line | BadLine]:
    """Yields the lines of `data` from `offset` on while they verify; a `BadLine`, if any, comes last."""
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
    """Whether a valid line follows the bad one, which is then damage, not a torn tail."""
    return any(offset > bad.offset for offset, _payload in fitting_lines(data, bad.offset, chain))


def fitting_lines(data: bytes, offset: int, chain: int) -> Iterator[tuple[int, bytes]]:
    """Offset and JSON of each line from `offset` on that fits the chain, whatever lies between.

    The chain value before such a line is either the one its predecessor stores or the one computed from its JSON.
    """
    computed = stored = chain
    while (stop := data.find(b"\n", offset)) >= 0:
        payload = data[offset + PREFIX_BYTES : stop]
        prefix = data[offset : offset + 8]
        candidates = {zlib.crc32(payload, computed), zlib.crc32(payload, stored)}
        if payload and prefix in {b"%08x" % each for each in candidates}:
            yield offset, payload
        computed = zlib.crc32(payload, computed)
        stored = int(prefix, 16) if _HEX.match(prefix) else computed
        offset = stop + 1


def parse_header(payload: bytes) -> Header | None:
    """Decodes a header; None if the JSON is no header."""
    try:
        return _HEADER_DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None


def parse_seal(payload: bytes) -> Seal | None:
    """Decodes a seal; None if the JSON is no seal."""
    try:
        return _SEAL_DECODER.decode(payload)
    except msgspec.MsgspecError:
        return None
