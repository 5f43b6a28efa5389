"""The notes of a folder that is too young for the index."""

import time
from typing import Final

from workspaced_events.ids import NoteId

from ..limits import MEMBERS_ATTACHED_MAX, SETTLE_S
from .checked_index import CheckedIndex
from .files.safe_open import VaultRoot
from .files.walk import notes_below

YOUNG_S: Final = 5.0
"""A watcher has reported a change of a folder by this time."""
_MARGIN_S: Final = 0.02


def file_young_notes(checked: CheckedIndex, folder: str) -> None:
    """Files the notes of a folder that changed a moment ago, or of which the index knows no note.

    Waits until those that may still be being written have settled, at most SETTLE_S. Blocks, and reads files.

    Raises:
        ReadFailed: the vault's folder is absent or cannot be opened.
    """
    index, levels = checked.index, checked.levels
    if not folder or levels.policy.denies(NoteId(f"{folder}/")):
        return
    if index.any_below(f"{folder}/") and not _is_young(checked.root, folder):
        return
    found = [
        note for note in notes_below(checked.root, folder, MEMBERS_ATTACHED_MAX) if not levels.policy.denies(note)
    ]
    known = index.entries(found)
    new = [note for note in found if note not in known or levels.volunteered.is_hidden(note)]
    if not new:
        return
    checked.indexer.file(new)
    held = set(new).intersection(levels.volunteered.held)
    if held:
        time.sleep(SETTLE_S + _MARGIN_S)
        checked.indexer.file(held)


def _is_young(root: VaultRoot, folder: str) -> bool:
    try:
        status = (root.path / folder).lstat()
    except OSError:
        return False
    return time.time() - status.st_mtime < YOUNG_S
