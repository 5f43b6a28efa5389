"""The ignore rules last in force, kept in the data directory from one start to the next.

A file of one vault, readable by its owner only. It is no event and no blob: it is never exported, bundled or sent.
"""

import logging
from pathlib import Path
from typing import Final

import msgspec

from workspaced_events.log.disk import RealDisk, read_regular, write_whole

_VERSION: Final = 1
_BYTES_MAX: Final = 256 * 1024
_log = logging.getLogger(__name__)


class KeptRules(msgspec.Struct, frozen=True):
    """The text of the rules' file, empty where there was none, and how many notes the vault had."""

    text: str
    notes: int
    version: int = _VERSION


class RulesUnreadable(Exception):
    """What was kept of a vault's rules cannot be read."""


class RulesKeeper:
    """The file of one vault."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> KeptRules | None:
        """What was kept; None where nothing was.

        Raises:
            RulesUnreadable: something was, and nobody knows what.
        """
        try:
            kept = msgspec.json.decode(read_regular(self._path, 0, _BYTES_MAX), type=KeptRules)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise RulesUnreadable(str(error)) from None
        if kept.version != _VERSION:
            raise RulesUnreadable(f"they are of version {kept.version}")
        return kept

    def save(self, kept: KeptRules) -> None:
        """Keeps these instead, durably. Where that fails the former ones stay."""
        disk = RealDisk(self._path.parent.parent)
        try:
            disk.make_directory(self._path.parent.name)
            write_whole(disk, f"{self._path.parent.name}/{self._path.name}", msgspec.json.encode(kept))
        except OSError as error:
            _log.warning("the rules in force are not kept for the next start: %s", error.strerror)
