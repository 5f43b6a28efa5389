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

from workspaced_events import catalogue as c
from workspaced_events.catalogue import Event, ToolCalled
from workspaced_events.clock import event_time
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.moments import Moment

from .backwards import SCAN_EVENTS_MAX, PastEvents, backwards
from .errors import NoteNotFound, NotRecorded, ReadFailed
from .recording import Exchange, Kept, KeptFailure, KeptName, KeptNote, Recording, question_json
from .replaying import Answers, Blob, Notes, answer_of, raise_or_give, read_recording
from .vault.note import Note, NoteFailure, StatKey
from .view import SWITCHED_ON, NoteRef, Resolution, VersionAt

_READ_LIST: Final = msgspec.json.Decoder(list[Kept])
_NAMES: Final = msgspec.json.Decoder(list[NoteRef | None])
_ASKED_NAMES: Final = msgspec.json.Decoder(tuple[list[NoteId]])
SCAN_AHEAD_EVENTS_MAX: Final = 20_000
"""How far ahead the bytes of a version are looked for that was only reported."""
_RECORDINGS_MAX: Final = 500
_ASKED_REFERENCE: Final = msgspec.json.Decoder(tuple[str])
_RESOLUTION: Final = msgspec.json.Decoder(Resolution)
_COARSE_CLOCK_NS: Final = 10_000_000
"""How far the time of a file's change may lie before the present."""


class Reported(msgspec.Struct, frozen=True):
    """A version that the daemon saw and nobody read."""

    size: int
    mtime_ns: int
    sha256: str | None

    def is_of(self, kept: KeptNote) -> bool:
        """Whether it is that very file. The same bytes written anew may be of another age."""
        if self.sha256 is not None and self.sha256 != kept.sha256:
            return False
        return (self.size, self.mtime_ns) == (kept.stat.size, kept.stat.mtime_ns)


Fact = Kept | Reported | None
"""What is known of a note; None: that nothing before is true of it any more."""
_GONE: Final = "There is no such note."


