"""The chats of a log whose requests were overlaid, read once and as the log grows."""

from typing import Final
from weakref import WeakKeyDictionary

from workspaced_tools.prompts.audit.overlaid_chats import OVERLAY_TYPES, OverlaidChats

from .. import replay

_PAGE_EVENTS: Final = 1_000


class _Read:
    def __init__(self) -> None:
        self.chats = OverlaidChats()
        self.seq = 0


_READ: Final[WeakKeyDictionary[replay.Log, _Read]] = WeakKeyDictionary()


def overlaid_chats(log: replay.Log) -> OverlaidChats:
    """The chats, up to the log's present end."""
    read = _READ.setdefault(log, _Read())
    while page := log.events_of(OVERLAY_TYPES, after=read.seq, limit=_PAGE_EVENTS):
        for event in page:
            read.chats.take(event)
        read.seq = page[-1].seq
    return read.chats
