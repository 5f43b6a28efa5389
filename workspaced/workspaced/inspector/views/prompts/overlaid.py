"""A chat whose requests were overlaid: what was put into it, and which requests left with it."""

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument
from workspaced_tools.prompts.audit.overlaid_chats import OverlaidChat

from ...inspected import Inspected, overlaid_chats
from ..asked.call import TEXT_CHARS_MAX


class OverlaidParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which chat."""

    chat: str
    """Its hash, or the name of an insertion of it."""


class ListedChat(msgspec.Struct, rename="camel"):
    """One chat whose requests were overlaid."""

    chat: str
    caller: str
    form: str
    last: str
    """When it was told something last; ISO 8601 UTC."""
    insertions: int
    requests: int


def overlaid(inspected: Inspected, parameters: OverlaidParameters) -> OverlaidChat:
    """What was put into a chat, each text cut to 200,000 characters.

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
    shown = chats.shown(name, inspected.log.blob)
    cut = [replace(each, text=each.text and each.text[:TEXT_CHARS_MAX]) for each in shown.insertions]
    return replace(shown, insertions=cut)


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
