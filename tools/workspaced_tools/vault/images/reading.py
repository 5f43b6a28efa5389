"""Reads an image's file and makes of it what an agent gets, or says why it gets nothing.

A large image is made small enough to send, with Pillow, if it is installed (the extra `images`). Pillow is
imported with the first large image, because most daemons never need it. One image is decoded at a time: a decoded
one takes up to four times IMAGE_PIXELS_MAX bytes.
"""

import errno
import os
import threading
from hashlib import sha256
from io import BytesIO
from typing import TYPE_CHECKING, Final

from ...errors import ReadFailed, ToolError
from ...limits import IMAGE_BYTES_MAX, IMAGE_FILE_BYTES_MAX, IMAGE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX
from ...notes.images.types import SENT, is_whole, media_type, pixels
from ...ports.vault import IMAGE_NOT_FOUND, IMAGE_NOT_SENT, IMAGE_TOO_LARGE, ImageFailure, NoteImage
from ..files.content_cache import stat_key
from ..files.safe_open import VaultRoot

if TYPE_CHECKING:
    from PIL.Image import Image

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


NOT_INSTALLED: Final = (
    f"The image is larger than {IMAGE_BYTES_MAX} bytes, and the daemon cannot make it smaller: the user can"
    " install Pillow beside it (pip install pillow)."
)
_FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
"""No other decoder of Pillow is used."""
_QUALITIES: Final = (85, 70, 50)
_HALVINGS_MAX: Final = 4
_SCAN: Final = b"\xff\xda"
_SCANS_MAX: Final = 100
"""A progressive JPEG has about ten scans, and each takes a pass over the whole image."""
_one_at_a_time = threading.Lock()


class NotScaled(Exception):
    """The image cannot be made smaller. The text says why, for an agent."""


def scaled_down(content: bytes) -> bytes:
    """The image, upright, at most IMAGE_SIDE_PIXELS_MAX wide and high, as PNG or JPEG of IMAGE_BYTES_MAX or less.

    Of an animation the first picture.

    Raises:
        NotScaled: Pillow is not installed, or cannot decode the image.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError:
        raise NotScaled(NOT_INSTALLED) from None
    with _one_at_a_time:
        try:
            with Image.open(BytesIO(content), formats=_FORMATS) as image:
                if image.width * image.height > IMAGE_PIXELS_MAX:
                    raise NotScaled(f"The image has more than {IMAGE_PIXELS_MAX} pixels.")
                is_photo = image.format == "JPEG"
                if is_photo and content.count(_SCAN) > _SCANS_MAX:
                    raise NotScaled(f"The image has more than {_SCANS_MAX} scans.")
                mode = "RGB" if is_photo else "RGBA"
                # Colours of a palette cannot be mixed. A photograph is first decoded at a fraction of its size.
                picture = image if is_photo or image.mode == mode else image.convert(mode)
                picture.thumbnail((IMAGE_SIDE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX))
                return _encoded(ImageOps.exif_transpose(picture).convert(mode), is_photo=is_photo)
        except NotScaled:
            raise
        except Exception as error:  # Pillow's decoders raise errors of many types for damaged files
            raise NotScaled(f"The image cannot be decoded ({type(error).__name__}).") from None


def _encoded(image: "Image", *, is_photo: bool) -> bytes:
    """PNG if it is no photograph and fits, else JPEG of falling quality and size."""
    if not is_photo:
        data = _saved(image, "PNG")
        if len(data) <= IMAGE_BYTES_MAX:
            return data
        image = _on_white(image)
    for _ in range(_HALVINGS_MAX):
        for quality in _QUALITIES:
            data = _saved(image, "JPEG", quality=quality)
            if len(data) <= IMAGE_BYTES_MAX:
                return data
        image = image.reduce(2)
    raise NotScaled("The image cannot be made small enough.")


def _saved(image: "Image", kind: str, **options: int) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _on_white(image: "Image") -> "Image":
    from PIL import Image

    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white
