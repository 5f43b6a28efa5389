"""What a view looks at: an open log, and who looks."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from workspaced_events.errors import InvalidArgument
from workspaced_events.projections.conversations import Message
from workspaced_events.schema.catalogue import Event, PromptAnswered
from workspaced_tools.prompts.audit.overlaid_chats import OVERLAY_TYPES, OverlaidChats

from .. import replay
from .masking.mask import Mask
from .masking.withheld_notes import Ask
from .searching.search import Searches
from .subject import Subject

_PROMPTS_SEARCHED: Final = 500
"""How many prompts are searched for the one that reported usage is of."""
_PAGE_EVENTS: Final = 1_000


class Download(NamedTuple):
    """An answer that is a file."""

    content: bytes
    media_type: str
    name: str
    """As the browser saves it; ASCII, without a slash."""


class Inspected(NamedTuple):
    """What a view reads. Only one thread at a time may use it."""

    subject: Subject
    log: replay.Log
    mask: Mask
    """Hides the notes that are withheld from agents; nothing over a log that does not grow, or with `--reveal`."""
    searches: Searches
    """They read the log by a source of their own."""
    may_change: bool = False
    """Whether the page may change the workspace."""


class _Overlaid:
    """The chats of a log whose requests were overlaid, as far as they are read."""

    def __init__(self) -> None:
        self.chats = OverlaidChats()
        self.seq = 0


_OVERLAID: Final[WeakKeyDictionary[replay.Log, _Overlaid]] = WeakKeyDictionary()


def overlaid_chats(log: replay.Log) -> OverlaidChats:
    """The chats whose requests were overlaid, up to the log's present end: read once, and as it grows."""
    read = _OVERLAID.setdefault(log, _Overlaid())
    while page := log.events_of(OVERLAY_TYPES, after=read.seq, limit=_PAGE_EVENTS):
        for event in page:
            read.chats.take(event)
        read.seq = page[-1].seq
    return read.chats


class _Conversations:
    """Implements `masking.mask.Conversations`."""

    def __init__(self, log: replay.Log) -> None:
        self._log = log

    def prompts_before(self, seq: int) -> Iterator[Event]:
        return reversed(self._log.events_of(("prompt_assembled",), before=seq, limit=_PROMPTS_SEARCHED))

    def stood_in(self, answered: PromptAnswered) -> Iterable[Event] | None:
        return overlaid_chats(self._log).stood_in(answered)

    def messages_of(self, prompt: Event) -> Iterable[Message] | None:
        try:
            then = self._log.at(prompt.data.as_of_seq).state.conversations.by_id.get(prompt.data.conversation)
        except InvalidArgument:
            return None
        return then.messages.values() if then is not None else None


def mask_over(log: replay.Log, ask: Ask | None) -> Mask:
    """The mask of a log. `ask`: as of `Mask`."""
    return Mask(ask, log.blob, _Conversations(log))
