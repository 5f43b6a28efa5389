"""Files that a sync program keeps elsewhere, and what stands on this disk in their place.

Some programs put a small file beside the place of the real one. On macOS the real file itself may be *dataless*:
it has its name and size, and its first read fetches the bytes, which may take for ever. So it is never read here.
"""

import os
from typing import Final

from ...errors import NotDownloaded, ToolError
from ...limits import ECHO_CHARS_MAX

_BESIDE: Final = (
    (".{}.icloud", "iCloud Drive"),
    ("{}.nextcloud", "Nextcloud"),
    ("{}.owncloud", "ownCloud"),
    ("{}.rsls", "Resilio Sync"),
    (".syncthing.{}.tmp", "Syncthing"),
)
"""The name of the placeholder of a file, and the program that makes it."""
_DATALESS: Final = 0x4000_0000
"""SF_DATALESS of macOS (sys/stat.h)."""


def placeholders_of(name: str) -> list[tuple[str, str]]:
    """The names that a file's placeholder may have beside it, each with its program."""
    return [(form.format(name), program) for form, program in _BESIDE]


def is_dataless(status: os.stat_result) -> bool:
    """Whether the bytes of the file are not on this machine, as far as the system tells."""
    return bool(getattr(status, "st_flags", 0) & _DATALESS)


def not_downloaded(note: str, program: str | None = None) -> ToolError:
    kept = f": {program} has not brought it here" if program is not None else ""
    return NotDownloaded(
        f"{note[:ECHO_CHARS_MAX]!r} is not on this machine yet{kept}.", hint=NotDownloaded.what_to_do
    )
