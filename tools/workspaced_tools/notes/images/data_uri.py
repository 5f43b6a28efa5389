"""Images as data URIs."""

import binascii
import re
from base64 import b64decode
from typing import Final, NamedTuple

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
