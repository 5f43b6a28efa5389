"""The texts that a data directory holds: in files of their own, or in packs."""

import zlib
from pathlib import Path


def texts_in(data: bytes) -> list[bytes]:
    """The texts of a blob's file, or of all blobs in a pack; none of any other file."""
    texts = []
    while data[:1] == b"z":
        stream = zlib.decompressobj()
        try:
            texts.append(stream.decompress(data[1:]))
        except zlib.error:
            break
        data = stream.unused_data
    return texts


def unpacked(data: bytes) -> bytes:
    """All of them, one a line."""
    return b"\n".join(texts_in(data))


def file_with(data: Path, content: bytes) -> Path:
    """The file in `blobs/` that holds a text."""
    files = (path for path in (data / "blobs").rglob("*") if path.is_file())
    return next(path for path in files if content in texts_in(path.read_bytes()))
