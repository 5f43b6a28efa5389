"""Commands of `workspaced/context/*`: parameters in, actions to append out. Pure.

Texts are staged as blobs; an action names each by its sha256. A command that changes nothing records nothing, so a
client that lost an answer repeats the command with the same ids.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, MessageId, VaultId
from workspaced_events.journal.actions import Action, Plan, Planned
from workspaced_events.limits import ID_CHARS_MAX
from workspaced_events.projections.conversations import Conversation, Message, Prompt
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.limits import ECHO_CHARS_MAX
from workspaced_tools.prompts.model.stored_texts import BlobStaging
from workspaced_tools.prompts.providers.known import SHAPES, counted, provider_named
from workspaced_tools.prompts.providers.tool_definitions import kept_form
from workspaced_tools.prompts.sources.pinned import checked_parameters

from ..errors import UnknownConversation, UnknownMessage
from ..limits import MESSAGES_PER_CONVERSATION_MAX, PINS_PER_CONVERSATION_MAX
from . import params as p
from .message_commands import Uploaded, as_given, recorded, resolved, workspace_now


def known(state: WorkspaceState, conversation: str) -> Conversation:
    """The conversation with that id.

    Raises:
        UnknownConversation: there is none, or it has ended.
    """
    found = state.conversations.by_id.get(ConversationId(conversation))
    if found is None:
        raise UnknownConversation(
            f"There is no conversation {conversation[:ID_CHARS_MAX]!r}.",
            hint="Begin it with workspaced/context/start.",
        )
    if found.ended:
        raise UnknownConversation(
            f"The conversation {conversation[:ID_CHARS_MAX]!r} has ended.",
            hint="Go on with it by workspaced/context/start.",
        )
    return found


_VAULTS_NAMED_MAX: Final = 20


def vault_of(state: WorkspaceState, conversation: Conversation | None) -> VaultId | None:
    """The conversation's vault; the current vault if the conversation has none or does not exist."""
    begun = conversation.vault if conversation is not None else None
    return begun if begun is not None else state.current


def named_vault(state: WorkspaceState, vault: str, conversation: Conversation | None) -> VaultId:
    """The id as a VaultId, if `conversation` may begin in that vault or belongs to it.

    Raises:
        InvalidArgument: there is no such open vault, or the conversation belongs to another one.
    """
    known_vaults = [each.id for each in state.vaults.values() if each.open]
    if vault not in known_vaults:
        listed = ", ".join(known_vaults[:_VAULTS_NAMED_MAX]) or "none"
        raise InvalidArgument(f"There is no open vault {vault!r}.", hint=f"Open vaults: {listed}.")
    if conversation is not None and conversation.vault != vault:
        of = f"the vault {conversation.vault!r}" if conversation.vault is not None else "no vault"
        raise InvalidArgument(
            f"The conversation {conversation.id!r} belongs to {of}, in which it began.",
            hint="Leave `vault` out, or begin another conversation.",
        )
    return VaultId(vault)


def checked_message(conversation: Conversation, message: str) -> MessageId:
    """The id as a MessageId, if the conversation has that message.

    Raises:
        UnknownMessage: it has not.
    """
    if message not in conversation.messages:
        raise _no_message(conversation, message)
    return MessageId(message)


def _no_message(conversation: Conversation, message: str) -> UnknownMessage:
    return UnknownMessage(
        f"The conversation {conversation.id!r} has no message {message[:ID_CHARS_MAX]!r}.",
        hint="Add it with workspaced/context/message; one that was removed is gone.",
    )


# -- the conversation itself --


def start_plan(params: p.Start, conversation: ConversationId, environment: str, memory_index: str = "") -> Plan:
    """Begins `conversation`, or changes its settings.

    Args:
        environment: the text of that section.
        memory_index: stands in for the memory that the runtime gave, if it gave none.

    Raises:
        InvalidArgument: the output reserve takes the whole context window; as `named_vault`.
    """
    if params.output_reserve >= params.context_window:
        raise InvalidArgument(
            f"Expected outputReserve < contextWindow ({params.context_window}), got {params.output_reserve}.",
            hint="Both are tokens; the prompt gets the difference.",
        )
    staging = BlobStaging()
    texts: dict[Any, str] = {
        "system": params.system,
        "memory": params.memory or memory_index,
        "environment": environment,
    }
    sections = tuple(c.Section(name, staging.text(text)) for name, text in texts.items() if text)
    tools = staging.keep(msgspec.json.encode(kept_form(params.tools)[0])) if params.tools is not None else None
    data = c.ConversationStarted(
        conversation=conversation,
        provider=params.provider,
        model=params.model,
        context_window=params.context_window,
        output_reserve=params.output_reserve,
        sections=sections,
        tools_sha256=tools,
        promotion=params.promotion,
    )

    def plan(now: Planned) -> list[Action]:
        state = now.state
        before = state.conversations.by_id.get(conversation)
        vault = named_vault(state, params.vault, before) if params.vault is not None else None
        if before is not None and not before.ended and before.settings == data:
            return []
        begun = action(data, before, staging.blobs.values())
        return [replace(begun, vault=vault) if vault is not None else begun]

    return plan


