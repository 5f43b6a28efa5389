"""Reads a request to a provider: which messages the user wrote, and how the chat before each of them is called.

A turn is a message of the user with something besides results of tools. Its key is a hash of all visible words of
user and assistant up to it, so the same chat has the same keys in each later request, whatever the client changes
beside the words: ids, marks, thinking, a string that becomes a list of blocks. What a program says in the user's
name comes and goes, so it does not count.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Raw

from .json_places import Place, Unreadable, fields_of, items_of, readable, text_at

Form = Literal["openai", "responses", "anthropic", "gemini"]
Side = Literal["user", "assistant", "tool", ""]
"""Who speaks; nothing: a system prompt, or what belongs to no side."""
MESSAGES: Final[dict[str, str]] = {
    "openai": "messages",
    "responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
"""The field that holds the messages."""
_CHAT_NAMES: Final = ("prompt_cache_key", "session_id", "metadata")
"""Where clients name their chat."""
_SETTINGS: Final = ("additional_tools", "configuration_update")
"""Items of responses that the client writes beside the words; after all others a turn is not open any more."""
_PROGRAMS_WORDS: Final = ("<system-reminder>", "<task-notification>")
_TRIMMED: Final = " \t\r\n"
_NOTHING: Final = Raw()
_NONE: Final = (b"", b"null")
TAG: Final = "<workspace as-of="
"""How a text of ours begins, whoever put it there."""


class _Part(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    thought: bool | None = None
    functionResponse: Raw = _NOTHING  # noqa: N815
    function_response: Raw = _NOTHING
    toolResponse: Raw = _NOTHING  # noqa: N815
    tool_response: Raw = _NOTHING

    @property
    def is_result(self) -> bool:
        """Of a tool of the client's, or of one that the provider runs (`web_search_tool_result`)."""
        named = (self.functionResponse, self.function_response, self.toolResponse, self.tool_response)
        return (self.type or "").endswith("tool_result") or any(bytes(each) not in _NONE for each in named)

    @property
    def words(self) -> str | None:
        """What it says; None: nothing that is visible."""
        return self.text.strip(_TRIMMED) if self.text is not None and not self.thought else None


class _Message(msgspec.Struct):
    role: str | None = None
    type: str | None = None
    content: str | list[_Part] | None = None
    parts: list[_Part] | None = None


_MESSAGES: Final = msgspec.json.Decoder(list[_Message])
_ONE: Final = msgspec.json.Decoder(_Message)
_PART: Final = msgspec.json.Decoder(_Part)


class Turn(NamedTuple):
    """A message of the user."""

    key: str
    """In hexadecimal."""
    near_key: str
    """Of these words and the answer before them alone: it finds a chat whose older messages were rewritten."""
    message: Place
    """Where it stands."""


class ChatRequest(NamedTuple):
    """What an overlay needs of a request."""

    form: Form
    text: bytes
    """A copy of the body with each byte at its place."""
    turns: Sequence[Turn]
    is_open: bool
    """Whether nothing answers the last turn yet."""
    chat: str
    """A hash of what the client calls the chat; empty if it does not."""
    first_words: str
    """A hash of the chat's first words."""
    held: str
    """A hash of the name of what the provider holds of the chat, so that it is not there; empty: nothing."""
    is_told: bool
    """Whether a text of ours stands there already, such as a hook's."""
    has_tools: bool
    """Whether the model is offered any tool, so that it may ask for a note's text."""


def read_request(form: Form, body: bytes) -> ChatRequest:
    """
    Raises:
        Unreadable: it is no request of that form, or neither holds a message of the user nor continues a chat.
    """
    text = readable(body)
    fields = fields_of(text, Place(0, len(text)))
    if MESSAGES[form] not in fields:
        raise Unreadable(f"there is no field {MESSAGES[form]!r}")
    at = fields[MESSAGES[form]]
    held = _held(text, fields)
    chat = _Chat(form, held)
    if form == "responses" and (whole := text_at(text, at)) is not None:
        chat.take(_Message(role="user", content=whole), at, is_last=True)
    else:
        places = items_of(text, at)
        for number, (message, place) in enumerate(zip(_decoded(text, at, places), places, strict=True), start=1):
            chat.take(message, place, is_last=number == len(places))
    if not chat.turns and not held:
        raise Unreadable("there is no message of the user")
    named = [fields[name].of(text) for name in _CHAT_NAMES if name in fields]
    names = [each for each in named if _EMPTY.fullmatch(each) is None]
    return ChatRequest(
        *(form, text, chat.turns, chat.is_open),
        chat=sha256(names[0]).hexdigest() if names else "",
        first_words=chat.first_words,
        held=sha256(held).hexdigest() if held else "",
        is_told=chat.is_told,
        has_tools="tools" in fields and _EMPTY.fullmatch(fields["tools"].of(text)) is None,
    )


_EMPTY: Final = re.compile(rb'null|""|\[[ \t\r\n]*\]|\{[ \t\r\n]*\}')
_SIDES: Final[dict[str, Side]] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
_GEMINIS_SIDES: Final[dict[str, Side]] = {**_SIDES, "model": "assistant", "": "user"}


