"""Which images a provider takes, and what type an image really is.

Anthropic refuses an image whose bytes are of another type than is said of them, and a file's name is often wrong
("the image was specified using the image/jpeg media type, but appears to be image/png"). It also refuses one whose
base64 is longer than 5 MiB ("image exceeds 5 MB maximum"), which is an image of 3.75 MiB.
"""

import base64
from typing import Final, NamedTuple

TYPES: Final = {
    "anthropic": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "openai": frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
    "gemini": frozenset({"image/jpeg", "image/png", "image/webp", "image/heic", "image/heif"}),
}
BASE64_CHARS_MAX: Final = {"anthropic": 5 * 1024 * 1024}
_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_OTHER_NAMES: Final = {"image/jpg": "image/jpeg"}


class Image(NamedTuple):
    """An image that is sent; or `why` it is not."""

    media_type: str
    data: str = ""
    why: str = ""


def image_for(family: str | None, media_type: str, content: bytes | None) -> Image:
    """The image as `family` takes it; None: not known, so that it takes all.

    Args:
        media_type: what is said of it; what its bytes say goes before that.
        content: None where its bytes are not kept.
    """
    real = _media_type(content or b"") or _OTHER_NAMES.get(media_type, media_type)
    if family in TYPES and real not in TYPES[family]:
        return Image(real, why=f"{family} takes no {real}")
    if content is None:
        return Image(real, why="its bytes are not kept")
    data = base64.b64encode(content).decode()
    if family in BASE64_CHARS_MAX and len(data) > BASE64_CHARS_MAX[family]:
        return Image(real, why=f"{family} takes no more than {BASE64_CHARS_MAX[family]} characters of base64")
    return Image(real, data)


def _media_type(content: bytes) -> str | None:
    """What the first bytes say; None where they say nothing that is known."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for begin, media_type in _BEGINNINGS if content.startswith(begin)), None)
