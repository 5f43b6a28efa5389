"""The messages around the history: system and summary, and the context of a turn without a user's words."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from msgspec.structs import replace

from ...ports.manifest import LayerId
from ..model import blocks as b
from ..model.types import Artifact, Block, ChatMessage

NO_TEXT: Final = "NO_TEXT"
"""The attachment was sent as bytes and is no image, so it has no text."""


def readable(artifact: Artifact) -> Artifact:
    """The artifact, failed if it is bytes other than an image, which have no text to show."""
    if artifact.media_type is None or artifact.kind == "image" or artifact.failed is not None:
        return artifact
    return replace(artifact, failed=NO_TEXT)


def leading(texts: Mapping[LayerId, str], summary: str | None, fence: str = "") -> list[ChatMessage]:
    """The system's message with the first two layers, and the summary. `fence`: as in blocks.artifact_block."""
    library = (b.LIBRARY_FRAME, texts["L2_PREVIOUS"]) if texts["L2_PREVIOUS"] else ()
    system = b.BLANK_LINE.join(filter(None, (texts["L1_SYSTEM"], *library)))
    messages = [ChatMessage("system", (Block("text", system),))] if system else []
    if block := b.summary_block(summary, fence=fence):
        messages.append(ChatMessage("user", (Block("text", block),)))
    return messages


def with_context(messages: Sequence[ChatMessage], content: tuple[Block, ...]) -> tuple[ChatMessage, ...]:
    """Adds the context to the messages of a turn that begins without a user's words.

    The context goes into the last carrier, after its leading results; without a carrier it is the last message.
    """
    if not content:
        return tuple(messages)
    for at in reversed(range(len(messages))):
        blocks = messages[at].content
        results = sum(1 for _ in takewhile(lambda block: block.type == "toolResult", blocks))
        if messages[at].role == "user" and results:
            carrier = replace(messages[at], content=(*blocks[:results], *content, *blocks[results:]))
            return (*messages[:at], carrier, *messages[at + 1 :])
    return (*messages, ChatMessage("user", content))
