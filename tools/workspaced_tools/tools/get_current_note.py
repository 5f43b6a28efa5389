"""`get_current_note`: the whole active note."""

from functools import partial
from typing import Any, Final

from pydantic import Field

from ..answers import LinkedNote
from ..errors import NoActiveNote, NoteNotFound
from ..limits import CONTENT_CHARS_MAX
from ..ports.questions import Read
from ..ports.view import View
from .note_answers import NO_ACTIVE_NOTE, OPEN_A_NOTE, served_vault
from .read_note import Asked, note_answer
from .tool import Answer, Arguments, Tool


class GetCurrentNote(Arguments):
    include_metadata: bool = Field(True, description="Tags, dates, counts, front matter.")
    include_links: bool = Field(False, description="Links from and to it.")
    include_outline: bool = Field(False, description="Headings.")
    include_images: bool = Field(False, description="Embedded images, at most 4.")
    max_content_length: int | None = Field(None, ge=100, le=CONTENT_CHARS_MAX, description="At most 50000.")
    offset: int = Field(0, ge=0, le=2**31, description="A former nextOffset.")


def get_current_note(view: View, arguments: GetCurrentNote) -> Answer[LinkedNote]:
    """The active note.

    Raises:
        NoActiveVault, NoActiveNote.
        NoteNotFound: the file is missing.
        ReferenceOutsideVault, ReadFailed: the file exists and cannot be read.
    """
    vault, state = served_vault(view)
    if state.active is None:
        raise NoActiveNote(NO_ACTIVE_NOTE, hint=OPEN_A_NOTE)
    missing = partial(NoteNotFound, "Active note not found", hint="The active note may have been deleted")
    asked = Asked(
        metadata=arguments.include_metadata,
        content=True,
        links=arguments.include_links,
        outline=arguments.include_outline,
        images=arguments.include_images,
        limit=arguments.max_content_length or CONTENT_CHARS_MAX,
        offset=arguments.offset,
    )
    [found] = vault.ask(Read([state.active.id]))
    answer = note_answer(LinkedNote, found, missing, asked, vault, state)
    answer.message = "The active note."
    return answer


TOOL: Final[Tool[Any]] = Tool(
    name="get_current_note",
    description="The note the user is looking at; links: from and to it.",
    arguments=GetCurrentNote,
    data=LinkedNote,
    function=get_current_note,
    paged=True,
    answers_on_request=True,
    is_timeless=True,
)
