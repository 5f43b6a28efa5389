"""Keeps the ignore rules last in force in the data directory from one start to the next.

Each vault has one file, readable by its owner only. It is no event and no blob, so it is never exported, bundled
or sent.
"""

import logging
from pathlib import Path
from typing import Final

import msgspec

from workspaced_events.log.disk import RealDisk, read_regular, write_whole

_VERSION: Final = 1
_BYTES_MAX: Final = 256 * 1024
_log = logging.getLogger(__name__)


class StoredRules(msgspec.Struct, frozen=True):
    """The text of the rules' file, empty if there was none, and the number of the vault's notes."""

    text: str
    notes: int
    version: int = _VERSION


class RulesUnreadable(Exception):
    """The kept rules of a vault cannot be read."""


class RulesStore:
    """Loads and saves the kept rules of one vault."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> StoredRules | None:
        """The kept rules; None if there are none.

        Raises:
            RulesUnreadable: the file exists and cannot be read.
        """
        try:
            kept = msgspec.json.decode(read_regular(self._path, 0, _BYTES_MAX), type=StoredRules)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RulesUnreadable(str(error)) from None
        if kept.version != _VERSION:
            raise RulesUnreadable(f"they are of version {kept.version}")
        return kept

    def save(self, kept: StoredRules) -> None:
        """Replaces the kept rules durably; if that fails, the former ones stay."""
        disk = RealDisk(self._path.parent.parent)
        try:
            disk.make_directory(self._path.parent.name)
            write_whole(disk, f"{self._path.parent.name}/{self._path.name}", msgspec.json.encode(kept))
        except OSError as error:
            _log.warning("the rules in force are not kept for the next start: %s", error.strerror)
