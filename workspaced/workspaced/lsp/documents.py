"""The documents that are open in the editor, with the text that it shows; the view of them that a daemon is told;
and files as editors name them."""

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

import msgspec

from workspaced_events.ids import NoteId, is_markdown
from workspaced_tools.editing.links import PlacedLink, placed_links
from workspaced_tools.editing.positions import Encoding, Position, Positions
from workspaced_tools.notes.note import NO_STAT, Note

from ..limits import LSP_WAITING_MAX

_SAFE: Final = "/~!$&'()*+,;=@"


def path_of(uri: str) -> str | None:
    """The absolute path; None for what is no file of this machine, or has a name that is no UTF-8."""
    try:
        parts = urlsplit(uri)
        path = unquote_to_bytes(parts.path).decode()
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc.lower() not in ("", "localhost") or "\0" in path:
        return None
    return posixpath.normpath(path) if path.startswith("/") else None


def uri_of(path: str) -> str:
    return f"file://{quote(path, safe=_SAFE)}"


def note_of(path: str, root: str) -> str | None:
    """The note or other file that a path is in the vault at `root`; None if it is none."""
    if not path.startswith(f"{root.rstrip('/')}/"):
        return None
    note = path[len(root.rstrip("/")) + 1 :]
    return None if any(part.startswith(".") for part in note.split("/")) else note


def real_path(path: str) -> str | None:
    """Where a file really lies; a file that is not there yet lies where its folder does. None: a link that leads
    nowhere, or a name that is no UTF-8. Touches the disk."""
    try:
        there = os.path.lexists(path)
        file = Path(path)
        found = str(file.resolve(strict=True) if there else file.parent.resolve() / file.name)
        found.encode()
    except (OSError, UnicodeEncodeError):
        return None
    return found


def notes_below(path: str) -> list[str]:
    """The notes below a folder, as what to put behind its path; of a file the empty string. Touches the disk."""
    folder = Path(path)
    if not folder.is_dir():
        return [""]
    found = []
    for file in folder.rglob("*.[mM][dD]"):
        found.append(str(file)[len(path) :])
        if len(found) == LSP_WAITING_MAX:
            break
    return sorted(found)


_LSP_TABS_MAX: Final = 10


class Selection(msgspec.Struct, frozen=True):
    """The lines that are selected, from 1, with their text if it is short enough to be told."""

    start_line: int
    end_line: int
    text: str | None = None


class Shown(msgspec.Struct, frozen=True):
    """What one vault's daemon is to be told."""

    active: str | None = None
    tabs: tuple[str, ...] = ()
    selection: Selection | None = None

    @property
    def is_empty(self) -> bool:
        return self.active is None and not self.tabs


def shown(active: str | None, notes: Sequence[str], selection: Selection | None) -> Shown:
    """The view of one vault, as far as a language server can infer it. Pure.

    The protocol says which documents are open and which one a request is about; it has no event for the focus. So
    the document that was opened, changed or asked about last is taken for the one that the user looks at, and what
    was selected when the editor last asked for actions for the selection.

    Args:
        active: the note that is looked at, if it is one of this vault.
        notes: the vault's open notes, in the order in which they were opened.
        selection: in the active note.
    """
    tabs = tuple(dict.fromkeys(notes))[-_LSP_TABS_MAX:]
    # A note alone is the active note; beside others each is a tab, so that going from one to the next opens none.
    return Shown(active, () if tabs == (active,) else tabs, selection if active is not None else None)


def snapshot(view: Shown, source: str, vault: str) -> dict[str, Any]:
    """The view as `workspaced/snapshot` takes it."""
    tabs = [{"note": note, "source": "navigation"} for note in view.tabs]
    selection = None
    if (lines := view.selection) is not None:
        text = {} if lines.text is None else {"text": lines.text}
        selection = {"startLine": lines.start_line, "endLine": lines.end_line, **text}
    return {
        "source": source,
        "vault": vault,
        "active": view.active,
        "pins": [],
        "tabs": tabs,
        "selection": selection,
    }


_LSP_DOCUMENT_BYTES_MAX: Final = 16 * 1024 * 1024
"""A longer document is shown to the daemon, but nothing in it is read."""


class Change(NamedTuple):
    """An edit: the text between two places becomes `text`; without places, the whole text does."""

    text: str
    start: Position | None = None
    end: Position | None = None


class Document:
    """One open document."""

    def __init__(self, uri: str, path: str | None, text: str, encoding: Encoding) -> None:
        """`path`: None for what is no file."""
        self.uri = uri
        self.path = path
        self.real: str | None = None
        """Where the file really lies, once that is known."""
        self.is_closed = False
        self.text: str | None = None
        """None: too long to be read."""
        self._encoding = encoding
        self._positions: Positions | None = None
        self._note: Note | None = None
        self._links: list[PlacedLink] | None = None
        self._set(text)

    def change(self, changes: Iterable[Change]) -> None:
        """Applies edits in their order. A place beyond the text is the text's end. Of a document that was too long
        only a whole new text is taken."""
        for text, start, end in changes:
            if start is None or end is None:
                self._set(text)
            elif self.text is not None:
                first, last = sorted((self.positions.offset(start), self.positions.offset(end)))
                source = self.text.encode(errors="replace")
                changed = source[:first] + text.encode(errors="replace") + source[last:]
                self._set(changed.decode())

    @property
    def is_markdown(self) -> bool:
        """Whether its text is read: what is no file is taken for Markdown."""
        return self.path is None or is_markdown(self.path)

    @property
    def positions(self) -> Positions:
        """Those of the text."""
        if self._positions is None:
            self._positions = Positions(self.text or "", self._encoding)
        return self._positions

    def note(self, name: str) -> Note:
        """The text as the note `name`, parsed once for each version of the text."""
        if self._note is None or self._note.id != name:
            source = (self.text or "").encode(errors="replace")
            self._note = Note(NoteId(name), NO_STAT, None, "", source)
            self._links = None
        return self._note

    def links(self, name: str) -> Sequence[PlacedLink]:
        """The links of the text as the note `name`, with their places."""
        note = self.note(name)
        if self._links is None:
            self._links = placed_links(note, self._encoding)
        return self._links

    def _set(self, text: str) -> None:
        self.text = text if len(text) <= _LSP_DOCUMENT_BYTES_MAX else None
        self._positions = self._note = self._links = None


class Documents:
    """All open documents, in the order in which they were opened."""

    def __init__(self) -> None:
        self.encoding: Encoding = "utf-16"
        self._by_uri: dict[str, Document] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._by_uri.values()))

    def open(self, document: Document) -> None:
        """Adds a document; one that is open already is as it is now."""
        self._by_uri[document.uri] = document

    def close(self, uri: str) -> Document | None:
        return self._by_uri.pop(uri, None)

    def get(self, uri: str) -> Document | None:
        return self._by_uri.get(uri)

    def at(self, real: str) -> Document | None:
        """The document of the file that really lies there."""
        return next((each for each in self._by_uri.values() if each.real == real), None)