def end(params: p.Named) -> Plan:
    """Ends a conversation. No action if it has ended already."""

    def plan(now: Planned) -> list[Action]:
        before = now.state.conversations.by_id.get(ConversationId(params.conversation))
        if before is not None and before.ended:
            return []
        conversation = known(now.state, params.conversation)
        return [action(c.ConversationEnded(conversation=conversation.id), conversation)]

    return plan


# -- messages --


class Added(NamedTuple):
    """What `add_messages` will record."""

    messages: list[MessageId]
    plan: Plan
    texts: list[bytes]
    """Those of the messages."""

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.texts))


def add_messages(params: p.Messages, uploaded: Uploaded) -> Added:
    """Removes messages, and adds or replaces others; also returns the ids of the latter.

    Raises:
        InvalidArgument: a message is invalid, or there is nothing to do.
        ActionError: UNKNOWN_BLOB: a message names a text that was not uploaded.
    """
    if not params.messages and params.remove is None:
        raise InvalidArgument(
            "Expected a message, or one to remove; got neither.", hint="Give `messages`, `remove`, or both."
        )
    conversation = ConversationId(params.conversation)
    messages = [recorded(conversation, each, index, uploaded) for index, each in enumerate(params.messages)]
    replaced = [message.replaces is not None for message in params.messages]

    def plan(now: Planned) -> list[Action]:
        state = now.state
        before = known(state, conversation)
        there: dict[MessageId, Message | c.MessageData] = dict(before.messages)
        actions = []
        if params.remove is not None:
            removed = checked_message(before, params.remove.message)
            after = list(there)[list(there).index(removed) :]
            for gone in after if params.remove.following else [removed]:
                del there[gone]
            following = params.remove.following
            data = c.MessageRemoved(conversation=conversation, message=removed, following=following)
            actions.append(action(data, before))
        workspace = workspace_now(state, vault_of(state, before))
        for (given, blobs), replaces in zip(messages, replaced, strict=True):
            message, more = resolved(given, workspace)
            if _is_new(there, before, message, replaces=replaces):
                actions.append(action(message, before, (*blobs, *more)))
                there[message.message] = message
        if len(there) > MESSAGES_PER_CONVERSATION_MAX:
            raise InvalidArgument(
                f"A conversation holds at most {MESSAGES_PER_CONVERSATION_MAX} messages.",
                hint="Remove some, or begin another conversation with a summary of this one.",
            )
        return actions

    texts = [blob for _message, blobs in messages for blob in blobs]
    return Added([message.message for message, _blobs in messages], plan, texts)


def _is_new(
    there: dict[MessageId, Message | c.MessageData],
    conversation: Conversation,
    message: c.MessageData,
    *,
    replaces: bool,
) -> bool:
    found = there.get(message.message)
    if found is None:
        if replaces:
            raise _no_message(conversation, message.message)
        return True
    if same(as_given(found), as_given(message), CONTENT):
        return False
    if not replaces:
        raise Conflict(
            f"The conversation has another message {message.message!r}.",
            hint="Give the new message an id of its own, or name the other one in `replaces`.",
        )
    return True


CONTENT: Final = ("role", "text_sha256", "attachments", "tool_calls", "tool_results", "thinking")
"""The fields of a message's content, the same in the conversation and in the event."""


def same(one: object, other: object, fields: Iterable[str]) -> bool:
    """Whether both objects have equal values in these fields."""
    return all(getattr(one, name) == getattr(other, name) for name in fields)


