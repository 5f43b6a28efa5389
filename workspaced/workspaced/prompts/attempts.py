"""Records what was made of a conversation: a prompt or a compaction.

The writer checks at the moment of appending that the conversation has not changed since it was read; if it has,
all is made again. Notes that are withheld at present first leave the conversation's library and turns, which is
recorded as a compaction.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Literal, NamedTuple

import msgspec

from workspaced_events.errors import Conflict
from workspaced_events.ids import MessageId
from workspaced_events.journal.actions import Action, Planned
from workspaced_events.limits import ACTION_BYTES
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.sent_so_far import kept_turn
from workspaced_tools.prompts.model.sent_turn import SentTurn
from workspaced_tools.prompts.model.types import Envelope
from workspaced_tools.prompts.providers.bodies import RenderedBody
from workspaced_tools.sharing.gate import policy_kept_changing

from ..limits import ASSEMBLE_ATTEMPTS_MAX
from ..service.service import Service
from .commands import action, known
from .visibility import WithheldNotes, with_conversation_view


class ConversationChanged(Conflict):
    """The conversation changed after it was read for the prompt."""


class Shaped(NamedTuple):
    """The body of a provider's request."""

    made: RenderedBody
    encoded: msgspec.Raw
    """Its JSON: what is hashed is what is measured and sent."""
    recorded: c.Shape


class Attempt(NamedTuple):
    """The result of one attempt: what to record and what to answer."""

    conversation: Conversation
    """The conversation as the attempt read it."""
    actions: list[Action]
    """To be recorded."""
    envelope: Envelope | None = None
    shaped: Shaped | None = None
    only_compacted: bool = False
    """True if the attempt only removed withheld notes from the library, so that another one must follow."""

    @property
    def texts(self) -> list[bytes]:
        """The texts that the actions name."""
        return [text for action in self.actions for text in action.blobs]

    @property
    def size_bytes(self) -> int:
        """Memory that the actions occupy until they are written."""
        return ACTION_BYTES * len(self.actions) + sum(map(len, self.texts))

    def plan(self, now: Planned) -> list[Action]:
        """The actions, if the conversation has not changed (a `Plan` of the log's writer).

        Raises:
            ConversationChanged: it has.
        """
        if now.state.conversations.by_id.get(self.conversation.id) is not self.conversation:
            raise ConversationChanged(
                f"The conversation {self.conversation.id!r} kept moving while its prompt was made.",
                hint="Ask again once its messages are there.",
            )
        return self.actions


Make = Callable[[Conversation, View, WithheldNotes], Attempt]
"""What an attempt records of a conversation and a view of the vault; on a worker thread."""


async def record_attempt(service: Service, name: str, make: "Make", caller: str) -> tuple[Attempt, int | None]:
    """The result of `make` and the sequence of its last event; None if there was nothing to record.

    Raises:
        ConversationChanged: the conversation changed at each of ASSEMBLE_ATTEMPTS_MAX attempts.
        ReadFailed: each attempt found more withheld notes in the library.
    """
    changed: ConversationChanged | None = None
    for _ in range(ASSEMBLE_ATTEMPTS_MAX):
        made = await with_conversation_view(
            service, known(service.tail.state, name), partial(_attempt, service, name, make), caller
        )
        if not made.actions:
            return made, None
        try:
            receipts = await service.publishing.record(
                made.plan, caller, size_bytes=made.size_bytes, texts=made.texts
            )
        except ConversationChanged as error:
            changed = error
            continue
        if not made.only_compacted:
            return made, receipts[-1].seq
    raise changed or policy_kept_changing()


# -- on a worker thread --


def _attempt(service: Service, name: str, make: "Make", view: View, withheld_notes: WithheldNotes) -> Attempt:
    """Removes withheld notes from library and turns if they show any, else calls `make`."""
    conversation = known(view.state, name)
    turns = _turns_of(conversation, service)
    withheld_notes.refresh(conversation.library, turns.values())
    if (compaction := _without_withheld(conversation, turns, withheld_notes)) is not None:
        return Attempt(conversation, [action(compaction, conversation)], only_compacted=True)
    return make(conversation, view, withheld_notes)


def _turns_of(conversation: Conversation, service: Service) -> dict[MessageId, SentTurn]:
    """The turns that prompts repeat; one that is no longer kept is repeated by nobody."""
    found, kept = {}, service.kept_turns.of(conversation.id)
    for name, sent in conversation.turns.items():
        with suppress(NotRecorded):
            found[name] = kept_turn(name, sent.turn_sha256, service.texts, kept)
    return found


def _without_withheld(
    conversation: Conversation, turns: Mapping[MessageId, SentTurn], withheld_notes: WithheldNotes
) -> c.ContextFolded | None:
    """The event that takes out of library and turns what is withheld or gone; None: they show none of it."""
    library = withheld_notes.without_withheld(conversation.library)
    known_to_be = set(conversation.left_out)
    left_out = tuple(each for each in withheld_notes.parts_withheld(turns) if each not in known_to_be)
    if left_out or library != conversation.library:
        is_gone = library == conversation.library and all(each.why == "gone" for each in left_out)
        reason: Literal["gone", "withheld"] = "gone" if is_gone else "withheld"
        return c.ContextFolded(conversation=conversation.id, reason=reason, library=library, left_out=left_out)
    return None