_HELD: Final = (("previous_response_id", ""), ("conversation", "id"), ("thread", "previous_message_id"))
"""Where requests name what the provider holds of their chat: fields, and fields of these if they are objects."""


def _held(text: bytes, fields: dict[str, Place]) -> bytes:
    """The name of the part of the chat that the provider holds, so that it is not in the request."""
    for field, inner in _HELD:
        at = fields.get(field)
        if at is not None and text[at.start : at.start + 1] == b"{":
            at = fields_of(text, at).get(inner)
        if at is not None and (name := text_at(text, at)):
            return name.encode()
    return b""


def _decoded(text: bytes, at: Place, places: Sequence[Place]) -> list[_Message]:
    """The messages; of one that is none, or a part that is none, nothing."""
    try:
        return _MESSAGES.decode(at.of(text))
    except msgspec.MsgspecError:
        return [_leniently(text, place) for place in places]


def _leniently(text: bytes, place: Place) -> _Message:
    try:
        return _ONE.decode(place.of(text))
    except msgspec.MsgspecError:
        pass
    try:
        fields = fields_of(text, place)
    except Unreadable:
        return _Message()
    made = _Message(role=_string(text, fields.get("role")), type=_string(text, fields.get("type")))
    for name in ("content", "parts"):
        if (at := fields.get(name)) is not None and text[at.start : at.start + 1] == b"[":
            setattr(made, name, [_part(text, each) for each in items_of(text, at)])
        elif name == "content":
            made.content = _string(text, at)
    return made


def _part(text: bytes, place: Place) -> _Part:
    try:
        return _PART.decode(place.of(text))
    except msgspec.MsgspecError:
        return _Part()


def _string(text: bytes, at: Place | None) -> str | None:
    return text_at(text, at) if at is not None else None


class _Chat:
    """Takes the messages of a request, one by one."""

    def __init__(self, form: Form, held: bytes) -> None:
        """`held`: names what the provider holds of the chat already."""
        self.turns: list[Turn] = []
        self.is_open = False
        self.first_words = ""
        self.is_told = False
        self._form: Form = form
        self._words = sha256(held)
        self._answer: list[str] = []
        """The words of the assistant since the last turn."""

    def take(self, message: _Message, place: Place, *, is_last: bool) -> None:
        side = _side_of(self._form, message)
        if side == "user":
            self._take_users(message, place)
        elif side == "assistant":
            _parts, texts = _said(self._form, message)
            self._hash(b"assistant", texts)
            self._answer += texts
            self.is_open = self.is_open and is_last  # a last answer is the beginning of one
        elif side == "tool":
            self.is_open = False

    def _take_users(self, message: _Message, place: Place) -> None:
        parts, texts = _said(self._form, message)
        own = [each for each in texts if not each.startswith(_PROGRAMS_WORDS)]
        self.is_told = self.is_told or TAG in "".join(texts)
        if own or any(each.text is None and not each.is_result for each in parts):
            self._hash(b"user", own)
            self._turn(place, own)
        elif any(each.is_result for each in parts):
            self.is_open = False

    def _hash(self, side: bytes, texts: Sequence[str]) -> None:
        for each in texts:
            data = each.encode()
            self._words.update(b"%s %d %s" % (side, len(data), data))

    def _turn(self, place: Place, texts: Sequence[str]) -> None:
        near = sha256("\0".join((*self._answer, "", *texts)).encode()).hexdigest()
        self._words.update(b"turn")
        self.first_words = self.first_words or sha256("\n".join(texts).encode()).hexdigest()
        self.turns.append(Turn(self._words.hexdigest(), near, place))
        self.is_open = True
        self._answer = []


def _side_of(form: Form, message: _Message) -> Side:
    role, kind = message.role or "", message.type or ""
    if form == "responses" and (kind or (role and "message")) != "message":  # a reference may have no type
        return "" if kind in _SETTINGS else "tool"
    return (_GEMINIS_SIDES if form == "gemini" else _SIDES).get(role, "")


def _said(form: Form, message: _Message) -> tuple[Sequence[_Part], list[str]]:
    """The parts of a message, none of a string, and its visible words."""
    content: Any = message.parts if form == "gemini" else message.content
    if isinstance(content, str):
        return (), [words] if (words := content.strip(_TRIMMED)) else []
    return content or (), [words for each in content or () if (words := each.words)]


# -- where a message takes an insertion --


def content_of(form: Form, text: bytes, message: Place) -> Place | None:
    """Where the content of a message stands.

    Raises:
        Unreadable: one of its fields stands twice.
    """
    if text[message.start : message.start + 1] == b'"':
        return message
    return fields_of(text, message).get("parts" if form == "gemini" else "content")


def results_end(text: bytes, content: Place) -> tuple[list[Place], int]:
    """The parts of a content, and how many of them come first up to the last result of a tool."""
    places = items_of(text, content)
    parts = [_part(text, each) for each in places]
    return places, max((number for number, each in enumerate(parts, start=1) if each.is_result), default=0)