class Recordings:
    """What calls read, out of the blobs that `tool_called` events name. Bounded; shared between moments."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._known: dict[str, Recording | None] = {}
        self.notes = Notes(blob)

    def of(self, called: ToolCalled) -> Recording | None:
        """What a call read of the vault; None where that is not kept, or was shown in part."""
        name = called.inputs_sha256
        if name is None:
            return None
        if name not in self._known:
            if len(self._known) >= _RECORDINGS_MAX:
                self._known.clear()
            self._known[name] = self._read(name)
        return self._known[name]

    def _read(self, name: str) -> Recording | None:
        content = self._blob(name)
        try:
            recording = read_recording(content, name) if content is not None else None
        except (LogDamaged, NotRecorded):
            return None
        return recording if recording is not None and recording.level == "all" and recording.served else None


class NotAsked(Exception):
    """The call whose moment it is did not ask that; or it is the moment of none."""


class Past:
    """What is known of one vault at one moment. For one thread at a time."""

    def __init__(self, events: PastEvents, recordings: Recordings, vault: VaultId, moment: Moment) -> None:
        self._events = events
        self._recordings = recordings
        self._vault = vault
        self._moment = moment
        self._older = backwards(events, vault, moment)
        self._own: Answers | None = self._answers_of(moment.call) if moment.call else None
        self._facts: dict[NoteId, Fact] = {}
        """The newest fact about a note, by the name it has at the moment."""
        self._missing: set[NoteId] = set()
        """Of those the notes that were looked for and not there."""
        self._titles: dict[NoteId, str] = {}
        """What notes were called of which there was no newer fact."""
        self._seen: dict[NoteId, list[tuple[Event, KeptNote]]] = {}
        """All versions that were read, and the calls that did, the newest first."""
        self._ahead: dict[NoteId, list[KeptNote]] | None = None
        """What was read after the moment."""
        self._asked: dict[tuple[str, bytes], Exchange] = {}
        self._fresh: set[tuple[str, bytes]] = set()
        """Questions answered after the last change that is known of."""
        self._names: dict[NoteId, NoteId | None] = {}
        """What a note of an earlier moment is called at the moment; None: gone."""
        self._moved = False
        self._recounted = False
        """Whether notes came or went."""
        self._written_ns = 0
        """When the file was last written that was written last of those read."""

    def own(self, ask: str, *question: Any) -> Any:
        """What the call whose moment this is was answered.

        Raises:
            NotAsked.
            WorkspacedError: what it was refused with.
        """
        if self._own is None or not self._own.has(ask, *question):
            raise NotAsked
        return self._own.to(ask, *question)

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
        if isinstance(fact, KeptNote):
            return self._recordings.notes.note(replace(fact, id=note))
        if isinstance(fact, KeptFailure):
            return NoteFailure(note, fact.code, fact.message)
        raise NotRecorded(f"No version of {note} at that moment is recorded", hint=SWITCHED_ON)

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
                raise NotRecorded(f"No other version of {note} is recorded", hint=SWITCHED_ON)

    def answer(self, ask: str, *question: Any) -> Any:
        """What the same question was answered last.

        Raises:
            NotRecorded: nobody asked it, or not since notes changed.
        """
        key = (ask, question_json(question))
        while key not in self._asked and not self._moved and self._look_back():
            pass
        if key not in self._fresh:
            raise not_recorded(ask)
        return raise_or_give(answer_of(self._asked[key], self._recordings.notes))

    def note_count(self) -> int | None:
        """How many notes there were; None where that is not known."""
        key = ("note_count", question_json(()))
        while key not in self._asked and not self._recounted and self._look_back():
            pass
        return answer_of(self._asked[key], self._recordings.notes) if key in self._asked else None

    def index_state(self) -> str:
        """What was said last of the index; `ready` where nothing was, since nothing of the past waits for it."""
        key = ("index_state", question_json(()))
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
        recording = self._recordings.of(called)
        try:
            return Answers(recording.asked, self._recordings.notes) if recording is not None else None
        except (LogDamaged, NotRecorded):  # texts of it are not kept any more
            return None

    def _look_back(self) -> bool:
        """Takes in one more event; False where there is none."""
        event = next(self._older, None)
        if event is None:
            return False
        data = event.data
        if isinstance(data, ToolCalled):
            if (recording := self._recordings.of(data)) is not None:
                self._take(event, data, recording)
            return True
        self._moved = True
        if isinstance(data, c.NoteRenamed):
            self._rename(data.from_, data.to)
        elif isinstance(data, c.NoteDeleted):
            self._know(data.note, None)
        elif isinstance(data, c.NoteFile):
            self._know(data.note, Reported(data.size, int(data.mtime_ns), data.sha256))
        self._recounted |= isinstance(data, c.NoteRenamed | c.NoteDeleted | c.NoteCreated)
        return True

    def _rename(self, old: NoteId, new: NoteId) -> None:
        if old != new:
            self._know(old, None)  # so that nobody looks for it further back
            self._names[old] = self._name(new)
            self._names[new] = None

    def _take(self, event: Event, called: ToolCalled, recording: Recording) -> None:
        """Takes in a call: first what contradicts what is known of later, then its answers, then its notes."""
        found = [kept for kept in _read_by(recording) if not isinstance(kept, KeptName)]
        for kept in found:
            self._compare(kept)
        fresh = not self._moved and event_time(self._written_ns + _COARSE_CLOCK_NS) < called.now
        for exchange in reversed(recording.asked):
            key = (exchange.ask, bytes(exchange.question))
            if exchange.ask == "read" or key in self._asked or _is_accident(exchange):
                continue
            if exchange.ask != "note_count" or not self._recounted:
                self._asked[key] = exchange
            if fresh and not self._names_missing(exchange):
                self._fresh.add(key)
        for kept in found:
            self._know(kept.id, kept)
            if isinstance(kept, KeptNote):
                self._written_ns = max(self._written_ns, kept.stat.ctime_ns)
                if (note := self._name(kept.id)) is not None:
                    self._seen.setdefault(note, []).append((event, kept))
        self._take_names(recording)

    def _compare(self, kept: KeptNote | KeptFailure) -> None:
        """Notes changed, if this one was read as something else later."""
        note = self._name(kept.id)
        later = self._facts.get(note) if note is not None else None
        if isinstance(later, KeptNote | KeptFailure):
            self._recounted |= type(kept) is not type(later)
            self._moved |= _stat(kept) != _stat(later)

    def _names_missing(self, exchange: Exchange) -> bool:
        """Whether the answer names a note that was not there any more when it was looked for later."""
        if not self._missing:
            return False
        return any(
            self._name(note) in self._missing for note in named_in(answer_of(exchange, self._recordings.notes))
        )

    def _take_names(self, recording: Recording) -> None:
        for exchange in recording.asked:
            if exchange.raised is not None:
                continue
            if exchange.ask == "names":
                [asked] = _ASKED_NAMES.decode(exchange.question)
                for note, ref in zip(asked, _NAMES.decode(exchange.answer), strict=True):
                    self._take_name(note, ref)
            elif exchange.ask == "resolve":
                [reference] = _ASKED_REFERENCE.decode(exchange.question)
                found = _RESOLUTION.decode(exchange.answer)
                if found.note is None and not found.candidates:
                    self._take_name(NoteId(reference), None)

    def _take_name(self, note: NoteId, ref: NoteRef | None) -> None:
        now = self._name(note)
        if ref is None:
            self._know(note, KeptFailure(note, NoteNotFound.code, _GONE))
        elif now == note and now not in self._facts:  # renamed it might be called by its new file name
            self._titles.setdefault(now, ref.title)

    def _know(self, called: NoteId, fact: Fact) -> None:
        """Notes a fact about the note of that name then, where no newer one is known."""
        note = self._name(called)
        if note is None or note in self._facts:
            return
        unread = isinstance(fact, KeptFailure) and fact.code == ReadFailed.code
        self._facts[note] = None if unread else fact  # what failed once may not fail again
        if isinstance(fact, KeptFailure) and not unread:
            self._missing.add(note)

    def _name(self, note: NoteId) -> NoteId | None:
        return self._names.get(note, note)

    def _bytes_of(self, note: NoteId, reported: Reported) -> KeptNote | None:
        """The version that was reported, as some call read it before or after."""
        if self._ahead is None:
            self._ahead = {}
            for event in islice(self._events.after(self._moment.seq), SCAN_AHEAD_EVENTS_MAX):
                if event.vault == self._vault and isinstance(event.data, ToolCalled):
                    recording = self._recordings.of(event.data)
                    for kept in _read_by(recording) if recording is not None else ():
                        if isinstance(kept, KeptNote):
                            self._ahead.setdefault(kept.id, []).append(kept)
        for kept in self._ahead.get(note, ()):
            if reported.is_of(kept):
                return kept
        while self._look_back():
            pass
        return next((kept for _event, kept in self._seen.get(note, ()) if reported.is_of(kept)), None)


def named_in(answer: Any) -> Iterator[NoteId]:
    """The ids in an answer: a `NoteRef` has one, wherever it stands."""
    if isinstance(answer, NoteRef):
        yield answer.id
    elif isinstance(answer, msgspec.Struct):
        answer = msgspec.structs.astuple(answer)
    if isinstance(answer, list | tuple):
        for each in answer:
            yield from named_in(each)


def _read_by(recording: Recording) -> Iterator[Kept]:
    """What a call read of notes, the latest first."""
    for exchange in reversed(recording.asked):
        if exchange.ask == "read" and exchange.raised is None:
            yield from _READ_LIST.decode(exchange.answer)


def _stat(kept: KeptNote | KeptFailure) -> StatKey | None:
    return kept.stat if isinstance(kept, KeptNote) else None


def _is_accident(exchange: Exchange) -> bool:
    """Whether the answer says nothing of the vault."""
    return exchange.raised is not None and exchange.raised.type in ("Exception", ReadFailed.__name__)


def not_recorded(ask: str) -> NotRecorded:
    """The failure where nobody kept what a port answered to `ask`."""
    what = "that reference meant" if ask == "resolve" else f"{ask} answered"
    return NotRecorded(f"What {what} at that moment is not recorded", hint=SWITCHED_ON)
