"""What the tools about one note share: which note a reference means, and the answer about it."""

from collections.abc import Callable

import msgspec

from workspaced_events.projections.workspace_state import VaultState

from ..errors import AmbiguousReference, NoteNotFound, ToolError
from ..limits import ECHO_CHARS_MAX, RESULTS_CHARS_MAX
from ..notes.name_only import NAMES_ONLY, NameOnly
from ..notes.note import Note, NoteFailure
from ..ports.asking import VaultPort
from ..ports.questions import IndexState
from ..ports.vault import NoteRef, Resolution
from .note_answers import (
    Links,
    NoteName,
    OutlineHeading,
    ShownNote,
    content_of,
    facts,
    links_of,
    note_entry,
    note_or_error,
    outline_of,
)
from .tool import Answer, Json, Model
from .visit_answers import Room


class LinkedNote(ShownNote):
    links: Links | None = None
    outline: list[OutlineHeading] | None = None


class Suggestions(Model):
    """A failure's data: what the reference may have meant."""

    candidates: list[NoteName]
    near: list[NoteName]


class Asked(msgspec.Struct, frozen=True):
    """Which parts of a note an answer holds."""

    metadata: bool
    content: bool
    links: bool
    outline: bool
    limit: int
    offset: int


def note_answer(
    found: Note | NoteFailure, missing: Callable[[], ToolError], asked: Asked, vault: VaultPort, state: VaultState
) -> Answer:
    """The answer about one note; what `missing` makes is raised where its file is gone.

    Raises:
        ToolError: what `missing` makes, ReferenceOutsideVault or ReadFailed.
    """
    note = note_or_error(found, missing=missing)
    if isinstance(note, NameOnly):
        named = note_entry(note.id, note, archived=note.id in state.archived, metadata=False)
        return Answer(named, "", [NAMES_ONLY])
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
        data["links"] = links_of(note, vault, warnings)
    if asked.outline:
        data["outline"] = outline_of(note, warnings)
    return Answer(data, "", warnings, truncation)


def only_note(resolution: Resolution, reference: str, vault: VaultPort) -> NoteRef:
    """The one note that `reference` means.

    Raises:
        AmbiguousReference: several notes; `candidates`.
        NoteNotFound: none; `near`.
    """
    shown = repr(reference[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]
    if resolution.note is not None:
        return resolution.note
    if resolution.candidates:
        raise AmbiguousReference(
            f"The reference {shown} names {len(resolution.candidates)} notes",
            hint="Ask again with the path of one of the candidates.",
            **_suggestions(resolution),
        )
    hint = "Ask again with one of the near titles." if resolution.near else "Check the spelling, or give a path."
    if vault.ask(IndexState()) != "ready":
        hint = "The vault is still being indexed: try again shortly, or give the note's exact path."
    raise NoteNotFound(f"No note is called {shown}", hint=hint, **_suggestions(resolution))


def name_of(ref: NoteRef) -> Json:
    """The fields of `NoteName`."""
    return {"id": ref.id, "title": ref.title, "path": ref.path}


def _suggestions(resolution: Resolution) -> Json:
    room = Room(RESULTS_CHARS_MAX)
    return {
        "candidates": room.fitting(map(name_of, resolution.candidates)),
        "near": room.fitting(map(name_of, resolution.near)),
    }
