"""Forgetting a note in conversations: what is left of an event about one that told of it.

Whatever part of a message tells of the note goes (its text, an attachment, a call, a result); the rest stays in
its place, and so do its id and its role. Blocks of the note leave the library, a pin of it becomes the end of that
pin. An answer that repeats what was in the note, and does not name it, is not found.

From there on no prompt of that conversation can be made again to the byte. So the events of these prompts keep
what they did to the conversation, and name FORGOTTEN for everything that they were made from and came to.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..ids import ConversationId
from ..projections.conversations import FORGOTTEN
from ..schema import catalogue as c
from ..schema.catalogue import Data

_IN_A_NOTE: Final = ("selected_text", "dataview")
"""Kinds whose ids are a note's path, `#`, and something of it."""


class ConversationEraser:
    """Data of conversations' events with a note taken out, one after the other from the first on."""

    def __init__(self, tells: Callable[[Any], bool]) -> None:
        """`tells` says whether a struct or text tells of the note, or a blob does that it names."""
        self._tells = tells
        self._cut: set[ConversationId | None] = set()
        """The conversations that are not what they were."""

    def __call__(self, data: Any) -> Data:
        """What stands in place of `data`; the very object where it does not tell of the note."""
        rest: Data = self._without_parts(data)
        if isinstance(data, c.ContextPinned) and self._tells(rest):
            rest = c.ContextUnpinned(conversation=data.conversation, id=data.id)
        conversation = getattr(data, "conversation", None)
        if rest is not data:
            self._cut.add(conversation)
        if isinstance(rest, c.PromptAssembled) and (conversation in self._cut or self._tells(rest)):
            rest = _of_forgotten(rest)
        if self._tells(rest):
            self._cut.add(conversation)
            return c.RecordForgotten()
        return rest

    def _without_parts(self, data: Any) -> Any:
        changed: dict[str, Any] = {}
        optional = _MAY_BE_NONE.get(type(data), ())
        for name in data.__struct_fields__:
            value = getattr(data, name)
            if isinstance(value, tuple):
                kept = tuple(each for each in value if not self._tells(each))
                if len(kept) < len(value):
                    changed[name] = kept
            elif name in optional and value is not None and self._tells(value):
                changed[name] = None
        return replace(data, **changed) if changed else data


_MAY_BE_NONE: Final[dict[type[Data], tuple[str, ...]]] = {
    c.ConversationStarted: ("tools_sha256", "composer_sha256", "adapter_sha256"),
    c.MessageAdded: ("text_sha256",),
    c.MessageReplaced: ("text_sha256",),
}
"""Texts that an event can do without."""


def _of_forgotten(data: c.PromptAssembled) -> c.PromptAssembled:
    return replace(
        data,
        inputs_sha256=FORGOTTEN,
        manifest_sha256=FORGOTTEN,
        layer_hashes=c.LayerHashes(*[FORGOTTEN] * len(c.LayerHashes.__struct_fields__)),
        combined_hash=FORGOTTEN,
    )


def notes_named(data: Any) -> Iterator[tuple[str, str | None]]:
    """What an event about a conversation calls notes, or may call so: paths, each with a hint of its title."""
    if isinstance(data, c.MessageData):
        for each in data.attachments:
            yield _note_of(each.kind, each.id), each.title
    elif isinstance(data, c.ArtifactRecorded):
        yield _note_of(data.kind, data.id), None
    elif isinstance(data, c.ContextPinned) and data.path is not None:
        yield data.path, None


def _note_of(kind: c.AttachmentKind, artifact: str) -> str:
    return artifact.rpartition("#")[0] or artifact if kind in _IN_A_NOTE else artifact
