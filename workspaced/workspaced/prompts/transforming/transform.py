"""`workspaced/context/transform`: messages in, the same messages with context in place out.

The caller keeps no state and names no conversation: the one that its messages continue is found by them
(continuation.py). Messages that part from it go on in a branch, which keeps the common turns as they were sent.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, uuid7
from workspaced_events.journal.actions import Action
from workspaced_events.journal.planned import Plan, Planned
from workspaced_events.projections.conversations import Conversation
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.ports.questions import Names
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.blocks import LIBRARY_FRAME, trimmed
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.prompts.requests.usage_report import FAMILY_OF_SHAPE
from workspaced_tools.tools.linked_workspace import of_person

from ...errors import RequestError, TimedOut
from ...ipc.framing import check_depth
from ...limits import (
    ASSEMBLE_ATTEMPTS_MAX,
    IMPORT_CONTEXT_WINDOW,
    IMPORT_OUTPUT_RESERVE,
    MESSAGES_PER_CONVERSATION_MAX,
    MESSAGES_PER_REQUEST_MAX,
    TRANSFORM_SESSIONS_MAX,
    UPLOADED_MESSAGES_BYTES_MAX,
)
from .. import params as p
from ..assemble import Prompted, assemble
from ..commands import action, add_messages, change_plan, known, start_plan
from ..forms.form import Earlier, ReadRequest
from ..forms.request import read_request
from ..message_commands import nothing_uploaded
from .context_extraction import contexts_of, new_contexts
from .continuation import Continuation, Incoming, align, content_of_message, find_continuation, read_incoming

if TYPE_CHECKING:
    from ...service.sent_contexts import SentContexts
    from ...service.service import Service

_SESSIONS: Final = "transform-"
"""What the ids of all sessions begin with."""
_KEY_CHARS: Final = 12
_MESSAGES_DECODER: Final = msgspec.json.Decoder(list[dict[str, Any]])
_MESSAGES: Final = {"openai": "messages", "responses": "input", "anthropic": "messages", "gemini": "contents"}
"""Where the body of each form has its messages."""
_SYSTEM: Final = {"openai": "", "responses": "instructions", "anthropic": "system", "gemini": "systemInstruction"}
"""Likewise its system prompt; chat completions have it among the messages."""


class Transformed(msgspec.Struct, frozen=True, rename="camel"):
    session: str
    base: str
    """Names all messages up to the last one given: the next call may give what follows alone."""
    message: str
    """The last message, which names the prompt."""
    messages: list[Any]
    """In the form of the given ones."""
    system: Any
    """As the form has it; null where it is among the messages, or empty."""
    changes: tuple[str, ...]
    seq: int
    """Of the prompt's event."""
    clock: str


class _Request(NamedTuple):
    """A request, read."""

    system: str
    given: Sequence[Incoming]
    place: Continuation


class _Moved(Conflict):
    """The conversation changed after its messages were compared."""


async def transform(service: "Service", params: p.Transform, caller: str) -> Transformed:
    """The given messages as the provider's body has them, recorded as a prompt.

    Requests of one client follow each other.

    Raises:
        WorkspacedError: as `assemble`; TimedOut at the deadline; InvalidArgument if a message cannot be held;
            Conflict if `base` is not what the session holds, or the session changed at each of
            ASSEMBLE_ATTEMPTS_MAX attempts.
    """
    uploaded = service.uploads.text(params.messages_sha256) if params.messages_sha256 is not None else None
    client = service.sent_contexts.of(caller)
    async with client.lock:
        for _ in range(ASSEMBLE_ATTEMPTS_MAX - 1):
            with suppress(_Moved):
                return await _transformed(service, params, uploaded, caller, client)
        return await _transformed(service, params, uploaded, caller, client)


