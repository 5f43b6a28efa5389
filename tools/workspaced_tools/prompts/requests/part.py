"""The parts of messages that templates see."""

from typing import Any, Literal

from workspaced_events.schema.catalogue import CacheTime

from ...ports.base import Wire


class Part(Wire, frozen=True):
    """A part of a message. Which fields it has depends on `type`."""

    type: Literal["text", "toolCall", "toolResult", "thinking", "image"]
    text: str | None = None
    """The text of a text, toolResult or thinking part; a text part is never blank."""
    id: str | None = None
    """The id of a toolCall, or of the toolCall that a toolResult answers."""
    name: str | None = None
    arguments: str | None = None
    """The arguments of a toolCall as the JSON text of an object."""
    input: dict[str, Any] | None = None
    """The arguments of a toolCall as an object; of a thinking part for `responses`, what reasoning.py holds."""
    is_error: bool = False
    redacted: bool = False
    """Whether the text of a thinking part is data that only its provider can read."""
    signature: str | None = None
    """The signature of a thinking part, or of a toolCall that Gemini signed instead."""
    media_type: str | None = None
    data: str | None = None
    """The bytes of an image in base64."""
    cache: bool = False
    """Whether the provider may cache the prefix that ends here: at most four parts of a request."""
    cache_time: CacheTime = "5m"
    """For how long."""
    images: tuple["Part", ...] = ()
    """Of a toolResult: the images that belong to it."""
