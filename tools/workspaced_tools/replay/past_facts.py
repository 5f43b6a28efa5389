"""The vault at a past moment, reconstructed from the log and the recordings of calls.

`Past` reads the log backwards from the moment, as far as a question needs.

- For a note, the newest fact before the moment counts: a version that a call read, or an event that the file
  changed. Such an event has no bytes, so they are searched in recordings before and after the moment.
- For a question about the whole vault, the last recorded answer counts, unless notes changed after it. A change is
  known from an event, or from a later call that read another version.
- At the moment of a recorded call, the questions of that call get its recorded answers.

Where nothing is recorded the answer is `NOT_RECORDED`, never a guess.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import event_time
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.replay.backward_scan import SCAN_EVENTS_MAX, PastEvents, backwards
from workspaced_events.replay.log_cursor import Moment
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event, ToolCalled

from ..errors import NoteNotFound, NotRecorded, ReadFailed
from ..notes.note import Note, NoteFailure, StatKey
from ..ports.history import SWITCHED_ON, VersionAt
from ..ports.questions import IndexState, NoteCount, Question, Resolve, ResolveFrom
from ..ports.vault import NoteRef
from ..recording.format import Exchange, RecordedNote, RecordedRead
from .call_replay import Answers, Key, answer_of, key_of, raise_or_return
from .recorded_reads import RECORDINGS_BYTES_MAX, RECORDINGS_READ_MAX, ReadBudget, RecordedReads, Recordings

SCAN_AHEAD_EVENTS_MAX: Final = 20_000
"""The number of events after the moment that are searched for the bytes of a reported version."""
FURTHER_BACK: Final = "A question looks no further back; ask about a moment near to when the note was read."
_COARSE_CLOCK_NS: Final = 10_000_000
"""File times may be this much earlier than the clock, since the kernel updates their clock in steps."""


class Reported(msgspec.Struct, frozen=True):
    """A version of a file that an event reported, without its bytes."""

    size: int
    mtime_ns: int
    sha256: str | None

    def is_of(self, kept: RecordedNote) -> bool:
        """Whether `kept` is this version. A file written again with the same bytes is another version."""
        if self.sha256 is not None and self.sha256 != kept.sha256:
            return False
        return (self.size, self.mtime_ns) == (kept.stat.size, kept.stat.mtime_ns)


Fact = RecordedRead | Reported | None
"""The newest fact about a note; None: the note changed, and earlier facts do not hold."""
_GONE: Final = "There is no such note."


class NotAsked(Exception):
    """The call at the moment did not ask the question, or there is no call at the moment."""


class Past:
    """The facts about one vault at one moment. For one thread at a time.

    It stops reading backwards after RECORDINGS_READ_MAX recordings, RECORDINGS_BYTES_MAX bytes of recordings or
    SCAN_EVENTS_MAX events. A fact not found within these limits counts as not recorded.
    """

    def __init__(self, events: PastEvents, recordings: Recordings, vault: VaultId, moment: Moment) -> None:
        self._events = events
        self._recordings = recordings
        self._vault = vault
        self._moment = moment
        self._older = backwards(events, vault, moment, self._end)
        self._budget = ReadBudget(RECORDINGS_READ_MAX, RECORDINGS_BYTES_MAX)
        self._end_time: str | None = None
        """The time of the last event read, if a limit stopped the reading."""
        self._taken: set[str] = set()
        """The recordings read since the last change."""
        self._own: Answers | None = self._answers_of(moment.call) if moment.call else None
        self._facts: dict[NoteId, Fact] = {}
        """The newest fact about each note, by the note's path at the moment."""
        self._missing: dict[NoteId, int] = {}
        """The notes of `_facts` that a call found missing, numbered in the order of reading."""
        self._titles: dict[NoteId, str] = {}
        """The titles of notes without a newer fact."""
        self._seen: dict[NoteId, list[tuple[Event, RecordedNote]]] = {}
        """All versions of each note that calls read, with the calls, the newest first."""
        self._ahead: dict[NoteId, list[RecordedNote]] | None = None
        """The versions of each note that calls read after the moment."""
        self._asked: dict[Key, Exchange] = {}
        """The last answer to each question."""
        self._fresh: dict[Key, int] = {}
        """The questions answered after the last known change, each with the size of `_missing` at that time."""
        self._names: dict[NoteId, NoteId | None] = {}
        """Maps a note's path at the earlier moment now being read to its path at the moment; None: gone."""
        self._moved = False
        """Whether the vault changed between the event now being read and the moment."""
        self._recounted = False
        """Whether notes were created, renamed or deleted in that time."""
        self._written_ns = 0
        """The latest change time of the files that calls read."""

    def own(self, question: Question[Any]) -> Any:
        """The recorded answer of the call at the moment.

        Raises:
            NotAsked.
            WorkspacedError: the recorded error.
        """
        if self._own is None or not self._own.has(question):
            raise NotAsked
        return self._own.to(question)

    def version(self, note: NoteId) -> Note | NoteFailure:
        """The version of the note at the moment.

        Raises:
            NotRecorded: the version is not kept.
        """
        while note not in self._facts and self._look_back():
            pass
        fact = self._facts.get(note)
        if isinstance(fact, Reported):
            fact = self._bytes_of(note, fact)
        if isinstance(fact, RecordedNote):
            return self._recordings.notes.note(replace(fact, id=note))
        if isinstance(fact, NoteFailure):
            return replace(fact, id=note)
        raise self._not_recorded(f"No version of {note} at that moment is recorded")

    def title(self, note: NoteId) -> str | None:
        """The title of the note at the moment; None if it did not exist.

        Raises:
            NotRecorded: no call read the note or its name.
        """
        while note not in self._facts and note not in self._titles and self._look_back():
            pass
        if note in self._titles:
            return self._titles[note]
        found = self.version(note)
        return found.title if isinstance(found, Note) else None

    def other_version(self, note: NoteId, sha256: str) -> VersionAt:
        """The last version that a call read whose file has another sha256.

        Raises:
            NotRecorded: no call read such a version.
        """
        looked = 0
        while True:
            seen = self._seen.get(note, [])
            for event, kept in seen[looked:]:
                if kept.sha256 != sha256:
                    return VersionAt(event.seq, event.time, self._recordings.notes.note(replace(kept, id=note)))
            looked = len(seen)
            if not self._look_back():
                raise self._not_recorded(f"No other version of {note} is recorded")

    def answer(self, question: Question[Any]) -> Any:
        """The last recorded answer to the question.

        Raises:
            NotRecorded: no call asked the question, or notes changed after its answer.
        """
        key = key_of(question)
        while key not in self._asked and not self._moved and self._look_back():
            pass
        if key not in self._fresh:
            raise self.nobody_asked(question)
        answer = answer_of(self._asked[key], self._recordings.notes)
        missing = self._fresh[key]
        # A later call found notes missing: an answer that names one is out of date. None was renamed in between.
        if any(self._missing.get(note, missing) < missing for note in named_in(answer)):
            raise self.nobody_asked(question)
        return raise_or_return(answer)

    def nobody_asked(self, question: Question[Any]) -> NotRecorded:
        """The error for a question that no call asked.

        Also used if the recorded answer may not be shown, so that the two cases look alike.
        """
        while not self._moved and self._look_back():
            pass
        is_reference = isinstance(question, Resolve | ResolveFrom)
        what = "that reference meant" if is_reference else f"{question.name} answered"
        return self._not_recorded(f"What {what} at that moment is not recorded")

    def _not_recorded(self, message: str) -> NotRecorded:
        if self._end_time is None:
            return NotRecorded(message, hint=SWITCHED_ON)
        return NotRecorded(f"{message} as far back as {self._end_time}", hint=FURTHER_BACK)

    def note_count(self) -> int | None:
        """The number of notes at the moment; None if unknown."""
        key = key_of(NoteCount())
        while key not in self._asked and not self._recounted and self._look_back():
            pass
        return answer_of(self._asked[key], self._recordings.notes) if key in self._asked else None

    def index_state(self) -> str:
        """The last recorded state of the index; `ready` if none is recorded, since the past needs no index."""
        key = key_of(IndexState())
        while key not in self._asked and not self._moved and self._look_back():
            pass
        return str(answer_of(self._asked[key], self._recordings.notes)) if key in self._asked else "ready"

    def name_at(self, note: NoteId, seq: int) -> NoteId:
        """The path that the note `note` of this moment had at the earlier sequence `seq`."""
        for event in islice(self._events.before(self._moment.seq), SCAN_EVENTS_MAX):
            if event.seq <= seq:
                break
            data = event.data
            if isinstance(data, c.NoteRenamed) and event.vault == self._vault and data.to == note:
                note = data.from_
        return note

    # -- reading backwards --

    def _answers_of(self, seq: int) -> Answers | None:
        called = next(self._events.before(seq)).data
        reads = self._recordings.of(called)
        try:
            return Answers(reads.recording.asked, self._recordings.notes) if reads is not None else None
        except (LogDamaged, NotRecorded):  # its texts are no longer kept
            return None

    def _end(self, event: Event) -> None:
        """Records that a limit stops the reading at this event."""
        self._end_time = event.time

    def _look_back(self) -> bool:
        """Reads the next earlier event; False if there is none."""
        event = next(self._older, None)
        if event is None:
            return False
        data = event.data
        if isinstance(data, ToolCalled):
            self._take_call(event, data)
            return True
        self._moved = True
        self._taken.clear()
        if isinstance(data, c.NoteRenamed):
            self._rename(data.from_, data.to)
        elif isinstance(data, c.NoteDeleted):
            self._know(data.note, None)
        elif isinstance(data, c.NoteFile):
            self._know(data.note, Reported(data.size, int(data.mtime_ns), data.sha256))
        self._recounted |= isinstance(data, c.NoteRenamed | c.NoteDeleted | c.NoteCreated)
        return True

    def _take_call(self, event: Event, called: ToolCalled) -> None:
        # A call with the same recording as a later call adds nothing, unless the vault changed in between.
        if called.inputs_sha256 is None or called.inputs_sha256 in self._taken:
            return
        self._taken.add(called.inputs_sha256)
        reads = self._recordings.of(called, self._budget)
        if reads is not None:
            self._take(event, called, reads)
        if self._budget.is_spent:
            self._end(event)
            self._older = iter(())

    def _rename(self, old: NoteId, new: NoteId) -> None:
        if old != new:
            self._know(old, None)  # no earlier event is about this note
            self._names[old] = self._name(new)
            self._names[new] = None

    def _take(self, event: Event, called: ToolCalled, reads: RecordedReads) -> None:
        """Adds the facts of a call: first contradictions with later facts, then its answers, then its notes."""
        for kept in reads.kept:
            self._compare(kept)
        fresh = not self._moved and event_time(self._written_ns + _COARSE_CLOCK_NS) < called.now
        for key, exchange in reads.answers:
            if key in self._asked:
                continue
            if exchange.ask != NoteCount.name or not self._recounted:
                self._asked[key] = exchange
            if fresh:
                self._fresh[key] = len(self._missing)
        for kept in reads.kept:
            self._know(kept.id, kept)
            if isinstance(kept, RecordedNote):
                self._written_ns = max(self._written_ns, kept.stat.ctime_ns)
                if (note := self._name(kept.id)) is not None:
                    self._seen.setdefault(note, []).append((event, kept))
        for note, ref in reads.names:
            now = self._name(note)
            if ref is None:
                self._know(note, NoteFailure(note, NoteNotFound.code, _GONE))
            elif now == note and now not in self._facts:  # a rename may have changed the title
                self._titles.setdefault(now, ref.title)

    def _compare(self, kept: RecordedNote | NoteFailure) -> None:
        """Detects that the vault changed, from a later call that read another version of the note."""
        note = self._name(kept.id)
        later = self._facts.get(note) if note is not None else None
        if isinstance(later, RecordedNote | NoteFailure):
            self._recounted |= type(kept) is not type(later)
            self._moved |= _stat(kept) != _stat(later)

    def _know(self, called: NoteId, fact: Fact) -> None:
        """Adds a fact about the note with that earlier path, unless a newer fact is known."""
        note = self._name(called)
        if note is None or note in self._facts:
            return
        unread = isinstance(fact, NoteFailure) and fact.code == ReadFailed.code
        self._facts[note] = None if unread else fact  # a failed read does not say what the file was
        if isinstance(fact, NoteFailure) and not unread:
            self._missing[note] = len(self._missing)

    def _name(self, note: NoteId) -> NoteId | None:
        return self._names.get(note, note)

    def _bytes_of(self, note: NoteId, reported: Reported) -> RecordedNote | None:
        """The reported version with its bytes, if a call read it before or after the moment."""
        if self._ahead is None:
            self._ahead = self._look_ahead()
        for kept in self._ahead.get(note, ()):
            if reported.is_of(kept):
                return kept
        while self._look_back():
            pass
        return next((kept for _event, kept in self._seen.get(note, ()) if reported.is_of(kept)), None)

    def _look_ahead(self) -> dict[NoteId, list[RecordedNote]]:
        found: dict[NoteId, list[RecordedNote]] = {}
        budget = ReadBudget(RECORDINGS_READ_MAX, RECORDINGS_BYTES_MAX)
        taken: set[str] = set()
        for event in islice(self._events.after(self._moment.seq), SCAN_AHEAD_EVENTS_MAX):
            called = event.data
            if event.vault != self._vault or not isinstance(called, ToolCalled) or called.inputs_sha256 in taken:
                continue
            taken.add(called.inputs_sha256 or "")
            reads = self._recordings.of(called, budget)
            for kept in reads.kept if reads is not None else ():
                if isinstance(kept, RecordedNote):
                    found.setdefault(kept.id, []).append(kept)
            if budget.is_spent:
                break
        return found


def named_in(answer: Any) -> Iterator[NoteId]:
    """The ids of all `NoteRef`s in an answer."""
    if isinstance(answer, NoteRef):
        yield answer.id
    elif isinstance(answer, msgspec.Struct):
        answer = msgspec.structs.astuple(answer)
    if isinstance(answer, list | tuple):
        for each in answer:
            yield from named_in(each)


def _stat(kept: RecordedNote | NoteFailure) -> StatKey | None:
    return kept.stat if isinstance(kept, RecordedNote) else None
