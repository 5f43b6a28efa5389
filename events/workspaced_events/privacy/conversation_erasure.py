"""Erases a note from conversation events.

A part of a message that mentions the note goes (its text, an attachment, a call, a result); the other parts keep
their places, the message its id and role. Blocks of the note leave the library, and a pin of the note becomes its
removal. An answer that repeats the note's content without naming the note is not found.

After that, no later prompt of the conversation can be rebuilt byte for byte. So the events of these prompts keep
their effect on the conversation, and name FORGOTTEN instead of their inputs and results. A turn that was sent with
something of the note is no longer repeated as it was sent.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..ids import ConversationId
from ..projections.conversations import FORGOTTEN
from ..schema import catalogue as c
from ..schema.catalogue import ENTRY_OF, Data

_IN_A_NOTE: Final = ("selected_text", "dataview")
"""Kinds whose ids are a note's path, `#` and a part of the note."""


class ConversationEraser:
    """Removes a note from conversation events, which it must get in order from the log's first."""

    def __init__(self, mentions_note: Callable[[Any], bool]) -> None:
        """`mentions_note`: whether a struct or text mentions the note, itself or through a blob it names."""
        self._mentions_note = mentions_note
        self._cut: set[ConversationId | None] = set()
        """Conversations with an erased part."""

    def __call__(self, data: Any) -> Data:
        """The data to put in place of `data`; the same object if it does not mention the note."""
        changed: dict[str, Any] = {}
        may_lack = ENTRY_OF[type(data)].may_lack
        for name in data.__struct_fields__:
            value = getattr(data, name)
            if isinstance(value, tuple):
                staying = tuple(each for each in value if not self._mentions_note(each))
                if len(staying) < len(value):
                    changed[name] = staying
            elif name in may_lack and value is not None and self._mentions_note(value):
                changed[name] = None
        remaining: Data = replace(data, **changed) if changed else data
        if isinstance(data, c.ContextPinned) and self._mentions_note(remaining):
            remaining = c.ContextUnpinned(conversation=data.conversation, id=data.id)
        conversation = getattr(data, "conversation", None)
        if isinstance(data, c.ConversationBranched) and data.origin in self._cut:
            self._cut.add(conversation)
        if remaining is not data:
            self._cut.add(conversation)
        if isinstance(remaining, c.PromptAssembled) and (
            conversation in self._cut or self._mentions_note(remaining)
        ):
            remaining = replace(
                remaining,
                inputs_sha256=FORGOTTEN,
                manifest_sha256=FORGOTTEN,
                layer_hashes=c.LayerHashes(*[FORGOTTEN] * len(c.LayerHashes.__struct_fields__)),
                combined_hash=FORGOTTEN,
            )
            if remaining.turn_sha256 is not None and self._mentions_note(remaining.turn_sha256):
                remaining = replace(remaining, turn_sha256=None)
        if self._mentions_note(remaining):
            self._cut.add(conversation)
            return c.RecordForgotten()
        return remaining


def notes_named(data: Any) -> Iterator[tuple[str, str | None]]:
    """The note paths that a conversation event names or may name, each with a title hint."""
    if isinstance(data, c.MessageData):
        for each in data.attachments:
            yield _note_of(each.kind, each.id), each.title
    elif isinstance(data, c.ArtifactRecorded):
        yield _note_of(data.kind, data.id), None
    elif isinstance(data, c.ContextPinned) and data.path is not None:
        yield data.path, None


def _note_of(kind: c.AttachmentKind, artifact: str) -> str:
    return artifact.rpartition("#")[0] or artifact if kind in _IN_A_NOTE else artifact
