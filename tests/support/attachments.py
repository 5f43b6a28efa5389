"""What can be attached to a message, and how a model must be shown it: read back from a prompt's text."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

LIBRARY = "## Context Library\n\nThe following notes are available for reference:"
TOOLS = "# Additional context:"
QUERY = "---\n\n[User query]:"
BLOCK = re.compile(
    r"<(?P<tag>[A-Za-z_]+)(?P<fence>(?:-[0-9a-f]{8,})?)>\n<title>(?P<title>.*?)</title>\n"
    r"(?:<(?:path|source)>(?P<at>.*?)</(?:path|source)>\n)?(?P<fields>(?:<(?!content)[a-z_]+>.*?</[a-z_]+>\n)*)"
    r"<content(?P=fence)>\n(?P<body>.*?)\n?</content(?P=fence)>\n</(?P=tag)(?P=fence)>",
    re.DOTALL,
)


@dataclass(frozen=True)
class Given:
    """One thing attached to a message, and what the model must get of it."""

    said: dict[str, Any]
    id: str
    text: str | None = None
    """What it says; None: the text of the note `id`, as it is then."""
    tag: str = "note_context"
    stays: bool = True
    """Whether the library holds it from the next turn on."""
    fails: str = ""
    """What the model is told instead where it cannot be read."""
    besides: str = ""
    """What it is told besides."""

    @property
    def is_active(self) -> bool:
        return self.tag == "active_note"


def note(path: str, found: str = "", *, stays: bool = True) -> Given:
    """A note by the name `path`, which is the file `found`."""
    return Given({"kind": "note", "id": path}, found or path, stays=stays)


def active(path: str, *, stays: bool = True, besides: str = "") -> Given:
    """The note that the user looks at, which is `path`."""
    return Given({"kind": "active_note"}, path, tag="active_note", stays=stays, besides=besides)


def gone(path: str) -> Given:
    """A note that is not there."""
    return Given({"kind": "note", "id": path}, path, stays=False, fails=f"[Attachment unavailable: {path}]")


def given(kind: str, name: str, text: str, *, stays: bool = True, **more: Any) -> Given:
    """What the runtime gives itself. A tool's result is named as the tool was called."""
    tag = name if kind == "tool_result" else kind
    return Given({"kind": kind, "id": name, "text": text, **more}, name, text, tag=tag, stays=stays)


@dataclass(frozen=True)
class Call:
    """A tool's call and what came of it."""

    id: str
    text: str
    name: str = "find"
    arguments: str = '{"query": "x"}'
    is_error: bool = False


def layer(prompt: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in prompt["layers"] if each["id"] == name)


def entries(prompt: dict[str, Any], name: str, layer: str = "L3_TURN") -> list[dict[str, Any]]:
    """The records of one thing in one layer."""
    return [each for each in prompt["manifest"]["entries"] if (each["id"], each["layer"]) == (name, layer)]


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def joined(*texts: str) -> str:
    """Trimmed and non-empty, joined by a blank line."""
    trimmed = [text.strip(" \t\r\n") for text in texts]
    return "\n\n".join(text for text in trimmed if text)


def blocks_in(text: str) -> list[tuple[str, str, str]]:
    """The name, the path or source, and the content of each block that stands in a text."""
    return [
        (each["tag"], unescaped(html.unescape(each["at"] or each["title"])), unescaped(each["body"]))
        for each in BLOCK.finditer(text)
    ]


def unescaped(body: str) -> str:
    """What a block's content says: a delimiter in it is shown by the number of its first sign."""
    return body.replace("\\u{3c}", "<")


def one_of_each(now: Sequence[tuple[Given, str | None]]) -> list[tuple[Given, str | None]]:
    """Of what is attached more than once the one that says most: that it is the active note."""
    return list({each.id: (each, text) for each, text in sorted(now, key=lambda one: one[0].is_active)}.values())
