"""A note as read from disk: the value that every tool works on.

It keeps the text as UTF-8, because a string with one character outside Latin-1 takes two or four bytes for each
character. Values parsed from the text are computed on demand; those needed often are kept with the note.

A note need not be Markdown (see vault/files/selected_files). A canvas is read as the Markdown of its cards. In any
other file everything is body, and nothing is a title, heading, link, tag or embedded image.
"""

import hashlib
from collections.abc import Callable
from enum import IntEnum
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from workspaced_events.ids import NoteId, is_markdown

from ..errors import BinaryFile, FileTooLarge
from ..limits import ECHO_CHARS_MAX, NOTE_BYTES_MAX, NOTE_TITLE_CHARS_MAX
from .formats.kinds import is_canvas
from .frontmatter import NO_FRONT_MATTER, FrontMatter, split_front_matter
from .markdown import (
    LINE_END,
    NO_MARKDOWN,
    Link,
    Markdown,
    blanked,
    embedded_images,
    parse_markdown,
    title_and_tags,
    wiki_target,
)
from .properties import named, scalar_text


class Level(IntEnum):
    """The lower, the stricter: the least of several counts."""

    NEVER = 0
    """For agents the note does not exist."""
    ON_REQUEST = 1
    """Only an agent that asks for the note explicitly is shown it; to everything else it does not exist."""
    VOLUNTEER = 2
    """The note may be shown unasked."""

    @property
    def word(self) -> str:
        """As people write it."""
        return self.name.lower().replace("_", "-")


LEVELS: Final = {level.word: level for level in Level}
"""The levels by their words."""


class StatKey(msgspec.Struct, frozen=True, rename="camel"):
    """Identifies one version of a file's bytes."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


NO_STAT: Final = StatKey(0, 0, 0, 0, 0)
"""Of a text that lies in no file."""


class Note(msgspec.Struct, frozen=True, dict=True):
    """One version of a note."""

    id: NoteId
    stat: StatKey
    birth_ns: int | None
    """When the file was created; None if the system does not know."""
    sha256: str
    """sha256 of the bytes read: the whole file, or its beginning if it is larger than the limit."""
    source: bytes
    """The whole file in UTF-8; the BOM dropped."""
    warnings: tuple[str, ...] = ()
    """Repairs made while reading, such as for bytes that are not UTF-8 or a file cut at its limit."""
    unread: Literal["binary", "large"] | None = None
    """Why the file's text is not read, so that `source` is empty: only its name, kind and size are known."""
    pages: int | None = None
    """Of a PDF, whose text is `source`."""

    @cached_property
    def is_markdown(self) -> bool:
        """Whether its text is Markdown, as a note's or that of a canvas's cards."""
        return is_markdown(self.id) or is_canvas(self.id)

    @cached_property
    def source_sha256(self) -> str:
        """sha256 of `source`; equals that of the file if the whole file is UTF-8 without a BOM."""
        return hashlib.sha256(self.source).hexdigest()

    @property
    def text(self) -> str:
        """The whole file."""
        return self.source.decode()

    @cached_property
    def front_matter(self) -> FrontMatter:
        """Front matter and where the body begins."""
        return split_front_matter(self.text) if is_markdown(self.id) else NO_FRONT_MATTER

    @property
    def body(self) -> str:
        """The text after the front matter."""
        return self.text[self.front_matter.body_offset :]

    @property
    def prose(self) -> str:
        """The whole text as Markdown reads it: what of the front matter could be read is blank, byte by byte."""
        parts, at, text = list[str](), 0, self.text
        for start, end in self.front_matter.hidden:
            parts += [text[at:start], blanked(text[start:end].encode()).decode()]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    @cached_property
    def _title_and_tags(self) -> tuple[str | None, tuple[str, ...]]:
        """Read together, without keeping the outline and links that are read with them."""
        return title_and_tags(self.prose) if self.is_markdown else (None, ())

    @property
    def tags(self) -> tuple[str, ...]:
        """The inline tags."""
        kept: Markdown | None = vars(self).get("markdown")
        return kept.tags if kept is not None else self._title_and_tags[1]

    @cached_property
    def markdown(self) -> Markdown:
        """Outline, links and inline tags; lines are 1-based lines of the raw file."""
        if not self.is_markdown:
            return NO_MARKDOWN
        return parse_markdown(self.prose, self._property_links)

    @property
    def _property_links(self) -> list[Link]:
        found, text = list[Link](), self.text
        for each in self.front_matter.links:
            written, _, alias = each.written.partition("|")
            if (target := wiki_target(written)) is not None:
                before = text[: each.start]
                line = sum(1 for _ in LINE_END.finditer(before)) + 1
                place = (line, len(before.encode()))
                raw = text[each.start : each.end]
                found.append(
                    Link(target[0], raw, *target[1:], alias.strip() or None, False, True, *place, each.key)
                )
        return found

    @cached_property
    def images(self) -> tuple[str, ...]:
        """The addresses of the images that the body shows."""
        return embedded_images(self.prose) if self.is_markdown else ()

    @cached_property
    def title(self) -> str:
        """Front-matter `title`, else the first level-one heading, else the file's stem; of a canvas always the
        stem. Never empty, one line."""
        return self.titled(lambda: self._title_and_tags[0])

    def titled(self, heading: Callable[[], str | None]) -> str:
        """The title; `heading` returns the first level-one heading."""
        given = named(self.fields, "title")
        if given is not None and (text := " ".join((scalar_text(given[1]) or "").splitlines()).strip()):
            return text[:NOTE_TITLE_CHARS_MAX]
        # The headings of a drawing are the plugin's, the same in every file.
        is_drawn = "excalidraw-plugin" in self.fields or is_canvas(self.id)
        if not is_drawn and (found := heading()) is not None:
            return found[:NOTE_TITLE_CHARS_MAX]
        name = self.id.rpartition("/")[2]
        end = -3 if is_markdown(name) else -7 if is_canvas(name) else None
        return name[:end] or name

    @property
    def fields(self) -> dict[str, Any]:
        """The front matter's values, JSON-shaped; empty if there is none or it cannot be read."""
        return self.front_matter.fields


class PrivateNote(msgspec.Struct, frozen=True):
    """A version of a note that its front matter withholds. Only enough of the file was read to decide that."""

    id: NoteId
    stat: StatKey


class NoteFailure(msgspec.Struct, frozen=True, omit_defaults=True, tag="failure", tag_field="is"):
    """Why a note could not be read; recordings hold it as it is.

    `code` is NOTE_NOT_FOUND, OUTSIDE_VAULT, SYMLINK, READ_ERROR, NOT_DOWNLOADED, BINARY_FILE or
    FILE_TOO_LARGE.
    """

    id: NoteId
    code: str
    message: str
    size: int | None = None
    """The bytes of a file that is there, and of which only name, kind and size are known."""


def readable(found: Note | NoteFailure) -> Note | NoteFailure:
    """`found`, or the failure of a note of which only the name is known."""
    if isinstance(found, NoteFailure) or found.unread is None:
        return found
    name = repr(found.id[:ECHO_CHARS_MAX])
    if found.unread == "binary":
        return NoteFailure(found.id, BinaryFile.code, f"{name} is no text file.", found.stat.size)
    message = f"{name} has {found.stat.size} bytes, more than the {NOTE_BYTES_MAX} that are read."
    return NoteFailure(found.id, FileTooLarge.code, message, found.stat.size)
