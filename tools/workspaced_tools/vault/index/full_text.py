"""The full-text part of the index: stores the normalised text of notes, and finds the notes that may hold words.

`grams` has the trigrams of each text without positions, so it gives candidates, which the caller verifies on the
text itself. Words of two characters are looked up as the trigrams that begin with them: behind each field stand
characters that no text has. `signs` has each single character that is a word, or is not ASCII. `name_grams` has
the names alone. None of the three keeps a copy of what it indexes, so the text deletes its own entries.

Rows are numbered by age: the notes written last come first among candidates.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId

from ...notes.search_query import Term
from ...notes.search_text import FIELD_END
from .entries import Field

FULL_TEXT_SCHEMA: Final = """
CREATE TABLE texts(note INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE VIRTUAL TABLE grams USING fts5(
  text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1');
CREATE VIRTUAL TABLE gram_terms USING fts5vocab(grams, row);
CREATE VIRTUAL TABLE name_grams USING fts5(
  text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1');
CREATE VIRTUAL TABLE name_gram_terms USING fts5vocab(name_grams, row);
CREATE VIRTUAL TABLE signs USING fts5(text, content = '', columnsize = 0, detail = none, tokenize = 'ascii');
CREATE VIRTUAL TABLE sign_terms USING fts5vocab(signs, row);
"""

_GRAM: Final = 3
_GRAMS_MAX: Final = 64
"""Of a long phrase this many trigrams are looked up."""
_TERMS_MAX: Final = 2_000
"""Of the trigrams that begin with two characters this many are looked up."""
_LAST: Final = "\U0010ffff"
_ZLIB_LEVEL: Final = 6
"""A tenth smaller than 1, as fast to read; 50 us more for a note of 4 KB."""
_CHUNK_NOTES: Final = 64
_ASCII_SIGN: Final = re.compile(r"(?<![a-z0-9])[a-z0-9](?![a-z0-9])")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")

Read = Callable[[str, Sequence[Any]], list[Any]]
"""Runs a query: SQL and its arguments."""


class Match(msgspec.Struct, frozen=True, gc=False):
    """Which rows may hold some terms: an FTS5 query for each table that has to agree; none: no term restricts."""

    grams: str | None = None
    signs: str | None = None
    is_whole: bool = True
    """False: some trigrams were left out, so some notes may be missing."""


# -- writing --


def insert_texts(db: Any, texts: Iterable[tuple[int, str]]) -> None:
    """Adds texts (`IndexedNote.text`) by the numbers of their notes."""
    rows = list(texts)
    compressed = ((number, zlib.compress(text.encode(), _ZLIB_LEVEL)) for number, text in rows)
    db.executemany("INSERT INTO texts VALUES (?, ?)", compressed)
    for table, of in _TABLES:
        db.executemany(
            f"INSERT INTO {table}(rowid, text) VALUES (?, ?)", ((number, of(text)) for number, text in rows)
        )


def delete_text(db: Any, number: int) -> None:
    """Removes a note's text, if it has one."""
    for (compressed,) in db.execute("SELECT text FROM texts WHERE note = ?", (number,)).fetchall():
        text = zlib.decompress(compressed).decode()
        for table, of in _TABLES:
            db.execute(f"INSERT INTO {table}({table}, rowid, text) VALUES ('delete', ?, ?)", (number, of(text)))
        db.execute("DELETE FROM texts WHERE note = ?", (number,))


def _names(text: str) -> str:
    """The fields up to the aliases."""
    end = 0
    for _ in range(Field.ALIASES + 1):
        end = text.index(FIELD_END, end) + 1
    return text[:end] + FIELD_END


def _signs(text: str) -> str:
    return " ".join(sorted({*map(_sign, _ASCII_SIGN.findall(text)), *map(_sign, _NOT_ASCII.findall(text))}))


def _sign(character: str) -> str:
    """The token of one character; FTS5's `ascii` takes it as a word."""
    return f"{ord(character):x}"


_TABLES: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("grams", str),
    ("name_grams", _names),
    ("signs", _signs),
)


# -- reading --


def match(read: Read, terms: Sequence[Term], *, names: bool = False, every: bool = True) -> Match | None:
    """What finds the notes that may hold `terms`: every one, or any one of at least two characters; None: no note
    holds them. `names`: in `name_grams`."""
    queries = []
    is_whole = True
    for term in terms:
        if len(term.text) == 1:
            continue
        found = _quoted(_grams(term.text)) if len(term.text) >= _GRAM else None
        if found is None:
            vocabulary = "name_gram_terms" if names else "gram_terms"
            sql = f"SELECT term FROM {vocabulary} WHERE term >= ? AND term <= ? LIMIT ?"
            beginning = [each for (each,) in read(sql, (term.text, term.text + _LAST, _TERMS_MAX + 1))]
            is_whole = is_whole and len(beginning) <= _TERMS_MAX
            found = _quoted(beginning[:_TERMS_MAX], " OR ")
        if found:
            queries.append(f"({found})")
        elif every:
            return None
    signs = " AND ".join(f'"{_sign(term.text)}"' for term in terms if len(term.text) == 1) if every else ""
    return Match((" AND " if every else " OR ").join(queries) or None, signs or None, is_whole)


def note_counts(read: Read, pieces: Sequence[str]) -> dict[str, int]:
    """In how many notes each piece of a word may stand, at most (notes/search_query.py)."""
    grams = {piece: _grams(_looked_up(piece)) for piece in pieces}
    wanted = list({gram for each in grams.values() for gram in each})
    marks = ", ".join("?" * len(wanted))
    known = dict(read(f"SELECT term, doc FROM gram_terms WHERE term IN ({marks})", wanted))
    counts = {piece: min((known.get(gram, 0) for gram in each), default=0) for piece, each in grams.items()}
    for piece in pieces:
        if not grams[piece]:
            looked_up = _looked_up(piece)
            if len(looked_up) == 1:
                rows = read("SELECT doc FROM sign_terms WHERE term = ?", (_sign(looked_up),))
            else:
                sql = "SELECT sum(doc) FROM gram_terms WHERE term >= ? AND term <= ?"
                rows = read(sql, (looked_up, looked_up + _LAST))
            counts[piece] = rows[0][0] or 0 if rows else 0
    return counts


def holding(read: Read, piece: str, limit: int) -> list[int]:
    """The rows of at most so many notes in which a piece of a word may stand."""
    wanted = match(read, [Term(_looked_up(piece))])
    if wanted is None:
        return []
    table, query = ("signs", wanted.signs) if wanted.grams is None else ("grams", wanted.grams)
    return [row for (row,) in read(f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?", (query, limit))]


def _looked_up(piece: str) -> str:
    """What the index has of a piece: not its blanks, where signs may stand."""
    return piece if is_found_between_blanks(piece) else piece.strip(" ")


def is_found_between_blanks(piece: str) -> bool:
    """Whether `holding` misses places of the piece beside signs: so many words hold the same two letters that of a
    word of two only the places between blanks are looked up."""
    inner = piece.strip(" ")
    return len(inner) == _GRAM - 1 and inner != piece


def texts(read: Read, numbers: Sequence[int]) -> Iterator[tuple[int, str]]:
    """The notes with their texts; few at a time, since a text may be long."""
    for at in range(0, len(numbers), _CHUNK_NOTES):
        chunk = numbers[at : at + _CHUNK_NOTES]
        marks = ", ".join("?" * len(chunk))
        for number, compressed in read(f"SELECT note, text FROM texts WHERE note IN ({marks})", chunk):
            yield number, zlib.decompress(compressed).decode()


def sizes(read: Read, numbers: Sequence[int]) -> list[tuple[int, NoteId, int]]:
    """For notes that are not withheld the number, the note, and the compressed bytes of its text."""
    sql = (
        "SELECT n.note, n.path, length(t.text) FROM notes n JOIN texts t ON t.note = n.note"
        " WHERE n.note IN (SELECT value FROM json_each(?)) AND NOT n.withheld"
    )
    return read(sql, (json.dumps([*numbers]),))


def fields(text: str) -> list[str]:
    """The fields of a text, by `Field`."""
    return text.split(FIELD_END, len(Field))[: len(Field)]


def _grams(text: str) -> list[str]:
    grams = dict.fromkeys(text[at : at + _GRAM] for at in range(len(text) - _GRAM + 1))
    return list(grams)[:_GRAMS_MAX]


def _quoted(grams: Sequence[str], operator: str = " AND ") -> str:
    return operator.join('"' + gram.replace('"', '""') + '"' for gram in grams)
