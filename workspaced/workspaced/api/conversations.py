"""`workspaced/context/*`: conversations of runtimes, and their prompts. `workspaced/blob/put`: their long texts.

When a method answers, its changes are synced, and the next prompt holds them.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, Final

from msgspec import Meta

from workspaced_events.ids import ConversationId, VaultId, uuid7
from workspaced_events.journal.actions import Plan
from workspaced_events.limits import ID_CHARS_MAX
from workspaced_events.projections.conversations import Conversation
from workspaced_tools.errors import NotRecorded, ToolError
from workspaced_tools.prompts.providers.tool_definitions import kept_form
from workspaced_tools.prompts.sources.environment import environment, is_memory_index, memory_index

from ..ipc.jsonrpc import RequestId
from ..limits import ATTACHMENTS_PER_MESSAGE_MAX, UNCHANGED_REASONS_MAX
from ..overlay.overlays import Asked
from ..overlay.request import Form
from ..prompts import chat_file, commands
from ..prompts import params as p
from ..prompts.assemble import assemble
from ..prompts.commands import named_vault, start_plan, vault_of
from ..service.service import Service
from ..service.session import Method, Session


async def begun(service: Service, params: p.Start, caller: str) -> ConversationId:
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
    service: Service, conversation: ConversationId, before: Conversation | None, caller: str, vault: VaultId | None
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


_TURNS_PER_REQUEST_MAX: Final = 7_000
"""Of a chat; as many as a line of the socket holds."""


class PutBlob(p.Params, frozen=True):
    upload: Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
    """The client's name for the upload; parts are joined in the order in which they come."""
    text: str
    last: bool = False
    """Whether the text is complete with this part."""


def put_blob(session: Session, _id: RequestId | None, params: PutBlob) -> Any:
    size, sha256 = session.service.uploads.put(session.client, params.upload, params.text, last=params.last)
    return {"bytes": size} if sha256 is None else {"bytes": size, "sha256": sha256}


def recording(plan_of: Callable[[Any], Plan]) -> Callable[[Session, RequestId | None, Any], Any]:
    """A handler that records the plan of its parameters."""

    async def handler(session: Session, _id: RequestId | None, params: p.Params) -> Any:
        service = session.service
        await service.publishing.record(plan_of(params), session.client, size_bytes=p.bytes_of(params))
        return {"clock": service.tail.clock()}

    return handler


def answering(
    answer: Callable[[Service, Any, str], Awaitable[Any]],
) -> Callable[[Session, RequestId | None, Any], Any]:
    """A handler whose answer is that of a function of the daemon, the parameters and the client's name."""
    return lambda session, _id, params: answer(session.service, params, session.client)


async def start(session: Session, _id: RequestId | None, params: p.Start) -> Any:
    service = session.service
    conversation = await begun(service, params, session.client)
    answer: dict[str, Any] = {"conversation": conversation, "clock": service.tail.clock()}
    if not_kept := kept_form(params.tools or [])[1]:
        what = ", ".join(not_kept)
        answer["warnings"] = [f"Credentials are not kept: {what}. Put them into the request that you send."]
    return answer


async def message(session: Session, _id: RequestId | None, params: p.Messages) -> Any:
    service = session.service
    added = commands.add_messages(params, service.uploads.text)
    size_bytes = max(p.bytes_of(params), added.size_bytes)
    await service.publishing.record(added.plan, session.client, size_bytes=size_bytes, texts=added.texts)
    return {"messages": added.messages, "clock": service.tail.clock()}


# -- requests of those who keep the history --


class OverlayTurn(p.Params, frozen=True):
    key: p.Sha256
    """Of the chat up to a message of the user."""
    near: p.Sha256
    """Of that message and the answer before it alone."""


