"""The image file that an address in a note means, by the rule of links (links/link_targets.py).

Case does not count, but a file in the case that is written comes first. An address is read as it is written and
then percent-decoded: what the first reading means wins.
"""

import posixpath
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

from workspaced_events.ids import NoteId

from ...notes.formats.kinds import is_image_name
from ...notes.images.names import readings
from ...notes.name_keys import without_case

_EXACT_ONLY: Final = ("./", "../", "/")

Named = Callable[[str], Sequence[str]]
"""The paths of the image files with a name, which is that at the end of the given path; without those withheld."""


def image_target(source: NoteId, address: str, named: Named) -> str | None:
    """The path of the image that `address` means in the note `source`; None if there is none."""
    folder = source.rpartition("/")[0]
    for reading in readings(unicodedata.normalize("NFC", address)):
        if is_image_name(reading) and (found := _target(folder, reading, named)) is not None:
            return found
    return None


def _target(folder: str, target: str, named: Named) -> str | None:
    exact_only = target.startswith(_EXACT_ONLY)
    if exact_only:
        target = target.lstrip("/") if target[0] == "/" else posixpath.normpath(posixpath.join(folder, target))
    if not target or "\0" in target or ".." in target.split("/"):
        return None
    wanted = without_case(target)
    ending = [path for path in named(target) if f"/{without_case(path)}".endswith(f"/{wanted}")]
    exact = [path for path in ending if without_case(path) == wanted]
    if exact or exact_only:
        return min(exact, key=lambda path: (path != target, path), default=None)
    below = f"{folder}/" if folder else ""
    return min(
        ending, key=lambda path: (not path.startswith(below), len(path), without_case(path), path), default=None
    )
