"""What every server is asked, on a vault where the right answers are known.

A server may say more than was asked and in its own form, so an answer is right if a text that only the right one
has is in it. Such texts are plain ASCII words: no escaping changes them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .vaults import make_vault

KINDS: Final = ("read", "title", "search_rare", "search_common", "backlinks")
"""The questions, in the order of the table."""
RARE: Final = "quernstone"
COMMON: Final = "harbour"
RARE_IN: Final = 3
COMMON_IN_NAMES: Final = "meeting"
READ_BYTES: Final = (1_000, 2_900)
READ_NOTES: Final = 7
BACKLINKS: Final = range(3, 9)

_PLAIN = re.compile(r"[a-z]+ [a-z]+ \d+")
_TITLE = re.compile(r'^title: "(.*)"$', re.MULTILINE)


@dataclass(frozen=True)
class Note:
    """A note of which a text is known."""

    path: str
    needle: str
    """Words of its body that no other of these notes has at that place; all ASCII."""

    @property
    def stem(self) -> str:
        return Path(self.path).stem


@dataclass(frozen=True)
class Questions:
    """The questions on one vault."""

    read: tuple[Note, ...]
    titled: Note
    """Its title is its stem."""
    rare: Note
    """One of the few notes with `RARE` in it."""
    linked: Note
    """A few notes link to it."""
    linking: str
    """The stem of one of those."""


def make_questions(vault: Path, notes: int) -> Questions:
    """Writes a vault to `vault` and chooses the questions; equal counts give equal vaults and questions."""
    make_vault(vault, notes)
    (vault / ".obsidian").mkdir()  # one server serves nothing else
    texts = {path.relative_to(vault).as_posix(): path.read_text() for path in sorted(vault.rglob("*.md"))}
    plain = [note for note in _plain(texts) if READ_BYTES[0] <= len(texts[note.path].encode()) <= READ_BYTES[1]]
    linked, linking = _linked(plain, texts)
    titled = next(note for note in plain if _TITLE.findall(texts[note.path]) == [note.stem])
    for note in plain[-RARE_IN:]:
        with open(vault / note.path, "a", encoding="utf-8") as file:
            file.write(f"\nNobody mended the {RARE}.\n")
    return Questions(tuple(plain[:READ_NOTES]), titled, plain[-1], linked, linking)


def _plain(texts: dict[str, str]) -> Iterator[Note]:
    """Notes with a path of ASCII alone, whose stem is no other note's."""
    for path, text in texts.items():
        if path.isascii() and _PLAIN.fullmatch(Path(path).stem):
            body = text.rpartition("---\n")[2][:600]
            runs = re.findall(r"[A-Za-z][A-Za-z ]{24,}", body)
            if runs:
                yield Note(path, max(runs, key=len))


def _linked(plain: list[Note], texts: dict[str, str]) -> tuple[Note, str]:
    """A note that a few others link to by its name, and the stem of one of them."""
    for note in plain:
        by = [path for path, text in texts.items() if f"[[{note.stem}" in text and path != note.path]
        stems = [stem for path in by if _PLAIN.fullmatch(stem := Path(path).stem)]
        if len(by) in BACKLINKS and stems:
            return note, stems[0]
    raise ValueError("Expected a note with a few backlinks in the vault, found none")
