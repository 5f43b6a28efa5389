"""`RecordedLog`: an open log, and the moment of it at which a daemon stands; `RecordedCalls`: its calls, by
what was asked."""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from itertools import islice
from threading import RLock
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import VaultId
from workspaced_events.journal.start import Start
from workspaced_events.limits import HISTORY_EVENTS_MAX, VISITS_MAX
from workspaced_events.projections.visits import Bounds, Visit, VisitFold, visits_from
from workspaced_events.projections.workspace_state import WorkspaceState, client_key
from workspaced_events.replay.backward_scan import SCANNED
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds, KeptStates
from workspaced_events.replay.log_cursor import Moment
from workspaced_events.replay.source import StoredSource
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, Data, Event, Sharing, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.recording.format import VERSION, Recording, Repeats, arguments_of, read_recording
from workspaced_tools.recording.shown_notes import names_any
from workspaced_tools.replay.indexed_log import IndexedPast
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.replay.verify import StateNotRetained
from workspaced_tools.tools.registry import EVERY_TOOL
from workspaced_tools.tools.tool import normalised

_PAGE_EVENTS: Final = 1_000
_KEPT: Final = frozenset((c.ToolCalled, c.ContextVolunteered, c.NoteShown, c.NoteWithheld, c.NoteRenamed))
_SCANNED: Final = tuple(name for name, entry in CATALOGUE.items() if issubclass(entry.data, SCANNED))