class Overlay(p.Params, frozen=True):
    form: Form
    turns: Annotated[list[OverlayTurn], Meta(max_length=_TURNS_PER_REQUEST_MAX)]
    """One for each message of the user, the oldest first."""
    open: bool
    """Whether nothing answers the last of them yet, so that something may be put before it."""
    chat: p.Sha256
    """Of the chat's name, or of its first words."""
    active_text: bool = False
    """Whether the text of the active note is told, too, for a model that cannot ask for it."""
    attachments: Annotated[tuple[p.Path, ...], Meta(max_length=ATTACHMENTS_PER_MESSAGE_MAX)] = ()
    """Paths of other notes whose texts are told, or that they have none."""
    previous_response_id: p.Sha256 | None = None
    """Of the name of what the provider holds of the chat; None: all of it is in the request."""


class OverlayConfirm(p.Params, frozen=True):
    token: str
    body_sha256: p.Sha256
    """Of the body as it was sent."""
    traceparent: str | None = None
    """The client's span that the request is a part of, as W3C Trace Context writes it; nonsense counts as none."""


class OverlayFinished(p.Params, frozen=True):
    token: str
    form: Form
    usage: dict[str, Any] | None = None
    """The provider's usage object, as it came."""
    response_id: p.Sha256 | None = None
    """Of the name by which a later request may continue the chat."""


class OverlayReason(p.Params, frozen=True):
    code: Annotated[str, Meta(pattern="^[A-Z0-9_]{1,64}$")]
    count: Annotated[int, Meta(ge=1)]


class OverlayUnchanged(p.Params, frozen=True):
    reasons: Annotated[list[OverlayReason], Meta(max_length=UNCHANGED_REASONS_MAX)]
    """How many requests went on without context, by the reason; each is told once."""


async def overlay(session: Session, _id: RequestId | None, params: Overlay) -> Any:
    service = session.service
    turns = [(each.key, each.near) for each in params.turns]
    texts: dict[str, Any] = {}
    if params.active_text:
        texts["activeText"] = True
    if params.attachments:
        texts["attached"] = list(params.attachments)
    asked = Asked(params.form, turns, params.open, params.chat, texts, params.previous_response_id)
    made = await service.overlays.overlay(session.client, asked)
    return {
        "insertions": [{"turn": turn, "text": text} for turn, text in made.texts.items()],
        "token": made.token,
        "reason": made.reason,
        "clock": service.tail.clock(),
    }


async def overlay_confirm(session: Session, _id: RequestId | None, params: OverlayConfirm) -> Any:
    service = session.service
    traceparent = service.parents.taken(params.traceparent)
    return {"recorded": await service.overlays.confirm(params.token, params.body_sha256, traceparent)}


async def overlay_finished(session: Session, _id: RequestId | None, params: OverlayFinished) -> Any:
    overlays = session.service.overlays
    recorded, reason = await overlays.finished(params.token, params.form, params.usage, params.response_id)
    return {"recorded": recorded, "reason": reason}


def overlay_unchanged(session: Session, _id: RequestId | None, params: OverlayUnchanged) -> Any:
    session.service.overlays.count_unchanged((each.code, each.count) for each in params.reasons)
    return {}


METHODS: Final = {
    "workspaced/blob/put": Method(PutBlob, put_blob),
    "workspaced/context/start": Method(p.Start, start),
    "workspaced/context/message": Method(p.Messages, message),
    "workspaced/context/pin": Method(p.Pin, recording(commands.pin)),
    "workspaced/context/unpin": Method(p.Unpin, recording(commands.unpin)),
    "workspaced/context/assemble": Method(p.Assemble, answering(assemble)),
    "workspaced/context/overlay": Method(Overlay, overlay),
    "workspaced/context/overlay/confirm": Method(OverlayConfirm, overlay_confirm, works_paused=True),
    "workspaced/context/overlay/finished": Method(OverlayFinished, overlay_finished, works_paused=True),
    "workspaced/context/overlay/unchanged": Method(OverlayUnchanged, overlay_unchanged, works_paused=True),
    "workspaced/context/usage": Method(p.Usage, recording(commands.report_usage), works_paused=True),
    "workspaced/context/summary": Method(p.Summarise, recording(commands.set_summary)),
    "workspaced/context/end": Method(p.Named, recording(commands.end), works_paused=True),
    "workspaced/context/export": Method(p.Named, answering(chat_file.export), works_paused=True),
}
