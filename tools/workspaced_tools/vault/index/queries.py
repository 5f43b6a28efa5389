"""Queries beyond names and links: words, similarity, tags, and counts.

Returns index entries, which may be out of date; the caller (vault.py) checks them against disk.
"""

import json
import math
from collections import Counter
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId

from ...limits import SIMILAR_WORDS_MAX, TAGGED_NOTES_MAX, TELLING_NOTES_MAX, WORDS_WEIGHED_MAX
from ...notes.name_keys import fold
from ...ports.vault import SearchQuery
from .full_text import frequent_words, match_all, match_any, query_words
from .index import Index

_HAVING: Final = "SELECT count(*) FROM (SELECT 1 FROM text WHERE text MATCH ? LIMIT ?)"
_RANK: Final = "bm25(text, 8.0, 3.0, 1.0)"
"""Names weigh most, then headings, then text."""


class Scored(msgspec.Struct, frozen=True, gc=False):
    """A note in a result."""

    note: NoteId
    score: float
    """Higher is better."""
    words: tuple[str, ...] = ()


def search(index: Index, query: SearchQuery) -> tuple[list[Scored], int]:
    """The best notes with all the words, best first, and the number of notes with them."""
    words = query_words(query.words)
    if not words:
        return [], 0
    match = match_all(words, "names" if query.names_only else None)
    where, arguments = _restriction(query)
    rows = index.file.read(
        f"SELECT n.path, -{_RANK} FROM text t JOIN notes n ON n.note = t.rowid"
        f" WHERE text MATCH ? AND NOT n.withheld{where} ORDER BY {_RANK}, n.path LIMIT ?",
        (match, *arguments, query.limit),
    )
    if len(rows) < query.limit:
        return [Scored(path, score) for path, score in rows], len(rows)
    joined = " JOIN notes n ON n.note = t.rowid" if where else ""
    total = index.file.read(f"SELECT count(*) FROM text t{joined} WHERE text MATCH ?{where}", (match, *arguments))
    return [Scored(path, score) for path, score in rows], total[0][0] if total else len(rows)


def _restriction(query: SearchQuery) -> tuple[str, list[Any]]:
    where = ""
    arguments: list[Any] = []
    if query.among is not None:
        where += " AND n.path IN (SELECT value FROM json_each(?))"
        arguments.append(json.dumps(query.among))
    for tag in map(fold, query.tags):
        # The tags below `design/` are between `design/` and `design0`, since `0` follows the slash.
        where += " AND n.note IN (SELECT note FROM tags WHERE tag = ? OR (tag > ? AND tag < ?))"
        arguments += [tag, f"{tag}/", f"{tag}0"]
    if query.folder:
        where += " AND n.path > ? AND n.path < ?"
        arguments += [f"{query.folder}/", f"{query.folder}0"]
    return where, arguments


def members(index: Index, folder: str | None, tag: str | None, limit: int) -> tuple[list[NoteId], int]:
    """The first notes below `folder` with `tag`, by path, and the number of all."""
    where, arguments = _restriction(SearchQuery("", limit, tags=(tag,) if tag is not None else (), folder=folder))
    matching = f"FROM notes n WHERE NOT n.withheld{where}"
    rows = index.file.read(f"SELECT n.path {matching} ORDER BY n.path LIMIT ?", (*arguments, limit))
    if len(rows) < limit:
        return [path for (path,) in rows], len(rows)
    total = index.file.read(f"SELECT count(*) {matching}", tuple(arguments))
    return [path for (path,) in rows], total[0][0] if total else len(rows)


