"""Paths of the memory folder as agents name them: `/memories/plan.md`.

A name is refused before the disk is asked, if it could mean something else to another program: `..`, a hidden
name, a percent-encoded or a Windows separator, a character that cannot be seen.
"""

import re
import unicodedata
from typing import Final

from workspaced_events.ids import COMPONENT_BYTES_MAX

from ..errors import ArgumentInvalid
from ..limits import ECHO_CHARS_MAX, MEMORY_DEPTH_MAX
from ..ports.memory import MEMORY_ROOT

_MEMORY_PATH_CHARS_MAX: Final = 512
Parts = tuple[str, ...]
"""The components of a path below the memory folder; empty for the folder itself."""
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""What `str.isprintable` lets through, but nobody sees: fillers, joiners, variation selectors, empty Braille."""
_PERCENT_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_HINT: Final = f"Give a path such as {MEMORY_ROOT}/plan.md."


def parts_of(path: str) -> Parts:
    """The components of a path that an agent gave, in NFC. Touches no file.

    Raises:
        ArgumentInvalid: it does not begin with `/memories`, or a name in it is refused.
    """
    if not _is_seen(path):  # Before normalising: a surrogate has no normal form.
        raise _refused(path, "holds a character that cannot be seen")
    path = unicodedata.normalize("NFC", path)
    if len(path) > _MEMORY_PATH_CHARS_MAX:
        raise _refused(path, f"is longer than {_MEMORY_PATH_CHARS_MAX} characters")
    if path != MEMORY_ROOT and not path.startswith(f"{MEMORY_ROOT}/"):
        raise _refused(path, f"does not begin with {MEMORY_ROOT}")
    below = path.removeprefix(MEMORY_ROOT).removeprefix("/").removesuffix("/")
    if not below:
        return ()
    parts = tuple(below.split("/"))
    for part in parts:
        if (why := _why_refused(part)) is not None:
            raise _refused(path, why)
    if len(parts) > MEMORY_DEPTH_MAX + 1:
        raise _refused(path, f"lies in more than {MEMORY_DEPTH_MAX} folders")
    return parts


def is_memory_name(name: str) -> bool:
    """Whether an agent could name a file or folder so."""
    return _is_seen(name) and unicodedata.is_normalized("NFC", name) and _why_refused(name) is None


def shown(parts: Parts) -> str:
    """The path as agents name it."""
    return "/".join((MEMORY_ROOT, *parts))


def _is_seen(name: str) -> bool:
    return name.isprintable() and _UNSEEN.search(name) is None


def _why_refused(part: str) -> str | None:
    if part == "":
        return "holds an empty name"
    if part == "..":
        return "leads out of the memory folder"
    if part[0] == ".":
        return "holds a hidden name"
    if "\\" in part or _PERCENT_ENCODED.search(part):
        return "holds an encoded or foreign separator"
    if part != part.strip() or part[-1] == ".":
        return "holds a name with a blank or a dot at its end"
    if len(part.encode()) > COMPONENT_BYTES_MAX:
        return f"holds a name of more than {COMPONENT_BYTES_MAX} bytes"
    return None


def _refused(path: str, why: str) -> ArgumentInvalid:
    return ArgumentInvalid(f"The path {path[:ECHO_CHARS_MAX]!r} {why}.", hint=_HINT)
