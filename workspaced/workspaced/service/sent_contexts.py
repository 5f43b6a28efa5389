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


class SentContexts:
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
        """The text without the contexts that were given out.

        Where one begins within another, the other one counts: a label may have stood alone once.
        """
        before, frame, behind = text.partition(QUERY_FRAME)
        if not frame:
            return text
        context = before + frame
        if (len(context), _hash(context)) in self._by_head.get(context[:_HEAD_CHARS], ()):  # as it mostly is
            text = behind.removeprefix(BLANK_LINE)
        if QUERY_FRAME not in text:
            return text
        pieces, at = list[str](), 0
        for begin, end in sorted(self._spans(text), key=lambda span: (span[0], -span[1])):
            if begin >= at:
                pieces.append(text[at:begin])
                at = end + len(BLANK_LINE) if text.startswith(BLANK_LINE, end) else end
        return "".join((*pieces, text[at:]))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where each context begins and ends. Looks for each head once, however many labels there are."""
        for head, held in self._by_head.items():
            begin = text.find(head)
            while begin >= 0:
                for length, digest in held:
                    end = begin + length
                    is_label = text.startswith(QUERY_FRAME, end - len(QUERY_FRAME))
                    if is_label and digest == _hash(text[begin:end]):
                        yield begin, end
                begin = text.find(head, begin + len(head))


class SentContextsByClient:
    """What each client was given, by its name; the longest unused goes."""

    def __init__(self) -> None:
        self._by_name: OrderedDict[str, SentContexts] = OrderedDict()

    def of(self, client: str) -> SentContexts:
        found = self._by_name.setdefault(client, SentContexts())
        self._by_name.move_to_end(client)
        unused = [name for name, each in self._by_name.items() if not each.lock.statistics().locked]
        for name in unused[: max(0, len(self._by_name) - CLIENTS_MAX)]:
            del self._by_name[name]
        return found


def _hash(text: str) -> bytes:
    return sha256(text.encode()).digest()[:16]
