"""The parts that messages are made of, as templates see them."""

from typing import Any, Literal

from ...ports.base import Wire


class Part(Wire, frozen=True):
    """A part of a message. Which fields it has depends on `type`."""

    type: Literal["text", "toolCall", "toolResult", "thinking", "image"]
    text: str | None = None
    """Of text, toolResult, thinking. Of text it is never white."""
    id: str | None = None
    """Of a toolCall, and of the toolResult that answers it."""
    name: str | None = None
    arguments: str | None = None
    """Of a toolCall: the JSON text of an object."""
    input: dict[str, Any] | None = None
    """The same as an object."""
    is_error: bool = False
    signature: str | None = None
    """Of thinking; of a toolCall, where Gemini signed that instead."""
    media_type: str | None = None
    data: str | None = None
    """Of an image: its bytes in base64."""
    cache: bool = False
    """What ends here may be kept by the provider: four parts of a request at most."""
