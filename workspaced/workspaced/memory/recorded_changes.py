"""The changes of files that events of the log tell of, compared with the folder."""

from collections.abc import Callable

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded, ToolError
from workspaced_tools.memory.folder import Change, MemoryFolder
from workspaced_tools.memory.paths import Parts

from .places import Place

Blob = Callable[[str], bytes | None]
"""A text of the log by its hash; None: it is not kept."""


def recorded_change(data: c.MemoryWritten, place: Place, blob: Blob) -> Change:
    """The change that an event tells of.

    Raises:
        InvalidArgument: it is of another folder than the present one.
        NotRecorded: a text is not kept.
    """
    path = place.folder.parts(data.note)
    source = place.folder.parts(data.from_) if data.from_ is not None else None
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


def is_untouched(folder: MemoryFolder, change: Change) -> bool:
    """Whether the file is as it was before the change."""
    return _holds(folder, change.source or change.path, change.former)


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
