"""`workspaced/context/transform`: messages in, the same messages with context in place out.

The caller keeps no state and tells nothing twice: the conversation that its messages continue is found by them.
Messages are compared by role, words, names and arguments of calls, and results; ids do not count. A message that
we gave, with its context, counts as the one that it was made from.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, uuid7
from workspaced_events.journal.actions import Action
from workspaced_events.journal.writer import Plan
from workspaced_events.projections.conversations import Conversation, Message, turn_of
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.questions import Names
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.blocks import BLANK_LINE, QUERY_FRAME
from workspaced_tools.prompts.model.standing import content_of, read_turn
from workspaced_tools.prompts.model.types import Texts

from ..limits import (
    ASSEMBLE_ATTEMPTS_MAX,
    IMPORT_CONTEXT_WINDOW,
    IMPORT_OUTPUT_RESERVE,
    MESSAGES_PER_CONVERSATION_MAX,
    MESSAGES_PER_REQUEST_MAX,
)
from . import params as p
from .assemble import assemble
from .commands import add_messages, known, vault_of
from .forms import Told, told
from .message_commands import nothing_uploaded, recorded
from .start import start

if TYPE_CHECKING:
    from ..service.service import Service

_KEY_CHARS: Final = 12


class Transformed(msgspec.Struct, frozen=True, rename="camel"):
    session: str
    base: str
    """Names all messages up to the last one given: the next call may give what follows alone."""
    messages: list[Any]
    """In the form of the given ones; none if more follow."""
    system: Any
    """For `anthropic`; null where it is among the messages, or empty."""
    changes: tuple[str, ...]
    seq: int | None
    """Of the prompt's event."""
    clock: str


Key = tuple[Any, ...]
"""What a message says, whoever gave it which id."""


class _Place(NamedTuple):
    """Where given messages go on."""

    conversation: Conversation | None
    """None: a new one."""
    common: int
    """The number of messages that it has already."""


async def transform(service: "Service", params: p.Transform, caller: str) -> Transformed:
    """The given messages as the provider's body has them, recorded as a prompt.

    Raises:
        WorkspacedError: as `assemble`; InvalidArgument if a message cannot be held; Conflict if `base` is not what
            the session holds, or the session changed at each of ASSEMBLE_ATTEMPTS_MAX attempts.
    """
    given = await service.threads.run(_told, params)
    for _ in range(ASSEMBLE_ATTEMPTS_MAX - 1):
        with suppress(_Moved):
            return await _transformed(service, params, given, caller)
    return await _transformed(service, params, given, caller)


class _Moved(Conflict):
    """The conversation changed after its messages were compared."""


async def _transformed(service: "Service", params: p.Transform, given: Told, caller: str) -> Transformed:
    if params.base is not None:
        place, new = _named(service.tail.state, params), given.messages
    else:
        place = await service.threads.run(_found, service, params, given.messages, caller)
        new = given.messages[place.common :]
    session = place.conversation.id if place.conversation is not None else _new_session(caller)
    if params.base is None:
        await start(service, _settings(params, given, session), caller)
    await _record(service, session, place, new, params, caller)
    held = service.tail.state.conversations.by_id[session].messages.values()
    base = _base_of(map(_key, held))
    if params.more:
        return Transformed(session, base, [], None, (), None, service.tail.clock())
    prompt = await assemble(service, p.Assemble(conversation=session, shape=params.form, layers=False), caller)
    assert prompt.body is not None
    return Transformed(
        session,
        base,
        prompt.body["messages"],
        prompt.body.get("system"),
        prompt.changes or (),
        prompt.seq,
        prompt.clock,
    )


def _told(params: p.Transform) -> Told:
    messages = params.append if params.base is not None else params.messages
    if params.base is not None and (params.session is None or params.messages):
        raise InvalidArgument(
            "`base` names what a session holds: it needs `session`, and `append` instead of `messages`."
        )
    if len(messages) > MESSAGES_PER_CONVERSATION_MAX:
        raise InvalidArgument(
            f"Expected at most {MESSAGES_PER_CONVERSATION_MAX} messages, got {len(messages)}.",
            hint="Send the request as it is.",
        )
    found = told(params.form, messages, params.system, begins=params.base is None)
    if not found.messages and params.base is None:
        raise InvalidArgument("Expected a message besides those of the system; got none.")
    return found


def _settings(params: p.Transform, given: Told, session: ConversationId) -> p.Start:
    return p.Start(
        conversation=session,
        provider=params.provider or params.form,
        model=params.model or "unknown",
        context_window=params.context_window or IMPORT_CONTEXT_WINDOW,
        output_reserve=params.output_reserve if params.output_reserve is not None else IMPORT_OUTPUT_RESERVE,
        system=given.system,
        environment=False,
        tools=params.tools,
    )


# -- finding the conversation --


def _new_session(caller: str) -> ConversationId:
    return ConversationId(f"{_mark(caller)}{uuid7()}")


def _mark(caller: str) -> str:
    """What the sessions of one client begin with: another client's are not looked at."""
    return f"transform-{sha256(caller.encode()).hexdigest()[:_KEY_CHARS]}-"


def _named(state: WorkspaceState, params: p.Transform) -> _Place:
    """The end of the named session.

    Raises:
        UnknownConversation: there is none.
        Conflict: it holds other messages than `base` names.
    """
    conversation = known(state, params.session or "")
    if _base_of(map(_key, conversation.messages.values())) != params.base:
        raise Conflict("The session holds other messages than `base` names.", hint="Send all messages.")
    return _Place(conversation, len(conversation.messages))


