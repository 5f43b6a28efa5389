"""What a view looks at: an open log, and who looks."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from workspaced_tools.prompts.audit.overlaid_chats import OVERLAY_TYPES, OverlaidChats

from .. import replay
from ..terminal.log import read_log
from .subject import Subject


class Download(NamedTuple):
    """An answer that is a file."""

    content: bytes
    media_type: str
    name: str
    """As the browser saves it; ASCII, without a slash."""


class NoParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """None."""


class MomentParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which moment."""

    at: str = ""
    """A sequence or an ISO 8601 time; empty: the end."""


class EventParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which event: a call, or what was judged."""

    seq: int


class Inspected(NamedTuple):
    """What a view reads. Only one thread at a time may use it."""

    subject: Subject
    log: replay.Log
    may_change: bool = False
    """Whether the page may judge answers."""


class _Overlaid:
    """The chats of a log whose requests were overlaid, as far as they are read."""

    def __init__(self) -> None:
        self.chats = OverlaidChats()
        self.seq = 0


_OVERLAID: Final[WeakKeyDictionary[replay.Log, _Overlaid]] = WeakKeyDictionary()


def overlaid_chats(log: replay.Log) -> OverlaidChats:
    """The chats whose requests were overlaid, up to the log's present end: read once, and as it grows."""
    read = _OVERLAID.setdefault(log, _Overlaid())
    for event in log.events_of(OVERLAY_TYPES, after=read.seq):
        read.chats.take(event)
        read.seq = event.seq
    return read.chats


@contextmanager
def viewed_log(log: str | None) -> Iterator[Inspected]:
    """The log of `open_log` as the inspector's views read it.

    Raises:
        LogDamaged: it is damaged; raised when the block was done with the events before the damage.
    """
    with read_log(log) as opened:
        place = Path(log or "")  # of no account: the views that commands ask look at the log alone
        yield Inspected(Subject(place, str(place), "export"), opened)
        if opened.damage is not None:
            raise opened.damage
