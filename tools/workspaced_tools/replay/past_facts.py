"""The vault as it was: what the log and the recordings of calls tell of a past moment.

The log is read backwards from that moment, as far as a question needs. Of a note the newest fact counts: a version
that some call read, or the word of the daemon that the file changed; the bytes of a version that was only reported
are looked for in all recordings around. Questions about the vault as a whole are answered as they were answered
last, unless notes are known to have changed since: by an event, or because they were read as something else. What
nobody recorded is `NOT_RECORDED`, never a guess.

At the moment of a recorded call what that call asked is answered as it was answered to it.
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
from ..ports.questions import IndexState, NoteCount, Question, Resolve
from ..ports.vault import NoteRef
from ..recording.format import Exchange, Kept, RecordedFailure, RecordedNote
from .call_replay import Answers, Key, answer_of, key_of, raise_or_give
from .recorded_reads import RECORDINGS_BYTES_MAX, RECORDINGS_READ_MAX, Reach, Recalled, Recordings

SCAN_AHEAD_EVENTS_MAX: Final = 20_000
"""How far ahead the bytes of a version are looked for that was only reported."""
FURTHER_BACK: Final = "A question looks no further back; ask about a moment near to when the note was read."
_COARSE_CLOCK_NS: Final = 10_000_000
"""How far the time of a file's change may lie before the present."""


class Reported(msgspec.Struct, frozen=True):
    """A version that the daemon saw and nobody read."""

    size: int
    mtime_ns: int
    sha256: str | None

    def is_of(self, kept: RecordedNote) -> bool:
        """Whether it is that very file. The same bytes written anew may be of another age."""
        if self.sha256 is not None and self.sha256 != kept.sha256:
            return False
        return (self.size, self.mtime_ns) == (kept.stat.size, kept.stat.mtime_ns)


Fact = Kept | Reported | None
"""What is known of a note; None: that nothing before is true of it any more."""
_GONE: Final = "There is no such note."


class NotAsked(Exception):
    """The call whose moment it is did not ask that; or it is the moment of none."""