async def _transformed(
    service: "Service", params: p.Transform, uploaded: bytes | None, caller: str, client: "SentContexts"
) -> Transformed:
    attached = await _attached(service, params, caller)
    request = await service.threads.run(_read, service, params, uploaded, attached, caller, client)
    _check_deadline(params)
    session = await _record(service, params, request, caller)
    _check_deadline(params)
    prompt = await assemble(service, p.Assemble(conversation=session, shape=params.form, layers=False), caller)
    answer = _answer(service, params, session, prompt)
    conversation = known(service.tail.state, session)
    await service.threads.run(_remember, client, answer, conversation, service.texts)
    return answer


def _check_deadline(params: p.Transform) -> None:
    """
    Raises:
        TimedOut: it has passed.
    """
    if params.deadline is not None and time.time() * 1_000 > params.deadline:
        raise TimedOut("The deadline has passed.", hint="Its caller gave the request up: nothing is recorded.")


def _answer(service: "Service", params: p.Transform, session: ConversationId, prompt: Prompted) -> Transformed:
    conversation = known(service.tail.state, session)
    assert prompt.body is not None
    return Transformed(
        session,
        _base_of(conversation),
        prompt.message_id,
        prompt.body[_MESSAGES[params.form]],
        prompt.body.get(_SYSTEM[params.form]),
        prompt.changes or (),
        prompt.seq,
        prompt.clock,
    )


def _remember(client: "SentContexts", answer: Transformed, conversation: Conversation, texts: Texts) -> None:
    """What the client was given, to know it again. On a thread."""
    client.add(new_contexts(answer.messages, conversation, texts, client.is_new))


# -- reading a request --


def _read(
    service: "Service",
    params: p.Transform,
    uploaded: bytes | None,
    attached: Sequence[p.Attached],
    caller: str,
    client: "SentContexts",
) -> _Request:
    """The request with the place where it goes on. On a thread.

    Raises:
        InvalidArgument, UnknownConversation, Conflict: see `transform`.
    """
    state, mark = service.tail.state, _mark(caller)
    mine = [each for name, each in state.conversations.by_id.items() if name.startswith(mark) and not each.ended]
    if not client.is_read:
        client.add(context for each in mine for context in contexts_of(each, service.texts))
        client.is_read = True
    session = known(state, params.session) if params.session is not None else None
    read = _messages_of(params, uploaded, session)
    given = read_incoming(_with_attachments(read.messages, attached), client)
    system = _without_library(read.system, mine if session is None else [session])
    if session is None:
        return _Request(system, given, find_continuation(state, mine, given, service.texts))
    if params.base is None:
        return _Request(system, given, align(state, session, given, service.texts))
    if _base_of(session) != params.base:
        raise Conflict("The session holds other messages than `base` names.", hint="Send all messages.")
    return _Request(system, given, Continuation(session, len(session.messages)))


def _messages_of(params: p.Transform, uploaded: bytes | None, session: Conversation | None) -> ReadRequest:
    """The messages of the request.

    Raises:
        InvalidArgument: the parameters do not fit each other, or a message cannot be held.
    """
    ways = sum([bool(params.messages), uploaded is not None, bool(params.append) or params.base is not None])
    if ways != 1 or (params.base is None) != (not params.append) or (params.base and session is None):
        raise InvalidArgument(
            "Expected one of `messages`, `messagesSha256`, and `append` with `session` and `base`.",
            hint="`base` names what the session holds, `append` what follows it.",
        )
    messages = params.messages or params.append
    if uploaded is not None:
        if len(uploaded) > UPLOADED_MESSAGES_BYTES_MAX:
            raise InvalidArgument(
                f"The messages have {len(uploaded)} bytes: with context they would not fit into an answer.",
                hint="Send the request as it is.",
            )
        try:
            check_depth(uploaded)
            messages = _MESSAGES_DECODER.decode(uploaded)
        except (msgspec.MsgspecError, RequestError) as error:
            raise InvalidArgument(f"The text of `messagesSha256` is no list of messages: {error}.") from None
    if len(messages) > MESSAGES_PER_CONVERSATION_MAX:
        raise InvalidArgument(
            f"Expected at most {MESSAGES_PER_CONVERSATION_MAX} messages, got {len(messages)}.",
            hint="Send the request as it is.",
        )
    earlier = _earlier(session) if params.base is not None else None
    read = read_request(params.form, messages, params.system, earlier)
    if not read.messages:
        raise InvalidArgument("Expected a message besides those of the system; got none.")
    return read


