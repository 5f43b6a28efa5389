"""The images that a note embeds, as a vault answers `Images`."""

from typing import Final

import msgspec


class NoteImage(msgspec.Struct, frozen=True, rename="camel"):
    """An image with the bytes that an agent gets."""

    path: str
    """The file's path in the vault."""
    media_type: str
    content: bytes
    sha256: str
    """Of `content`."""
    width: int | None = None
    """Pixels as they are stored; None if the header does not say."""
    height: int | None = None
    scaled: bool = False
    """Whether `content` is a smaller version of the file."""


class ImageFailure(msgspec.Struct, frozen=True, omit_defaults=True, tag="failure", tag_field="is"):
    """Why an image is not shown; recordings hold it as it is. Of a withheld image and of one that does not exist
    nothing differs but `address`."""

    address: str
    """The file as the note names it."""
    code: str
    message: str
    path: str | None = None
    """The path of the file that the address means, if there is one; never shown, but checked against the
    policy."""


class NoteImages(msgspec.Struct, frozen=True, rename="camel"):
    """The first images of a note, in document order."""

    images: tuple[NoteImage | ImageFailure, ...] = ()
    total: int = 0
    """The number of all images that the note embeds."""


IMAGE_NOT_FOUND: Final = "IMAGE_NOT_FOUND"
IMAGE_TOO_LARGE: Final = "IMAGE_TOO_LARGE"
IMAGE_NOT_SENT: Final = "IMAGE_NOT_SENT"
"""The file is no image of a type that is sent, or a damaged one."""
