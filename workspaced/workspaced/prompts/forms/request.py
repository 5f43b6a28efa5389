"""Reads a request in any form."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from . import anthropic, gemini, openai, responses
from .form import BEGINNING, Earlier, ReadRequest, check_pairs, refused

MessagesForm = Literal["openai", "responses", "anthropic", "gemini"]
_READERS: Final[Mapping[MessagesForm, Callable[[Sequence[Any], Any, Earlier | None], ReadRequest]]] = {
    "openai": openai.read,
    "responses": responses.read,
    "anthropic": anthropic.read,
    "gemini": gemini.read,
}


def read_request(form: MessagesForm, messages: Sequence[Any], system: Any, earlier: Earlier | None) -> ReadRequest:
    """The messages of a request, and its system prompt.

    Args:
        earlier: what the messages go on from; None: they are all.

    Raises:
        InvalidArgument: a message is not in the form, or holds what a conversation cannot.
    """
    found = _READERS[form](messages, system, earlier)
    check_pairs(found.messages, earlier or BEGINNING)
    if found.messages and found.messages[-1].role == "assistant":
        raise refused(len(messages) - 1, "A prompt ends with the user's words or with results.")
    return found