def set_summary(params: p.Summarise) -> Plan:
    """Sets the summary that replaces the messages up to one."""
    staging = BlobStaging()
    name = staging.text(params.text)

    def plan(now: Planned) -> list[Action]:
        conversation = known(now.state, params.conversation)
        up_to = checked_message(conversation, params.up_to)
        before = conversation.summary
        if before is not None and (before.text_sha256, before.up_to) == (name, up_to):
            return []
        data = c.SummarySet(conversation=conversation.id, text_sha256=name, up_to=up_to)
        return [action(data, conversation, staging.blobs.values())]

    return plan


# -- pins and usage --


def pin(params: p.Pin) -> Plan:
    """Pins a provider, or replaces the pin with its id.

    Raises:
        ActionError: the kind needs another parameter or takes no such one, or a path is invalid.
    """
    staging = BlobStaging()

    def plan(now: Planned) -> list[Action]:
        conversation = known(now.state, params.conversation)
        before = conversation.pins.get(params.id)
        if before is None and len(conversation.pins) >= PINS_PER_CONVERSATION_MAX:
            raise InvalidArgument(
                f"A conversation holds at most {PINS_PER_CONVERSATION_MAX} pins.", hint="Unpin one first."
            )
        if before is not None and same(before, data, ("kind", "path", "folder", "text_sha256")):
            return []
        return [action(data, conversation, staging.blobs.values())]

    path, folder = checked_parameters(params.kind, path=params.path, folder=params.folder, text=params.text)
    data = c.ContextPinned(
        conversation=ConversationId(params.conversation),
        id=params.id,
        kind=params.kind,
        path=path,
        folder=folder,
        text_sha256=staging.text(params.text) if params.text is not None else None,
    )
    return plan


def unpin(params: p.Unpin) -> Plan:
    """Unpins a provider. No action if it is not pinned."""

    def plan(now: Planned) -> list[Action]:
        conversation = known(now.state, params.conversation)
        if params.id not in conversation.pins:
            return []
        return [action(c.ContextUnpinned(conversation=conversation.id, id=params.id), conversation)]

    return plan


def report_usage(params: p.Usage) -> Plan:
    """Records the tokens that a provider counted for a prompt.

    The plan raises InvalidArgument if it is not known how to read the report, ArgumentInvalid if it is not valid.
    """

    def plan(now: Planned) -> list[Action]:
        conversation = known(now.state, params.conversation)
        settings = conversation.settings
        prompt = prompt_for(conversation, params.message)
        read, cached, output = counted(params.report, _shape(params, settings, prompt))
        if (prompt.input_tokens, prompt.cached_tokens) == (read, cached):
            return []
        data = c.UsageReported(
            conversation=conversation.id,
            message=prompt.message,
            provider=settings.provider,
            model=settings.model,
            input_tokens=read,
            cached_tokens=cached,
            output_tokens=output,
        )
        return [action(data, conversation)]

    return plan


def _shape(params: p.Usage, settings: c.ConversationStarted, prompt: Prompt) -> str:
    """The shape of the requests whose answers have reports of this form.

    Raises:
        InvalidArgument: it is not known.
    """
    shape = params.shape or (prompt.shape.name if prompt.shape is not None else "")
    if shape not in SHAPES and params.shape is None and (found := provider_named(settings.provider)) is not None:
        shape = found.shape or ""
    if shape not in SHAPES:
        raise InvalidArgument(
            f"How {(params.shape or settings.provider)[:ECHO_CHARS_MAX]!r} reports usage is not known.",
            hint=f"Name in `shape` how it does: {', '.join(SHAPES)}.",
        )
    return shape


def prompt_for(conversation: Conversation, message: str | None) -> Prompt:
    """The latest prompt of a message; of the conversation if `message` is None.

    Raises:
        UnknownMessage: there is no such prompt.
    """
    for prompt in reversed(conversation.prompts):
        if message is None or prompt.message == message:
            return prompt
    of = f"for the message {message[:ID_CHARS_MAX]!r}" if message is not None else "yet"
    raise UnknownMessage(
        f"No prompt was made {of} in the conversation {conversation.id!r}.",
        hint="Make one with workspaced/context/assemble.",
    )


def action(data: c.Data, conversation: Conversation | None, blobs: Iterable[bytes] = ()) -> Action:
    """An action about a conversation, in the conversation's vault. `blobs` are the texts that `data` names."""
    vault = conversation.vault if conversation is not None else None
    return Action(data, vault=vault, blobs=tuple(blobs))
