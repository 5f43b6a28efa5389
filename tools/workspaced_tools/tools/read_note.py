"""Common code of the tools about one note: the note that a reference means, and the answer about the note."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..answers import EmbeddedImage, LinkedNote, NoteName, Suggestions, Truncation
from ..errors import AmbiguousReference, IndexBuilding, NoteNotFound, ToolError
from ..limits import ECHO_CHARS_MAX, RESULTS_CHARS_MAX
from ..notes.name_only import NAMES_ONLY, NameOnly
from ..notes.note import Note, NoteFailure
from ..notes.sections import Section
from ..ports.asking import VaultPort
from ..ports.questions import Images, IndexState
from ..ports.vault import NoteImage, NoteRef, Resolution
from .note_answers import (
    content_of,
    facts,
    links_of,
    note_entry,
    note_or_error,
    outline_of,
    outline_of_code,
    part_of,
)
from .tool import Answer, Json
from .visit_answers import Room

N = TypeVar("N", bound=LinkedNote)


class Asked(msgspec.Struct, frozen=True):
    """The parts of a note that a call asks for."""

    metadata: bool
    content: bool
    links: bool
    outline: bool
    images: bool
    limit: int
    offset: int
    part: Section | None = None
    """Only this part of the text; None: all of it."""


def note_answer(
    made: Callable[..., N],
    found: Note | NoteFailure,
    missing: Callable[[], ToolError],
    asked: Asked,
    vault: VaultPort,
    state: VaultState,
) -> Answer[N]:
    """The answer about one note.

    Args:
        made: makes the note's struct of the fields that each note has.
        missing: creates the error for a missing file.

    Raises:
        ToolError: the error of `missing`, ReferenceOutsideVault or ReadFailed.
    """
    if isinstance(found, NoteFailure) and found.size is not None:
        return _file_answer(made, found, asked, vault, state)
    note = note_or_error(found, missing=missing)
    if isinstance(note, NameOnly):
        named = note_entry(made, note.id, note, archived=note.id in state.archived, metadata=False)
        return Answer(named, "", [NAMES_ONLY])
    warnings = list(facts(note).warnings)
    data = note_entry(made, note.id, note, archived=note.id in state.archived, metadata=asked.metadata)
    truncation = None
    if asked.content:
        data.content, truncation = _content(note, asked, warnings)
        data.sha256 = note.sha256
    if asked.links:
        data.links, ready = links_of(note, vault, warnings)
        if not ready:
            data.index_state = "building"
            warnings.append("The index is still being built: links may be missing, or lead to other notes.")
    if asked.outline:
        is_text = note.is_markdown
        data.outline = outline_of(note, warnings) if is_text else outline_of_code(note, vault, warnings)
    answer = Answer(data, "", warnings, truncation)
    if asked.images:
        data.images, answer.images = _images_of(note.id, vault, warnings)
    return answer


def _file_answer(
    made: Callable[..., N], found: NoteFailure, asked: Asked, vault: VaultPort, state: VaultState
) -> Answer[N]:
    """The answer about a file without text for us: its name, kind and size, who links to it, an image itself."""
    warnings = [found.message]
    data = note_entry(made, found.id, found, archived=found.id in state.archived, metadata=False)
    if asked.links:
        data.links, _ready = links_of(found, vault, warnings)
    if asked.outline:
        data.outline = []
    answer = Answer(data, "", warnings)
    if asked.images:
        data.images, answer.images = _images_of(found.id, vault, warnings)
    return answer


def _content(note: Note, asked: Asked, warnings: list[str]) -> tuple[str, Truncation]:
    part, offset = asked.part, asked.offset
    if part is None:
        if offset > len(note.body):
            warnings.append(f"offset {offset} lies beyond the end; the text has {len(note.body)} characters.")
        return content_of(note, asked.limit, offset)
    if offset > part.end or 0 < offset < part.start:
        warnings.append(f"offset {offset} lies outside the section, which goes from {part.start} to {part.end}.")
    return part_of(note, part, asked.limit, offset)


def only_note(resolution: Resolution, reference: str, vault: VaultPort) -> NoteRef:
    """The one note that `reference` means.

    Raises:
        IndexBuilding: the index is not complete, so other notes may have the name; `candidates` lists notes.
        AmbiguousReference: the reference means several notes, listed in `candidates`.
        NoteNotFound: it means no note; `near` lists similar titles.
    """
    shown = repr(reference[:ECHO_CHARS_MAX])[:ECHO_CHARS_MAX]
    candidates = (resolution.note,) if resolution.note is not None else resolution.candidates
    if candidates and not resolution.complete and resolution.resolved_by != "path":
        raise IndexBuilding(
            f"The vault is still being indexed: another note may be called {shown}",
            hint="Ask again with the path of the candidate that you mean, or try again shortly.",
            **_suggestions(msgspec.structs.replace(resolution, candidates=candidates)),
        )
    if resolution.note is not None:
        return resolution.note
    if resolution.candidates:
        raise AmbiguousReference(
            f"The reference {shown} names {len(resolution.candidates)} notes",
            hint="Ask again with the path of one of the candidates.",
            **_suggestions(resolution),
        )
    if not resolution.complete or vault.ask(IndexState()) != "ready":
        raise IndexBuilding(
            f"The vault is still being indexed: no note called {shown} is known yet",
            hint="Try again shortly, or give the note's exact path.",
            **_suggestions(msgspec.structs.replace(resolution, complete=False)),
        )
    hint = "Ask again with one of the near titles." if resolution.near else "Check the spelling, or give a path."
    raise NoteNotFound(f"No note is called {shown}", hint=hint, **_suggestions(resolution))


def name_of(ref: NoteRef) -> NoteName:
    return NoteName(ref.id, ref.title)


def _suggestions(resolution: Resolution) -> Json:
    room = Room(RESULTS_CHARS_MAX)
    found: Json = msgspec.to_builtins(
        Suggestions(
            candidates=room.fitting(map(name_of, resolution.candidates)),
            near=room.fitting(map(name_of, resolution.near)),
            index_state=None if resolution.complete else "building",
        )
    )
    return found


def _images_of(note: NoteId, vault: VaultPort, warnings: list[str]) -> tuple[list[EmbeddedImage], list[NoteImage]]:
    """The entries for the images that a note embeds, and the images to send, in the same order.

    Adds a warning if the note embeds more images than are shown.
    """
    found = vault.ask(Images(note))
    if (more := found.total - len(found.images)) > 0:
        warnings.append(f"The note embeds {found.total} images; the last {more} are not shown.")
    entries: list[EmbeddedImage] = []
    shown: list[NoteImage] = []
    for image in found.images:
        if isinstance(image, NoteImage):
            is_measured = image.width is not None and image.height is not None
            entries.append(
                EmbeddedImage(
                    path=image.path,
                    media_type=image.media_type,
                    bytes=len(image.content),
                    sha256=image.sha256,
                    width=image.width if is_measured else None,
                    height=image.height if is_measured else None,
                    scaled=image.scaled or None,
                )
            )
            shown.append(image)
        else:
            entries.append(EmbeddedImage(image.address, code=image.code, error=image.message))
    return entries, shown
