"""The changes of files that the log tells of: whether they are made, and completing one that an end of the daemon
interrupted."""

from collections.abc import Callable

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import MemoryChanged, MemoryFull, MemoryWriteFailed, NotRecorded, ToolError
from workspaced_tools.memory.folder import Change, MemoryFolder
from workspaced_tools.memory.paths import Parts
from workspaced_tools.memory.shared_folder import SharedFolder

Blob = Callable[[str], bytes | None]
"""A text of the log by its hash; None: it is not kept."""


def recorded_change(data: c.MemoryWritten, shared: SharedFolder, blob: Blob) -> Change:
    """The change that an event tells of.

    Raises:
        InvalidArgument: it is of another folder than the present one.
        NotRecorded: a text is not kept.
    """
    path = shared.parts(data.note)
    source = shared.parts(data.from_) if data.from_ is not None else None
    if path is None or (data.from_ is not None and source is None):
        raise InvalidArgument(
            f"{data.note} is not in the memory folder.", hint="The setting `memory` named another folder then."
        )
    return Change(path, _text(data.former_sha256, blob), _text(data.text_sha256, blob), source)


def is_made(folder: MemoryFolder, change: Change) -> bool:
    """Whether the folder is as it is after the change."""
    return _holds(folder, change.path, change.text) and (
        change.source is None or _holds(folder, change.source, None)
    )


def finish(data: c.MemoryWritten, shared: SharedFolder, state: WorkspaceState, blob: Blob) -> c.MemoryOutcome:
    """Completes the write if the file is as it was before; returns what became of it.

    If the user has withdrawn the permission meanwhile, takes back what is half done. `state`: the present one.

    Raises:
        MemoryWriteFailed: the folder is not there, or the disk refused.
        WorkspacedError: as `recorded_change`.
    """
    change = recorded_change(data, shared, blob)
    folder = shared.folder
    if change.former is not None and not folder.exists():
        raise MemoryWriteFailed("The memory folder is not there.", hint="Bring it back, and start again.")
    is_permitted = _is_permitted(data, shared, state)
    if change.source is not None:
        gone, kept = (change.source, change.path) if is_permitted else (change.path, change.source)
        if folder.remove_second_name(gone, kept):
            return "done" if is_permitted else "failed"
    if is_made(folder, change):
        return "done"
    if not is_permitted:
        return "failed" if _holds(folder, change.source or change.path, change.former) else "unknown"
    try:
        folder.apply(change)
    except (MemoryChanged, MemoryFull):
        return "unknown"
    return "done"


def _is_permitted(data: c.MemoryWritten, shared: SharedFolder, state: WorkspaceState) -> bool:
    """Whether the client could make the write now. An undoing is the user's own."""
    if any(shared.denies(note) for note in (data.note, data.from_) if note is not None):
        return False
    return data.command == "undo" or state.sharing_of(data.client) == "all"


def _holds(folder: MemoryFolder, path: Parts, content: bytes | None) -> bool:
    try:
        return folder.read(path) == content
    except ToolError:
        return False


def _text(name: str | None, blob: Blob) -> bytes | None:
    content = blob(name) if name is not None else None
    if name is not None and content is None:
        raise NotRecorded(
            "A text of the write is not kept", hint="Restore it from a backup of the data directory."
        )
    return content
