"""`Sight`: what the user has before them, as far as an agent is told of it without asking."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from pydantic import Field

from workspaced_events.clock import microseconds
from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_fold import visible_tabs
from workspaced_events.projections.workspace_state import Selection

from ..notes.note import Note, NoteFailure
from ..ports.questions import Read
from ..ports.view import View
from ..tools.tool import Model

_VOLUNTEERED_SELECTION_S: Final = 600.0
"""An older selection is not told."""
_VOLUNTEERED_PINS_MAX: Final = 50


class Selected(Model):
    """Lines that are selected in the active note."""

    start_line: int
    end_line: int
    text_sha256: str | None
    """Of the whole selected text, where the editor told it."""


class Sight(Model):
    """A part of the state, in values that can be compared later. Also what a session was told last."""

    active: str | None
    selection: Selected | None
    pins: list[str]
    """The first _VOLUNTEERED_PINS_MAX."""
    more_pins: int
    tabs: list[str]
    versions: dict[str, str]
    """For each of these notes that can be read, the sha256 of its text."""
    left: dict[str, str]
    """For each of these paths that another note had before and left, the path of that note."""
    at: str
    """When it was."""
    texts: dict[str, str] = Field(default_factory=dict)
    """The sha256 of each note's text that was told; empty where it was told that there is no text."""
    vault: bool = True
    """Whether it was told where the vault is."""


class Seen:
    """The sight of a view, and the notes behind it."""

    def __init__(self, view: View, *, with_selection: bool) -> None:
        """`with_selection`: whether what is selected may be told."""
        state = view.vault_state
        pins = list(state.pins)
        listed = pins[:_VOLUNTEERED_PINS_MAX]
        tabs = [tab.note_id for tab in visible_tabs(state, view.now, view.state.clock_steps)]
        active = state.active.id if state.active is not None else None
        self.notes = _read(view, dict.fromkeys([*([active] if active else ()), *listed, *tabs]))
        self.selection = recent_selection(view) if with_selection else None
        self.sight = Sight(
            active=active,
            selection=_selected(self.selection),
            pins=[str(note) for note in listed],
            more_pins=len(pins) - len(listed),
            tabs=[str(note) for note in tabs],
            versions={note: found.source_sha256 for note, found in self.notes.items() if type(found) is Note},
            left={note: to for note in self.notes if (to := state.current_path(NoteId(note))) is not None},
            at=view.now,
        )


def _read(view: View, notes: Iterable[NoteId]) -> dict[str, Note | NoteFailure]:
    wanted = list(notes)
    found: list[Any] = view.vault.ask(Read(wanted)) if wanted else []
    return dict(zip(wanted, found, strict=True))


def recent_selection(view: View) -> Selection | None:
    """What is selected, if that was so short a time ago that the user still means it.

    An empty text says where the cursor is. How old a selection of the future is, from before the clock was set
    back, cannot be known.
    """
    selection = view.vault_state.selection
    if selection is None or selection.text == "":
        return None
    age_us = microseconds(view.now) - microseconds(selection.at)
    return selection if 0 <= age_us <= _VOLUNTEERED_SELECTION_S * 1e6 else None


def _selected(selection: Selection | None) -> Selected | None:
    if selection is None:
        return None
    known = selection.text_sha256
    if selection.text is not None:
        known = sha256(selection.text.encode()).hexdigest()
    return Selected(start_line=selection.start_line, end_line=selection.end_line, text_sha256=known)


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
