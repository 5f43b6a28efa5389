"""What clients were given by `workspaced/context/transform`, so that it is recognised when they send it again."""

from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import anyio

CLIENTS_MAX: Final = 64
TEXTS_MAX: Final = 8_192
"""Of one client; beyond that the longest unused goes."""


class GivenOut:
    """The contexts given to one client. Belongs to the loop's thread."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        """Held by one request at a time: requests that begin alike find each other's messages."""
        self.is_read = False
        """Whether it holds what the log knows of earlier lives of the daemon."""
        self._hashes: OrderedDict[bytes, None] = OrderedDict()

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._hashes[_hash(text)] = None
            self._hashes.move_to_end(_hash(text))
        while len(self._hashes) > TEXTS_MAX:
            self._hashes.popitem(last=False)

    def __contains__(self, text: str) -> bool:
        return _hash(text) in self._hashes


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
