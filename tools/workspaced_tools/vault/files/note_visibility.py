"""`NoteVisibility`: decides which notes one audience may be shown, by their front matter and recorded findings.

Ignore rules are checked separately (see ignore_rules). Every read of a note's version updates the decision:

- A note whose front matter withholds it is withheld from that moment on.
- A note that was withheld or never seen before is shown once our own clock has seen the same version of its file
  for SETTLE_S, an empty file for SETTLE_EMPTY_S: until then an editor may be saving it in parts. A note seen for
  the first time whose file is older than that is shown at once.
- The finding about a note that the log names is recorded, and counts when the file is gone. A note that is gone
  and has no recorded finding is withheld.
- A note that was shown and whose file is missing may have moved to a place where it is withheld. It is withheld
  until a crawl of the whole vault that began afterwards has ended.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from workspaced_events.ids import NoteId
from workspaced_events.projections.note_visibility import Visibility, renamed

from ...limits import SETTLE_EMPTY_S, SETTLE_S
from ...notes.note import StatKey


class _Held(NamedTuple):
    """A version that an editor may still be writing."""

    stat: StatKey
    since_s: float

    @property
    def due_s(self) -> float:
        return self.since_s + settle_s(self.stat)


def settle_s(stat: StatKey) -> float:
    """Seconds for which a version must stay unchanged before a withheld note is shown."""
    return SETTLE_S if stat.size else SETTLE_EMPTY_S


class NoteVisibility:
    """One for each vault. Safe from any thread."""

    def __init__(
        self,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock_ns` is the wall clock, for comparison with file times; `clock_s` our own, which only goes
        forward."""
        self.version = 0
        """Changes whenever the set of withheld notes may have changed."""
        self.on_finding: Callable[[NoteId, bool], object] = lambda _note, _shown: None
        """Called with each finding about a note that the log names: whether the note may be shown."""
        self.on_unsettled: Callable[[], object] = lambda: None
        """Called when a note must be checked again; `due_s` says when."""
        self._clock_ns = clock_ns
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._private: set[NoteId] = set()
        """Notes withheld by their front matter when last read, even if they are gone."""
        self._held: dict[NoteId, _Held] = {}
        self._findings: dict[NoteId, Visibility] = {}
        self._missing: dict[NoteId, float] = {}
        """Notes that were shown and are missing, since when; no crawl has looked for them yet."""
        self._gone: set[NoteId] = set()
        """Missing notes that a crawl did not find."""

    # -- queries --

    def is_hidden(self, note: NoteId) -> bool:
        """Whether an existing or missing note may not be shown at present. No I/O."""
        return note in self._private or note in self._held or note in self._missing

    def finding(self, note: NoteId) -> Visibility | None:
        """The last finding about a note that the log names; None: not checked yet."""
        return self._findings.get(note)

    def was_withheld(self, note: NoteId) -> bool:
        """Whether the last finding about the note withholds it."""
        return self._findings.get(note) in (Visibility.WITHHELD, Visibility.WITHDRAWN)

    def is_private(self, note: NoteId) -> bool:
        """Whether the note's front matter withheld it when last read."""
        return note in self._private

    @property
    def private(self) -> frozenset[NoteId]:
        """The notes that their front matter withheld when last read."""
        return frozenset(self._private)

    @property
    def hides_some(self) -> bool:
        """Whether any note is withheld, or was before it was deleted."""
        return bool(self._private or self._held or self._missing)

    @property
    def held(self) -> list[NoteId]:
        """The notes whose present version an editor may still be writing."""
        return list(self._held)

    @property
    def gone(self) -> list[NoteId]:
        """The notes that could be shown when they were last there, and that a crawl did not find."""
        return [note for note in self._gone if self._findings.get(note) is Visibility.SHOWN]

    @property
    def wants_search(self) -> bool:
        """Whether notes are missing that only a crawl of the vault can find."""
        return bool(self._missing)

    def settles_in_s(self, note: NoteId) -> float | None:
        """After how many seconds a note that seems new may be shown; None: it does not wait for that.

        A note that was withheld before does not: who waits for it would learn that there is one.
        """
        was_withheld = note in self._private or self.was_withheld(note)
        held = self._held.get(note) if not was_withheld else None
        return max(held.due_s - self._clock_s(), 0.0) if held is not None else None

    def due_s(self) -> float | None:
        """When, by our own clock, a note must be checked again; None: never."""
        if self._missing:
            return self._clock_s()
        with self._lock:
            return min((each.due_s for each in self._held.values()), default=None)

    # -- updates --

    def saw(
        self,
        note: NoteId,
        stat: StatKey,
        *,
        private: bool,
        was_shown: Callable[[NoteId], bool] = lambda _note: False,
    ) -> bool:
        """Takes a version of a note; returns whether it may be shown.

        Args:
            private: whether the front matter withholds the note.
            was_shown: whether the note existed before and could be shown; called only for young files.
        """
        is_known = self.is_hidden(note) or note in self._gone
        if not private and not is_known and self._may_show_at_once(note, stat, was_shown):
            return True
        with self._lock:
            if private:
                self._hide(note)
                return False
            if self._may_show_at_once(note, stat, was_shown) or self._is_settled(note, stat):
                self._show(note)
                return True
            held = self._held.get(note)
            if held is not None and held.stat == stat:
                return False
            self._held[note] = _Held(stat, self._clock_s())
            self.version += 1
        self.on_unsettled()
        return False

    def looked_at(self, note: NoteId) -> None:
        """Records the finding about a note that the log names, after `saw` took its present version."""
        with self._lock:
            if note not in self._held and note not in self._findings:
                self._find(note, shown=note not in self._private)

    def let_go(self, note: NoteId) -> None:
        """Stops waiting for the note's version, because rules withhold the note or it does not exist."""
        if note in self._held:
            with self._lock:
                self.version += self._held.pop(note, None) is not None

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
            renamed(self._findings, old, new)
            for known in (self._missing, self._held):
                known.pop(old, None)
            self._gone.discard(old)
            self._gone.discard(new)
            self.version += 1

    def remember(self, findings: Mapping[NoteId, Visibility]) -> None:
        """Takes the findings in the log; must be called before any other update."""
        self._findings = dict(findings)
        self.version += 1

    def show(self, note: NoteId) -> None:
        """Takes that the note may be shown, whatever was found before."""
        with self._lock:
            self._show(note)

    def trust(self, notes: Collection[NoteId]) -> None:
        """Takes that a former index showed these notes to this audience, whatever the findings say."""
        with self._lock:
            for note in notes:
                if self._findings.get(note) is not Visibility.SHOWN:
                    self._findings.pop(note, None)

    def remember_private(self, notes: Collection[NoteId]) -> None:
        """Takes the private notes of a former index, those that are gone included."""
        with self._lock:
            self._private.update(notes)
            self.version += 1

    # -- helpers --

    def _may_show_at_once(self, note: NoteId, stat: StatKey, was_shown: Callable[[NoteId], bool]) -> bool:
        if note in self._private:
            return False
        finding = self._findings.get(note)
        if finding is not None:
            return finding is Visibility.SHOWN and note not in self._missing
        age_ns = self._clock_ns() - stat.ctime_ns
        return age_ns >= settle_s(stat) * 1e9 or (note not in self._held and was_shown(note))

    def _is_settled(self, note: NoteId, stat: StatKey) -> bool:
        held = self._held.get(note)
        if note in self._missing and self._findings.get(note) is Visibility.SHOWN and note not in self._private:
            return True  # it is back
        return held is not None and held.stat == stat and self._clock_s() >= held.due_s

    def _hide(self, note: NoteId) -> None:
        self._held.pop(note, None)
        self._missing.pop(note, None)
        self._gone.discard(note)
        if note not in self._private:
            self._private.add(note)
            self.version += 1
        if self._findings.get(note) is Visibility.SHOWN:
            self._find(note, shown=False)

    def _show(self, note: NoteId) -> None:
        was_hidden = self.is_hidden(note)
        self._private.discard(note)
        self._held.pop(note, None)
        self._missing.pop(note, None)
        self._gone.discard(note)
        if (finding := self._findings.get(note)) is not None and finding is not Visibility.SHOWN:
            self._find(note, shown=True)
            was_hidden = True
        self.version += was_hidden

    def _find(self, note: NoteId, *, shown: bool) -> None:
        before = self._findings.get(note, Visibility.WITHHELD)
        self._findings[note] = Visibility.SHOWN if shown else before.withheld()
        self.on_finding(note, shown)
