"""Decides which images a provider accepts, and detects an image's real type.

Anthropic refuses an image whose bytes are of another type than declared ("the image was specified using the
image/jpeg media type, but appears to be image/png"), and types declared from a file's name are often wrong.
Anthropic also refuses an image whose base64 is longer than 5 MiB ("image exceeds 5 MB maximum"), that is 3.75 MiB
of bytes.
"""

import base64
from typing import Final, NamedTuple

from ...notes.images.types import media_type as detected

TYPES: Final = {
    "anthropic": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "openai": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "gemini": frozenset({"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"}),
}
BASE64_CHARS_MAX: Final = {"anthropic": 5 * 1024 * 1024}
_OTHER_NAMES: Final = {"image/jpg": "image/jpeg"}


class Image(NamedTuple):
    """An image to send; or the reason `why` it cannot be sent."""

    media_type: str
    data: str = ""
    why: str = ""


def image_for(family: str | None, media_type: str, content: bytes | None) -> Image:
    """Encodes an image for `family`; None: an unknown provider, which gets every image.

    Args:
        media_type: the declared type; a type detected from the bytes overrides it.
        content: the image's bytes; None if they are not kept.
    """
    real = detected(content or b"") or _OTHER_NAMES.get(media_type, media_type)
    if family in TYPES and real not in TYPES[family]:
        return Image(real, why=f"{family} takes no {real}")
    if content is None:
        return Image(real, why="its bytes are not kept")
    data = base64.b64encode(content).decode()
    if family in BASE64_CHARS_MAX and len(data) > BASE64_CHARS_MAX[family]:
        return Image(real, why=f"{family} takes no more than {BASE64_CHARS_MAX[family]} characters of base64")
    return Image(real, data)