def similar(index: Index, note: NoteId, text: str, limit: int) -> list[Scored]:
    """Notes with the distinctive words of `text`, the text of `note`; best first.

    A word in more than a tenth of all notes, or in more than TELLING_NOTES_MAX, is not distinctive.
    """
    words = _distinctive(index, text)
    if not words:
        return []
    rows = index.file.read(
        "SELECT n.path, -bm25(text, 3.0, 3.0, 1.0) AS score, n.note FROM text t JOIN notes n ON n.note = t.rowid"
        " WHERE text MATCH ? AND n.path <> ? AND NOT n.withheld ORDER BY score DESC, n.path LIMIT ?",
        (match_any(words), note, limit),
    )
    holding = {word: _holding(index, word, [row[2] for row in rows]) for word in words} if rows else {}
    return [
        Scored(path, score, tuple(word for word in words if number in holding[word]))
        for path, score, number in rows
    ]


def _distinctive(index: Index, text: str) -> list[str]:
    """The words of `text` with the highest tf-idf."""
    counts = frequent_words(text, WORDS_WEIGHED_MAX)
    notes = max(index.count(), 1)
    weights = []
    for word, count in counts:
        rows = index.file.read(_HAVING, (match_any([word]), TELLING_NOTES_MAX + 1))
        having = rows[0][0] if rows else 0
        if 1 < having <= min(max(notes // 10, 2), TELLING_NOTES_MAX):
            weights.append(((1 + math.log(count)) * math.log(notes / having), word))
    weights.sort(key=lambda each: (-each[0], each[1]))
    return [word for _, word in weights[:SIMILAR_WORDS_MAX]]


def _holding(index: Index, word: str, numbers: list[int]) -> set[int]:
    """Those of the notes that have the word."""
    marks = ", ".join("?" * len(numbers))
    sql = f"SELECT rowid FROM text WHERE text MATCH ? AND rowid IN ({marks})"
    return {row[0] for row in index.file.read(sql, (match_any([word]), *numbers))}


def sharing_tags(index: Index, note: NoteId, limit: int) -> list[Scored]:
    """Notes with tags of `note`, by the sum of ln(notes / notes with the tag), highest first.

    For each tag, at most TAGGED_NOTES_MAX notes count.
    """
    own = index.file.read(
        "SELECT t.tag, t.shown, c.notes FROM notes n JOIN tags t ON t.note = n.note"
        " JOIN tag_counts c ON c.tag = t.tag WHERE n.path = ? ORDER BY c.notes, t.tag",
        (note,),
    )
    notes = max(index.count(), 1)
    weights: Counter[NoteId] = Counter()
    shared: dict[NoteId, list[str]] = {}
    for tag, shown, having in own:
        weight = math.log(notes / having) if having < notes else 0.0
        bearers = index.file.read(
            "SELECT n.path FROM tags t JOIN notes n ON n.note = t.note WHERE t.tag = ? AND n.path <> ? LIMIT ?",
            (tag, note, TAGGED_NOTES_MAX),
        )
        for (path,) in bearers:
            weights[path] += weight  # type: ignore[assignment]  # typeshed's Counter counts in integers
            shared.setdefault(path, []).append(shown)
    ordered = sorted(weights.items(), key=lambda each: (-each[1], each[0]))[:limit]
    return [Scored(path, weight, tuple(shared[path])) for path, weight in ordered]


def top_tags(index: Index, limit: int) -> list[tuple[str, int]]:
    """The most frequent tags and their numbers of notes."""
    rows = index.file.read(
        "SELECT (SELECT min(shown) FROM (SELECT shown FROM tags t WHERE t.tag = c.tag LIMIT ?)), notes"
        " FROM tag_counts c WHERE notes ORDER BY notes DESC, tag LIMIT ?",
        (TAGGED_NOTES_MAX, limit),
    )
    return [(shown, notes) for shown, notes in rows]


def last_changed(index: Index, limit: int) -> list[tuple[NoteId, int]]:
    """The notes with the newest mtime (ns), newest first."""
    sql = "SELECT path, mtime_ns FROM notes WHERE NOT withheld ORDER BY mtime_ns DESC, path LIMIT ?"
    return [(path, mtime_ns) for path, mtime_ns in index.file.read(sql, (limit,))]
