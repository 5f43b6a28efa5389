"""Ends a write of an earlier run that has no end in the log."""

from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import MemoryChanged, MemoryFull, MemoryWriteFailed

from .places import Place
from .recorded_changes import Blob, is_made, is_untouched, recorded_change


def finish(data: c.MemoryWritten, place: Place, state: WorkspaceState, blob: Blob) -> c.MemoryOutcome:
    """Completes the write if the file is as it was before; returns what became of it.

    If the user has withdrawn the permission meanwhile, takes back what is half done. `state`: the present one.

    Raises:
        MemoryWriteFailed: the folder is not there, or the disk refused.
        WorkspacedError: as `recorded_change`.
    """
    change = recorded_change(data, place, blob)
    folder = place.folder.folder
    if change.former is not None and not folder.exists():
        raise MemoryWriteFailed("The memory folder is not there.", hint="Bring it back, and start again.")
    is_permitted = _is_permitted(data, place, state)
    if change.source is not None:
        gone, kept = (change.source, change.path) if is_permitted else (change.path, change.source)
        if folder.remove_second_name(gone, kept):
            return "done" if is_permitted else "failed"
    if is_made(folder, change):
        return "done"
    if not is_permitted:
        return "failed" if is_untouched(folder, change) else "unknown"
    try:
        folder.apply(change)
    except (MemoryChanged, MemoryFull):
        return "unknown"
    return "done"


def _is_permitted(data: c.MemoryWritten, place: Place, state: WorkspaceState) -> bool:
    """Whether the client could make the write now. An undoing is the user's own."""
    if any(place.withholding.denies(note) for note in (data.note, data.from_) if note is not None):
        return False
    return data.command == "undo" or state.sharing_of(data.client) == "all"