class RecordedLog:
    """Implements `PastEvents`; it finds no moment after its own. Safe from any thread: one at a time reads.

    Attributes:
        here: the moment.
        lock: held by whoever reads; a thread may take it again.
    """

    def __init__(self, source: StoredSource, at: int | str | None) -> None:
        """
        Args:
            source: stays open as long as this is used.
            at: the moment; None: the end of the log.

        Raises:
            InvalidArgument: the log does not hold the moment, or is of a newer version.
            LogDamaged: it does not verify.
            OSError: it cannot be read.
        """
        self._states = KeptStates(source.start)
        self._fold_until = at if isinstance(at, int) else None
        """States after this sequence are hardly asked for."""
        self._kept: list[Event] = []
        """All events of the types _KEPT, in order."""
        index = source.index(sink=self._take)
        if index.damage is not None:
            raise index.damage
        self.warnings = index.warnings
        self.log_id = source.log_id
        self.lock = RLock()
        self._source = source
        self._events = IndexedEvents(index, source.start.seq)
        visits = msgspec.json.encode(source.start_visits())
        self._folds = KeptFolds(self._events, self._states, visits)
        self._past = IndexedPast(self._events, self._folds)
        self.recordings = Recordings(self.blob)
        self.here: Moment = self._past.moment(at) if at is not None else self._past.end
        state = self.state_at(self.here.seq)
        self.start = Start(seq=self.here.seq, time=self.here.time, state=state, visits=self._visits())
        """What a log begins with that goes on from the moment."""

    def _take(self, events: list[Event]) -> None:
        """Folds the log while it is verified: whoever started the daemon waits for it."""
        if self._fold_until is None or events[0].seq <= self._fold_until:
            self._states.take(events)
        self._kept += [event for event in events if type(event.data) in _KEPT]

    def _visits(self) -> VisitFold:
        """As many visits up to the moment as are ever shown: a function of the latest events alone."""
        looked_at = self.here.seq - HISTORY_EVENTS_MAX
        fold = visits_from(looked_at) if looked_at > self._events.before else self._source.start_visits()
        begin, end = self._events.count_up_to(looked_at), self._events.count_up_to(self.here.seq)
        fold.feed(self._events[begin:end])
        fold.forget(Bounds(slack=1))  # the run's log begins with them, and is read at once
        fold.apply_renames()
        return fold

    def blob(self, sha256: str) -> bytes | None:
        """The content with that hash; None: the log does not hold it.

        Raises:
            LogDamaged: it has another hash, or cannot be read.
        """
        with self.lock:
            return self._source.blob(sha256)

    @property
    def tail(self) -> int:
        return self._past.tail

    def before(self, seq: int) -> Iterator[Event]:
        """Only events that a question about the past looks at."""
        return self.events_before(seq, _SCANNED)

    def events_before(self, seq: int, types: Collection[str] | None = None) -> Iterator[Event]:
        """The events of some types (None: all) from `seq` on backwards, newest first."""
        while True:
            with self.lock:
                page = list(islice(self._events.of_types(types, before=seq + 1), _PAGE_EVENTS))
            if not page:
                return
            yield from page
            seq = page[-1].seq - 1

    def after(self, seq: int) -> Iterator[Event]:
        while True:
            with self.lock:
                page = list(islice(self._past.after(seq), _PAGE_EVENTS))
            if not page:
                return
            yield from page
            seq = page[-1].seq

    def moment(self, at: int | str) -> Moment:
        with self.lock:
            found = self._past.moment(at)
        if found.seq > self.here.seq:
            raise InvalidArgument(
                f"Expected a moment up to event {self.here.seq}, where this daemon stands, got {str(at)[:100]}.",
                hint="Give an earlier one, or none.",
            )
        return found

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`."""
        with self.lock:
            return self._folds.state_at(seq)

    def visits_at(self, seq: int, vault: VaultId) -> list[Visit]:
        """The visits of a vault up to `seq`.

        Raises:
            StateNotRetained: the log does not hold events early enough.
        """
        with self.lock:
            if seq == self.here.seq:  # they are folded already
                found = self.start.visits.visits(vault, max(0, seq - HISTORY_EVENTS_MAX), seq, VISITS_MAX)
                if found is None:
                    raise StateNotRetained
                return found
            return list(self._past.visits_at(seq, vault))

    def events_of(self, *types: type[Data], until: int | None = None) -> list[Event]:
        """All events of some types, in order; `until`: up to that sequence.

        Args:
            types: some of _KEPT.
        """
        assert _KEPT.issuperset(types)
        found = [event for event in self._kept if type(event.data) in types]
        return found if until is None else found[: bisect_right(found, until, key=lambda event: event.seq)]

    def read(self, first: int, limit: int) -> list[Event]:
        """Up to `limit` events from `first` on."""
        with self.lock:
            begin = self._events.count_up_to(first - 1)
            return self._events[begin : begin + limit]


_LISTED_MAX: Final = 8
_ARGUMENTS_CHARS_MAX: Final = 120
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_Key = tuple[str, str, bytes]
"""A tool, a client, and the arguments as JSON."""


class StoredAnswer(msgspec.Struct, frozen=True):
    """The answer of a recorded call, in the bytes that its client got."""

    payload: bytes
    ok: bool
    recording: Recording
    """With `repeats` set."""


class RecordedCalls:
    """The calls of one log. Reads them all when it is made."""

    def __init__(self, log: RecordedLog) -> None:
        self._log = log
        self._of: dict[_Key, list[Event]] = {}
        """In the order of the log."""
        for event in log.events_of(ToolCalled):
            called: ToolCalled = event.data
            try:
                arguments = arguments_of(called, log.blob)
            except (NotRecorded, LogDamaged):
                continue  # what it asked is not kept
            self._of.setdefault(_key(called.tool, arguments, called.caller), []).append(event)

    def asked(self, tool: str) -> bool:
        """Whether any call was one of this tool."""
        return any(key[0] == tool for key in self._of)

    def stored(self, tool: str, arguments: dict[str, Any], caller: str, level: Sharing) -> StoredAnswer | None:
        """The answer of the nearest call of this client at or after the moment that asked the same; None: there is
        none whose answer is kept.

        Args:
            level: what the client is shown at the moment. What it was told at another level is not told.
        """
        for event in self._of.get(_key(tool, arguments, caller), ()):
            if self._is_at_or_after(event) and (found := self._answer(event, caller, level)) is not None:
                return found
        return None

    def _is_at_or_after(self, event: Event) -> bool:
        here = self._log.here
        called: ToolCalled = event.data
        if called.names_moment:  # its tail is that of the moment that it asked about
            return event.seq > here.seq
        if event.seq < here.call or called.tail < here.seq:
            return False
        return called.tail > here.seq or called.now >= here.time

    def _answer(self, event: Event, caller: str, level: Sharing) -> StoredAnswer | None:
        called: ToolCalled = event.data
        repeats = Repeats(self._log.log_id, event.seq)
        try:
            payload = self._log.blob(called.result_sha256)
            inputs = self._log.blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
            recording = read_recording(inputs, called.inputs_sha256 or "") if inputs is not None else None
        except (NotRecorded, LogDamaged):
            return None
        if payload is None or recording is None:
            return None
        if recording.refused is None and recording.level != level:
            return None
        if recording.refused is not None:
            if recording.refused.type == "SharingOff":
                return None
            recording = Recording(version=VERSION, level=level)
        return StoredAnswer(payload, called.ok, replace(recording, caller=caller, repeats=repeats))

    def listed(self, tool: str, withheld: Collection[str], caller: str, level: Sharing) -> str:
        """What this tool was asked, in a sentence for people and agents.

        Others' words are told only to a client that is shown texts, and only where they found something.

        Args:
            withheld: a call whose arguments or answer name one of these is left out.
        """
        client = client_key(caller)

        def is_told(by: str, asked: bytes, event: Event) -> bool:
            if by != client and (level != "all" or not event.data.ok):
                return False
            try:
                answer = self._log.blob(event.data.result_sha256) or b""
            except LogDamaged:
                return False
            return not names_any((asked + answer).decode(), withheld)

        def far(event: Event) -> int:
            called: ToolCalled = event.data  # whose record may come much later than the call
            return abs((event.seq if called.names_moment else called.tail) - self._log.here.seq)

        of_tool = [(key, min(events, key=far)) for key, events in self._of.items() if key[0] == tool]
        nearest = sorted(of_tool, key=lambda each: far(each[1]))
        told = (event for (_, by, asked), event in nearest if is_told(by, asked, event))
        found = list(islice(told, _LISTED_MAX + 1))  # the answers of others are not read
        if not found:
            others = sorted({key[0] for key in self._of if key[0] != tool})
            said = f"No call of {tool} can be named here" if of_tool else f"Nobody asked {tool} in this log"
            return f"{said}; asked were: {', '.join(others) or 'no tools'}."
        lines = "; ".join(self._line(event) for event in found[:_LISTED_MAX])
        more = "; and more" if len(found) > _LISTED_MAX else ""
        return f"In this log {tool} was asked with {lines}{more}."

    def _line(self, event: Event) -> str:
        arguments = _ENCODER.encode(arguments_of(event.data, self._log.blob)).decode()
        return f"{arguments[:_ARGUMENTS_CHARS_MAX]} by {event.data.caller} (event {event.seq})"


def _key(tool: str, arguments: dict[str, Any], caller: str) -> _Key:
    known = EVERY_TOOL.get(tool)
    meant = normalised(arguments, known.input_schema) if known is not None else arguments
    return tool, client_key(caller), _ENCODER.encode(meant)
