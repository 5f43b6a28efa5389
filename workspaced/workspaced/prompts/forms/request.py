"""Reads a request in any form."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from . import anthropic, gemini, openai, responses
from .form import Told

MessagesForm = Literal["openai", "responses", "anthropic", "gemini"]
_READERS: Final[Mapping[MessagesForm, Callable[..., Told]]] = {
    "openai": openai.read,
    "responses": responses.read,
    "anthropic": anthropic.read,
    "gemini": gemini.read,
}


def told(form: MessagesForm, messages: Sequence[Any], system: Any, *, begins: bool) -> Told:
    """The messages of a request, and its system prompt.

    `begins`: whether these are the first messages; otherwise there is no system prompt.

    Raises:
        InvalidArgument: a message is not in the form, or holds what a conversation cannot.
    """
    return _READERS[form](messages, system, begins=begins)
