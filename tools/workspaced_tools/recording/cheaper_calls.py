"""Advice: a cheaper alternative to a call, given the client's earlier calls in the session.

A rule matches only if the log proves the saving: the client already held the text, or an argument had no effect.
It estimates the tokens saved, 0 if it does not match.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.schema.catalogue import ToolCalled

from ..answers import Truncation
from ..prompts.model.token_estimate import estimate_json_tokens, estimate_tokens
from ..tools.registry import TOOLS

CONTEXT: Final = "get_workspace_context"
ONE_NOTE: Final = frozenset({"get_current_note", "get_note_by_reference"})
SEARCH: Final = "search_workspace"
_TEXTS_MAX: Final = 5_000
"""The number of texts remembered for one client."""


class Text(NamedTuple):
    """Identifies the text of a note in an answer, without holding the text."""

    note: str
    sha256: str
    """Of the file's bytes."""
    digest: bytes
    tokens: int
    chars: int
    offset: int
    whole: bool


class Answer(msgspec.Struct, frozen=True):
    """The facts about an answer that the rules need. Small, however long the answer is."""

    tokens: int
    texts: tuple[Text, ...] = ()
    metadata: dict[str, bytes] = {}
    """A digest of each note's metadata."""
    metadata_tokens: int = 0
    more: bool = False
    """Whether the answer has links, an outline, a heading or a block."""
    total: int | None = None
    """The number of hits of a search."""


class _Note(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    note_id: str = ""
    content: str | None = None
    sha256: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"")
    truncation: Truncation | None = None
    links: msgspec.Raw = msgspec.Raw(b"")
    outline: msgspec.Raw = msgspec.Raw(b"")
    section: msgspec.Raw = msgspec.Raw(b"")
    images: msgspec.Raw = msgspec.Raw(b"")

    @property
    def path(self) -> str:
        return self.note_id or self.id

    @property
    def more(self) -> tuple[msgspec.Raw, ...]:
        """What a note's answer has beside its text and metadata."""
        return self.links, self.outline, self.section, self.images


class _OneNote(msgspec.Struct, frozen=True):
    data: _Note
    truncation: Truncation | None = None


class _Context(msgspec.Struct, frozen=True, rename="camel"):
    active_note: _Note | None
    pinned_notes: list[_Note]
    temporary_tabs: list[_Note]


class _Search(msgspec.Struct, frozen=True):
    total: int


class _ContextResult(msgspec.Struct, frozen=True):
    data: _Context


class _SearchResult(msgspec.Struct, frozen=True):
    data: _Search


def read_answer(called: ToolCalled, result: bytes) -> Answer:
    """Reads the facts from the answer `result`; only the tokens if no rule is about the tool."""
    tokens = estimate_json_tokens(result.decode())
    if not called.ok:
        return Answer(tokens)
    try:
        if called.tool == CONTEXT:
            data = msgspec.json.decode(result, type=_ContextResult).data
            notes = [*([data.active_note] if data.active_note else ()), *data.pinned_notes, *data.temporary_tabs]
            return _answer(tokens, notes, 0)
        if called.tool in ONE_NOTE:
            one = msgspec.json.decode(result, type=_OneNote)
            note = replace(one.data, truncation=one.truncation)
            return _answer(tokens, [note], called.arguments.get("offset", 0))
        if called.tool == SEARCH:
            return Answer(tokens, total=msgspec.json.decode(result, type=_SearchResult).data.total)
    except msgspec.ValidationError:
        pass  # another program wrote the answer, in a form that we cannot read
    return Answer(tokens)


def _answer(tokens: int, notes: list[_Note], offset: int) -> Answer:
    metadata = {note.path: bytes(note.metadata) for note in notes}
    more = (part for note in notes for part in note.more)
    return Answer(
        tokens=tokens,
        texts=tuple(_text(note, note.content, offset) for note in notes if note.content),
        metadata={note: _digest(content) for note, content in metadata.items() if content},
        metadata_tokens=sum(estimate_json_tokens(content.decode()) for content in metadata.values()),
        more=any(bytes(part) for part in more),
    )


def _text(note: _Note, content: str, offset: int) -> Text:
    whole = offset == 0 and note.truncation is None
    return Text(
        note.path, note.sha256, _digest(content.encode()), estimate_tokens(content), len(content), offset, whole
    )


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


# -- what a client holds --


