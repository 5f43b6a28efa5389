"""What a client tells the daemon of a request, and what it makes of the answer. Pure."""

from typing import Any, Final

from .insertion import inserted, insertions
from .request import ChatRequest, Form

METHOD = "workspaced/context/overlay"


def params_of(request: ChatRequest, path: bytes = b"") -> dict[str, Any]:
    """The parameters of METHOD: of what was said hashes alone.

    Nothing new is asked for where a text of ours stands already, or for a request that only counts what stands. A
    model without tools is told the active note's text, because it can ask for none.
    """
    return {
        "form": request.form,
        "turns": [{"key": turn.key, "near": turn.near_key} for turn in request.turns],
        "open": request.is_open and not request.is_told and not path.endswith(_COUNTING),
        "chat": request.chat or request.first_words or request.held,
        "activeText": not request.has_tools,
        **({"previousResponseId": request.held} if request.held else {}),
    }


def overlaid(request: ChatRequest, body: bytes, answer: dict[str, Any]) -> bytes:
    """The body with the insertions of an answer.

    Raises:
        Unreadable: a field of a message that takes one stands twice.
    """
    texts = {each["turn"]: each["text"] for each in answer["insertions"]}
    return inserted(body, insertions(request, texts)) if texts else body


_COUNTING: Final = (b"/messages/count_tokens", b"/responses/input_tokens", b":countTokens")
"""The ends of the paths where providers count what a request holds."""
FORMS: Final[dict[Form, tuple[bytes, ...]]] = {
    "openai": (b"/chat/completions",),
    "responses": (b"/responses", _COUNTING[1]),
    "anthropic": (b"/messages", _COUNTING[0]),
    "gemini": (b":generateContent", b":streamGenerateContent", _COUNTING[2]),
}
"""The ends of the paths where such requests are sent."""


def form_of(path: bytes) -> Form | None:
    """The form of the requests that are sent to that path; None: they hold no chat."""
    return next((form for form, ends in FORMS.items() if path.endswith(ends)), None)
