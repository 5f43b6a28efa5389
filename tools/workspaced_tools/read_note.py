"""What `get_current_note` and `get_note_by_reference` share: the answer about one note."""

import msgspec

from workspaced_events.state import VaultState

from .errors import ToolError
from .notes_view import (
    Links,
    OutlineHeading,
    ShownNote,
    content_of,
    facts,
    links_of,
    note_entry,
    note_or_error,
    outline_of,
)
from .tool import Answer
from .vault.note import Note, NoteFailure
from .view import VaultPort


class LinkedNote(ShownNote):
    links: Links | None = None
    outline: list[OutlineHeading] | None = None


class Asked(msgspec.Struct, frozen=True):
    """Which parts of a note an answer holds."""

    metadata: bool
    content: bool
    links: bool
    outline: bool
    limit: int
    offset: int


def note_answer(
    found: Note | NoteFailure, missing: ToolError, asked: Asked, vault: VaultPort, state: VaultState
) -> Answer:
    """The answer about one note; `missing` is raised where its file is gone.

    Raises:
        ToolError: `missing`, ReferenceOutsideVault or ReadFailed.
    """
    note = note_or_error(found, missing=missing)
    warnings = list(facts(note).warnings)
    data = note_entry(note.id, note, archived=note.id in state.archived, metadata=asked.metadata)
    truncation = None
    if asked.content:
        data["content"], truncation = content_of(note, asked.limit, asked.offset)
        data["sha256"] = note.sha256
        if asked.offset > len(note.body):
            warnings.append(
                f"offset {asked.offset} lies beyond the end; the text has {len(note.body)} characters."
            )
    if asked.links:
        data["links"] = links_of(note, vault, state, warnings)
    if asked.outline:
        data["outline"] = outline_of(note, warnings)
    return Answer(data, "", warnings, truncation)
