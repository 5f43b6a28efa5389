"""`ExplicitNotes`: the notes that the messages of a conversation attach by name."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Final

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import Attachment

from ...ports.questions import Resolve
from ...ports.view import View
from ...tools.note_answers import served_vault
from ..model.note_names import notes_of, then_and_now

_NAMING: Final = frozenset({"note", "active_note", "selected_text"})


def is_explicit(attachment: Attachment) -> bool:
    """Whether the runtime itself named the note. A folder, a tag, or whatever is active names none."""
    return attachment.kind in _NAMING and bool(attachment.id) and not attachment.resolved


class ExplicitNotes:
    """A test for one conversation; look-ups by title are made when they are needed."""

    def __init__(self, conversation: Conversation, requested: View) -> None:
        """`requested`: the view of a client that asks for notes explicitly."""
        self._conversation = conversation
        self._requested = requested

    def __call__(self, note: NoteId) -> bool:
        return note in self._paths or note in self._resolved

    def _attached(self) -> Iterator[Attachment]:
        for message in self._conversation.messages.values():
            yield from filter(is_explicit, message.attachments)

    @cached_property
    def _paths(self) -> set[NoteId]:
        named = {note for each in self._attached() for note in notes_of(each.kind, each.id).notes}
        return then_and_now(named, self._requested.vault_state.former)

    @cached_property
    def _resolved(self) -> set[NoteId]:
        found = set()
        with suppress(WorkspacedError):
            vault, _ = served_vault(self._requested)
            for name in dict.fromkeys(each.id for each in self._attached()):
                with suppress(WorkspacedError):
                    note = vault.ask(Resolve(name)).note
                    found |= {note.id} if note is not None else set()
        return found
