"""Makes a large image small enough to send, with Pillow, if it is installed (the extra `images`).

Pillow is imported with the first large image, because most daemons never need it. One image is decoded at a time:
a decoded one takes up to four times IMAGE_PIXELS_MAX bytes.
"""

import threading
from io import BytesIO
from typing import TYPE_CHECKING, Final

from ...limits import IMAGE_BYTES_MAX, IMAGE_PIXELS_MAX, IMAGE_SIDE_PIXELS_MAX

if TYPE_CHECKING:
    from PIL.Image import Image

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
