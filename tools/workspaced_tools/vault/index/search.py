"""Search by words: takes candidates from the index, verifies them on their text, and ranks them. Where few notes
hold all the words, those that hold some follow (partial.py), and of a question the two are ranked together.

A note that is called like the query comes first. Others are ranked by where a word occurs (title, file name or
alias before headings, tags and path, before text), then by how (as a whole word, at a word's beginning, inside a
word), then by BM25 in steps, then by the last visit. Of several words, each counts the same.

Only CANDIDATES_VERIFIED_MAX candidates are verified, the notes written last first, and no more text than
CHARS_VERIFIED_MAX. Where there are more, notes with the words in their names are found first all the same, and the
total is a lower bound.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId

from ...limits import (
    CANDIDATES_VERIFIED_MAX,
    CHARS_VERIFIED_MAX,
    NAMES_COMPARED_MAX,
    NAMES_VERIFIED_MAX,
    WHOLE_HITS_ENOUGH,
)
from ...notes.name_keys import stem, without_ending
from ...notes.search_query import Ranking, Term, TextQuery, literal, parse
from ...notes.search_text import NAME_END, Kind, kind_of, search_form
from ...ports.vault import SearchQuery
from . import full_text
from .entries import Field
from .full_text import Match
from .index import Index
from .partial import Conditions, Hit, partial
from .queries import TAGGED, restriction, tagged

_WEIGHT: Final[dict[int, int]] = {
    Field.TITLE: 0,
    Field.ALIASES: 0,
    Field.PATH: 1,
    Field.HEADINGS: 1,
    Field.PROPERTIES: 2,
    Field.BODY: 2,
}
_WORST: Final = (max(_WEIGHT.values()) + 1) * len(Kind)
_ORDER: Final = sorted(Field, key=lambda field: (_WEIGHT[field], field))
_NAME_FIELDS: Final = (Field.TITLE, Field.PATH)
"""What a client that is shown names alone knows of a note."""
_K1: Final = 1.2
_B: Final = 0.75
_USUAL_CHARS: Final = 2_000
_BM25_STEPS: Final = 10
"""BM25 counts in so many steps; within one the note that was visited last comes first."""
NEVER: Final[Mapping[NoteId, str]] = {}


class Hits(msgspec.Struct, frozen=True, gc=False):
    """The best notes, best first."""

    hits: list[Hit]
    total: int
    is_exact: bool
    """False: there may be more than `total`."""
    meant: TextQuery
    """How the query was understood."""
    as_text: bool = False
    """Whether its operators found nothing, so that they were taken as text."""
    compared: list[NoteId] = []
    """Further notes by which it was decided what is a hit, and how good."""
    ranking: Ranking | None = None
    """How the hits were ranked that hold some of the words."""


class _Verified(msgspec.Struct, gc=False):
    """A candidate that holds all terms of a group."""

    note: NoteId
    level: int
    """Lower is better: where and how the terms occur."""
    counts: list[int]
    """How often each term occurs."""
    chars: int


def search(indexes: Sequence[Index], query: SearchQuery, visited: Mapping[NoteId, str] = NEVER) -> Hits:
    """The best notes for `query` in all `indexes`. One with operators that finds nothing is tried again as text.

    Args:
        visited: when the user last visited notes; later times sort later.
    """
    meant = parse(query.words)
    with ExitStack() as states:
        for index in indexes:
            states.enter_context(index.file.one_state())
        found = _found(indexes, query, meant, visited)
        if found.total == 0 and meant.has_operators:
            as_text = literal(query.words)
            if _whole(indexes, query, as_text, visited).total:
                found = msgspec.structs.replace(_found(indexes, query, as_text, visited), as_text=True)
        return found


def _found(indexes: Sequence[Index], query: SearchQuery, meant: TextQuery, visited: Mapping[NoteId, str]) -> Hits:
    """The hits for what is `meant`. Of a question all notes are ranked by how much they hold; many a long one has
    every word, so that alone puts none first."""
    if meant.is_question and not query.names_only:
        found = Hits([], 0, True, meant)
    else:
        found = _whole(indexes, query, meant, visited)
        if query.names_only or found.total >= WHOLE_HITS_ENOUGH:
            return found
    quoted = tuple(term for term in meant.terms if term.quoted)
    found = _followed(indexes, query, found, quoted)
    if quoted and found.total < WHOLE_HITS_ENOUGH and len(quoted) < len(meant.terms):
        return _followed(indexes, query, found, ())
    return found


def _whole(indexes: Sequence[Index], query: SearchQuery, meant: TextQuery, visited: Mapping[NoteId, str]) -> Hits:
    """The notes that hold all."""
    if meant.is_empty:
        return Hits([], 0, True, meant)
    found = [_numbered(index, query, meant) for index in indexes]
    verified = {each.note: each for several, _ in found for each in several.values()}
    ranked = _ranked(verified.values(), visited)
    return Hits(ranked[: query.limit], len(ranked), all(is_exact for _, is_exact in found), meant)


def _followed(indexes: Sequence[Index], query: SearchQuery, found: Hits, needed: tuple[Term, ...]) -> Hits:
    """`found`, and behind it the notes that hold what is `needed`, and some of the other words."""
    meant = found.meant
    if len(needed) == len(meant.terms):
        return found
    required = msgspec.structs.replace(meant, terms=needed, alternatives=())
    among: list[set[int] | None] = []
    is_exact = found.is_exact
    for index in indexes:
        where, arguments = _on_tags(meant)
        narrowed, more = restriction(query)
        if needed or meant.paths:
            holding, is_whole = _numbered(index, query, required)
            among.append(set(holding))
            is_exact = is_exact and is_whole
        elif where or narrowed:
            sql = f"SELECT n.note FROM notes n WHERE NOT n.withheld{where}{narrowed}"
            among.append({number for (number,) in index.file.read(sql, (*arguments, *more))})
        else:
            among.append(None)
    keeps = None
    if meant.without or meant.without_paths:
        keeps = lambda text: _best(required, full_text.fields(text), _ORDER) is not None  # noqa: E731
    conditions = Conditions(
        among,
        keeps,
        lambda text: _may_hold(meant, text) and _best(meant, full_text.fields(text), _ORDER) is not None,
    )
    some = partial(indexes, meant.terms, conditions)
    known = {hit.note for hit in found.hits}
    behind = [each for each in some.notes if each.note not in known]
    return msgspec.structs.replace(
        found,
        hits=[*found.hits, *behind][: query.limit],
        total=found.total + len(behind),
        is_exact=is_exact and some.is_exact,
        compared=[*found.compared, *some.compared],
        ranking=some.ranking,
    )


def _may_hold(meant: TextQuery, text: str) -> bool:
    return any(all(term.text in text for term in terms) for terms in meant.groups)


def _numbered(index: Index, query: SearchQuery, meant: TextQuery) -> tuple[dict[int, _Verified], bool]:
    """All notes that hold what is `meant`, by their numbers, in no particular order; and whether these are all."""
    limit = CANDIDATES_VERIFIED_MAX
    several: dict[int, NoteId] = {}
    is_whole = True
    for terms in meant.groups:
        wanted = full_text.match(index.file.read, terms, names=query.names_only)
        if wanted is not None:
            several |= _candidates(index, query, meant, wanted, limit + 1, names=query.names_only)
            is_whole = is_whole and wanted.is_whole
    candidates = sorted(several.items(), reverse=True)
    found, all_verified = _verified(index, candidates[:limit], query, meant)
    if len(candidates) <= limit and all_verified:
        return found, is_whole
    if not query.names_only:
        more, _ = _verified(index, _best_names(index, query, meant), query, meant)
        found |= more
    return found, False


def _candidates(
    index: Index, query: SearchQuery, meant: TextQuery, wanted: Match, limit: int, *, names: bool
) -> list[tuple[int, NoteId]]:
    """Numbers and paths of the notes that may hold what is `meant`, the last written first."""
    source, where, arguments = "notes n", "", []
    if wanted.grams is not None:
        table = "name_grams" if names else "grams"
        source, where = f"{table} t CROSS JOIN notes n ON n.note = t.rowid", f" AND {table} MATCH ?"
        arguments.append(wanted.grams)
        if wanted.signs is not None:
            where += " AND +t.rowid IN (SELECT rowid FROM signs WHERE signs MATCH ?)"
            arguments.append(wanted.signs)
    elif wanted.signs is not None:
        source, where = "signs t CROSS JOIN notes n ON n.note = t.rowid", " AND signs MATCH ?"
        arguments.append(wanted.signs)
    on_tags, its_arguments = _on_tags(meant)
    where += on_tags
    arguments += its_arguments
    for path in meant.paths:
        found = full_text.match(index.file.read, [Term(path)], names=True)
        if found is None:
            return []
        if found.grams is not None and found.is_whole:  # else the paths are compared when candidates are verified
            where += " AND n.note IN (SELECT rowid FROM name_grams WHERE name_grams MATCH ?)"
            arguments.append(found.grams)
    narrowed, more = restriction(query)
    order = "n.note" if source == "notes n" else "t.rowid"
    return index.file.read(
        f"SELECT n.note, n.path FROM {source} WHERE NOT n.withheld{where}{narrowed} ORDER BY {order} DESC LIMIT ?",
        (*arguments, *more, limit),
    )


def _on_tags(meant: TextQuery) -> tuple[str, list[Any]]:
    """What the operators ask of tags, as SQL on `notes n` with its arguments."""
    where = ""
    arguments: list[Any] = []
    for tags, member in ((meant.tags, "IN"), (meant.without_tags, "NOT IN")):
        for tag in tags:
            where += f" AND n.note {member} ({TAGGED})"
            arguments += tagged(tag)
    return where, arguments


def _verified(
    index: Index, candidates: Iterable[tuple[int, NoteId]], query: SearchQuery, meant: TextQuery
) -> tuple[dict[int, _Verified], bool]:
    """Those of the candidates that hold what is `meant`, and whether all could be verified."""
    fields = _NAME_FIELDS if query.names_only else _ORDER
    paths = dict(candidates)
    found: dict[int, _Verified] = {}
    left = CHARS_VERIFIED_MAX
    for number, text in full_text.texts(index.file.read, list(paths)):
        left -= len(text)
        if left < 0 and len(text) <= CHARS_VERIFIED_MAX:
            return found, False
        if not _may_hold(meant, text):
            continue
        best = _best(meant, full_text.fields(text), fields)
        if best is not None:
            level, terms = best
            # Whoever is shown names alone learns nothing of the text, not even from the order.
            shown = " ".join(full_text.fields(text)[field] for field in fields) if query.names_only else text
            counts = [shown.count(term.text) for term in terms]
            found[number] = _Verified(paths[number], level, counts, len(shown))
    return found, True


def _best(meant: TextQuery, texts: Sequence[str], fields: Sequence[Field]) -> tuple[int, tuple[Term, ...]] | None:
    """How well a note with these texts holds what is `meant`, lower is better, by which terms; None: not."""
    if not all(path in texts[Field.PATH] for path in meant.paths):
        return None
    if any(path in texts[Field.PATH] for path in meant.without_paths):
        return None
    if any(_place(term, texts, fields) is not None for term in meant.without):
        return None
    levels = [(level, terms) for terms in meant.groups if (level := _level(terms, texts, fields)) is not None]
    return min(levels, key=lambda each: each[0] / max(len(each[1]), 1), default=None)


def _level(terms: Sequence[Term], texts: Sequence[str], fields: Sequence[Field]) -> int | None:
    level = 0
    for term in terms:
        place = _place(term, texts, fields)
        if place is None:
            return None
        level += place
    return -len(terms) if level == 0 and _is_called(terms, texts, fields) else level


def _is_called(terms: Sequence[Term], texts: Sequence[str], fields: Sequence[Field]) -> bool:
    """Whether the words are a whole title, file name or alias of the note."""
    called = " ".join(term.text for term in terms)
    return any(
        called == name
        for field in (Field.TITLE, Field.ALIASES)
        if field in fields
        for name in texts[field].split(NAME_END)
    )


def _place(term: Term, texts: Sequence[str], fields: Sequence[Field]) -> int | None:
    """The best place and way in which the term occurs; None: it does not."""
    best: int | None = None
    for field in fields:
        if best is not None and _WEIGHT[field] > best // len(Kind):
            break
        if term.text in texts[field]:
            kind = kind_of(term.text, texts[field], whole=term.whole)
            if kind is not None:
                place = _WEIGHT[field] * len(Kind) + kind
                best = place if best is None else min(best, place)
    return best


def _best_names(index: Index, query: SearchQuery, meant: TextQuery) -> list[tuple[int, NoteId]]:
    """The notes whose names hold the terms best, of all there are."""
    wanted = full_text.match(index.file.read, meant.terms, names=True, every=False)
    if wanted is None or wanted.grams is None:
        return []
    candidates = _candidates(index, query, meant, wanted, NAMES_COMPARED_MAX, names=True)
    entries = index.entries([path for _, path in candidates])
    levels = []
    for number, path in candidates:
        if (entry := entries.get(path)) is not None:
            names = [search_form(name) for name in (entry.title, stem(path), without_ending(path), *entry.aliases)]
            levels.append((sum(_name_place(term, names) for term in meant.terms), -number, path))
    return [(-number, path) for _, number, path in sorted(levels)[:NAMES_VERIFIED_MAX]]


def _name_place(term: Term, names: Iterable[str]) -> int:
    kinds = (kind_of(term.text, name, whole=term.whole) for name in names)
    return min((kind for kind in kinds if kind is not None), default=_WORST)


# -- ranking --


def _ranked(verified: Iterable[_Verified], visited: Mapping[NoteId, str]) -> list[Hit]:
    """Best first: by the score, then the visit, then BM25 itself, then the path."""
    ranked = []
    for each in verified:
        length = _K1 * (1 - _B + _B * each.chars / _USUAL_CHARS)
        bm25 = sum(count * (_K1 + 1) / (count + length) for count in each.counts)
        step = math.floor(_BM25_STEPS * bm25 / (bm25 + 1)) / _BM25_STEPS
        terms = max(len(each.counts), 1)
        score = (_WORST * terms - each.level + step) / terms
        ranked.append((score, visited.get(each.note, ""), bm25, each.note))
    ranked.sort(key=lambda each: each[3])
    ranked.sort(key=lambda each: each[:3], reverse=True)
    return [Hit(note, score) for score, _, _, note in ranked]