class Held:
    """What a client has received in this session so far."""

    def __init__(self) -> None:
        self.context: Answer | None = None
        """The latest answer of get_workspace_context."""
        self._texts: dict[Text, None] = {}
        self._beginnings: dict[tuple[str, str], Text] = {}

    def add(self, called: ToolCalled, answer: Answer) -> None:
        """Adds the client's next answer."""
        if called.tool == CONTEXT and called.ok:
            self.context = answer
        for text in answer.texts:
            if len(self._texts) >= _TEXTS_MAX:
                self._texts.clear()
                self._beginnings.clear()
            self._texts[text] = None
            beginning = self.beginning(text)
            if text.offset == 0 and (beginning is None or beginning.chars < text.chars):
                self._beginnings[text.note, text.sha256] = text

    def has(self, text: Text) -> bool:
        """Whether the client has received exactly this text of the same version of the note."""
        return text in self._texts

    def beginning(self, text: Text) -> Text | None:
        """The longest beginning of that version of the note that the client has received."""
        return self._beginnings.get((text.note, text.sha256))


# -- the rules --


class Rule(NamedTuple):
    """One rule: what it advises, and how it estimates the saving."""

    name: str
    advice: str
    saves: Callable[[ToolCalled, Answer, Held], int]
    """Estimates the tokens that the advice would have saved; 0 if the rule does not match."""


def _same_text(called: ToolCalled, answer: Answer, held: Held) -> int:
    if called.tool not in ONE_NOTE or len(answer.texts) != 1 or answer.more or held.context is None:
        return 0
    [text] = answer.texts
    has_text = text in held.context.texts
    has_metadata = all(held.context.metadata.get(note) == digest for note, digest in answer.metadata.items())
    return answer.tokens if has_text and has_metadata else 0


def _same_texts(called: ToolCalled, answer: Answer, held: Held) -> int:
    if called.tool != CONTEXT or not all(map(held.has, answer.texts)):
        return 0
    return sum(text.tokens for text in answer.texts)


def _same_metadata(called: ToolCalled, answer: Answer, held: Held) -> int:
    if called.tool != CONTEXT or held.context is None:
        return 0
    return answer.metadata_tokens if answer.metadata.items() <= held.context.metadata.items() else 0


def _read_on(called: ToolCalled, answer: Answer, held: Held) -> int:
    if called.tool not in ONE_NOTE or len(answer.texts) != 1:
        return 0
    [text] = answer.texts
    beginning = held.beginning(text)
    if text.offset or beginning is None or beginning.chars >= text.chars:
        return 0
    return beginning.tokens


def _limit_in_vain(called: ToolCalled, answer: Answer, _held: Held) -> int:
    limit, default = called.arguments.get("limit"), _default(called.tool, "limit")
    if called.tool != SEARCH or limit is None or answer.total is None or default is None:
        return 0
    return _argument_tokens("limit", limit) if limit > default >= answer.total else 0


def _length_in_vain(called: ToolCalled, answer: Answer, _held: Held) -> int:
    length, default = called.arguments.get("maxContentLength"), _default(called.tool, "maxContentLength")
    if length is None or not answer.texts or not all(text.whole for text in answer.texts):
        return 0
    if default is not None and (length <= default or any(text.chars > default for text in answer.texts)):
        return 0
    return _argument_tokens("maxContentLength", length)


def _default(tool: str, argument: str) -> int | None:
    if tool not in TOOLS:
        return None
    default: int | None = TOOLS[tool].input_schema["properties"].get(argument, {}).get("default")
    return default


def _argument_tokens(name: str, value: Any) -> int:
    return estimate_json_tokens(f'"{name}":{value},')


RULES: Final = (
    Rule(
        "sameText",
        "The answer of get_workspace_context before held this very text: no call was needed.",
        _same_text,
    ),
    Rule(
        "sameTexts",
        "Every text was given before, unchanged: leave includeContent out, and ask get_note_diff what changed.",
        _same_texts,
    ),
    Rule(
        "sameMetadata",
        "The metadata of every note was given by the answer before: includeMetadata=false leaves it out.",
        _same_metadata,
    ),
    Rule(
        "readOn",
        "The beginning of this text was given before: offset, as its nextOffset said, reads on from there.",
        _read_on,
    ),
    Rule(
        "limitInVain",
        "There was less to be found than the default limit: leave limit out.",
        _limit_in_vain,
    ),
    Rule(
        "lengthInVain",
        "No text was longer than what is given anyway: leave maxContentLength out.",
        _length_in_vain,
    ),
)


def advised(called: ToolCalled, answer: Answer, held: Held) -> tuple[Rule, int] | None:
    """The first rule that matches, and its estimate of the tokens saved."""
    if called.names_moment or called.arguments_sha256 is not None:
        return None  # the call may be about another moment than the answers that the client holds
    saved = ((rule, rule.saves(called, answer, held)) for rule in RULES)
    return next(((rule, tokens) for rule, tokens in saved if tokens), None)