def _earlier(session: Conversation | None) -> Earlier:
    assert session is not None, "checked"
    calls = {call.id: call.name for each in session.messages.values() for call in each.tool_calls}
    answered = {result.id for each in session.messages.values() for result in each.tool_results}
    return Earlier(calls, frozenset(calls) - answered)


def _without_library(system: str, conversations: Iterable[Conversation]) -> str:
    """The system prompt without the context library that we gave with that of one of these conversations."""
    own, frame, _library = system.partition(LIBRARY_FRAME)
    own = trimmed(own)
    sections = (each for conversation in conversations for each in conversation.settings.sections)
    named = {each.text_sha256 for each in sections if each.name == "system"}
    return own if frame and (not own or sha256(own.encode()).hexdigest() in named) else system


def _mark(caller: str) -> str:
    """What the sessions of one client begin with: another client's are not looked at."""
    return f"{_SESSIONS}{sha256(caller.encode()).hexdigest()[:_KEY_CHARS]}-"


def _base_of(conversation: Conversation) -> str:
    contents = [content_of_message(each) for each in conversation.messages.values()]
    return sha256(msgspec.json.encode(contents)).hexdigest()


# -- what is attached --


async def _attached(service: "Service", params: p.Transform, caller: str) -> Sequence[p.Attached]:
    """What the newest message of the user attaches.

    Raises:
        SharingOff: the caller may be shown nothing.
    """
    vault = service.tail.state.current

    def shown(view: View, _withheld: object) -> str | None:
        view = of_person(view)
        active = view.state.of(vault).active
        if active is None or not view.served or view.sharing != "all":
            return None
        return active.id if view.vault.ask(Names([active.id])) != [None] else None

    note = await service.calls.with_view(shown, caller, vault)
    if params.attachments is not None:
        return params.attachments
    # Without an id, so that it is what was active, and never a note that the runtime named.
    return [p.Attached(kind="active_note")] if note is not None else []


def _with_attachments(messages: Sequence[p.Message], attached: Sequence[p.Attached]) -> Sequence[p.Message]:
    """The messages; the last one attaches this too, if it is the words of a user."""
    last = messages[-1]
    if last.role != "user" or last.tool_results:
        return messages
    return [*messages[:-1], replace(last, attachments=[*last.attachments, *attached])]


# -- recording --


async def _record(service: "Service", params: p.Transform, request: _Request, caller: str) -> ConversationId:
    """Records what is new, and returns the conversation. Everything is checked before the first event.

    Raises:
        _Moved: the conversation is not what it was when it was compared.
        WorkspacedError: the log refused.
    """
    place, is_named = request.place, params.session is not None
    before = place.conversation if is_named or place.held else None
    new = _with_held_ids([each.message for each in request.given[place.given :]], place.calls)
    ids = list(before.messages) if before is not None else []
    if place.held + len(new) > MESSAGES_PER_CONVERSATION_MAX:
        raise InvalidArgument(f"A conversation holds at most {MESSAGES_PER_CONVERSATION_MAX} messages.")
    goes_on = before is not None and (is_named or place.held == len(ids))
    session = before.id if before is not None and goes_on else ConversationId(f"{_mark(caller)}{uuid7()}")
    removal = p.Removal(message=ids[place.held], following=True) if goes_on and place.held < len(ids) else None
    added = [
        add_messages(p.Messages(conversation=session, messages=batch, remove=remove), nothing_uploaded)
        for batch, remove in _batches(new, removal)
    ]
    record = partial(service.publishing.record, source=caller)
    if not goes_on:
        await record(_begun(service.tail.state, session, place._replace(conversation=before)), size_bytes=1)
    settings = _settings(params, request.system, session)
    is_apart = not goes_on or not added  # otherwise one record has them with the first messages
    if is_apart:
        await record(settings, size_bytes=p.bytes_of(params))
    expected = ids if goes_on else ids[: place.held]
    for at, each in enumerate(added):
        plan = _unmoved(session, expected, each.plan, settings if at == 0 and not is_apart else None)
        await record(plan, size_bytes=max(each.size_bytes, 1), texts=each.texts)
        expected = [*(ids[: place.held] if at == 0 else expected), *each.messages]
    return session


