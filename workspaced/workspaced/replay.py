"""A recorded log in a program of one's own: fold it to a moment, ask a tool there, make recorded calls again.

    with workspaced.replay.open("bug.wsb") as log:
        assert log.end.state_json()["activeNote"]["id"] == "Home.md"
        assert log.at(120).call("get_current_note")["success"]
        assert all(each.outcome == "same" for each in log.verify())

It needs no daemon and no vault. Nothing is withheld here by today's share policy: what was private when a call was
made is in no recording, and whoever holds the file can read the rest of it anyway.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import system_clock
from workspaced_events.debugging.bisect import find_first
from workspaced_events.debugging.predicate import Expression
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.clock_steps import ClockStep, stretches
from workspaced_events.projections.visits import Visit, VisitStream
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import WorkspaceState, to_json
from workspaced_events.replay import log_cursor
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.replay.position import not_held, parse_position
from workspaced_events.replay.source import Source, feed_in_chunks
from workspaced_events.schema.catalogue import ClockStepped, Event, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import ManifestStore
from workspaced_tools.prompts.model.stored_inputs import texts_in
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.recorded_calls import kept_call
from workspaced_tools.replay.call_replay import Notes
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault, PastVersions
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.replay.verify import (
    Moments,
    Outcome,
    Rebuilt,
    StateNotRetained,
    Verified,
    make_again,
    verify,
)
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run

from .errors import UnknownTool

__all__ = ["Call", "Log", "Moment", "Outcome", "Rebuilt", "Verified", "open"]

Json = dict[str, Any]

_STRIDE_EVENTS: Final = 1_000
"""Of so many events one state is kept."""
_ECHO_CHARS_MAX: Final = 100


@contextmanager
def open(log: str | os.PathLike[str] | IO[bytes]) -> Iterator["Log"]:  # noqa: A001 (as gzip.open and others)
    """The log of a data directory, an export or a bundle, read into memory as it is now.

    A binary stream of an export or a bundle does as well.

    Raises:
        InvalidArgument: there is nothing, nothing that could be a log, or one of a newer version.
        LogDamaged: it does not verify.
        OSError: it cannot be read.
    """
    with open_source(Path(log) if isinstance(log, str | os.PathLike) else log) as source:
        yield Log(source)


class Log:
    """What happened, and what agents were shown. Made by `open`; for one thread at a time."""

    def __init__(self, source: Source) -> None:
        """`source` stays open as long as the log is used."""
        events: list[Event] = []
        self.warnings: list[str] = source.feed(events.extend)
        """What was found wanting in the file, for people."""
        self._part = Slice(
            source.log_id, source.start, msgspec.json.encode(source.start_visits()), events, source.blob
        )
        self._events = _Events(self._part)
        self._recordings = Recordings(source.blob)
        self._texts = texts_in(source.blob)

    def events(self) -> Sequence[Event]:
        """All events, in order."""
        return self._part.events

    def calls(self) -> list["Call"]:
        """All calls of tools, in the order in which they were recorded."""
        return [Call(self._part, event) for event in self.events() if isinstance(event.data, ToolCalled)]

    def at(self, at: int | str) -> "Moment":
        """The moment after an event, by its sequence, or at an ISO 8601 time (UTC unless it says otherwise).

        That of a recorded call is when it was made: asked the same there, a tool answers what it answered then.

        Raises:
            InvalidArgument: the log does not hold it.
        """
        return self._moment(self._events.moment(at))

    @property
    def end(self) -> "Moment":
        """The moment after the last event."""
        return self._moment(self._events.end)

    def find(self, expression: str, *, vault: str | None = None) -> Event:
        """The first event after which a JMESPath expression over the state is true, as `workspaced log find`.

        Args:
            expression: reads the fields of `Moment.state_json`.
            vault: whose state; default: of the vault that is the current one after the event.

        Raises:
            NeverTrue: after none.
            AlreadyTrue: of the state that the log begins with.
            InvalidArgument: it cannot be evaluated, or there is no such vault.
        """
        return find_first(self._part, Expression(expression, VaultId(vault) if vault is not None else None)).event

    def verify(self) -> list[Verified | Rebuilt]:
        """Every recorded call and every prompt made again, as `workspaced replay --verify`. Calls that asked about
        an older moment come last."""
        found: list[Verified | Rebuilt] = []
        verify(self._part, found.append, each_prompt=found.append)
        return found

    def _moment(self, place: log_cursor.Moment) -> "Moment":
        return Moment(place, self._events, self._recordings, self._texts)


class Moment:
    """A place in a log: what the state was there, and what tools would have answered.

    Attributes:
        seq: the last event that counts.
        time: what a clock said.
    """

    def __init__(self, place: log_cursor.Moment, events: "_Events", recordings: Recordings, texts: Texts) -> None:
        self.seq = place.seq
        self.time = place.time
        self._place = place
        self._events = events
        self._recordings = recordings
        self._texts = texts

    @cached_property
    def state(self) -> WorkspaceState:
        """The fold of all events up to here."""
        return self._events.state_at(self.seq)

    def state_json(self, vault: str | None = None) -> Json:
        """The state as `workspaced state --json` prints it, of the current vault or of another."""
        shown = to_json(self.state, VaultId(vault) if vault is not None else None)
        plain: Json = msgspec.to_builtins(shown)
        return plain

    def call(self, tool: str, /, **arguments: Any) -> Json:
        """What the tool answers here: what a running daemon answers with `at`, for a client that is shown all.

        It comes from the log and from what calls read. What none of them read gives a result with the code
        NOT_RECORDED, or a note with that error, never a guess. Arguments are named as on the wire.

        Raises:
            UnknownTool: there is none of that name.
            InvalidArgument: `at` is among the arguments.
        """
        if tool not in TOOLS:
            raise UnknownTool(f"There is no tool {tool[:200]!r}.", hint=f"Tools: {', '.join(TOOLS)}.")
        if "at" in arguments:
            raise InvalidArgument("The moment is named twice.", hint="Leave `at` out: `Log.at` says the moment.")
        answered: Json = msgspec.json.decode(payload_of(run(TOOLS[tool], self._view(), arguments)))
        return answered

    def _view(self) -> View:
        vault = self.state.current
        prompts = ManifestStore(self.state.conversations, vault, self._texts)
        also = tuple(self._events.state_at(seq).seq for seq in self._place.also)
        if vault is None:
            view = shared_view(self.state, self.time, None, prompts=prompts, level="all", withheld=_nothing)
            return replace(view, also_at=also)
        past = Past(self._events, self._recordings, vault, self._place)
        view = shared_view(
            self.state,
            self.time,
            PastVault(past, _nothing),
            _History(self._events, vault, self.seq),
            PastVersions(self._events, self._recordings, vault, self._place, _nothing),
            prompts,
            level="all",
            withheld=_nothing,
        )
        return replace(view, also_at=also)


def _nothing(_note: NoteId) -> bool:
    """Whether a note is withheld."""
    return False


class Call:
    """A call of a tool that was recorded.

    Attributes:
        event: its record in the log.
        seq: of that event.
        tool, caller, arguments: what was asked, by whom.
        ok: whether it was answered with a success.
    """

    def __init__(self, part: Slice, event: Event) -> None:
        self._part = part
        self.event = event
        called: ToolCalled = event.data
        self.seq: int = event.seq
        self.tool: str = called.tool
        self.caller: str = called.caller
        self.arguments: Json = called.arguments
        self.ok: bool = called.ok

    @property
    def served(self) -> Json:
        """What was answered then.

        Raises:
            NotRecorded: that is not kept.
        """
        answer: Json = msgspec.json.decode(kept_call(self.event, self._part.blob).answer())
        return answer

    def again(self) -> Json:
        """What this program answers when it reads what was read then.

        Raises:
            NotRecorded: that is not kept.
        """
        made = self.verify()
        if made.answered is None:
            raise NotRecorded(f"What call {self.seq} was made from is not kept", hint=made.why)
        answer: Json = msgspec.json.decode(made.answered)
        return answer

    def verify(self) -> Verified:
        """The call made again, and whether both answers are the same to the byte."""
        called: ToolCalled = self.event.data
        then = Moments(self._part)
        for event in self._part.events[: _count(self._part.events, called.tail)]:
            then.take(event)
        try:
            return make_again(self._part.blob, Notes(self._part.blob), then, self.seq, called)
        except StateNotRetained:
            return Verified(self.seq, called, Outcome.NOT_RECORDED, "Its moment is not in this log.")


# -- the events around a moment --


def _count(events: Sequence[Event], seq: int) -> int:
    """How many of the events are not after `seq`."""
    return bisect_right(events, seq, key=lambda event: event.seq)


class _Events:
    """Implements `PastEvents` in memory, for a log that may begin anywhere."""

    def __init__(self, part: Slice) -> None:
        self._part = part
        self._events = part.events
        self._states = [part.start]
        """After every _STRIDE_EVENTS, as far as they were needed."""
        # Before the first event there is only the state; of a whole log that is the empty one.
        self._before = self._events[0].seq - 1 if self._events else part.start.seq

    @property
    def tail(self) -> int:
        return self._events[-1].seq if self._events else self._before

    def before(self, seq: int) -> Iterator[Event]:
        return (self._events[at] for at in range(_count(self._events, seq) - 1, -1, -1))

    def after(self, seq: int) -> Iterator[Event]:
        return (self._events[at] for at in range(_count(self._events, seq), len(self._events)))

    def moment(self, at: int | str) -> log_cursor.Moment:
        place = parse_position(at) if isinstance(at, str) else at
        if isinstance(place, str):
            return self._moment_at_time(place)
        if type(place) is not int or not self._before <= place <= self.tail:
            raise InvalidArgument(
                f"Expected a sequence from {self._before} to {self.tail}, got {str(place)[:_ECHO_CHARS_MAX]}."
            )
        if place == self._before:
            return self._beginning
        event = self._events[_count(self._events, place) - 1]
        return log_cursor.moment_of(event)

    @property
    def end(self) -> log_cursor.Moment:
        """The moment at which all calls of the log count as made."""
        if not self._events:
            return self._beginning
        return log_cursor.Moment(self.tail, self._events[-1].time, lasts=True)

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`; of what is before the first event, the state that the log begins with."""
        count = _count(self._events, seq)
        stride, rest = divmod(count, _STRIDE_EVENTS)
        while len(self._states) <= stride:
            first = (len(self._states) - 1) * _STRIDE_EVENTS
            self._states.append(fold_all(self._events[first : first + _STRIDE_EVENTS], self._states[-1]))
        return fold_all(self._events[count - rest : count], self._states[stride])

    def visits(self, vault: VaultId, seq: int) -> Sequence[Visit]:
        """The visits of a vault as they were known at `seq`.

        Raises:
            NotRecorded: the log does not reach back so far.
        """
        stream = VisitStream(start=self._part.start_visits())
        feed_in_chunks(self._events[: _count(self._events, seq)], stream.feed)  # which forgets after each
        found = stream.visits(vault, seq)
        if found is None:
            raise NotRecorded("What was visited then is not in this log", hint="Bundle more events.")
        return found

    def _moment_at_time(self, time: str) -> log_cursor.Moment:
        if not self._events:
            return log_cursor.Moment(self._before, time)
        first, last = self._events[0], self._events[-1]
        now = max(system_clock(), last.time)
        steps = [
            ClockStep(event.seq, event.data.before, event.data.after)
            for event in self._events
            if type(event.data) is ClockStepped
        ]
        found = stretches(steps, (first.seq, first.time), (last.seq, now if not steps else last.time))
        moment = log_cursor.moment_at_time(time, found, now, self._last_until)
        if moment.seq < first.seq and self._before:
            raise not_held(time, first, None)
        return moment

    def _last_until(self, time: str, first: int, last: int) -> int:
        begin, end = _count(self._events, first - 1), _count(self._events, last)
        count = bisect_right(self._events, time, begin, end, key=lambda event: event.time)
        return self._events[count - 1].seq if count else self._before

    @property
    def _beginning(self) -> log_cursor.Moment:
        time = self._events[0].time if self._events and self._before else _EPOCH
        return log_cursor.Moment(self._before, time, lasts=True)


_EPOCH: Final = "1970-01-01T00:00:00.000000Z"


class _History:
    """Implements `HistoryPort` at one moment."""

    def __init__(self, events: _Events, vault: VaultId, seq: int) -> None:
        self._events = events
        self._vault = vault
        self._seq = seq

    def visits(self) -> Sequence[Visit]:
        return self._events.visits(self._vault, self._seq)
