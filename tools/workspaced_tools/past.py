"""The vault as it was: what the log and the recordings of calls tell of a past moment.

The log is read backwards from that moment, as far as a question needs. Of a note the newest fact counts: a version
that some call read, or the word of the daemon that the file changed; the bytes of a version that was only reported
are looked for in all recordings around. Questions about the vault as a whole are answered as they were answered
last, unless notes are known to have changed since. What nobody recorded is `NOT_RECORDED`, never a guess.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace

from workspaced_events import catalogue as c
from workspaced_events.catalogue import Event, ToolCalled
from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.moments import Moment
from workspaced_events.state import VaultState

from .errors import ArgumentInvalid, NoteNotFound, NotRecorded
from .recording import Exchange, Kept, KeptFailure, KeptName, KeptNote, Recording, question_json
from .replaying import Blob, Notes, answer_of, raise_or_give, read_recording
from .vault.note import Note, NoteFailure
from .view import (
    SWITCHED_ON,
    Found,
    Incoming,
    LinkName,
    LinkTarget,
    NoteRef,
    Overview,
    Resolution,
    Search,
    SimilarNote,
    TaggedNote,
    VersionAt,
)

SCAN_EVENTS_MAX: Final = 200_000
"""How far back a question about the past looks."""
SCAN_AHEAD_EVENTS_MAX: Final = 20_000
"""How far ahead it looks for calls made by the moment and recorded after it, and for the bytes of a version that
is known by name."""
_MOVES: Final = (c.NoteFile, c.NoteRenamed, c.NoteDeleted, c.NoteArchived, c.NoteUnarchived)
_READ_LIST: Final = msgspec.json.Decoder(list[Kept])


class PastEvents(Protocol):
    """The events of a log around a moment. Safe from any thread; may block."""

    @property
    def tail(self) -> int:
        """The last sequence there is."""
        ...

    def before(self, seq: int) -> Iterator[Event]:
        """The events from `seq` on back, newest first."""
        ...

    def after(self, seq: int) -> Iterator[Event]:
        """The events after `seq`, oldest first."""
        ...

    def moment(self, at: int | str) -> Moment:
        """The moment that a sequence or an ISO 8601 time names.

        Raises:
            InvalidArgument: none of this log.
        """
        ...


class Reported(msgspec.Struct, frozen=True):
    """A version that the daemon saw and nobody read."""

    seq: int
    size: int
    mtime_ns: int
    sha256: str | None

    def is_of(self, kept: KeptNote) -> bool:
        if self.sha256 is not None:
            return self.sha256 == kept.sha256
        return (self.size, self.mtime_ns) == (kept.stat.size, kept.stat.mtime_ns)


class Recordings:
    """What calls read, out of the blobs that `tool_called` events name. Bounded; shared between moments."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._known: dict[str, Recording | None] = {}
        self.notes = Notes(blob)

    def of(self, called: ToolCalled) -> Recording | None:
        """What a call read of the vault at its own present; None where that is not kept, or was shown in part."""
        name = called.inputs_sha256
        if name is None or "at" in called.arguments:
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


_RECORDINGS_MAX: Final = 500


