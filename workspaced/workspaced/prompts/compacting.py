"""Compacts conversations when asked: by `workspaced/context/rebase`, and after an import."""

from functools import partial

from msgspec.structs import replace

from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.schema import catalogue as c
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.stored_texts import BlobStaging

from ..service.service import Service
from . import params as p
from .assemble import assembled, durable_texts, source_actions
from .attempts import Attempt, record_attempt
from .visibility import WithheldNotes


async def rebase(service: Service, params: p.Named, caller: str) -> int:
    """Compacts: notes are in the prompt once, in their present versions. Returns the number of changed things.

    Raises:
        WorkspacedError: as `assemble`.
    """
    made, _seq = await record_attempt(service, params.conversation, partial(_refreshed, service), caller)
    data = made.actions[-1].data if made.actions else None
    if not isinstance(data, c.ContextFolded):
        return 0
    return len(set(made.conversation.library) - set(data.library)) + len(data.left_out)


# -- on a worker thread --


def _refreshed(service: Service, conversation: Conversation, view: View, withheld_notes: WithheldNotes) -> Attempt:
    """Compacts as a next message would that asks for it."""
    asking = Message(MessageId(""), "user", conversation.seq, "")
    asked = replace(conversation, messages={**conversation.messages, asking.id: asking})
    staging = BlobStaging(service.texts)
    turn, made = assembled(asked, asking.id, view, withheld_notes, staging, rebase=True)
    if made.compacted is None:
        return Attempt(conversation, [])
    durable = durable_texts(service, conversation.last_prompt(), conversation)
    return Attempt(conversation, source_actions(conversation, turn, made, staging, durable))
