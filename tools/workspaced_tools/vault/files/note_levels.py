"""`NoteLevels`: how far each note of a vault may go at present, by its rules, its front matter and its history.

There are two audiences, and for each the same machinery decides (see note_visibility): one for what is shown
unasked, to which notes of the level ON_REQUEST are as withheld as those of NEVER; and one for agents that ask for
a note explicitly. So a note that leaves a level must settle before the wider audience sees it. The findings that
the log keeps are those of the first audience: a note that is gone is shown to nobody unless it was VOLUNTEER.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility

from ...notes.note import Level, StatKey
from .ignore_rules import Policy
from .note_visibility import NoteVisibility

_VOLUNTEER: Final = Level.VOLUNTEER
"""A member of an enum takes longer to look up than to compare."""


class NoteLevels:
    """One for each vault. Safe from any thread."""

    def __init__(
        self,
        policy: Policy,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Clocks: as of `NoteVisibility`."""
        self.policy: Final = policy
        self.volunteered: Final = NoteVisibility(clock_ns=clock_ns, clock_s=clock_s)
        self.requested: Final = NoteVisibility(clock_ns=clock_ns, clock_s=clock_s)
        """Never told of missing notes: what is gone, nobody can ask for."""

    def level(self, note: NoteId) -> Level:
        """The level of a note, as far as it is known. No I/O."""
        ruled = self.policy.level(note)
        if ruled is Level.NEVER or self.requested.is_hidden(note):
            return Level.NEVER
        return Level.ON_REQUEST if self.volunteered.is_hidden(note) else ruled

    def is_withheld(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a note is known to be withheld from the audience that is shown `least`. No I/O."""
        if least is _VOLUNTEER:
            return self.policy.denies(note) or self.volunteered.is_hidden(note)
        return self.level(note) < least

    def settles_in_s(self, note: NoteId, least: Level) -> float | None:
        """As `NoteVisibility.settles_in_s`, for the audience that is shown `least`."""
        audience = self.volunteered if least is _VOLUNTEER else self.requested
        return audience.settles_in_s(note) if self.policy.level(note) >= least else None

    def is_on_request(self, note: NoteId) -> bool:
        """Whether the note is for explicit requests only, or was when it was deleted, as far as known. No I/O."""
        ruled = self.policy.level(note)
        if ruled is not _VOLUNTEER:
            # Whatever the note itself says: that would tell of a note that there is one.
            return ruled is Level.ON_REQUEST
        return self.volunteered.is_private(note) and not self.requested.is_hidden(note)

    def saw(
        self,
        note: NoteId,
        stat: StatKey,
        *,
        ruled: Level,
        flagged: Level,
        was_shown: Callable[[NoteId], bool],
        was_requestable: Callable[[NoteId], bool],
    ) -> Level:
        """Takes a version of a note; returns how far it may go now.

        Args:
            ruled: the level by the rules.
            flagged: the level by the front matter.
            was_shown, was_requestable: as `was_shown` of `NoteVisibility.saw`, for the two audiences.
        """
        if ruled is Level.NEVER:
            self.let_go(note)
            return ruled
        if ruled is Level.ON_REQUEST:
            self.volunteered.let_go(note)
        elif self.volunteered.saw(note, stat, private=flagged is not _VOLUNTEER, was_shown=was_shown):
            if self.requested.is_hidden(note):
                self.requested.show(note)
            return _VOLUNTEER
        private = flagged is Level.NEVER
        shown = self.requested.saw(note, stat, private=private, was_shown=was_requestable)
        return Level.ON_REQUEST if shown else Level.NEVER

    def let_go(self, note: NoteId) -> None:
        """As `NoteVisibility.let_go`."""
        self.volunteered.let_go(note)
        self.requested.let_go(note)

    def renamed(self, old: NoteId, new: NoteId) -> None:
        """As `NoteVisibility.renamed`."""
        self.volunteered.renamed(old, new)
        self.requested.renamed(old, new)

    def remember(self, findings: Mapping[NoteId, Visibility]) -> None:
        """As `NoteVisibility.remember`."""
        self.volunteered.remember(findings)
        self.requested.remember(findings)

    def remember_flagged(self, never: Collection[NoteId], on_request: Collection[NoteId]) -> None:
        """Takes the notes that front matter withheld in a former index, those that are gone included."""
        self.volunteered.remember_private({*never, *on_request})
        self.requested.remember_private(never)
        self.requested.trust(on_request)

    @property
    def version(self) -> int:
        """Changes whenever the level of a note may have changed."""
        return self.volunteered.version + self.requested.version

    @property
    def held(self) -> list[NoteId]:
        """The notes whose present version an editor may still be writing."""
        return list(dict.fromkeys((*self.volunteered.held, *self.requested.held)))

    def due_s(self) -> float | None:
        """When, by our own clock, a note must be checked again; None: never."""
        due = [each for each in (self.volunteered.due_s(), self.requested.due_s()) if each is not None]
        return min(due, default=None)
