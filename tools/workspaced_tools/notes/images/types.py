"""What an image's bytes say: media type, size in pixels, whether the end is missing.

Pure, and without a decoder: only headers are read, in time that the image's content cannot raise. A type is
detected from the bytes, because types declared from a file's name are often wrong.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Final, NamedTuple

SENT: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""The types that providers take."""
_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_JPEG_SEGMENTS_MAX: Final = 1_000
"""A file with more segments before its size is no photograph."""
_JPEG_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""The markers of segments that hold the size."""


class Pixels(NamedTuple):
    """The size of an image as it is stored."""

    width: int
    height: int


def media_type(content: bytes) -> str | None:
    """The type by the first bytes; None if they are not of a known type."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _BEGINNINGS if content.startswith(begin)), None)


def pixels(content: bytes) -> Pixels | None:
    """The size in pixels, from the header; None if the header is incomplete or holds none."""
    measure = _MEASURES.get(media_type(content) or "")
    found = measure(content) if measure is not None else None
    return found if found is not None and found.width > 0 and found.height > 0 else None


def is_whole(content: bytes) -> bool:
    """Whether the bytes go up to the mark at the image's end, as far as its format has one."""
    kind = media_type(content)
    if kind == "image/png":
        return b"IEND" in content
    if kind == "image/jpeg":
        return b"\xff\xd9" in content
    if kind == "image/webp":
        return len(content) >= 8 + int.from_bytes(content[4:8], "little")
    return kind == "image/gif" and content.rstrip(b"\0").endswith(b";")


def _png(content: bytes) -> Pixels | None:
    if content[12:16] != b"IHDR" or len(content) < 24:
        return None
    return Pixels(int.from_bytes(content[16:20]), int.from_bytes(content[20:24]))


def _gif(content: bytes) -> Pixels | None:
    if len(content) < 10:
        return None
    return Pixels(int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little"))


def _jpeg(content: bytes) -> Pixels | None:
    at = 2
    for _ in range(_JPEG_SEGMENTS_MAX):
        while content[at : at + 2] == b"\xff\xff":  # fill bytes
            at += 1
        if len(content) < at + 9 or content[at] != 0xFF:
            return None
        if content[at + 1] in _JPEG_FRAMES:
            return Pixels(int.from_bytes(content[at + 7 : at + 9]), int.from_bytes(content[at + 5 : at + 7]))
        at += 2 + int.from_bytes(content[at + 2 : at + 4])
    return None


def _webp(content: bytes) -> Pixels | None:
    if len(content) < 30:
        return None
    kind = content[12:16]
    if kind == b"VP8X":
        return Pixels(1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little"))
    if kind == b"VP8L":
        bits = int.from_bytes(content[21:25], "little")
        return Pixels(1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF))
    if kind == b"VP8 ":
        width, height = content[26:28], content[28:30]
        return Pixels(int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF)
    return None


_MEASURES: Final[dict[str, Callable[[bytes], Pixels | None]]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
}


_DATA_IMAGE: Final = re.compile(r"data:(image/[a-z0-9.+-]{1,64});base64,", re.IGNORECASE)


class DataImage(NamedTuple):
    media_type: str
    """As declared."""
    content: bytes


def decoded(uri: str) -> DataImage | None:
    """The image of a data URI; None if it is none in base64, or empty."""
    begin = _DATA_IMAGE.match(uri)
    if begin is None:
        return None
    try:
        content = b64decode(uri[begin.end() :], validate=True)
    except (binascii.Error, ValueError):
        return None
    return DataImage(begin[1].lower(), content) if content else None