class Past:
    """What is known of one vault at one moment."""

    def __init__(self, events: PastEvents, recordings: Recordings, vault: VaultId, moment: Moment) -> None:
        self._moment = moment
        self._vault = vault
        # A call is recorded some events after it was made.
        self._older = islice(events.before(min(moment.seq + SCAN_AHEAD_EVENTS_MAX, events.tail)), SCAN_EVENTS_MAX)
        self._events = events
        self._recordings = recordings
        self._facts: dict[NoteId, Kept | Reported] = {}
        """The newest fact about a note, by the name it has at the moment."""
        self._seen: dict[NoteId, list[tuple[Event, KeptNote]]] = {}
        """All versions that were read, and the calls that did, the newest first."""
        self._answers: dict[tuple[str, bytes], Exchange] = {}
        self._fresh: set[tuple[str, bytes]] = set()
        """Questions answered after the last change that is known of."""
        self._names: dict[NoteId, NoteId | None] = {}
        """What a note of an earlier moment is called at the moment; None: gone."""
        self._moved = False

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

    def answer(self, ask: str, *question: Any, lasting: bool = False) -> Any:
        """What the same question was answered last; `lasting`: even where notes changed since.

        Raises:
            NotRecorded: nobody asked it, or not since notes changed.
        """
        key = (ask, question_json(question))
        while key not in self._answers and not (self._moved and not lasting) and self._look_back():
            pass
        exchange = self._answers.get(key)
        if exchange is None or not (lasting or key in self._fresh):
            raise NotRecorded(f"What {ask} answered at that moment is not recorded", hint=SWITCHED_ON)
        return raise_or_give(answer_of(exchange, self._recordings.notes))

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

    def _was_made(self, called: ToolCalled) -> bool:
        """Whether the call was made by the moment."""
        return called.tail <= self._moment.seq and (self._moment.lasts or called.now <= self._moment.time)

    def _look_back(self) -> bool:
        """Takes in one more event; False where there is none."""
        event = next(self._older, None)
        if event is None:
            return False
        data = event.data
        if event.vault != self._vault:
            return True
        if isinstance(data, ToolCalled):
            if self._was_made(data) and (recording := self._recordings.of(data)) is not None:
                self._take(event, recording)
        elif event.seq <= self._moment.seq and isinstance(data, _MOVES):
            self._moved = True
            if isinstance(data, c.NoteRenamed):
                self._names[data.from_] = self._name(data.to)
                self._names[data.to] = None
            elif isinstance(data, c.NoteFile) and (note := self._name(data.note)) is not None:
                self._facts.setdefault(note, Reported(event.seq, data.size, int(data.mtime_ns), data.sha256))
        return True

    def _take(self, event: Event, recording: Recording) -> None:
        for exchange in reversed(recording.asked):
            if exchange.ask == "read" and exchange.raised is None:
                for kept in _READ_LIST.decode(exchange.answer):
                    self._take_note(event, kept)
                continue
            key = (exchange.ask, bytes(exchange.question))
            if key not in self._answers:
                self._answers[key] = exchange
                if not self._moved:
                    self._fresh.add(key)

    def _take_note(self, event: Event, kept: Kept) -> None:
        note = self._name(kept.id)
        if note is None or isinstance(kept, KeptName):
            return
        self._facts.setdefault(note, kept)
        if isinstance(kept, KeptNote):
            self._seen.setdefault(note, []).append((event, kept))

    def _name(self, note: NoteId) -> NoteId | None:
        return self._names.get(note, note)

    def _bytes_of(self, note: NoteId, reported: Reported) -> KeptNote | None:
        """The version that was reported, as some call read it before or after."""
        for event in islice(self._events.after(self._moment.seq), SCAN_AHEAD_EVENTS_MAX):
            if event.vault == self._vault and isinstance(event.data, ToolCalled):
                recording = self._recordings.of(event.data)
                for kept in _versions(recording, note) if recording is not None else ():
                    if reported.is_of(kept):
                        return kept
        while self._look_back():
            pass
        return next((kept for _event, kept in self._seen.get(note, ()) if reported.is_of(kept)), None)


def _versions(recording: Recording, note: NoteId) -> Iterator[KeptNote]:
    for exchange in recording.asked:
        if exchange.ask == "read" and exchange.raised is None:
            for kept in _READ_LIST.decode(exchange.answer):
                if isinstance(kept, KeptNote) and kept.id == note:
                    yield kept


