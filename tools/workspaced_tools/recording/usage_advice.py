"""What would have been cheaper: small rules over the calls that one client made in one session.

A rule says something only where the record shows it: the client held the very text already, or an argument did
nothing. It gives about how many tokens that was, and nothing where it does not fit.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.schema.catalogue import ToolCalled

from ..prompts.model.token_estimate import estimate_tokens
from ..tools.registry import TOOLS

CONTEXT: Final = "get_workspace_context"
ONE_NOTE: Final = frozenset({"get_current_note", "get_note_by_reference"})
SEARCH: Final = "search_workspace"
_TEXTS_MAX: Final = 5_000
"""So many texts that a client holds are remembered."""


class Text(NamedTuple):
    """Text of a note as an answer held it, without the text."""

    note: str
    sha256: str
    """Of the file."""
    digest: bytes
    tokens: int
    chars: int
    offset: int
    whole: bool


class Answer(msgspec.Struct, frozen=True):
    """What the rules need of an answer; small, however long that was."""

    tokens: int
    texts: tuple[Text, ...] = ()
    metadata: dict[str, bytes] = {}
    """A digest of what was told of each note beside its text."""
    metadata_tokens: int = 0
    more: bool = False
    """Whether it tells of links, an outline, or a place in the note."""
    total: int | None = None
    """How many there were to be found."""


class _Truncation(msgspec.Struct, frozen=True, rename="camel"):
    truncated: bool = False


class _Note(msgspec.Struct, frozen=True, rename="camel"):
    id: str = ""
    content: str | None = None
    sha256: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"")
    truncation: _Truncation = _Truncation()
    links: msgspec.Raw = msgspec.Raw(b"")
    outline: msgspec.Raw = msgspec.Raw(b"")
    heading: msgspec.Raw = msgspec.Raw(b"")
    block: msgspec.Raw = msgspec.Raw(b"")


class _OneNote(msgspec.Struct, frozen=True):
    data: _Note
    truncation: _Truncation = _Truncation()


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
    """What the rules need of the answer `result`; of one that no rule is about, its tokens alone."""
    tokens = estimate_tokens(result.decode())
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
        pass  # another version's: nothing can be said of it
    return Answer(tokens)


def _answer(tokens: int, notes: list[_Note], offset: int) -> Answer:
    told = {note.id: bytes(note.metadata) for note in notes}
    more = (part for note in notes for part in (note.links, note.outline, note.heading, note.block))
    return Answer(
        tokens=tokens,
        texts=tuple(_text(note, note.content, offset) for note in notes if note.content),
        metadata={note: _digest(metadata) for note, metadata in told.items() if metadata},
        metadata_tokens=sum(estimate_tokens(metadata.decode()) for metadata in told.values()),
        more=any(bytes(part) for part in more),
    )


def _text(note: _Note, content: str, offset: int) -> Text:
    whole = offset == 0 and not note.truncation.truncated
    return Text(
        note.id, note.sha256, _digest(content.encode()), estimate_tokens(content), len(content), offset, whole
    )


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


# -- what a client holds --


class Held:
    """What a client was given in this session so far."""

    def __init__(self) -> None:
        self.context: Answer | None = None
        """The latest answer about the workspace."""
        self._texts: dict[Text, None] = {}
        self._begun: dict[tuple[str, str], Text] = {}

    def add(self, called: ToolCalled, answer: Answer) -> None:
        """Takes note of the client's next answer."""
        if called.tool == CONTEXT and called.ok:
            self.context = answer
        for text in answer.texts:
            if len(self._texts) >= _TEXTS_MAX:
                self._texts.clear()
                self._begun.clear()
            self._texts[text] = None
            begun = self.begun(text)
            if text.offset == 0 and (begun is None or begun.chars < text.chars):
                self._begun[text.note, text.sha256] = text

    def has(self, text: Text) -> bool:
        """Whether the client was given just this text, of the same version of the note."""
        return text in self._texts

    def begun(self, text: Text) -> Text | None:
        """The longest beginning of that version of the note that the client was given."""
        return self._begun.get((text.note, text.sha256))


# -- the rules --


class Rule(NamedTuple):
    """One way to be cheaper."""

    name: str
    advice: str
    saves: Callable[[ToolCalled, Answer, Held], int]
    """About how many tokens following the advice would have saved; 0: it does not fit."""


def _same_text(called: ToolCalled, answer: Answer, held: Held) -> int:
    if called.tool not in ONE_NOTE or len(answer.texts) != 1 or answer.more or held.context is None:
        return 0
    [text] = answer.texts
    stood = text in held.context.texts
    known = all(held.context.metadata.get(note) == told for note, told in answer.metadata.items())
    return answer.tokens if stood and known else 0


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
    begun = held.begun(text)
    if text.offset or begun is None or begun.chars >= text.chars:
        return 0
    return begun.tokens


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
    return estimate_tokens(f'"{name}":{value},')


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
    """The first rule that fits, and about how many tokens it would have saved."""
    if "at" in called.arguments or called.arguments_sha256 is not None:
        return None  # of another moment: what the client holds is not of it
    return next(_fitting(called, answer, held), None)


def _fitting(called: ToolCalled, answer: Answer, held: Held) -> Iterator[tuple[Rule, int]]:
    for rule in RULES:
        if tokens := rule.saves(called, answer, held):
            yield rule, tokens
