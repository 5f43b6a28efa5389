"""What a client tells the daemon of a request, and the texts of the answer, inserted into the request. Pure.

The client's bytes stay as they came, in their order. A text goes before the user's own words and behind results of
tools, so that a mark of the client's on its last block covers it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from .json_places import Place, text_at
from .request import ChatRequest, Form, content_of, results_end

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


class Insertion(NamedTuple):
    """Bytes, and where in the client's body they go."""

    offset: int
    data: bytes


def insertions(request: ChatRequest, texts: Mapping[str, str]) -> list[Insertion]:
    """What to insert so that the turns with these keys have these texts.

    Raises:
        Unreadable: a field of such a message stands twice.
    """
    found: list[Insertion] = []
    for turn in request.turns:
        if (text := texts.get(turn.key)) is not None:
            found += _into(request.form, request.text, turn.message, text)
    return found


def inserted(body: bytes, given: Sequence[Insertion]) -> bytes:
    """The body with the insertions, which stand in the order of their offsets."""
    pieces, at = list[bytes](), 0
    for offset, data in given:
        pieces += [body[at:offset], data]
        at = offset
    return b"".join([*pieces, body[at:]])


def _into(form: Form, text: bytes, message: Place, words: str) -> list[Insertion]:
    content = content_of(form, text, message)
    quoted = msgspec.json.encode(words)
    if content is None:
        return []
    if text_at(text, content) is not None:
        if form == "anthropic":  # clients write the same message in either form, so it is a list of blocks in both
            opened = b'[{"type":"text","text":' + quoted + b'},{"type":"text","text":'
            return [Insertion(content.start, opened), Insertion(content.end, b"}]")]
        return [Insertion(content.start + 1, quoted[1:-1] + rb"\n\n")]
    if text[content.start : content.start + 1] != b"[":
        return []
    places, behind = results_end(text, content)
    kind = {"responses": b'"type":"input_text",', "gemini": b""}.get(form, b'"type":"text",')
    part = b"{" + kind + b'"text":' + quoted + b"}"
    if behind < len(places):
        return [Insertion(places[behind].start, part + b",")]
    return [Insertion(places[-1].end, b"," + part)] if places else [Insertion(content.start + 1, part)]
