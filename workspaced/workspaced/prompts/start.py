"""Begins conversations."""

from contextlib import suppress

from workspaced_events.ids import ConversationId, VaultId, uuid7
from workspaced_events.projections.conversations import Conversation
from workspaced_tools.errors import NotRecorded, ToolError
from workspaced_tools.prompts.sources.environment import environment, is_memory_index, memory_index

from ..service.service import Service
from . import params as p
from .commands import named_vault, start_plan, vault_of


async def start(service: Service, params: p.Start, caller: str) -> ConversationId:
    """Begins a conversation, or changes its settings.

    Raises:
        WorkspacedError: the parameters are invalid; there is no such vault, or the conversation belongs to
            another one; SharingOff if the caller may not be shown the environment.
    """
    conversation = ConversationId(params.conversation or uuid7())
    before = service.tail.state.conversations.by_id.get(conversation)
    described, index = "", ""
    if params.environment:
        state = service.tail.state
        named = named_vault(state, params.vault, before) if params.vault is not None else None
        vault = named or vault_of(state, before)
        described = await service.calls.with_view(lambda view, _withheld: environment(view), caller, vault)
        if not params.memory:
            index = await service.threads.run_writing(_memory_index, service, conversation, before, caller, vault)
    plan = start_plan(params, conversation, described, index)
    await service.publishing.record(plan, caller, size_bytes=p.bytes_of(params))
    return conversation


def _memory_index(
    service: Service,
    conversation: ConversationId,
    before: Conversation | None,
    caller: str,
    vault: VaultId | None,
) -> str:
    """The index of the memory as it is, or as it was when the conversation began. Blocks."""
    if before is not None:
        former = [each.text_sha256 for each in before.settings.sections if each.name == "memory"]
        with suppress(NotRecorded):  # It was forgotten.
            return next((text for text in map(service.texts, former) if is_memory_index(text)), "")
        return ""
    if not service.memory.is_set or service.tail.state.sharing_of(caller) != "all":
        return ""
    with suppress(ToolError):  # The folder cannot be read, so nothing of it is named.
        return memory_index(service.memory.files(vault), conversation)
    return ""