class PastVault:
    """Implements `VaultPort` for a past moment.

    A note that is withheld by now is none of it; an answer that names one is not recorded.
    """

    def __init__(self, past: Past, withheld: Callable[[NoteId], bool]) -> None:
        self._past = past
        self._withheld = withheld

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        return [self._read(note) for note in notes]

    def _read(self, note: NoteId) -> Note | NoteFailure:
        if self._withheld(note):
            return NoteFailure(note, NoteNotFound.code, "There is no such note.")
        try:
            return self._past.version(note)
        except NotRecorded as error:
            return NoteFailure(note, NotRecorded.code, f"{error.message}.")

    def resolve(self, reference: str, state: VaultState) -> Resolution:  # noqa: ARG002
        try:
            found: Resolution = self._shown(self._past.answer("resolve", reference))
        except NotRecorded:
            ref = self._name(NoteId(reference)) if reference.lower().endswith(".md") else None
            if ref is None:
                raise
            return Resolution(ref, "path")
        return found

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:  # noqa: ARG002
        found: list[LinkTarget] = self._shown(self._past.answer("link_targets", source, links))
        return found

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:  # noqa: ARG002
        found: Incoming = self._shown(self._past.answer("incoming", note, limit))
        return found

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        try:
            found: list[NoteRef | None] = self._shown(self._past.answer("names", notes))
        except NotRecorded:
            return [self._name(note) for note in notes]
        return found

    def _name(self, note: NoteId) -> NoteRef | None:
        if self._withheld(note):
            return None
        found = self._past.version(note)
        return NoteRef(note, found.title, note) if isinstance(found, Note) else None

    def search(self, search: Search) -> Found:
        found: Found = self._shown(self._past.answer("search", search))
        return found

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        found: list[SimilarNote] = self._shown(self._past.answer("similar", note, limit))
        return found

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        found: list[TaggedNote] = self._shown(self._past.answer("sharing_tags", note, limit))
        return found

    def overview(self, limit: int) -> Overview:
        found: Overview = self._shown(self._past.answer("overview", limit))
        return found

    def note_count(self) -> int | None:
        try:
            count: int | None = self._past.answer("note_count", lasting=True)
        except NotRecorded:
            return None
        return count

    def index_state(self) -> str:
        try:
            state: str = self._past.answer("index_state", lasting=True)
        except NotRecorded:
            return "ready"  # nothing of the past waits for it
        return state

    def _shown(self, answer: Any) -> Any:
        """`answer`, if it names nothing that is withheld by now.

        Raises:
            NotRecorded: it does.
        """
        if any(self._withheld(note) for note in _named(msgspec.to_builtins(answer))):
            raise NotRecorded("What was answered at that moment is not to be had", hint=SWITCHED_ON)
        return answer


def _named(value: Any) -> Iterator[NoteId]:
    """The ids in an answer's JSON: a `NoteRef` has one, wherever it stands."""
    if isinstance(value, dict):
        if isinstance(note := value.get("id"), str):
            yield NoteId(note)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _named(each)


class PastVersions:
    """Implements `PastPort` for one vault and the moments up to one."""

    def __init__(
        self,
        events: PastEvents,
        recordings: Recordings,
        vault: VaultId,
        moment: Moment,
        withheld: Callable[[NoteId], bool],
    ) -> None:
        self._events = events
        self._recordings = recordings
        self._vault = vault
        self._moment = moment
        self._withheld = withheld

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        present = Past(self._events, self._recordings, self._vault, self._moment)
        if self._withheld(note):
            raise NotRecorded("No earlier version is recorded", hint=SWITCHED_ON)
        if since is None:
            return present.other_version(note, current)
        try:
            moment = self._events.moment(since)
        except InvalidArgument as error:
            raise ArgumentInvalid(error.message, hint=error.hint) from None
        if moment.seq > self._moment.seq:
            raise ArgumentInvalid(f"Expected a moment up to sequence {self._moment.seq}, got {since!r}.")
        then = Past(self._events, self._recordings, self._vault, moment)
        former = present.name_at(note, moment.seq)
        found = then.version(former)
        return VersionAt(moment.seq, moment.time, found)
