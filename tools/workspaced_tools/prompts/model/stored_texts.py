"""Texts of prompts by their sha256: read from blobs, kept in memory, or staged on their way to the blobs."""

from collections.abc import Callable
from hashlib import sha256
from typing import Final

import msgspec

from workspaced_events.blobs.latest_used import LatestUsed
from workspaced_events.errors import LogDamaged

from ...errors import NotRecorded
from ...ports.manifest import Manifest
from .types import TURN_VERSION, Texts, Turn

NOT_KEPT: Final = (
    "It may have been forgotten with its note, or the log is an export, which holds no texts, or a redacted "
    "bundle, which holds none of prompts."
)


class _Version(msgspec.Struct):
    version: int = 0


def inputs_of(inputs_sha256: str, texts: Texts) -> Turn:
    """The inputs that were read for a prompt.

    Raises:
        NotRecorded: the blob is not kept, or of a newer version.
        LogDamaged: the blob holds something else.
    """
    content = texts(inputs_sha256)
    try:
        if (version := msgspec.json.decode(content, type=_Version).version) > TURN_VERSION:
            raise NotRecorded(
                f"The inputs are of version {version}; this program reads up to {TURN_VERSION}",
                hint="Use a newer workspaced.",
            )
        return msgspec.json.decode(content, type=Turn)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {inputs_sha256} holds no inputs of a prompt: {error}.") from None


def manifest_of_prompt(manifest_sha256: str, texts: Texts) -> Manifest:
    """The manifest that was written with a prompt.

    Raises:
        NotRecorded: the blob is not kept.
        LogDamaged: the blob holds something else.
    """
    try:
        return msgspec.json.decode(texts(manifest_sha256), type=Manifest)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {manifest_sha256} holds no manifest: {error}.") from None


def texts_in(blob: Callable[[str], bytes | None]) -> Texts:
    """Reads texts from a source of blobs; raises NotRecorded for a missing one."""

    def text(name: str) -> str:
        content = blob(name)
        if content is None:
            raise NotRecorded("A text that the log names is not kept", hint=NOT_KEPT)
        return content.decode()

    return text


class TextCache:
    """Keeps the texts used last in memory. Safe from any thread."""

    def __init__(self, texts: Texts, *, chars_max: int) -> None:
        """`texts` reads a text that is not in memory."""
        self._source = texts
        self._texts = LatestUsed[str, str](chars_max, len)

    def __call__(self, name: str) -> str:
        """The text of that sha256.

        Raises:
            WorkspacedError: from `texts`.
        """
        known = self._texts.get(name)
        return known if known is not None else self._texts.put(name, self._source(name))


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
