"""Reads a prompt as a model does, from its first word to its last, and keeps what the model knows then.

It is written from the specification and uses nothing of the product: a block is whole, or says that it replaces
the one above, or holds a unified diff, which is applied here to the text that stands above; a line points to
something that must stand above it. What it cannot read is an error.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from support import attachments as g
from support.diffs import applied

Thing = tuple[str, str]
"""A kind and an id; the active note is a note."""
_VERSIONED = frozenset({"note", "url", "pdf", "file", "dataview"})
_KINDS = _VERSIONED | {"selected_text", "image"}
_LINE = re.compile(r"(?P<what>Attached|Active note): (?P<id>.+?) \(above\)")
_BRACKETS = re.compile(
    r"\[(?P<what>Attachment unavailable|Image unavailable|Pinned context unavailable|No longer pinned|Left out"
    r"|Find it in the context library above): "
    r"(?P<id>.+)\]"
)
_CHANGED = re.compile(r"Changed since shown above: (?P<all>.+)")
_NAMED = re.compile(
    r"(?P<id>.+?) \((?P<what>gone|cannot be read now|changed|\+\d+ -\d+|now .+?(?:, \+\d+ -\d+)?)\)(?:, |$)"
)
NONE_ACTIVE = "Active note: none attached"


class Seen(NamedTuple):
    """One thing that a message says besides its words.

    `how`: `whole`, `newer` (whole, and it says that the one above is old), `changes`, `line`, `failed`,
    `left_out`, `none_active`, `heading`, `named` (the line about changed notes), `pin`, `pin_changes`,
    `pin_failed`, `pin_gone`.
    """

    how: str
    kind: str
    id: str
    text: str = ""


class Reader:
    """What a model knows. `is_folded`: what a block says that it replaces may have left.

    Attributes:
        known: what each thing says of which there is one version at a time.
        once: every other thing: its kind, id and text.
        active: the note that was last said to be the active one.
        pins: what is pinned; None: that cannot be told from the prompt alone.
        failed_pins: those of which the model was last told that they cannot be read.
    """

    def __init__(self, *, is_folded: bool = False) -> None:
        self.known: dict[Thing, str] = {}
        self.once: set[tuple[str, str, str]] = set()
        self.active: str | None = None
        self.pins: dict[str, str | None] = {}
        self.failed_pins: set[str] = set()
        self._is_folded = is_folded
        self._library: set[str] = set()

    def says(self, thing: Thing, text: str | None = None) -> str | None:
        """What stands of a thing; of one that is no version of anything, whether it stands with this text."""
        if thing[0] in _VERSIONED:
            return self.known.get(thing)
        return text if (*thing, text) in self.once else None

    def read_library(self, text: str) -> list[Seen]:
        """The system prompt's context library."""
        seen = [self._block(match) for match in g.BLOCK.finditer(text)]
        assert g.BLOCK.sub("", text).strip() == "", "a library has blocks alone"
        assert all(each.how == "whole" and each.kind in _VERSIONED for each in seen)
        self._library |= {each.id for each in seen}
        return seen

    def read_turn(
        self, context: str, pins: Mapping[str, str | None], images: Sequence[tuple[str, str]], count: int
    ) -> list[Seen]:
        """What a user's message says before its words.

        Args:
            pins: what each pin said in that turn, as far as that is known.
            images: ids and texts of the images that the message had when it was new; `count`: how many it has now.
        """
        seen = [each for piece in _pieces(context) for each in self._read(piece, pins)]
        gone = {each.id for each in seen if each.how == "left_out"}
        staying = [each for each in images if each[0] not in gone]
        assert len(staying) == count, (staying, count)
        for name, text in staying:
            self.once.add(("image", name, text))
            seen.append(Seen("whole", "image", name, text))
        return seen

    def _read(self, piece: "str | re.Match[str]", pins: Mapping[str, str | None]) -> Iterator[Seen]:
        if isinstance(piece, str):
            yield self._paragraph(piece)
        elif piece["tag"] == "pinned_context_changes":
            name = plain(piece["title"])
            before, after = self.pins[name], pins.get(name)
            self.pins[name] = applied(before, g.unescaped(piece["body"])) if before is not None else after
            assert after is None or self.pins[name] == after
            yield Seen("pin_changes", "pin", name)
        elif piece["tag"] == "pinned_context":
            name = plain(piece["title"])
            assert ("<replaces_earlier>" in piece["fields"]) == (name in self.pins)
            self.pins[name] = g.unescaped(piece["body"])
            self.failed_pins.discard(name)
            yield Seen("pin", "pin", name, self.pins[name] or "")
        else:
            yield self._block(piece)

    def _block(self, match: "re.Match[str]") -> Seen:
        tag, name, body = match["tag"], plain(match["at"] or match["title"]), g.unescaped(match["body"])
        is_changes = tag.endswith("_changes") and "<changes_to>" in match["fields"]
        is_newer = "<replaces_earlier>" in match["fields"]
        kind = _kind(tag.removesuffix("_changes") if is_changes else tag)
        if kind == "note":
            assert "<mtime>" in match["fields"], "a note says of when it is"
        thing = (kind, name)
        is_replaced = thing in self.known or (is_newer and self._is_folded)
        assert is_replaced == (is_changes or is_newer), (thing, tag, is_newer)
        text = applied(self.known[thing], body) if is_changes else body
        if kind in _VERSIONED:
            self.known[thing] = text
        else:
            self.once.add((kind, name, text))
        if tag.startswith("active_note"):
            self.active = name
        return Seen("changes" if is_changes else "newer" if is_newer else "whole", kind, name, body)

    def _paragraph(self, text: str) -> Seen:
        if text == g.TOOLS:
            return Seen("heading", "heading", text)
        if text == NONE_ACTIVE:
            assert self.active is not None, "it is said once"
            self.active = None
            return Seen("none_active", "note", "")
        if match := _LINE.fullmatch(text):
            return self._line(match["what"], plain(match["id"]))
        if match := _BRACKETS.fullmatch(text):
            return self._bracket(match["what"], plain(match["id"]), text)
        if match := _CHANGED.fullmatch(text):
            named = [(plain(each["id"]), plain(each["what"])) for each in _NAMED.finditer(match["all"])]
            assert ", ".join(f"{name} ({what})" for name, what in named) == plain(match["all"])
            for name, _ in named:
                assert ("note", name) in self.known, "what has changed since it was shown stands above"
            return Seen("named", "changes", "changes", "\n".join(f"{name}\t{what}" for name, what in named))
        raise AssertionError(f"nothing besides: {text!r}")

    def _line(self, what: str, name: str) -> Seen:
        """It points to something that stands."""
        assert any(each[1] == name for each in (*self.known, *self.once)), f"{name} points to nothing"
        if what == "Active note":
            assert ("note", name) in self.known
            self.active = name
        return Seen("line", what, name)

    def _bracket(self, what: str, name: str, text: str) -> Seen:
        if what == "Find it in the context library above":
            assert name in self._library, name
            what = "Left out"
        if what == "Left out":
            return Seen("left_out", what, name)
        if what == "No longer pinned":
            assert name in self.pins
            del self.pins[name]
            return Seen("pin_gone", "pin", name)
        if what == "Pinned context unavailable":
            self.pins.pop(name, None)
            self.failed_pins.add(name)
            return Seen("pin_failed", "pin", name, text)
        return Seen("failed", what, name, text)


