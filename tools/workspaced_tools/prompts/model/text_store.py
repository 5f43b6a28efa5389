"""Texts by their sha256: those that the log's blobs keep, and those on their way there."""

import threading
from collections import OrderedDict
from hashlib import sha256

from workspaced_tools.prompts.model.types import Texts


class TextCache:
    """Texts, the latest used kept in memory. Safe from any thread."""

    def __init__(self, texts: Texts, *, chars_max: int) -> None:
        """`texts` gives what is not in memory."""
        self._given = texts
        self._chars_max = chars_max
        self._chars = 0
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> str:
        """The text of that sha256.

        Raises:
            WorkspacedError: of what gives them.
        """
        with self._lock:
            if (text := self._texts.get(name)) is not None:
                self._texts.move_to_end(name)
                return text
        return self._remembered(name, self._given(name))

    def _remembered(self, name: str, text: str) -> str:
        with self._lock:
            if name not in self._texts and len(text) <= self._chars_max:
                self._texts[name] = text
                self._chars += len(text)
            while self._chars > self._chars_max:
                self._chars -= len(self._texts.popitem(last=False)[1])
        return text


class BlobStaging:
    """Texts on their way to the blobs. Belongs to one thread."""

    def __init__(self, texts: Texts | None = None) -> None:
        """`texts`: gives those that are there already."""
        self.blobs: dict[str, bytes] = {}
        self._texts = texts

    def keep(self, content: bytes) -> str:
        """Takes the bytes of a text and names them."""
        name = sha256(content).hexdigest()
        self.blobs[name] = content
        return name

    def text(self, text: str) -> str:
        """Takes a text and names it."""
        return self.keep(text.encode())

    def __call__(self, name: str) -> str:
        """The text of that name, be it on its way or kept."""
        if (content := self.blobs.get(name)) is not None:
            return content.decode()
        assert self._texts is not None, name
        return self._texts(name)