class Past:
    """What is known of one vault at one moment. For one thread at a time.

    It looks back until it has read RECORDINGS_READ_MAX recordings or RECORDINGS_BYTES_MAX of them, or looked at
    SCAN_EVENTS_MAX events; what is not found then is not recorded.
    """

    def __init__(self, events: PastEvents, recordings: Recordings, vault: VaultId, moment: Moment) -> None:
        self._events = events
        self._recordings = recordings
        self._vault = vault
        self._moment = moment
        self._older = backwards(events, vault, moment, self._end)
        self._reach = Reach(RECORDINGS_READ_MAX, RECORDINGS_BYTES_MAX)
        self._end_time: str | None = None
        """How far back it was looked, where the log goes on before."""
        self._taken: set[str] = set()
        """The recordings taken in since the last change."""
        self._own: Answers | None = self._answers_of(moment.call) if moment.call else None
        self._facts: dict[NoteId, Fact] = {}
        """The newest fact about a note, by the name it has at the moment."""
        self._missing: dict[NoteId, int] = {}
        """Of those the notes that were looked for and not there, numbered."""
        self._titles: dict[NoteId, str] = {}
        """What notes were called of which there was no newer fact."""
        self._seen: dict[NoteId, list[tuple[Event, RecordedNote]]] = {}
        """All versions that were read, and the calls that did, the newest first."""
        self._ahead: dict[NoteId, list[RecordedNote]] | None = None
        """What was read after the moment."""
        self._asked: dict[Key, Exchange] = {}
        self._fresh: dict[Key, int] = {}
        """Questions answered after the last change that is known of, and how many notes were known to be missing
        by what was found later."""
        self._names: dict[NoteId, NoteId | None] = {}
        """What a note of an earlier moment is called at the moment; None: gone."""
        self._moved = False
        self._recounted = False
        """Whether notes came or went."""
        self._written_ns = 0
        """When the file was last written that was written last of those read."""

    def own(self, question: Question[Any]) -> Any:
        """What the call whose moment this is was answered.

        Raises:
            NotAsked.
            WorkspacedError: what it was refused with.
        """
        if self._own is None or not self._own.has(question):
            raise NotAsked
        return self._own.to(question)

    def version(self, note: NoteId) -> Note | NoteFailure:
        """The version that the note had.

        Raises:
            NotRecorded: nobody kept it.
        """
        while note not in self._facts and self._look_back():
            pass
        fact = self._facts.get(note)
        if isinstance(fact, Reported):
            fact = self._bytes_of(note, fact)
        if isinstance(fact, RecordedNote):
            return self._recordings.notes.note(replace(fact, id=note))
        if isinstance(fact, RecordedFailure):
            return NoteFailure(note, fact.code, fact.message)
        raise self._not_recorded(f"No version of {note} at that moment is recorded")

    def title(self, note: NoteId) -> str | None:
        """What the note was called; None where it did not exist.

        Raises:
            NotRecorded: nobody asked.
        """
        while note not in self._facts and note not in self._titles and self._look_back():
            pass
        if note in self._titles:
            return self._titles[note]
        found = self.version(note)
        return found.title if isinstance(found, Note) else None

    def other_version(self, note: NoteId, sha256: str) -> VersionAt:
        """The version read last whose file had another sha256.

        Raises:
            NotRecorded: there is none.
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
        """The last answer to the same question.

        Raises:
            NotRecorded: nobody asked it, or not since notes changed.
        """
        key = key_of(question)
        while key not in self._asked and not self._moved and self._look_back():
            pass
        if key not in self._fresh:
            raise self.nobody_asked(question)
        answer = answer_of(self._asked[key], self._recordings.notes)
        if self._names_missing(answer, self._fresh[key]):
            raise self.nobody_asked(question)
        return raise_or_give(answer)

    def nobody_asked(self, question: Question[Any]) -> NotRecorded:
        """The failure of a question that no call asked; the same where one did and its answer may not be shown."""
        while not self._moved and self._look_back():
            pass
        what = "that reference meant" if isinstance(question, Resolve) else f"{question.name} answered"
        return self._not_recorded(f"What {what} at that moment is not recorded")

    def _not_recorded(self, message: str) -> NotRecorded:
        if self._end_time is None:
            return NotRecorded(message, hint=SWITCHED_ON)
        return NotRecorded(f"{message} as far back as {self._end_time}", hint=FURTHER_BACK)

    def note_count(self) -> int | None:
        """How many notes there were; None where that is not known."""
        key = key_of(NoteCount())
        while key not in self._asked and not self._recounted and self._look_back():
            pass
        return answer_of(self._asked[key], self._recordings.notes) if key in self._asked else None

    def index_state(self) -> str:
        """What was said last of the index; `ready` where nothing was, since nothing of the past waits for it."""
        key = key_of(IndexState())
        while key not in self._asked and not self._moved and self._look_back():
            pass
        return str(answer_of(self._asked[key], self._recordings.notes)) if key in self._asked else "ready"

    def name_at(self, note: NoteId, seq: int) -> NoteId:
        """What the note called `note` at this moment was called at the earlier `seq`."""
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
        recalled = self._recordings.of(called)
        try:
            return Answers(recalled.recording.asked, self._recordings.notes) if recalled is not None else None
        except (LogDamaged, NotRecorded):  # texts of it are not kept any more
            return None

    def _end(self, event: Event) -> None:
        """This event is the last one that is looked at."""
        self._end_time = event.time

    def _look_back(self) -> bool:
        """Takes in one more event; False where there is none."""
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
        # What read the same as a later call, and nothing changed in between, tells nothing new.
        if called.inputs_sha256 is None or called.inputs_sha256 in self._taken:
            return
        self._taken.add(called.inputs_sha256)
        recalled = self._recordings.of(called, self._reach)
        if recalled is not None:
            self._take(event, called, recalled)
        if self._reach.is_spent:
            self._end(event)
            self._older = iter(())

    def _rename(self, old: NoteId, new: NoteId) -> None:
        if old != new:
            self._know(old, None)  # so that nobody looks for it further back
            self._names[old] = self._name(new)
            self._names[new] = None

    def _take(self, event: Event, called: ToolCalled, recalled: Recalled) -> None:
        """Takes in a call: first what contradicts what is known of later, then its answers, then its notes."""
        for kept in recalled.kept:
            self._compare(kept)
        fresh = not self._moved and event_time(self._written_ns + _COARSE_CLOCK_NS) < called.now
        for key, exchange in recalled.answers:
            if key in self._asked:
                continue
            if exchange.ask != NoteCount.name or not self._recounted:
                self._asked[key] = exchange
            if fresh:
                self._fresh[key] = len(self._missing)
        for kept in recalled.kept:
            self._know(kept.id, kept)
            if isinstance(kept, RecordedNote):
                self._written_ns = max(self._written_ns, kept.stat.ctime_ns)
                if (note := self._name(kept.id)) is not None:
                    self._seen.setdefault(note, []).append((event, kept))
        for note, ref in recalled.names:
            self._take_name(note, ref)

    def _compare(self, kept: RecordedNote | RecordedFailure) -> None:
        """Notes changed, if this one was read as something else later."""
        note = self._name(kept.id)
        later = self._facts.get(note) if note is not None else None
        if isinstance(later, RecordedNote | RecordedFailure):
            self._recounted |= type(kept) is not type(later)
            self._moved |= _stat(kept) != _stat(later)

    def _names_missing(self, answer: Any, missing: int) -> bool:
        """Whether it names one of the first `missing` notes that were not there when they were looked for later.
        No note was renamed between."""
        return missing > 0 and any(self._missing.get(note, missing) < missing for note in named_in(answer))

    def _take_name(self, note: NoteId, ref: NoteRef | None) -> None:
        now = self._name(note)
        if ref is None:
            self._know(note, RecordedFailure(note, NoteNotFound.code, _GONE))
        elif now == note and now not in self._facts:  # renamed it might be called by its new file name
            self._titles.setdefault(now, ref.title)

    def _know(self, called: NoteId, fact: Fact) -> None:
        """Notes a fact about the note of that name then, where no newer one is known."""
        note = self._name(called)
        if note is None or note in self._facts:
            return
        unread = isinstance(fact, RecordedFailure) and fact.code == ReadFailed.code
        self._facts[note] = None if unread else fact  # what failed once may not fail again
        if isinstance(fact, RecordedFailure) and not unread:
            self._missing[note] = len(self._missing)

    def _name(self, note: NoteId) -> NoteId | None:
        return self._names.get(note, note)

    def _bytes_of(self, note: NoteId, reported: Reported) -> RecordedNote | None:
        """The version that was reported, as some call read it before or after."""
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
        reach = Reach(RECORDINGS_READ_MAX, RECORDINGS_BYTES_MAX)
        taken: set[str] = set()
        for event in islice(self._events.after(self._moment.seq), SCAN_AHEAD_EVENTS_MAX):
            called = event.data
            if event.vault != self._vault or not isinstance(called, ToolCalled) or called.inputs_sha256 in taken:
                continue
            taken.add(called.inputs_sha256 or "")
            recalled = self._recordings.of(called, reach)
            for kept in recalled.kept if recalled is not None else ():
                if isinstance(kept, RecordedNote):
                    found.setdefault(kept.id, []).append(kept)
            if reach.is_spent:
                break
        return found


def named_in(answer: Any) -> Iterator[NoteId]:
    """The ids in an answer: a `NoteRef` has one, wherever it stands."""
    if isinstance(answer, NoteRef):
        yield answer.id
    elif isinstance(answer, msgspec.Struct):
        answer = msgspec.structs.astuple(answer)
    if isinstance(answer, list | tuple):
        for each in answer:
            yield from named_in(each)


def _stat(kept: RecordedNote | RecordedFailure) -> StatKey | None:
    return kept.stat if isinstance(kept, RecordedNote) else None
