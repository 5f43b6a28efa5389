"""What changed between what an agent was told and what the user has before them now. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from workspaced_events.ids import NoteId

from .sight import Sight


class Difference(NamedTuple):
    """The parts of a sight that an agent was not told yet."""

    looks_elsewhere: bool
    """Whether another note is active, or something else is selected."""
    pinned: Sequence[str] = ()
    more_pinned: int = 0
    """New pins beyond those that are compared."""
    unpinned: Sequence[str] = ()
    opened: Sequence[str] = ()
    closed: Sequence[str] = ()
    renamed: Sequence[tuple[str, str]] = ()
    edited: Sequence[tuple[str, str]] = ()
    """Each with the sha256 of its text before."""


def difference(
    told: Sight, now: Sight, *, pins: Mapping[NoteId, str], moved_to: Callable[[str], str | None]
) -> Difference:
    """The difference of `now` from `told`. A note that was renamed is the same note.

    Args:
        pins: all pins, also those beyond the ones that a sight lists, with the time of each.
        moved_to: the present path of the note that was last renamed away from a path; None: no rename is known.
    """

    def moved(note: str) -> str | None:
        """Where a note is now that was renamed since. A rename before concerned another note."""
        new, left = moved_to(note), told.left.get(note)
        return new if new not in (None, note, left, moved_to(left) if left is not None else left) else None

    def is_new(pin: str) -> bool:
        """Where a sight does not list all, only its time tells a new pin from one that came into the list."""
        return pin not in before.pins and (not before.more_pins or pins.get(NoteId(pin), "") > told.at)

    moves = {old: new for old in notes_of(told) if (new := moved(old)) is not None}
    before = _renamed(told, moves)
    before_eyes = {before.active, *before.pins, *before.tabs}
    is_elsewhere = now.active != before.active or (now.selection is not None and now.selection != before.selection)
    return Difference(
        looks_elsewhere=is_elsewhere,
        pinned=tuple(filter(is_new, now.pins)),
        more_pinned=max(0, now.more_pins - before.more_pins),
        unpinned=tuple(note for note in before.pins if note not in pins),
        opened=tuple(note for note in now.tabs if note not in before_eyes and note != now.active),
        closed=tuple(note for note in before.tabs if note not in (now.active, *now.tabs) and note not in pins),
        renamed=tuple((old, new) for old, new in moves.items() if new in {now.active, *now.pins, *now.tabs}),
        edited=tuple(
            (note, known) for note, sha in now.versions.items() if (known := before.versions.get(note, sha)) != sha
        ),
    )


def notes_of(sight: Sight) -> list[str]:
    """The notes that a sight names, each once."""
    active = [sight.active] if sight.active is not None else []
    return list(dict.fromkeys([*active, *sight.pins, *sight.tabs]))


def _renamed(sight: Sight, moves: dict[str, str]) -> Sight:
    if not moves:
        return sight
    return sight.model_copy(
        update={
            "active": moves.get(sight.active, sight.active) if sight.active is not None else None,
            "pins": [moves.get(note, note) for note in sight.pins],
            "tabs": [moves.get(note, note) for note in sight.tabs],
            "versions": {moves.get(note, note): sha for note, sha in sight.versions.items()},
        }
    )
