"""Names of tools and ids of their calls as providers take them: letters, digits, `_` and `-`, and not too many.

What does not fit is replaced, the same each time, since a provider's cache holds what was sent before. A call and
its result are replaced alike. Runtimes may give a call of another round an id that was there before; providers
refuse that, so all but the first are replaced as well.
"""

from collections.abc import Callable, Iterable
from hashlib import sha256
from itertools import chain, count
from typing import Final

import msgspec
import regex

NAME_CHARS_MAX: Final = 64
_ID_CHARS_MAX: Final = {"openai": 40}
_PLAIN: Final = regex.compile(r"[A-Za-z0-9_-]+")
_OTHER: Final = regex.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS: Final = 8
_SHOWN_CHARS_MAX: Final = 60

Change = Callable[[str, str | None], None]
"""Is told what is replaced, and in which message."""


class Names:
    """Of one request for `family`; None: of a provider that is not known.

    Args:
        defined: the names of the tools that are there, which are asked for later.
    """

    def __init__(self, family: str | None, defined: Iterable[str], change: Change) -> None:
        self._family, self._change = family, change
        self._id_chars_max = _ID_CHARS_MAX.get(family or "", NAME_CHARS_MAX)
        defined = tuple(defined)
        self._sent = frozenset[str]()
        self._names = {name: name for name in defined if name == self._fitted(name)}
        self._names_taken = set(self._names)
        self._ids: dict[str, str] = {}
        self._ids_taken: set[str] = set()
        self.renamed = {sent: name for name in defined if (sent := self.name(name)) != name}
        """Of each defined tool that is called something else: that name, and its own."""
        self._sent = frozenset(self.renamed)

    def name(self, name: str) -> str:
        """Of a tool, for its definition, calls and results; also of a call that is told of by the name sent."""
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
        """The id of a call that `message` makes."""
        found = call
        if not _PLAIN.fullmatch(call) or len(call) > self._id_chars_max or call in self._ids_taken:
            seeds = chain([(call,)], ((call, message, at) for at in count()))
            tries = (f"call_{_digest(*seed)[:32]}" for seed in seeds)
            found = next(each for each in tries if each not in self._ids_taken)
            self._change("The ids of tools' calls are others, since they are used twice or not plain", message)
        self._ids[call] = found
        self._ids_taken.add(found)
        return found

    def answered(self, call: str) -> str:
        """The id of the last call that had this one."""
        return self._ids.get(call, call)

    def _fitted(self, name: str) -> str:
        plain = _OTHER.sub("_", name)
        if not plain or (self._family == "gemini" and not (plain[0].isalpha() or plain[0] == "_")):
            plain = f"_{plain}"
        return plain[:NAME_CHARS_MAX]


def _digest(*of: str | int) -> str:
    return sha256(msgspec.json.encode(of)).hexdigest()
