"""`get_note_by_reference`: one note, or one section of it, by path, title, alias, id, file name or link."""

from functools import partial
from typing import Any, Final

from pydantic import Field

from ..code.languages import language_of
from ..errors import NoteNotFound, SectionNotFound
from ..limits import ECHO_CHARS_MAX, REFERENCE_CHARS_MAX, RESULTS_CHARS_MAX
from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..notes.sections import Section, block_section, heading_section
from ..ports.questions import Read, Resolve, ResolveFrom
from ..ports.vault import NoteRef, Resolution
from ..ports.view import View
from .note_answers import NoteName, OutlineHeading, outline_of, served_vault
from .read_note import Asked, LinkedNote, Suggestions, name_of, note_answer, only_note
from .references import in_vault, resolved
from .tool import Answer, Arguments, Json, Model, Tool
from .visit_answers import Room


class GetNoteByReference(Arguments):
    reference: str = Field(
        min_length=1,
        max_length=REFERENCE_CHARS_MAX,
        description="Path, title, alias, id, file name or [[wikilink]]; #heading, #^block: that section.",
    )
    from_: str | None = Field(
        None,
        alias="from",
        min_length=1,
        max_length=REFERENCE_CHARS_MAX,
        description="The note with the link.",
    )
    whole: bool = Field(False, description="Not the section only.")
    include_content: bool = Field(True, description="Text.")
    include_metadata: bool = Field(False, description="Tags, dates, counts, front matter.")
    include_links: bool = Field(False, description="Links from and to it.")
    include_outline: bool = Field(False, description="Headings.")
    include_images: bool = Field(False, description="Embedded images, at most 4.")
    max_content_length: int = Field(3000, ge=100, le=10_000, description="Characters.")
    offset: int = Field(0, ge=0, le=2**31, description="A former nextOffset.")


class FoundHeading(OutlineHeading):
    offset: int
    """The beginning of the heading's line in the text, for the argument `offset`."""


class FoundBlock(Model):
    id: str
    line: int
    offset: int


class FoundSection(Model):
    """What the reference's `#heading` or `^block` names."""

    heading: str | None = None
    level: int | None = None
    block: str | None = None
    start_line: int
    end_line: int
    """The last line of it, in the raw file."""
    offset: int
    """Where it begins in the text."""


class ReferencedNote(LinkedNote):
    resolved_by: str
    section: FoundSection | None = None
    heading: FoundHeading | None = None
    block: FoundBlock | None = None


class MissingSection(Model):
    """The data of `SECTION_NOT_FOUND`."""

    note: NoteName
    outline: list[OutlineHeading]
    outline_total: int


def get_note_by_reference(view: View, arguments: GetNoteByReference) -> Answer:
    """The note that the reference means, or the section that it names.

    Raises:
        NoActiveVault.
        ReferenceOutsideVault, ArgumentInvalid: the reference, or `from`, is not allowed.
        IndexBuilding: the index is not complete, so another note may have the name; `candidates` lists notes.
        AmbiguousReference: the reference means several notes, listed in `candidates`.
        NoteNotFound: it means no note (`near` lists similar titles), or `from` is no note.
        SectionNotFound: the note has no such heading or block; `outline` lists its headings.
        ReadFailed: the file exists and cannot be read.
    """
    vault, state = served_vault(view)
    reference, source = arguments.reference, arguments.from_
    origin = in_vault(view, source) if source is not None else None
    resolution = resolved(view, reference, Resolve if origin is None else lambda text: ResolveFrom(text, origin))
    ref = only_note(resolution, reference, vault)
    [found] = vault.ask(Read([ref.id]))
    section = _section(found, resolution, ref)
    asked = Asked(
        metadata=arguments.include_metadata,
        content=arguments.include_content,
        links=arguments.include_links,
        outline=arguments.include_outline,
        images=arguments.include_images,
        limit=arguments.max_content_length,
        offset=arguments.offset,
        part=section if not arguments.whole else None,
    )
    missing = partial(NoteNotFound, "Note not found", hint="The note was deleted just now; try another reference.")
    answer = note_answer(found, missing, asked, vault, state)
    answer.data["resolvedBy"] = resolution.resolved_by
    answer.message = f"Resolved by {resolution.resolved_by}."
    if not resolution.complete:
        answer.data["indexState"] = "building"
        answer.warnings.append("The index is still being built: the whole reference may be another note's name.")
    if section is not None:
        answer.data |= _place(section, resolution)
        if not arguments.whole and arguments.include_content:
            answer.message += " The text is that of the section; `whole` gives the note."
    return answer


# -- a heading or block of the note --


def _section(found: Note | NoteFailure, resolution: Resolution, ref: NoteRef) -> Section | None:
    """The section that the reference names; None if it names none, or the note is no text.

    Raises:
        SectionNotFound: the note has no such heading or block.
    """
    if not isinstance(found, Note) or isinstance(found, NameOnly) or _has_no_sections(found):
        return None
    if resolution.block is not None:
        section, kind, wanted = block_section(found, resolution.block), "block", resolution.block
    elif resolution.heading is not None:
        section, kind, wanted = heading_section(found, resolution.heading), "heading", resolution.heading
    else:
        return None
    if section is None:
        outline = outline_of(found, [])
        raise SectionNotFound(
            f"The note {ref.id[:ECHO_CHARS_MAX]!r} has no {kind} {wanted[:ECHO_CHARS_MAX]!r}",
            hint="Ask again with a heading of the outline, or without one for the whole note.",
            note=name_of(ref),
            outline=Room(RESULTS_CHARS_MAX).fitting(outline),
            outlineTotal=len(found.markdown.headings),
        )
    return section


def _has_no_sections(note: Note) -> bool:
    """Whether what stands behind a `#` means something of its own, such as a page of a PDF or a view of a base."""
    return not note.is_markdown and language_of(note.id) is None


def _place(section: Section, resolution: Resolution) -> Json:
    """Where the section is; its heading or block also by itself."""
    lines = {"startLine": section.start_line, "endLine": section.end_line, "offset": section.start}
    heading = section.heading
    if heading is None:
        block = {"id": resolution.block, "line": section.start_line, "offset": section.start}
        return {"section": {"block": resolution.block, **lines}, "block": block}
    found = {"level": heading.level, "title": heading.text, "line": heading.line, "offset": section.start}
    return {"section": {"heading": heading.text, "level": heading.level, **lines}, "heading": found}


TOOL: Final[Tool[Any]] = Tool(
    name="get_note_by_reference",
    description=("One note, or its section. Ambiguous names give candidates, unknown ones near titles."),
    arguments=GetNoteByReference,
    data=ReferencedNote | Suggestions | MissingSection,
    function=get_note_by_reference,
    paged=True,
    answers_on_request=True,
    is_timeless=True,
)
