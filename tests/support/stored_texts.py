"""The texts that a data directory holds: in files of their own, or in packs."""

import zlib


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
