"""`get_note_by_reference`: one note, or one section of it, by path, title, alias, id, file name or link."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
from pydantic import Field

from ..answers import FoundSection, MissingSection, ReferencedNote, Suggestions
from ..code.languages import language_of
from ..errors import NoteNotFound, SectionNotFound
from ..limits import ECHO_CHARS_MAX, REFERENCE_CHARS_MAX, RESULTS_CHARS_MAX
from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..notes.sections import Section, block_section, heading_section
from ..ports.questions import Read, Resolve, ResolveFrom
from ..ports.vault import NoteRef, Resolution
from ..ports.view import View
from .note_answers import outline_of, served_vault
from .read_note import Asked, name_of, note_answer, only_note
from .references import in_vault, resolved
from .tool import Answer, Arguments, Tool
from .visit_answers import Room


class GetNoteByReference(Arguments):
    reference: str = Field(
        min_length=1,
        max_length=REFERENCE_CHARS_MAX,
        description="Path, title, alias, id or [[wikilink]]; with #heading or #^block that section.",
    )
    from_: str | None = Field(
        None, alias="from", min_length=1, max_length=REFERENCE_CHARS_MAX, description="The note with the link."
    )
    whole: bool = Field(False, description="Not the section only.")
    include_content: bool = Field(True, description="Text.")
    include_metadata: bool = Field(False, description="Tags, dates, counts, front matter.")
    include_links: bool = Field(False, description="Links from and to it.")
    include_outline: bool = Field(False, description="Headings.")
    include_images: bool = Field(False, description="Embedded images, at most 4.")
    max_content_length: int = Field(3000, ge=100, le=10_000, description="Characters.")
    offset: int = Field(0, ge=0, le=2**31, description="A former nextOffset.")


def get_note_by_reference(view: View, arguments: GetNoteByReference) -> Answer[ReferencedNote]:
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
    answer = note_answer(_made(resolution, section), found, missing, asked, vault, state)
    answer.message = f"Resolved by {resolution.resolved_by}."
    if not resolution.complete:
        answer.data.index_state = "building"
        answer.warnings.append("The index is still being built: the whole reference may be another note's name.")
    if section is not None and not arguments.whole and arguments.include_content:
        answer.message += " The text is that of the section; `whole` gives the note."
    return answer


# -- a heading or block of the note --


def _section(found: Note | NoteFailure, resolution: Resolution, ref: NoteRef) -> Section | None:
    """The section that the reference names; None if it names none, or the note is no text.

    Raises:
        SectionNotFound: the note has no such heading or block.
    """
    if not isinstance(found, Note) or isinstance(found, NameOnly):
        return None
    if not found.is_markdown and language_of(found.id) is None:
        return None  # what stands behind a `#` means something of its own, such as a page of a PDF
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
            **msgspec.to_builtins(
                MissingSection(
                    note=name_of(ref),
                    outline=Room(RESULTS_CHARS_MAX).fitting(outline),
                    outline_total=len(found.markdown.headings),
                )
            ),
        )
    return section


def _made(resolution: Resolution, section: Section | None) -> Callable[..., ReferencedNote]:
    """Makes the note's struct: how it was found, and where the section is."""
    assert resolution.resolved_by is not None, "a note was found"
    made = partial(ReferencedNote, resolved_by=resolution.resolved_by)
    if section is None:
        return made
    begin, end, offset, heading = section.start_line, section.end_line, section.start, section.heading
    if heading is None:
        block = resolution.block
        assert block is not None, "a section without heading is a block's"
        return partial(made, section=FoundSection(block=block, start_line=begin, end_line=end, offset=offset))
    place = FoundSection(heading=heading.text, level=heading.level, start_line=begin, end_line=end, offset=offset)
    return partial(made, section=place)


TOOL: Final[Tool[Any]] = Tool(
    name="get_note_by_reference",
    description="One note or section. Ambiguous names give candidates, unknown ones near titles.",
    arguments=GetNoteByReference,
    data=ReferencedNote,
    function=get_note_by_reference,
    failures=(Suggestions, MissingSection),
    paged=True,
    answers_on_request=True,
    is_timeless=True,
)
