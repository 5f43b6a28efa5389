"""Begins conversations, from what the caller gives and from the role that it names.

The role is resolved here, once: what it gives is recorded as if the caller had given it. So a log replays without
the settings or the note, and a later change of either concerns later starts only.
"""

from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from workspaced_events.ids import ConversationId, VaultId, uuid7
from workspaced_events.projections.conversations import Conversation
from workspaced_tools.errors import NotRecorded, ToolError
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.providers.tool_definitions import kept_form
from workspaced_tools.prompts.sources.environment import environment, is_memory_index, memory_index
from workspaced_tools.tools.registry import EVERY_TOOL

from ..roles.roles import ListedRoles
from ..service.service import Service
from ..settings.role import Role
from . import params as p
from .commands import named_vault, start_plan, vault_of


class Started(NamedTuple):
    """A conversation that begins, and what its role gave."""

    conversation: ConversationId
    role: Role | None
    """The role that the parameters named."""
    tools: tuple[str, ...] | None
    """The tools that it gave; None: it gave none, or the caller gave definitions."""
    not_kept: list[str]
    """The places of credentials in the tools' definitions."""


async def start(service: Service, params: p.Start, caller: str) -> Started:
    """Begins a conversation, or changes its settings. What the caller does not give, the role does.

    Raises:
        WorkspacedError: the parameters are invalid; there is no such vault, or the conversation belongs to
            another one; SharingOff if the caller may not be shown the environment; UNKNOWN_AGENT, AgentInvalid.
    """
    conversation = ConversationId(params.conversation or uuid7())
    before = service.tail.state.conversations.by_id.get(conversation)
    read, index = _Read("", None), ""
    if params.environment or params.agent is not None:
        state = service.tail.state
        named = named_vault(state, params.vault, before) if params.vault is not None else None
        vault = named or vault_of(state, before)
        read = await service.calls.with_view(lambda view, _withheld: _read(service, params, view), caller, vault)
        if params.environment and not params.memory:
            index = await service.threads.run_writing(_memory_index, service, conversation, before, caller, vault)
    role = read.role
    tools = role.tools if role is not None and params.tools is None else None
    if role is not None:
        definitions = [dict(EVERY_TOOL[name].definition) for name in tools] if tools is not None else params.tools
        system = role.system if params.system is None else params.system
        params = replace(params, system=system, tools=definitions)
    plan = start_plan(params, conversation, read.environment, index, role)
    await service.publishing.record(plan, caller, size_bytes=p.bytes_of(params))
    return Started(conversation, role, tools, kept_form(params.tools or [])[1])


async def agents(service: Service, params: p.Agents, caller: str) -> ListedRoles:
    """The roles that the caller may name.

    Raises:
        WorkspacedError: there is no such vault; SharingOff.
    """
    state = service.tail.state
    vault = named_vault(state, params.vault, None) if params.vault is not None else state.current
    return await service.calls.with_view(lambda view, _withheld: service.roles.list(view), caller, vault)


class _Read(NamedTuple):
    environment: str
    role: Role | None


def _read(service: Service, params: p.Start, view: View) -> _Read:
    role = service.roles.find(view, params.agent) if params.agent is not None else None
    return _Read(environment(view) if params.environment else "", role)


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
