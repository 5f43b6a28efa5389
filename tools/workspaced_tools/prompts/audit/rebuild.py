"""Prompts made again, from the log and its blobs alone.

A prompt is a function of its conversation, folded up to `asOfSeq`, and of the inputs that `prompt_assembled`
names. So what an agent was sent need not be kept: it is made again, and the recorded hashes tell whether it is the
same.
"""

from collections import deque
from hashlib import sha256
from typing import Final

import msgspec

from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import Conversation, Conversations
from workspaced_events.schema.catalogue import PromptAssembled

from ...errors import NotRecorded
from ...ports.manifest import LAYERS
from ..assembly.assemble import assemble
from ..model.stored_inputs import inputs_of
from ..model.types import Assembled, Texts

MANIFEST: Final = "manifest"
"""What differs where no layer does."""
_VERSIONS_KEPT: Final = 8


def checked(conversation: Conversation | None) -> Conversation:
    """The conversation as it was at a prompt's `asOfSeq`.

    Raises:
        NotRecorded: it is not known.
    """
    if conversation is None:
        raise NotRecorded("What the conversation was then is not in this log", hint="Bundle more events.")
    return conversation


def rebuild(data: PromptAssembled, conversation: Conversation, texts: Texts) -> Assembled:
    """The prompt again.

    Args:
        data: what the log says of it.
        conversation: as it was at `data.as_of_seq`.

    Raises:
        NotRecorded: a text is not kept; or this version cannot read what is.
        LogDamaged: what is kept as its inputs are none.
        WorkspacedError: of the assembler; it made a prompt of the same then.
    """
    return assemble(conversation, inputs_of(data.inputs_sha256, texts), texts)


def first_difference(data: PromptAssembled, made: Assembled) -> str | None:
    """The first layer of `made` that is another one than was sent, or MANIFEST; None: all is the same."""
    for layer in LAYERS:
        if getattr(made.envelope.hashes, layer) != getattr(data.layer_hashes, layer):
            return layer
    same_manifest = sha256(msgspec.json.encode(made.envelope.manifest)).hexdigest() == data.manifest_sha256
    return None if same_manifest and made.envelope.combined_hash == data.combined_hash else MANIFEST


class Versions:
    """What each conversation was lately, while a log streams by.

    A prompt is recorded right after the moment that it was made of, so few are kept of each.
    """

    def __init__(self, start: Conversations) -> None:
        self._now = start
        self._latest = {name: deque([each], _VERSIONS_KEPT) for name, each in start.by_id.items()}

    def take(self, now: Conversations) -> None:
        """Notes what the conversations are after the next event."""
        if now is self._now or not now.by_id:
            return
        self._now = now
        spoken_of = next(reversed(now.by_id.values()))
        self._latest.setdefault(spoken_of.id, deque(maxlen=_VERSIONS_KEPT)).append(spoken_of)
        if len(self._latest) > len(now.by_id):
            self._latest = {name: each for name, each in self._latest.items() if name in now.by_id}

    def at(self, conversation: ConversationId, as_of_seq: int) -> Conversation | None:
        """What the conversation was at a sequence that has just passed; None where that is not known."""
        versions = reversed(self._latest.get(conversation, ()))
        return next((each for each in versions if each.seq <= as_of_seq), None)
