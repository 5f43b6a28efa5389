"""The addresses and names of the image files that a note embeds.

Two readings, for two purposes. `image_files` is what is shown: the embeds that the parser finds. `name_hashes` is
what the gate needs: more rather than less, so it knows no syntax. Whatever ends as an image's name ends counts,
with each beginning that a name may have before it.
"""

import hashlib
import html
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from ..formats.kinds import ATTACHED, is_image_name
from ..markdown import embedded_images
from ..name_keys import without_case

HASH_BYTES: Final = 8
_ELSEWHERE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
"""A URL's scheme, such as that of a site or of a data URI."""
_ENDING: Final = re.compile(rf"(?i)\.(?:{'|'.join(sorted(ATTACHED))})(?![0-9A-Za-z])")
_NAME_CHARS_MAX: Final = 255
"""No file system has longer names."""
_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}|&#|&period|\\[ux]")
"""An ending is written otherwise only with one of these."""
_LINE_END: Final = re.compile(r"[ \t]*\r?\n[ \t]*")
NAMES_MAX: Final = 10_000
ANY_NAME: Final = b""
"""Stands for all names: the note has more than NAMES_MAX."""


def image_files(addresses: Iterable[str]) -> list[str]:
    """Those of a note's image addresses that mean a file of a vault, without URLs, as written."""
    return [each for each in addresses if not _ELSEWHERE.match(each) and any(map(is_image_name, readings(each)))]


def readings(address: str) -> tuple[str, ...]:
    """The paths that an address may mean: as written first, as in a wikilink, then percent-decoded."""
    path = address.partition("#")[0].strip()
    decoded = unquote(path)
    return (path,) if decoded == path else (path, decoded)


def name_hash(path: str) -> bytes:
    """A short hash of the file name at the end of `path`, in which case and normalisation do not count."""
    return hashlib.sha256(without_case(path.rpartition("/")[2]).encode(errors="replace")).digest()[:HASH_BYTES]


def name_hashes(text: str, body: str) -> tuple[bytes, ...]:
    """The hashes of the names of all image files that a note may embed, sorted; or ANY_NAME alone.

    Args:
        text: the whole note.
        body: the part after the front matter.
    """
    if _ENDING.search(text) is None and _ENCODED.search(text) is None:
        return ()  # most notes: nothing is decoded for them
    decoded = _decoded(text)
    if not any(map(_ENDING.search, decoded)):
        return ()
    readings = (
        decoded | _decoded("\n".join(embedded_images(body))) | {_LINE_END.sub(" ", each) for each in decoded}
    )
    names: set[str] = set()
    for reading in readings:
        for ending in _ENDING.finditer(reading):
            names.update(_names_up_to(reading, ending.end()))
            if len(names) > NAMES_MAX:
                return (ANY_NAME,)
    return tuple(sorted({name_hash(each) for each in names}))


def _decoded(text: str) -> set[str]:
    """What the text may mean: as it is, and with entities, percent signs or escapes decoded."""
    unescaped, unquoted = html.unescape(text), unquote(text)
    found = {text, unescaped, unquoted, unquote(unescaped), html.unescape(unquoted)}
    if "\\" in text:
        found.add(_ESCAPED.sub(lambda escape: chr(int(escape[1] or escape[2], 16)), text))
    return found


def _names_up_to(text: str, end: int) -> Iterator[str]:
    """The names that may end at `end`: from each place before it where no word goes on."""
    first = max(end - _NAME_CHARS_MAX, text.rfind("/", 0, end) + 1, text.rfind("\n", 0, end) + 1)
    for start in range(first, end):
        if start == first or not (text[start - 1].isalnum() and text[start].isalnum()):
            yield text[start:end]
