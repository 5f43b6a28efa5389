"""A chat whose requests were overlaid: what was put into it, and which requests left with it."""

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.schema.catalogue import Event
from workspaced_tools.prompts.audit.overlaid_chats import InsertionShown, OverlaidChats, RequestShown

from ...inspected import Inspected, overlaid_chats
from ..asked.call import TEXT_CHARS_MAX, why_masked


class OverlaidParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which chat."""

    chat: str
    """Its hash, or the name of an insertion of it."""


class ChatInsertion(InsertionShown, frozen=True, rename="camel"):
    """One text, cut to 200,000 characters."""

    masked: str
    """Why neither text nor notes are shown; empty: they are, as far as they are kept."""


class ChatRequest(RequestShown, frozen=True, rename="camel"):
    """A request that left with insertions."""

    masked: str
    """Why what the provider counted is not shown; empty: it is."""


class OverlaidChatShown(msgspec.Struct, rename="camel"):
    """What is known of a chat: of the client's own words nothing was recorded."""

    chat: str
    caller: str
    insertions: list[ChatInsertion]
    requests: list[ChatRequest]


class ListedChat(msgspec.Struct, rename="camel"):
    """One chat whose requests were overlaid."""

    chat: str
    caller: str
    form: str
    last: str
    """When it was told something last; ISO 8601 UTC."""
    insertions: int
    requests: int


def overlaid(inspected: Inspected, parameters: OverlaidParameters) -> OverlaidChatShown:
    """What was put into a chat.

    Raises:
        InvalidArgument: there is no such chat.
    """
    chats = overlaid_chats(inspected.log)
    name = chats.chat_of(parameters.chat)
    if name is None:
        raise InvalidArgument(
            f"Nothing was put into a chat {parameters.chat[:100]!r}.",
            hint="`/api/conversations` lists those that were overlaid.",
        )
    events = {event.seq: event for event in (*chats.insertions_of(name), *chats.requests_of(name))}
    shown = chats.shown(name, inspected.log.blob)
    return OverlaidChatShown(
        name,
        shown.caller,
        [_insertion(inspected, each, events[each.seq]) for each in shown.insertions],
        [_request(inspected, each, chats, events[each.seq]) for each in shown.requests],
    )


def listed_chats(inspected: Inspected) -> list[ListedChat]:
    """All chats, the one that was told something last at the end."""
    chats = overlaid_chats(inspected.log)
    return [
        ListedChat(
            name,
            own[-1].data.caller,
            own[-1].data.event,
            own[-1].time,
            len(chats.insertions_of(name)),
            len(chats.requests_of(name)),
        )
        for name, own in chats.by_chat.items()
    ]


def _insertion(inspected: Inspected, shown: InsertionShown, event: Event) -> ChatInsertion:
    masked = why_masked(inspected.mask, event)
    values = msgspec.structs.asdict(shown)
    if masked:
        values |= {"text": None, "notes": []}
    elif shown.text is not None:
        values["text"] = shown.text[:TEXT_CHARS_MAX]
    return ChatInsertion(**values, masked=masked)


def _request(inspected: Inspected, shown: RequestShown, chats: OverlaidChats, event: Event) -> ChatRequest:
    stood = chats.stood_in(event.data, all_of_them=True) or []
    masked = next(filter(None, (why_masked(inspected.mask, each) for each in stood)), "")
    values = msgspec.structs.asdict(shown)
    if masked:
        values |= {"input_tokens": None, "cached_tokens": None, "output_tokens": None}
    return ChatRequest(**values, masked=masked)
