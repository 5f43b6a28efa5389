"""The addresses and names of the image files that a note embeds.

Two readings, for two purposes. `image_files` is what is shown: the embeds that the parser finds. `name_hashes` is
what the gate needs: more rather than less, so it also takes what an HTML tag names, what stands in front matter or
code, and what lies behind the part of a long note that is parsed.
"""

import hashlib
import html
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from ..markdown import embedded_images
from ..name_keys import fold
from .types import ENDINGS, is_image_name

HASH_BYTES: Final = 8
_ELSEWHERE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
"""A URL's scheme, such as that of a site or of a data URI."""
_MAYBE: Final = re.compile(rf"(?i)\.(?:{'|'.join(sorted(ENDINGS))})(?![0-9A-Za-z])")
_WRITTEN: Final = (
    re.compile(r"\[\[([^\[\]|\n]{1,1024})"),
    re.compile(r"\]\(\s?<?([^()<>\n]{1,1024})"),
    re.compile(r"\]:\s?<?([^\s<>]{1,1024})"),
    re.compile(r"=\s?[\"']?([^\"'<>=\n]{1,1024})"),
    re.compile(r": [\"']?([^\"'\n:{}]{1,1024})"),
)
"""Wikilinks, links, definitions of links, attributes of HTML, values of front matter. Each begins with a character
that is rare, because one expression for all would be tried at every character."""


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
    return hashlib.sha256(fold(path.rpartition("/")[2]).encode(errors="replace")).digest()[:HASH_BYTES]


def name_hashes(text: str, body: str) -> tuple[bytes, ...]:
    """The hashes of the names of all image files that a note may embed, sorted.

    Args:
        text: the whole note.
        body: the part after the front matter.
    """
    if not _may_name_an_image(text):
        return ()
    written = {*embedded_images(body), *_written(text)}
    return tuple(sorted({name_hash(path) for each in written for path in _meant(each) if is_image_name(path)}))


def _may_name_an_image(text: str) -> bool:
    if _MAYBE.search(text) is not None:
        return True
    decoded = html.unescape(unquote(text))  # each returns the very text where there is nothing to decode
    return decoded is not text and _MAYBE.search(decoded) is not None


def _written(text: str) -> Iterator[str]:
    for pattern in _WRITTEN:
        for found in pattern.finditer(text):
            yield found[1]


def _meant(address: str) -> Iterator[str]:
    """The paths that an address may mean in any of the forms that `_WRITTEN` finds."""
    for each in {address, html.unescape(address), address.partition("?")[0]}:
        for path in readings(each):
            yield path.rstrip("\\").strip()
            yield path.partition(" ")[0].rstrip(",")  # a title or another value may follow the address
