"""Writes settings of other programs, and keeps a ledger of what that leaves which bears no mark of ours.

An entry or a hook is known by its command. A folder that was made for a settings file is not, so the ledger names
it; it goes once nothing of ours lies below it and it is empty. The ledger also names each file that holds
something of ours, because the environment may name others later (CLAUDE_CONFIG_DIR). It is written with the
settings, all or nothing.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..discovery.records import state_directory
from ..errors import SettingsInvalid
from . import settings_files
from .plans import without_ours
from .runtimes import RUNTIMES
from .settings_files import Change

FILE: Final = "written.json"


class Ledger(NamedTuple):
    """What lies in the settings of other programs."""

    files: tuple[str, ...] = ()
    """Those that hold something of ours."""
    folders: tuple[str, ...] = ()
    """Those that were made, an outer one before the inner."""


def ledger_path() -> Path:
    """Where the ledger is, whether or not it exists."""
    return Path(state_directory()).parent / FILE


def read_ledger() -> Ledger:
    """The ledger; an empty one if there is none.

    Raises:
        SettingsInvalid: it cannot be read.
    """
    return _parsed(settings_files.read(ledger_path()))


def write(runtime: str, changes: Sequence[Change]) -> list[Path | None]:
    """Writes all changes of a program's settings or none, and the ledger; returns the new backup of each file.

    Raises:
        SettingsInvalid: as of `settings_files.write`.
    """
    before = settings_files.read(ledger_path())
    ledger = _parsed(before)
    files = {**dict.fromkeys(ledger.files, True), **{str(each.path): _is_ours(runtime, each) for each in changes}}
    ours = tuple(path for path, is_ours in files.items() if is_ours)
    made = (str(folder) for each in changes if each.after is not None for folder in _missing(each.path.parent))
    folders = tuple(dict.fromkeys((*ledger.folders, *made)))
    held = tuple(each for each in folders if any(Path(file).is_relative_to(each) for file in ours))
    noted = Change(ledger_path(), before, _text(Ledger(ours, held)))
    own = [noted] if noted.is_needed else []
    backups = settings_files.write([*own, *changes])[len(own) :]
    for folder in reversed(folders):
        if folder not in held:
            with suppress(OSError):  # somebody else has put something into it, and so it is theirs
                Path(folder).rmdir()
    return backups


def _is_ours(runtime: str, change: Change) -> bool:
    after = change.after
    return after is not None and without_ours(RUNTIMES[runtime], change.path, after) != after


def _missing(folder: Path) -> list[Path]:
    """The folders that do not exist on the way to this one, from the outside."""
    return [each for each in reversed((folder, *folder.parents)) if not os.path.lexists(each)]


def _text(ledger: Ledger) -> str | None:
    return json.dumps(ledger._asdict(), indent=1) + "\n" if any(ledger) else None


def _parsed(text: str | None) -> Ledger:
    try:
        whole: Any = json.loads(text) if text is not None else {}
        lists = [whole.get(name, []) for name in Ledger._fields]
        return Ledger(*(tuple(map(str, each)) for each in lists))
    except (ValueError, AttributeError, TypeError):
        raise SettingsInvalid(
            f"{ledger_path()} is no ledger of ours.", hint="Remove it; folders that were made then stay."
        ) from None
