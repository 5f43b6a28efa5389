"""Computes with visits: dwell times, sums per note, notes that go together, entries that fit into an answer."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, TypeVar

import msgspec

from workspaced_events.clock import microseconds
from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit

from ..notes.name_keys import stem
from ..ports.asking import VaultPort
from ..ports.questions import Names
from ..ports.vault import NoteRef

_NEXT_VISITS_MIN: Final = 3
"""A note is opened next by habit if it followed this many visits."""
_VISITED_TOGETHER_S: Final = 1_800
"""The longest time between the end of a visit and the beginning of a close one."""
_VISITED_TOGETHER_VISITS: Final = 3
"""The number of visits before and after a visit that can be close to it."""
_STAY_US: Final = 1_000_000
T = TypeVar("T", bound=msgspec.Struct)


class Tally(msgspec.Struct):
    """The sum of one note's visits."""

    note: NoteId
    visits: int = 0
    dwell_s: float = 0.0


def dwell_s(visit: Visit, now: str) -> float:
    """The length of a visit, never negative, to a tenth of a second. A visit without end lasts until `now`."""
    return round(max(0.0, _lasted_us(visit, visit.until or now) / 1_000_000), 1)


def _lasted_us(visit: Visit, until: str) -> int:
    set_us = visit.set_since_at_us - visit.set_since_until_us
    return microseconds(until) - microseconds(visit.at) - set_us


def stays(visits: Iterable[Visit]) -> list[Visit]:
    """The visits without those that lasted less than a second: who pages through notes does not look at each.

    A visit without end counts.
    """
    return [each for each in visits if each.until is None or _lasted_us(each, each.until) >= _STAY_US]


def latest(visits: Sequence[Visit]) -> dict[NoteId, Visit]:
    """The last visit of each note, the newest first."""
    found: dict[NoteId, Visit] = {}
    for visit in reversed(visits):
        found.setdefault(visit.note, visit)
    return found


def tallies(visits: Iterable[Visit], now: str) -> list[Tally]:
    """The sums of each note's `stays`, the most visited first; equal ones by dwell time, the longest first."""
    by_note: dict[NoteId, Tally] = {}
    for visit in stays(visits):
        tally = by_note.setdefault(visit.note, Tally(visit.note))
        tally.visits += 1
        tally.dwell_s += dwell_s(visit, now)
    return sorted(by_note.values(), key=lambda each: (-each.visits, -each.dwell_s, each.note))


def visited_together(visits: Sequence[Visit], note: NoteId) -> Counter[NoteId]:
    """Maps each other note to the number of visits of `note` that are close to one of its visits. Of `stays`.

    Two visits are close if at most _VISITED_TOGETHER_VISITS visits and _VISITED_TOGETHER_S seconds lie between.

    Args:
        visits: the visits of one vault, oldest first.
    """
    counts: Counter[NoteId] = Counter()
    visits = stays(visits)
    for at, visit in enumerate(visits):
        if visit.note != note:
            continue
        earlier = visits[max(0, at - _VISITED_TOGETHER_VISITS) : at]
        later = visits[at + 1 : at + 1 + _VISITED_TOGETHER_VISITS]
        close = {each.note for each in earlier if _gap_s(each, visit) <= _VISITED_TOGETHER_S}
        close |= {each.note for each in later if _gap_s(visit, each) <= _VISITED_TOGETHER_S}
        counts.update(close - {note})
    return counts


def opened_next(visits: Sequence[Visit], note: NoteId) -> Counter[NoteId]:
    """Maps the notes that usually follow `note` to the number of its visits that they followed. Of `stays`.

    A note follows a visit if it is visited soon after it (close, as in `visited_together`) and before `note` is
    visited again. Fewer than _NEXT_VISITS_MIN visits are chance, not habit, and are left out.

    Args:
        visits: the visits of one vault, oldest first.
    """
    counts: Counter[NoteId] = Counter()
    visits = stays(visits)
    for at, visit in enumerate(visits):
        if visit.note != note:
            continue
        later = visits[at + 1 : at + 1 + _VISITED_TOGETHER_VISITS]
        until_again = takewhile(lambda each: each.note != note, later)
        counts.update({each.note for each in until_again if _gap_s(visit, each) <= _VISITED_TOGETHER_S})
    return Counter({each: count for each, count in counts.items() if count >= _NEXT_VISITS_MIN})


def _gap_s(earlier: Visit, later: Visit) -> float:
    """The time from the end of `earlier` to the beginning of `later`.

    Below 0 if the clock was set back and no event records it.
    """
    if earlier.until is None:
        return 0.0
    set_us = earlier.set_since_until_us - later.set_since_at_us
    return (microseconds(later.at) - microseconds(earlier.until) - set_us) / 1_000_000


class NoteTitles:
    """The titles of the notes in one answer, from a single question."""

    def __init__(self, vault: VaultPort, notes: Iterable[NoteId]) -> None:
        distinct = list(dict.fromkeys(notes))
        self._names: dict[NoteId, NoteRef | None] = dict(zip(distinct, vault.ask(Names(distinct)), strict=True))

    def exists(self, note: NoteId) -> bool:
        return self._names[note] is not None

    def title(self, note: NoteId) -> str:
        """The title of a missing note is the stem of its path."""
        found = self._names[note]
        return found.title if found is not None else stem(note)

    def entry(self, note: NoteId) -> dict[str, Any]:
        """Id, title and existence of a note, by the names of an answer's fields."""
        return {"id": note, "title": self.title(note), "exists": self.exists(note)}


class Room:
    """The number of characters of JSON that the entries of one answer may still take."""

    def __init__(self, chars: int) -> None:
        self._left = chars

    def fitting(self, entries: Iterable[T]) -> list[T]:
        """The entries up to the first one that does not fit."""
        kept = []
        for entry in entries:
            chars = len(msgspec.json.encode(entry).decode()) + 1
            if chars > self._left:
                break
            self._left -= chars
            kept.append(entry)
        return kept
