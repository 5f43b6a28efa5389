"""Images for tests, made without an image library."""

import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def png(width: int = 2, height: int = 1) -> bytes:
    """A PNG, uncompressed, so that its size is about three bytes a pixel."""
    return png_of(width, height, zlib.compress((b"\0" + b"\x40" * 3 * width) * height, 0))


def png_of(width: int, height: int, compressed: bytes) -> bytes:
    """A PNG of RGB pixels whose header says any size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = _chunk(b"IHDR", header) + _chunk(b"IDAT", compressed) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def png_of_size(size: int) -> bytes:
    """A valid PNG of exactly `size` bytes."""
    bare = png()
    end = bare.index(b"IEND") - 4
    filler = _chunk(b"tEXt", b"x" * (size - len(bare) - 12))
    return bare[:end] + filler + bare[end:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


GIF = b"GIF89a\x03\0\x02\0\0\0\0;"


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Writes files below `root`."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def age(root: Path) -> None:
    """Sets the times of all files back, so that notes are shown at once."""
    for place, _folders, names in os.walk(root):
        for name in names:
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                os.utime(path, ns=(0, 1_700_000_000_000_000_000))


def images_in(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The content blocks of a `tools/call` that are images."""
    return [each for each in result["content"] if each["type"] == "image"]
