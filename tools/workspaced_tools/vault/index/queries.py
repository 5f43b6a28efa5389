"""Queries beyond names and links: tags, folders, and counts.

Returns index entries, which may be out of date; the caller (vault.py) checks them against disk.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId

from ...limits import TAGGED_NOTES_MAX
from ...notes.name_keys import key, without_case
from ...notes.search_query import literal
from ...ports.vault import SearchQuery
from . import full_text
from .entries import NamedNote
from .index import Index

_LAST: Final = "\U0010ffff"
"""Sorts behind every text."""
TAGGED: Final = "SELECT note FROM tags WHERE tag = ? OR (tag > ? AND tag < ?)"


class Scored(msgspec.Struct, frozen=True, gc=False):
    """A note in a result."""

    note: NoteId
    score: float
    """Higher is better."""
    words: tuple[str, ...] = ()


def restriction(query: SearchQuery) -> tuple[str, list[Any]]:
    """What `query` asks of a note's place and tags, as SQL on `notes n` with its arguments."""
    where = ""
    arguments: list[Any] = []
    if query.among is not None:
        where += " AND n.path IN (SELECT value FROM json_each(?))"
        arguments.append(json.dumps(query.among))
    for tag in map(without_case, query.tags):
        where += f" AND n.note IN ({TAGGED})"
        arguments += tagged(tag)
    if query.folder:
        where += " AND n.path > ? AND n.path < ?"
        arguments += [f"{query.folder}/", f"{query.folder}0"]
    return where, arguments


def tagged(tag: str) -> tuple[str, str, str]:
    """The arguments of TAGGED for a normalised tag."""
    # The tags below `design/` are between `design/` and `design0`, since `0` follows the slash.
    return tag, f"{tag}/", f"{tag}0"


def members(index: Index, folder: str | None, tag: str | None, limit: int) -> tuple[list[NoteId], int]:
    """The first notes below `folder` with `tag`, by path, and the number of all."""
    where, arguments = restriction(SearchQuery("", limit, tags=(tag,) if tag is not None else (), folder=folder))
    matching = f"FROM notes n WHERE NOT n.withheld{where}"
    rows = index.file.read(f"SELECT n.path {matching} ORDER BY n.path LIMIT ?", (*arguments, limit))
    if len(rows) < limit:
        return [path for (path,) in rows], len(rows)
    total = index.file.read(f"SELECT count(*) {matching}", tuple(arguments))
    return [path for (path,) in rows], total[0][0] if total else len(rows)


def paths(index: Index, numbers: Iterable[int]) -> dict[int, NoteId]:
    """Of notes by their numbers, without those that are withheld."""
    sql = "SELECT note, path FROM notes WHERE note IN (SELECT value FROM json_each(?)) AND NOT withheld"
    return dict(index.file.read(sql, (json.dumps([*numbers]),)))


_NAMED: Final = "n.path, n.title, n.front_matter_id, n.aliases"


def named_from(index: Index, written: str, limit: int) -> list[NamedNote]:
    """Notes with a name that begins as `written` without regard to case, by name; some twice."""
    begun = key(written)
    rows = index.file.read(
        f"SELECT {_NAMED} FROM names k JOIN notes n ON n.note = k.note"
        " WHERE k.key >= ? AND k.key < ? ORDER BY k.key LIMIT ?",
        (begun, begun + _LAST, limit),
    )
    return _named(rows)


def named_with(index: Index, written: str, limit: int) -> list[NamedNote]:
    """Notes whose names hold the words of `written`, the latest first.

    The caller compares the names: trigrams are coarser than names.
    """
    wanted = full_text.match(index.file.read, literal(written).terms, names=True)
    if wanted is None or wanted.grams is None:
        return []
    rows = index.file.read(
        f"SELECT {_NAMED} FROM name_grams t CROSS JOIN notes n ON n.note = t.rowid"
        " WHERE name_grams MATCH ? AND NOT n.withheld ORDER BY t.rowid DESC LIMIT ?",
        (wanted.grams, limit),
    )
    return _named(rows)


def _named(rows: Iterable[Any]) -> list[NamedNote]:
    return [
        NamedNote(path, title, own_id, tuple(json.loads(aliases)) if aliases else ())
        for path, title, own_id, aliases in rows
    ]


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
    """The most frequent tags, as most notes write them, and their numbers of notes."""
    spelled = "SELECT shown FROM tags t WHERE t.tag = c.tag LIMIT ?"
    rows = index.file.read(
        f"SELECT (SELECT shown FROM ({spelled}) GROUP BY shown ORDER BY count(*) DESC, shown LIMIT 1), notes"
        " FROM tag_counts c WHERE notes ORDER BY notes DESC, tag LIMIT ?",
        (TAGGED_NOTES_MAX, limit),
    )
    return [(shown, notes) for shown, notes in rows]


def last_changed(index: Index, limit: int) -> list[tuple[NoteId, int]]:
    """The notes with the newest mtime (ns), newest first."""
    sql = "SELECT path, mtime_ns FROM notes WHERE NOT withheld ORDER BY mtime_ns DESC, path LIMIT ?"
    return [(path, mtime_ns) for path, mtime_ns in index.file.read(sql, (limit,))]