def _found(service: "Service", params: p.Transform, messages: Sequence[p.Message], caller: str) -> _Place:
    """Where the messages go on: in the named session, else in the one whose messages they begin with.

    A conversation of which only the last turn is another one was edited there. Where several fit equally well, and
    where messages before the last turn differ, the messages begin a conversation of their own.
    """
    state, texts = service.tail.state, service.texts
    given = [recorded(ConversationId(""), each, at, nothing_uploaded)[0] for at, each in enumerate(messages)]
    if params.session is not None:
        conversation = known(state, params.session)
        return _Place(conversation, _common(conversation, given, texts))
    best, is_tie = _Place(None, 0), False
    for name, each in state.conversations.by_id.items():
        if each.ended or not name.startswith(_mark(caller)) or not each.messages:
            continue
        common = _common(each, given, texts)
        if common < max(1, _last_turn(each)) or common < best.common:
            continue
        is_tie = common == best.common
        best = _Place(each, common)
    return _Place(None, 0) if is_tie else best


def _last_turn(conversation: Conversation) -> int:
    """The number of messages before the last turn."""
    ids = list(conversation.messages)
    return ids.index(turn_of(conversation, ids[-1]))


def _common(conversation: Conversation, given: Sequence[c.MessageData], texts: Texts) -> int:
    """How many messages both begin with."""
    common = 0
    for held, other in zip(conversation.messages.values(), given, strict=False):
        if _key(held) != _key(other) and not _is_ours(conversation, held, other, texts):
            break
        common += 1
    return common


def _key(message: Message | c.MessageData) -> Key:
    return (
        message.role,
        message.text_sha256 if message.text_sha256 != _NOTHING else None,
        tuple((each.name, each.arguments_sha256) for each in message.tool_calls),
        tuple((each.text_sha256, each.is_error, each.images) for each in message.tool_results),
    )


_NOTHING: Final = sha256(b"").hexdigest()


def _is_ours(conversation: Conversation, held: Message, given: c.MessageData, texts: Texts) -> bool:
    """Whether the given message is the held one as we gave it, with its context."""
    sent = conversation.turns.get(held.id)
    if sent is None or given.role != "user" or given.text_sha256 is None:
        return False
    with suppress(NotRecorded):
        blocks = content_of(read_turn(sent.turn_sha256, texts).parts)
        text = BLANK_LINE.join(block.text for block in blocks if block.text is not None)
        return QUERY_FRAME in text and sha256(text.encode()).hexdigest() == given.text_sha256
    return False


def _base_of(keys: Iterable[Key]) -> str:
    return sha256(msgspec.json.encode(list(keys))).hexdigest()


# -- recording --


async def _record(
    service: "Service",
    session: ConversationId,
    place: _Place,
    new: Sequence[p.Message],
    params: p.Transform,
    caller: str,
) -> None:
    """Removes what the given messages do not have any more, and adds the new ones."""
    held = list(place.conversation.messages) if place.conversation is not None else []
    removal = None
    if len(held) > place.common:
        removal = p.Removal(message=held[place.common], following=True)
    if not new and removal is None:
        return
    if new and new[-1].role == "user" and not new[-1].tool_results and not params.more:
        attached = params.attachments
        if attached is None:
            attached = await _looked_at(service, place.conversation, caller)
        new = [*new[:-1], replace(new[-1], attachments=[*new[-1].attachments, *attached])]
    expected = held
    for messages in _batches(new):
        added = add_messages(
            p.Messages(conversation=session, messages=list(messages), remove=removal), nothing_uploaded
        )
        plan = _unmoved(session, expected, added.plan)
        await service.publishing.record(plan, caller, size_bytes=max(added.size_bytes, len(messages)))
        expected = [*(held[: place.common] if removal is not None else expected), *added.messages]
        removal = None


def _batches(messages: Sequence[p.Message]) -> Iterator[Sequence[p.Message]]:
    """At least one batch, since there may be messages to remove."""
    yield from (
        messages[begin : begin + MESSAGES_PER_REQUEST_MAX]
        for begin in range(0, max(1, len(messages)), MESSAGES_PER_REQUEST_MAX)
    )


def _unmoved(session: ConversationId, expected: Sequence[str], plan: Plan) -> Plan:
    """The plan, if the session still has the expected messages."""

    def checked(state: WorkspaceState, seq: int) -> Sequence[Action]:
        now = state.conversations.by_id.get(session)
        if now is None or list(now.messages) != list(expected):
            raise _Moved(f"The session {session!r} changed meanwhile.", hint="Ask again.")
        return plan(state, seq)

    return checked


async def _looked_at(service: "Service", conversation: Conversation | None, caller: str) -> list[p.Attached]:
    """The note that the user looks at, if there is one that the client may be shown."""
    vault = vault_of(service.tail.state, conversation)

    def is_shown(view: View, _withheld: object) -> bool:
        active = view.state.of(vault).active
        return (
            active is not None
            and view.served
            and view.sharing == "all"
            and view.vault.ask(Names([active.id])) != [None]
        )

    shows = await service.calls.with_view(is_shown, caller, vault)
    return [p.Attached(kind="active_note")] if shows else []
