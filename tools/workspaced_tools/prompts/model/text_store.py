"""Texts by their sha256: a cache over the log's blobs, and a staging area for new blobs."""

import threading
from collections import OrderedDict
from hashlib import sha256

from workspaced_tools.prompts.model.types import Texts


class TextCache:
    """Keeps the texts used last in memory. Safe from any thread."""

    def __init__(self, texts: Texts, *, chars_max: int) -> None:
        """`texts` reads a text that is not in memory."""
        self._source = texts
        self._chars_max = chars_max
        self._chars = 0
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> str:
        """The text of that sha256.

        Raises:
            WorkspacedError: from `texts`.
        """
        with self._lock:
            if (text := self._texts.get(name)) is not None:
                self._texts.move_to_end(name)
                return text
        return self._remembered(name, self._source(name))

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
        """`texts` reads the blobs that are stored already."""
        self.blobs: dict[str, bytes] = {}
        self._texts = texts

    def keep(self, content: bytes) -> str:
        """Stages the bytes of a text and returns their sha256."""
        name = sha256(content).hexdigest()
        self.blobs[name] = content
        return name

    def text(self, text: str) -> str:
        """Stages a text and returns its sha256."""
        return self.keep(text.encode())

    def __call__(self, name: str) -> str:
        """The text of that sha256, staged or stored."""
        if (content := self.blobs.get(name)) is not None:
            return content.decode()
        assert self._texts is not None, name
        return self._texts(name)
