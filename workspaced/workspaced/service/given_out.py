"""What clients were given by `workspaced/context/transform`, so that it is recognised when they send it again."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final

import anyio

from workspaced_tools.prompts.model.blocks import BLANK_LINE, QUERY_FRAME

CLIENTS_MAX: Final = 64
HEADS_MAX: Final = 2_048
CONTEXTS_PER_HEAD_MAX: Final = 64
TEXTS_MAX: Final = 8_192
"""Of one client; of each the longest unused goes."""
_HEAD_CHARS: Final = 64


class GivenOut:
    """The contexts given to one client, each up to the label of the words behind it.

    Of a context it holds the first characters, the length and a hash. Belongs to the request that has the lock.
    """

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        """Held by one request at a time: requests that begin alike find each other's messages."""
        self.is_read = False
        """Whether it holds what the log knows of earlier lives of the daemon."""
        self._by_head: OrderedDict[str, OrderedDict[tuple[int, bytes], None]] = OrderedDict()
        self._texts: OrderedDict[bytes, None] = OrderedDict()

    def is_new(self, text: str) -> bool:
        """Whether this message was not given out before; from now on it was."""
        digest = _hash(text)
        is_new = digest not in self._texts
        self._texts[digest] = None
        self._texts.move_to_end(digest)
        if len(self._texts) > TEXTS_MAX:
            self._texts.popitem(last=False)
        return is_new

    def add(self, contexts: Iterable[str]) -> None:
        for context in contexts:
            head = context[:_HEAD_CHARS]
            held = self._by_head.setdefault(head, OrderedDict())
            self._by_head.move_to_end(head)
            held[len(context), _hash(context)] = None
            if len(held) > CONTEXTS_PER_HEAD_MAX:
                held.popitem(last=False)
            if len(self._by_head) > HEADS_MAX:
                self._by_head.popitem(last=False)

    def cut(self, text: str) -> str:
        """The text without the contexts that were given out."""
        at = 0
        while (frame := text.find(QUERY_FRAME, at)) >= 0:
            end = frame + len(QUERY_FRAME)
            begin = self._begin(text, end)
            if begin is None:
                at = end
            else:
                text, at = text[:begin] + text[end:].removeprefix(BLANK_LINE), begin
        return text

    def _begin(self, text: str, end: int) -> int | None:
        """Where the context begins that ends there; None if none was given out that does.

        Of several the longest counts: a label may have stood alone once.
        """
        if self._has(text[:end]):  # as it mostly is
            return 0
        begins = (begin for head in self._by_head for begin in _places(head, text, end))
        return min((begin for begin in begins if self._has(text[begin:end])), default=None)

    def _has(self, context: str) -> bool:
        held = self._by_head.get(context[:_HEAD_CHARS], ())
        return any(length == len(context) for length, _digest in held) and (len(context), _hash(context)) in held


def _places(head: str, text: str, end: int) -> Iterator[int]:
    at = text.find(head, 0, end)
    while at >= 0:
        yield at
        at = text.find(head, at + 1, end)


class Clients:
    """What each client was given, by its name; the longest unused goes."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[str, GivenOut] = OrderedDict()

    def of(self, client: str) -> GivenOut:
        found = self._by_name.setdefault(client, GivenOut())
        self._by_name.move_to_end(client)
        unused = [name for name, each in self._by_name.items() if not each.lock.statistics().locked]
        for name in unused[: max(0, len(self._by_name) - CLIENTS_MAX)]:
            del self._by_name[name]
        return found


def _hash(text: str) -> bytes:
    return sha256(text.encode()).digest()[:16]
