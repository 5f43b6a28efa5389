"""Writes settings of other programs together with the ledger: all of it or nothing."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workspaced_events.interrupts import interrupts_held_back

from . import deny_rules, settings_files
from .json_text import Unmergeable
from .plans import without_ours
from .runtimes import RUNTIMES
from .settings_files import Change, Ledger, ledger_path, parsed, text_of


def write(runtime: str, changes: Sequence[Change]) -> list[Path | None]:
    """Writes all changes of a program's settings or none, and the ledger; returns the new backup of each file.

    A folder that was made for a file goes with the last of them, if it is empty.

    Raises:
        SettingsInvalid: as of `settings_files.write`.
    """
    before = settings_files.read(ledger_path())
    ledger = parsed(before)
    files = dict(ledger.files)
    for each in changes:
        rules = _own_rules(runtime, each, ledger)
        files.pop(str(each.path), None)
        if rules or _holds_ours(runtime, each):
            files[str(each.path)] = rules
    made = (str(folder) for each in changes if each.after is not None for folder in _missing(each.path.parent))
    folders = list(dict.fromkeys((*ledger.folders, *made)))
    held = [each for each in folders if any(Path(file).is_relative_to(each) for file in files)]
    noted = Change(ledger_path(), before, text_of(Ledger(files, held)))
    own = [noted] if noted.is_needed else []
    with interrupts_held_back():  # Ctrl-C would leave some of them written
        backups = settings_files.write([*own, *changes])[len(own) :]
    for folder in reversed(folders):
        if folder not in held:
            with suppress(OSError):  # somebody else has put something into it, and so it is theirs
                Path(folder).rmdir()
    return backups


def _own_rules(runtime: str, change: Change, ledger: Ledger) -> list[str]:
    """The rules in the file that we have added, now or before."""
    if not RUNTIMES[runtime].has_deny_rules or change.after is None:
        return []
    try:
        before, after = deny_rules.find(change.before or ""), deny_rules.find(change.after)
    except Unmergeable:
        return list(ledger.rules(change.path))
    new = (each for each in after if each not in before)
    return [each for each in dict.fromkeys((*ledger.rules(change.path), *new)) if each in after]


def _holds_ours(runtime: str, change: Change) -> bool:
    after = change.after
    return after is not None and without_ours(RUNTIMES[runtime], change.path, after) != after


def _missing(folder: Path) -> list[Path]:
    """The folders that do not exist on the way to this one, from the outside."""
    return [each for each in reversed((folder, *folder.parents)) if not os.path.lexists(each)]
