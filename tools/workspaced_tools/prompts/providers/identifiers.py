"""Fits names of tools and ids of calls to providers: letters, digits, `_` and `-`, of bounded length.

A name or id that does not fit gets the same replacement each time, so that a provider's cache stays valid. A call
and its result get the same replacement. Runtimes may reuse an id in a later round; providers refuse that, so all
but its first use are replaced as well.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from itertools import chain, count
from typing import Final

import msgspec
import regex

from .provider import NAME_CHARS_MAX, Provider

_PLAIN: Final = regex.compile(r"[A-Za-z0-9_-]+")
_OTHER: Final = regex.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS: Final = 8
_SHOWN_CHARS_MAX: Final = 60

Change = Callable[[str, str | None], None]
"""Takes a sentence about a replacement, and the id of its message, if any."""


class Names:
    """Names and ids of one request for a provider.

    Args:
        defined: the names of the defined tools.
    """

    def __init__(self, provider: Provider, defined: Iterable[str], change: Change) -> None:
        self._provider, self._change = provider, change
        defined = tuple(defined)
        self._sent = frozenset[str]()
        self._names = {name: name for name in defined if name == self._fitted(name)}
        self._names_taken = set(self._names)
        self._ids: dict[str, str] = {}
        self._ids_taken: set[str] = set()
        self.renamed = {sent: name for name in defined if (sent := self.name(name)) != name}
        """Maps the sent name of each renamed tool to the defined name."""
        self._sent = frozenset(self.renamed)

    def name(self, name: str) -> str:
        """The name to send for a tool, in its definition, calls and results; sent names stay as they are."""
        found = name if name in self._sent else self._names.get(name)
        if found is None:
            found = self._fitted(name)
            if found in self._names_taken:
                stem = found[: NAME_CHARS_MAX - _DIGEST_CHARS - 1]
                tries = (f"{stem}_{_digest(name, at)[:_DIGEST_CHARS]}" for at in count())
                found = next(each for each in tries if each not in self._names_taken)
            self._names[name] = found
            self._names_taken.add(found)
            if found != name:
                self._change(f"The tool {name[:_SHOWN_CHARS_MAX]!r} is called {found!r}", None)
        return found

    def call(self, call: str, message: str) -> str:
        """The id to send for a call in `message`."""
        found = call
        if not _PLAIN.fullmatch(call) or len(call) > self._provider.call_id_chars_max or call in self._ids_taken:
            seeds = chain([(call,)], ((call, message, at) for at in count()))
            tries = (f"call_{_digest(*seed)[:32]}" for seed in seeds)
            found = next(each for each in tries if each not in self._ids_taken)
            self._change("The ids of tools' calls are others, since they are used twice or not plain", message)
        self._ids[call] = found
        self._ids_taken.add(found)
        return found

    def answered(self, call: str) -> str:
        """The id that was sent for the last call with this id."""
        return self._ids.get(call, call)

    def _fitted(self, name: str) -> str:
        return self._provider.fit_name(_OTHER.sub("_", name) or "_")[:NAME_CHARS_MAX]


def _digest(*of: str | int) -> str:
    return sha256(msgspec.json.encode(of)).hexdigest()
