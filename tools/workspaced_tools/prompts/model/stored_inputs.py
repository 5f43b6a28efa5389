"""Decodes the inputs and the manifest of a prompt from the log's blobs."""

from collections.abc import Callable
from typing import Final

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.schema.decoding import decoded

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
        if (version := decoded(content, _Version).version) > TURN_VERSION:
            raise NotRecorded(
                f"The inputs are of version {version}; this program reads up to {TURN_VERSION}",
                hint="Use a newer workspaced.",
            )
        return decoded(content, Turn)
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"The blob {inputs_sha256} holds no inputs of a prompt: {error}.") from None


def manifest_of_prompt(manifest_sha256: str, texts: Texts) -> Manifest:
    """The manifest that was written with a prompt.

    Raises:
        NotRecorded: the blob is not kept.
        LogDamaged: the blob holds something else.
    """
    try:
        return decoded(texts(manifest_sha256), Manifest)
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
