"""`NoteLevels`: how far each note of a vault may go at present, by its rules, its front matter and its history.

One table serves two audiences: what is shown unasked, to which notes of the level ON_REQUEST are as withheld as
those of NEVER; and agents that ask for a note explicitly. Every read of a note's version updates it:

- A note that its front matter withholds is withheld from that moment on.
- A note that is to go further than before, or was never seen, goes there once our own clock has seen the same
  version of its file for SETTLE_S, an empty file for SETTLE_EMPTY_S: until then an editor may be saving it in
  parts, and it stays at its former level. One seen for the first time whose file is older goes there at once.
- The finding about a note that the log names is recorded, and counts when the file is gone. A note that is gone
  and has no recorded finding is withheld; what is gone is shown to nobody unless it was VOLUNTEER.
- A note that was shown and whose file is missing may have moved to a place where it is withheld. It is withheld
  until a crawl of the whole vault that began afterwards has ended.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility, renamed

from ...limits import SETTLE_EMPTY_S, SETTLE_S
from ...notes.note import Level, StatKey
from ...ports.asking import check_may_wait
from .ignore_rules import Policy

_VOLUNTEER: Final = Level.VOLUNTEER
"""A member of an enum takes longer to look up than to compare."""


class _Unsettled(NamedTuple):
    """A version that an editor may still be writing."""

    stat: StatKey
    since_s: float
    level: Level
    """How far the note goes until the version has settled."""
    is_new: bool
    """Whether nothing was known of the note."""

    @property
    def due_s(self) -> float:
        return self.since_s + settle_s(self.stat)


def settle_s(stat: StatKey) -> float:
    """Seconds for which a version must stay unchanged before its note goes further."""
    return SETTLE_S if stat.size else SETTLE_EMPTY_S


class NoteLevels:
    """One for each vault. Safe from any thread."""

    def __init__(
        self,
        policy: Policy,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock_ns` is the wall clock, for comparison with file times; `clock_s` our own, which only goes
        forward."""
        self.policy: Final = policy
        self.version = 0
        """Changes whenever the level of a note may have changed."""
        self.on_finding: Callable[[NoteId, bool], object] = lambda _note, _shown: None
        """Called with each finding about a note that the log names: whether the note may be shown unasked."""
        self.on_unsettled: Callable[[], object] = lambda: None
        """Called when a note must be checked again; `due_s` says when."""
        self._clock_ns = clock_ns
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._flagged: dict[NoteId, Level] = {}
        """Notes withheld by their front matter when last read, even if they are gone. Of a note whose version has
        not settled, the stricter of former and new."""
        self._unsettled: dict[NoteId, _Unsettled] = {}
        self._findings: dict[NoteId, Visibility] = {}
        self._missing: dict[NoteId, float] = {}
        """Notes that were shown and are missing, since when; no crawl has looked for them yet."""
        self._gone: set[NoteId] = set()
        """Missing notes that a crawl did not find."""

    # -- queries, without I/O --

    @property
    def state_version(self) -> tuple[int, str]:
        """A value that changes whenever the set of withheld notes may have changed, be it by rules."""
        return self.version, self.policy.digest

    def shows(self, note: NoteId) -> bool:
        """Whether the note is known to be shown to all, was found so, and is not gone.

        While `state_version` stays the same, `saw` of a version of such a note that has no flag changes nothing.
        """
        return (
            self._findings.get(note) is Visibility.SHOWN and note not in self._gone and not self.is_withheld(note)
        )

    def level(self, note: NoteId) -> Level:
        """The level of a note, as far as it is known."""
        return self._known(note, self.policy.level(note))

    def _known(self, note: NoteId, ruled: Level) -> Level:
        if ruled is Level.NEVER or not self.is_hidden(note):
            return ruled
        unsettled = self._unsettled.get(note)
        hidden = min(self._flagged.get(note, Level.ON_REQUEST), Level.ON_REQUEST)
        return hidden if unsettled is None else min(hidden, unsettled.level)

    def is_withheld(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether a note is known to be withheld from the audience that is shown `least`."""
        if least is _VOLUNTEER:
            return self.policy.denies(note) or self.is_hidden(note)
        return self.level(note) < least

    def is_hidden(self, note: NoteId) -> bool:
        """Whether an existing or missing note is not shown unasked at present, for another reason than a rule."""
        return note in self._flagged or note in self._unsettled or note in self._missing

    def is_on_request(self, note: NoteId) -> bool:
        """Whether the note is for explicit requests only, or was when it was deleted, as far as known."""
        ruled = self.policy.level(note)
        if ruled is not _VOLUNTEER:
            # Whatever the note itself says: that would tell of a note that there is one.
            return ruled is Level.ON_REQUEST
        return note in self._flagged and self.level(note) is Level.ON_REQUEST

    def finding(self, note: NoteId) -> Visibility | None:
        """The last finding about a note that the log names; None: not checked yet."""
        return self._findings.get(note)

    def was_withheld(self, note: NoteId) -> bool:
        """Whether the last finding about the note withholds it."""
        return self._findings.get(note) in (Visibility.WITHHELD, Visibility.WITHDRAWN)

    def is_private(self, note: NoteId, least: Level = Level.VOLUNTEER) -> bool:
        """Whether the note's front matter withheld it from that audience when last read."""
        return self._flagged.get(note, _VOLUNTEER) < least

    @property
    def private(self) -> frozenset[NoteId]:
        """The notes that their front matter withheld when last read."""
        return frozenset(self._flagged)

    @property
    def hides_some(self) -> bool:
        """Whether any note is withheld, or was before it was deleted."""
        return bool(self._flagged or self._unsettled or self._missing)

    @property
    def unsettled(self) -> list[NoteId]:
        """The notes whose present version an editor may still be writing."""
        return list(self._unsettled)

    @property
    def gone(self) -> list[NoteId]:
        """The notes that could be shown when they were last there, and that a crawl did not find."""
        return [note for note in self._gone if self._findings.get(note) is Visibility.SHOWN]

    @property
    def wants_search(self) -> bool:
        """Whether notes are missing that only a crawl of the vault can find."""
        return bool(self._missing)

    def settles_in_s(self, note: NoteId, least: Level) -> float | None:
        """After how many seconds that audience may be shown a note that seems new; None: it does not wait.

        A note that was withheld before does not: who waits for it would learn that there is one.
        """
        unsettled = self._unsettled.get(note)
        if unsettled is None or not unsettled.is_new or unsettled.level >= least:
            return None
        if self.is_private(note, least) or self.was_withheld(note):
            return None
        return max(unsettled.due_s - self._clock_s(), 0.0) if self.policy.level(note) >= least else None

    def due_s(self) -> float | None:
        """When, by our own clock, a note must be checked again; None: never."""
        if self._missing:
            return self._clock_s()
        with self._lock:
            return min((each.due_s for each in self._unsettled.values()), default=None)

    # -- updates --

    def saw(
        self,
        note: NoteId,
        stat: StatKey,
        *,
        ruled: Level,
        flagged: Level,
        was: Callable[[NoteId], Level | None] = lambda _note: None,
    ) -> Level:
        """Takes a version of a note; returns how far it may go now.

        Args:
            ruled: the level by the rules.
            flagged: the level by the front matter.
            was: the level of the note's former version, if there is one; called only for young files.
        """
        if ruled is Level.NEVER:
            self.let_go(note)
            return ruled
        level = min(ruled, flagged)
        is_known = self.is_hidden(note) or note in self._gone
        if level is _VOLUNTEER and not is_known and self._former(note, stat, was) is _VOLUNTEER:
            return level
        with self._lock:
            former, unsettled = self._former(note, stat, was), self._unsettled.get(note)
            kept = former or Level.NEVER
            is_settled = unsettled is not None and unsettled.stat == stat and self._clock_s() >= unsettled.due_s
            if level <= kept or is_settled:
                self._put(note, ruled, flagged)
                return level
            if flagged is not _VOLUNTEER:
                self._withhold(note, min(flagged, self._flagged.get(note, flagged)))
            if unsettled is not None and unsettled.stat == stat:
                return kept
            self._unsettled[note] = _Unsettled(
                stat, self._clock_s(), kept, unsettled.is_new if unsettled is not None else former is None
            )
            self.version += 1
        self.on_unsettled()
        return kept

    def judge(
        self, note: NoteId, stat: StatKey, *, ruled: Level, flagged: Level, was: Callable[[NoteId], Level | None]
    ) -> tuple[Level, Level]:
        """As `saw`, of a version that was read to be shown: how far the note went before, and how far it goes now.

        Raises:
            WouldBlock: they differ, and this thread may not wait: the index will need an update, and nothing else
                would make it later.
        """
        before = self._known(note, ruled)
        if min(ruled, flagged) is not before:
            check_may_wait()
        return before, self.saw(note, stat, ruled=ruled, flagged=flagged, was=was)

    def looked_at(self, note: NoteId) -> None:
        """Records the finding about a note that the log names, after `saw` took its present version."""
        with self._lock:
            if note not in self._unsettled and note not in self._findings:
                self._find(note, shown=note not in self._flagged)

    def let_go(self, note: NoteId) -> None:
        """Stops waiting for the note's version, because rules withhold the note or it does not exist."""
        if note in self._unsettled:
            with self._lock:
                self._drop(note)
                self.version += 1

    def is_missing(self, note: NoteId) -> bool:
        """Takes that there is no file at the note's path.

        Returns whether the note is withheld until a crawl has looked for it.
        """
        self.let_go(note)
        if note in self._missing:
            return True
        if self._findings.get(note) is not Visibility.SHOWN or note in self._gone:
            return False
        with self._lock:
            self._missing[note] = self._clock_s()
            self.version += 1
        self.on_unsettled()
        return True

    def searched(self, begun_s: float, is_there: Callable[[Collection[NoteId]], Collection[NoteId]]) -> None:
        """Takes that a whole crawl, begun at `begun_s` by our own clock, has ended.

        `is_there` returns those of the given notes that the crawl found.
        """
        with self._lock:
            shown = [note for note, finding in self._findings.items() if finding is Visibility.SHOWN]
            lost = [note for note in shown if note not in self._gone]
        there = set(is_there(lost))
        with self._lock:
            for note in lost:
                if self._missing.get(note, begun_s) > begun_s:
                    continue
                if note not in there:
                    self._gone.add(note)
                self.version += self._missing.pop(note, None) is not None

    def follow(self, note: NoteId) -> None:
        """Withholds the name of a note that is gone and seems to be the same as a withheld one."""
        with self._lock:
            if self._findings.get(note) is Visibility.SHOWN:
                self._find(note, shown=False)
                self._missing.pop(note, None)
                self.version += 1

    def renamed(self, old: NoteId, new: NoteId) -> None:
        """Moves the note's finding to its new path, because the log says that the note moved."""
        with self._lock:
            self._drop(old)
            if self.was_withheld(old):
                flagged = self._flagged.get(old, Level.NEVER)
                self._flagged[new] = min(flagged, self._flagged.get(new, flagged))
            renamed(self._findings, old, new)
            self._missing.pop(old, None)
            self._gone.difference_update((old, new))
            self.version += 1

    def remember(self, findings: Mapping[NoteId, Visibility]) -> None:
        """Takes the findings in the log; must be called before any other update."""
        self._findings = dict(findings)
        self.version += 1

    def remember_flagged(self, never: Collection[NoteId], on_request: Collection[NoteId]) -> None:
        """Takes the notes that front matter withheld in a former index, those that are gone included."""
        with self._lock:
            self._flagged |= {**dict.fromkeys(on_request, Level.ON_REQUEST), **dict.fromkeys(never, Level.NEVER)}
            self.version += 1

    # -- helpers --

    def _former(self, note: NoteId, stat: StatKey, was: Callable[[NoteId], Level | None]) -> Level | None:
        """How far the note went before this version; None: nothing is known of it, and its file is young."""
        unsettled, was_withheld = self._unsettled.get(note), self.was_withheld(note)
        if unsettled is not None and (was_withheld or not unsettled.is_new):
            return unsettled.level
        if was_withheld:
            return min(self._flagged.get(note, Level.NEVER), Level.ON_REQUEST)
        flagged = self._flagged.get(note, _VOLUNTEER)
        if unsettled is None and (note in self._flagged or note in self._findings):
            return flagged
        if self._clock_ns() - stat.ctime_ns >= settle_s(stat) * 1e9:
            return flagged
        return was(note) if unsettled is None else None

    def _drop(self, note: NoteId) -> None:
        """Waits no more for the note's version. A flag that has not settled counts as the level before it."""
        unsettled = self._unsettled.pop(note, None)
        if unsettled is not None and note in self._flagged:
            self._flagged[note] = min(self._flagged[note], unsettled.level)

    def _put(self, note: NoteId, ruled: Level, flagged: Level) -> None:
        """Takes a settled version."""
        before = self._unsettled.pop(note, None), self._missing.pop(note, None)
        self.version += before != (None, None)
        self._gone.discard(note)
        if flagged is not _VOLUNTEER:
            self._withhold(note, flagged)
        elif ruled is _VOLUNTEER:
            self.version += self._flagged.pop(note, None) is not None
            if self._findings.get(note, Visibility.SHOWN) is not Visibility.SHOWN:
                self._find(note, shown=True)
                self.version += 1
        elif note in self._flagged or self.was_withheld(note):
            # Once no rule says ON_REQUEST any more, it must settle as one that its front matter withheld.
            self.version += self._flagged.get(note) is not Level.ON_REQUEST
            self._flagged[note] = Level.ON_REQUEST

    def _withhold(self, note: NoteId, flagged: Level) -> None:
        """Takes that the front matter withholds the note."""
        self.version += self._flagged.get(note) is not flagged
        self._flagged[note] = flagged
        if self._findings.get(note) is Visibility.SHOWN:
            self._find(note, shown=False)

    def _find(self, note: NoteId, *, shown: bool) -> None:
        before = self._findings.get(note, Visibility.WITHHELD)
        self._findings[note] = Visibility.SHOWN if shown else before.withheld()
        self.on_finding(note, shown)