def _with_held_ids(messages: Sequence[p.Message], ids: Mapping[str, str]) -> list[p.Message]:
    """The messages; results of calls that are held already name them by the ids that they are held with."""
    found = list(messages)
    for at, message in enumerate(found):
        if message.role == "assistant":
            break
        results = [replace(each, id=ids.get(each.id, each.id)) for each in message.tool_results]
        found[at] = replace(message, tool_results=results)
    return found


def _batches(
    messages: Sequence[p.Message], removal: p.Removal | None
) -> Iterator[tuple[list[p.Message], p.Removal | None]]:
    if not messages and removal is not None:
        yield [], removal
    for begin in range(0, len(messages), MESSAGES_PER_REQUEST_MAX):
        yield list(messages[begin : begin + MESSAGES_PER_REQUEST_MAX]), removal if begin == 0 else None


def _begun(state: WorkspaceState, session: ConversationId, place: Continuation) -> list[Action]:
    """Makes room for a session, and begins it as a branch where there is something to go on from."""
    sessions = [each for name, each in state.conversations.by_id.items() if name.startswith(_SESSIONS)]
    origin = place.conversation
    oldest = sessions[: max(0, len(sessions) - TRANSFORM_SESSIONS_MAX + 1)]
    actions = [
        action(c.ConversationEnded(conversation=each.id, dropped=True), each)
        for each in oldest
        if each is not origin
    ]
    if origin is not None:
        up_to = list(origin.messages)[place.held - 1]
        data = c.ConversationBranched(conversation=session, origin=origin.id, up_to=up_to)
        actions.append(action(data, origin))
    return actions


def _unmoved(session: ConversationId, expected: Sequence[str], plan: Plan, settings: Plan | None) -> Plan:
    """The plan, if the session still has the expected messages; `settings` come first."""

    def checked(now: Planned) -> Sequence[Action]:
        present = now.state.conversations.by_id.get(session)
        if present is None or list(present.messages) != list(expected):
            raise _Moved(f"The session {session!r} changed meanwhile.", hint="Ask again.")
        return [*(settings(now) if settings is not None else ()), *plan(now)]

    return checked


# -- settings --


def _settings(params: p.Transform, system: str, session: ConversationId) -> Plan:
    """Begins the session with the request's settings, or changes those that the request gives."""
    window = params.context_window or IMPORT_CONTEXT_WINDOW
    begun = p.Start(
        conversation=session,
        provider=params.provider or FAMILY_OF_SHAPE[params.form],
        model=params.model or "unknown",
        context_window=window,
        output_reserve=min(IMPORT_OUTPUT_RESERVE, window // 4)
        if params.output_reserve is None
        else params.output_reserve,
        system=system,
        environment=False,
        tools=params.tools,
    )
    named = ("provider", "model", "context_window", "output_reserve", "tools")
    changes = {name: getattr(params, name) for name in named if getattr(params, name) is not None}
    is_ours = session.startswith(_SESSIONS)
    if is_ours and params.base is None:
        changes["provider"] = begun.provider
    if system or (is_ours and params.base is None):
        changes["system"] = system
    begin, change = start_plan(begun, session, ""), change_plan(session, changes)

    def plan(now: Planned) -> Sequence[Action]:
        return (change if session in now.state.conversations.by_id else begin)(now)

    return plan
