"""Compacts conversations when asked: by `workspaced/context/rebase`, and after an import."""

from functools import partial

from msgspec.structs import replace

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.schema import catalogue as c
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.assembly.library import LibraryIndex, imported
from workspaced_tools.prompts.model.stored_texts import BlobStaging
from workspaced_tools.prompts.sources.gather import gather, pinned_in

from ..service.service import Service
from ..vaults.served_vault import WithheldDuringRead
from . import params as p
from .assemble import assembled, attached_in, durable_texts, source_actions, staged_texts
from .attempts import Attempt, record_attempt
from .commands import action
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


async def take_over(service: Service, name: ConversationId, caller: str) -> None:
    """Compacts an imported conversation: its library takes over what its messages attach, read anew.

    Raises:
        WorkspacedError: as `assemble`.
    """
    await record_attempt(service, name, partial(_taken_over, service), caller)


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


def _taken_over(
    service: Service, conversation: Conversation, view: View, withheld_notes: WithheldNotes
) -> Attempt:
    """The compaction, as if a next message attached again what all messages attach; none if there is nothing."""
    given = {
        (each.kind, each.id): each for message in conversation.messages.values() for each in message.attachments
    }
    if not given or conversation.library or conversation.prompts:
        return Attempt(conversation, [])
    asking = Message(MessageId(""), "user", conversation.seq, "", attachments=tuple(given.values()))
    asked = replace(conversation, messages={**conversation.messages, asking.id: asking})
    staging = BlobStaging(service.texts)
    calibration = view.state.conversations.calibration(conversation.settings)
    turn = gather(asked, asking.id, view, staging, staging.keep, calibration, requested=withheld_notes.requested)
    if withheld_notes.includes_any(attached_in(turn), pinned_in(turn)):
        raise WithheldDuringRead
    settings, index = conversation.settings, LibraryIndex(staging, turn.fence)
    room = turn.policy.compact_to * (settings.context_window - settings.output_reserve) / turn.factor
    library = imported(turn.artifacts, conversation, index, room)
    if not library:
        return Attempt(conversation, [])
    actions = [
        action(
            c.ArtifactRecorded(entry.id, entry.kind, entry.revision, len(staging.blobs[entry.revision])),
            conversation,
            staged_texts(staging, [entry.revision]),
        )
        for entry in library
        if entry.revision in staging.blobs
    ]
    compaction = c.ContextFolded(conversation=conversation.id, reason="imported", library=library)
    actions.append(
        action(compaction, conversation, staged_texts(staging, map(staging.text, index.blocks.values())))
    )
    return Attempt(conversation, actions)
