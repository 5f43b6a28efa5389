"""Reads an image's file and makes of it what an agent gets, or says why it gets nothing."""

import errno
import os
from hashlib import sha256
from typing import Final

from ...errors import ReadFailed, ToolError
from ...limits import IMAGE_BYTES_MAX, IMAGE_FILE_BYTES_MAX, IMAGE_PIXELS_MAX
from ...notes.images.types import SENT, is_whole, media_type, pixels
from ...ports.images import IMAGE_NOT_FOUND, IMAGE_NOT_SENT, IMAGE_TOO_LARGE, ImageFailure, NoteImage
from ..files.content_cache import stat_key
from ..files.safe_open import VaultRoot
from .scaling import NotScaled, scaled_down

_READS_MAX: Final = 2
"""A file that changes while it is read is read once more."""
_CHUNK_BYTES: Final = 1024 * 1024
_TOO_LARGE: Final = f"The file is larger than {IMAGE_FILE_BYTES_MAX} bytes."
_NO_IMAGE: Final = "The file is no PNG, JPEG, GIF or WebP image, or its header is damaged."


class _TooLarge(Exception):
    """The file is larger than IMAGE_FILE_BYTES_MAX."""


def missing(address: str) -> ImageFailure:
    """The failure of an image that does not exist or is withheld."""
    return ImageFailure(address, IMAGE_NOT_FOUND, "The vault has no such image.")


def read_image(root: VaultRoot, path: str, address: str) -> NoteImage | ImageFailure:
    """The image at `path`, smaller than its file if that is large.

    Its file is opened as notes are (files/safe_open.py): no symlink is followed, and nothing blocks.

    Args:
        address: what the note names it; for a failure.
    """
    try:
        content = _read(root, path)
    except _TooLarge:
        return ImageFailure(address, IMAGE_TOO_LARGE, _TOO_LARGE, path)
    except ReadFailed as error:
        return ImageFailure(address, error.code, "The file cannot be read.", path)
    except OSError:
        return ImageFailure(address, ReadFailed.code, "The file cannot be read.", path)
    except ToolError:
        return missing(address)
    return _made(content, path, address)


def _made(content: bytes, path: str, address: str) -> NoteImage | ImageFailure:
    kind, size = media_type(content), pixels(content)
    if kind not in SENT or size is None:
        return ImageFailure(address, IMAGE_NOT_SENT, _NO_IMAGE, path)
    if not is_whole(content):
        return ImageFailure(address, IMAGE_NOT_SENT, "The image's end is missing.", path)
    if size.width * size.height > IMAGE_PIXELS_MAX:
        why = f"The image has {size.width} x {size.height} pixels; at most {IMAGE_PIXELS_MAX} are sent."
        return ImageFailure(address, IMAGE_TOO_LARGE, why, path)
    if len(content) <= IMAGE_BYTES_MAX:
        return NoteImage(path, kind, content, sha256(content).hexdigest(), size.width, size.height)
    try:
        smaller = scaled_down(content)
    except NotScaled as reason:
        return ImageFailure(address, IMAGE_TOO_LARGE, str(reason), path)
    kind, size = media_type(smaller), pixels(smaller)
    assert kind is not None and size is not None, "an encoder wrote it"
    return NoteImage(path, kind, smaller, sha256(smaller).hexdigest(), size.width, size.height, scaled=True)


def _read(root: VaultRoot, path: str) -> bytes:
    """
    Raises:
        _TooLarge, ToolError, OSError.
    """
    for _ in range(_READS_MAX):
        descriptor = root.open_image(path)
        try:
            before = os.fstat(descriptor)
            content = _read_all(descriptor, before.st_size)
            if stat_key(os.fstat(descriptor)) == stat_key(before) and len(content) == before.st_size:
                return content
        finally:
            os.close(descriptor)
    raise BlockingIOError(errno.EAGAIN, "the file is being written")


def _read_all(descriptor: int, size: int) -> bytes:
    if size > IMAGE_FILE_BYTES_MAX:
        raise _TooLarge
    chunks: list[bytes] = []
    left = IMAGE_FILE_BYTES_MAX + 1
    while left > 0 and (more := os.read(descriptor, min(left, max(size + 1, 1), _CHUNK_BYTES))):
        chunks.append(more)
        left -= len(more)
    if left <= 0:
        raise _TooLarge
    return b"".join(chunks)