def _kind(tag: str) -> str:
    if tag in {"note_context", "active_note", "note"}:
        return "note"
    return tag if tag in _KINDS else "tool_result"


def kind_of(each: g.Given) -> str:
    """The kind of what is attached, as it is read back."""
    return _kind(each.tag)


def plain(field: str) -> str:
    return g.unescaped(html.unescape(field))


def _pieces(context: str) -> Iterator["str | re.Match[str]"]:
    """Blocks, and the paragraphs between them."""
    at = 0
    while at < len(context):
        block = g.BLOCK.search(context, at)
        end = block.start() if block else len(context)
        yield from filter(None, (each.strip("\n") for each in context[at:end].split("\n\n")))
        if block:
            yield block
        at = block.end() if block else end


class Part(NamedTuple):
    """`text`, `call`, `result`, `error` (a result that is one), `image` or `thinking`."""

    kind: str
    text: str
    id: str = ""
    name: str = ""


class Said(NamedTuple):
    role: str
    parts: tuple[Part, ...]


def words(text: str) -> str:
    """Without what is between words."""
    return " ".join(text.split())


def merged(messages: Iterable[tuple[str, Sequence[Part]]]) -> tuple[Said, ...]:
    """Neighbours of one role, and neighbouring texts, are one, as models see them; white space is one blank."""
    made: list[tuple[str, list[Part]]] = []
    for role, parts in messages:
        if not made or made[-1][0] != role:
            made.append((role, []))
        into = made[-1][1]
        for part in parts:
            if part.kind != "text":
                into.append(part)
            elif into and into[-1].kind == "text":
                into[-1] = Part("text", words(f"{into[-1].text} {part.text}"))
            elif words(part.text):
                into.append(Part("text", words(part.text)))
    return tuple(Said(role, tuple(parts)) for role, parts in made if parts)


def said_in(messages: Iterable[dict[str, Any]]) -> tuple[Said, ...]:
    """What the messages of a prompt say, but the system's."""
    told = [each for each in messages if each["role"] != "system"]
    return merged((each["role"], [_part(block) for block in each["content"]]) for each in told)


def _part(block: dict[str, Any]) -> Part:
    text = block.get("text") or ""
    match block["type"]:
        case "toolCall":
            return Part("call", text or "{}", block["id"], block["name"])
        case "toolResult":
            return Part("error" if block.get("isError") else "result", words(text), block["id"])
        case "image":
            return Part("image", block["mediaType"])
        case kind:
            return Part(kind, text)


def sequence(messages: Iterable[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The blocks of a prompt in their order, each with its message's role."""
    return [(message["role"], block) for message in messages for block in message["content"]]
