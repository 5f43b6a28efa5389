"""Recorded logs for your own programs: fold a log to a moment, call a tool there, replay recorded calls.

    with workspaced.replay.open("bug.wsb") as log:
        assert log.end.state_json()["activeNote"]["id"] == "Home.md"
        assert log.at(120).call("get_current_note")["success"]
        assert all(each.outcome == "same" for each in log.verify())

It needs no daemon and no vault. The present share policy withholds nothing here: recordings do not hold notes that
were withheld at their call, and a user who has the file can read the rest of it anyway.
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
from workspaced_events.ids import VaultId
from workspaced_events.projections.clock_steps import ClockStep, stretches
from workspaced_events.projections.visits import Visit, VisitStream
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import WorkspaceState, to_json
from workspaced_events.replay import log_cursor
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.replay.position import not_held, parse_position
from workspaced_events.replay.source import Source, feed_in_chunks
from workspaced_events.schema.catalogue import ClockStepped, Event, PromptAssembled, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import ManifestStore
from workspaced_tools.prompts.model.stored_inputs import texts_in
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.recorded_calls import recorded_call
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
    verify,
    verify_call,
    verify_prompt,
)
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run

from .errors import UnknownTool

__all__ = ["Call", "Log", "Moment", "Outcome", "Prompt", "Rebuilt", "Verified", "open"]

Json = dict[str, Any]

_STRIDE_EVENTS: Final = 1_000
"""One state is cached for each so many events."""
_ECHO_CHARS_MAX: Final = 100


@contextmanager
def open(log: str | os.PathLike[str] | IO[bytes]) -> Iterator["Log"]:  # noqa: A001 (as gzip.open and others)
    """The log of a data directory, an export or a bundle, read into memory as it is now.

    A binary stream of an export or a bundle is accepted too.

    Raises:
        InvalidArgument: there is no log at the path, or the log is of a newer version.
        LogDamaged: the log does not verify.
        OSError: the log cannot be read.
    """
    with open_source(Path(log) if isinstance(log, str | os.PathLike) else log) as source:
        yield Log(source)


class Log:
    """A log's events, and what agents were shown. Returned by `open`. Not thread-safe."""

    def __init__(self, source: Source) -> None:
        """`source` stays open as long as the log is used."""
        events: list[Event] = []
        self.warnings: list[str] = source.feed(events.extend)
        """Problems of the file, as sentences for people."""
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

    def prompts(self) -> list["Prompt"]:
        """All prompts that were assembled, in order."""
        return [Prompt(self._part, event) for event in self.events() if type(event.data) is PromptAssembled]

    def prompt(self, seq: int) -> "Prompt":
        """The prompt that was recorded as the event with that sequence.

        Raises:
            InvalidArgument: the log does not hold that event, or it is no prompt.
        """
        at = _count(self._part.events, seq) - 1
        event = self._part.events[at] if at >= 0 else None
        if event is None or event.seq != seq:
            raise InvalidArgument(f"The log holds no event {seq}.")
        if type(event.data) is not PromptAssembled:
            raise InvalidArgument(f"Event {seq} is no prompt: its type is {event.type}.")
        return Prompt(self._part, event)

    def blob(self, sha256: str) -> bytes | None:
        """The content of a blob that an event names by its hash; None if it is not kept.

        Raises:
            LogDamaged: it is kept with another content.
        """
        return self._part.blob(sha256)

    def at(self, at: int | str) -> "Moment":
        """The moment after the event with a sequence, or at an ISO 8601 time (UTC unless it names an offset).

        The sequence of a recorded call gives the moment of the call: there, the tool gives the same answer again.

        Raises:
            InvalidArgument: the log does not hold that moment.
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
            vault: the vault whose state it reads; default: the vault that is current after the event.

        Raises:
            NeverTrue: it is true after no event.
            AlreadyTrue: it is true of the state that the log begins with.
            InvalidArgument: it cannot be evaluated, or there is no such vault.
        """
        return find_first(self._part, Expression(expression, VaultId(vault) if vault is not None else None)).event

    def verify(self) -> list[Verified | Rebuilt]:
        """Replays every recorded call and rebuilds every prompt, as `workspaced replay --verify`. Calls about an
        earlier moment come last."""
        found: list[Verified | Rebuilt] = []
        verify(self._part, found.append, each_prompt=found.append)
        return found

    def _moment(self, place: log_cursor.Moment) -> "Moment":
        return Moment(place, self._events, self._recordings, self._texts)


class Moment:
    """A moment of a log: its state, and the answers of tools at that moment.

    Attributes:
        seq: the sequence of the last event up to the moment.
        time: the log's time at the moment.
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
        """The state of the current vault, or of `vault`, in the form of `workspaced state --json`."""
        shown = to_json(self.state, VaultId(vault) if vault is not None else None)
        plain: Json = msgspec.to_builtins(shown)
        return plain

    def call(self, tool: str, /, **arguments: Any) -> Json:
        """The tool's answer at this moment, as a running daemon answers with `at` for a client with the level
        `all`.

        The answer is made from the log and the recordings of calls. For content that no call read, the answer, or
        the note in it, has the error NOT_RECORDED. Arguments have the names of the wire.

        Raises:
            UnknownTool: there is no tool with that name.
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
            PastVault(past, _nothing, withheld_image=_nothing),
            _History(self._events, vault, self.seq),
            PastVersions(self._events, self._recordings, vault, self._place, _nothing),
            prompts,
            level="all",
            withheld=_nothing,
        )
        return replace(view, also_at=also)


def _nothing(_name: str) -> bool:
    """A test for withheld notes and images that withholds none."""
    return False


class Call:
    """A recorded call of a tool.

    Attributes:
        event: the call's event in the log.
        seq: the event's sequence.
        tool, caller, arguments: the request and its client.
        ok: whether the answer was a success.
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
        """The recorded answer.

        Raises:
            NotRecorded: the answer is not kept.
        """
        answer: Json = msgspec.json.decode(recorded_call(self.event, self._part.blob).answer())
        return answer

    def again(self) -> Json:
        """The answer of this program's tool to the recorded reads.

        Raises:
            NotRecorded: the recording is not kept.
        """
        made = self.verify()
        if made.answered is None:
            raise NotRecorded(f"What call {self.seq} was made from is not kept", hint=made.why)
        answer: Json = msgspec.json.decode(made.answered)
        return answer

    def verify(self) -> Verified:
        """Replays the call; tells whether both answers are equal byte for byte."""
        called: ToolCalled = self.event.data
        then = Moments(self._part)
        for event in self._part.events[: _count(self._part.events, called.tail)]:
            then.take(event)
        try:
            return verify_call(self._part.blob, Notes(self._part.blob), then, self.seq, called)
        except StateNotRetained:
            return Verified(self.seq, called, Outcome.NOT_RECORDED, "Its moment is not in this log.")


class Prompt:
    """A prompt that was assembled.

    Attributes:
        event: the prompt's event in the log.
        seq: the event's sequence.
        conversation: the id of its conversation.
    """

    def __init__(self, part: Slice, event: Event) -> None:
        self._part = part
        self.event = event
        self.seq: int = event.seq
        self.conversation: str = event.data.conversation

    def verify(self) -> Rebuilt:
        """Rebuilds the prompt; tells whether its layers, its manifest and its body have the recorded hashes."""
        prompt: PromptAssembled = self.event.data
        then = Moments(self._part)
        for event in self._part.events[: _count(self._part.events, self.seq)]:
            then.take(event)
        return verify_prompt(self._part.blob, then, self.seq, prompt)


# -- the events around a moment --


def _count(events: Sequence[Event], seq: int) -> int:
    """The number of events up to and including `seq`."""
    return bisect_right(events, seq, key=lambda event: event.seq)


class _Events:
    """Implements `PastEvents` in memory, for a log that may begin at any sequence."""

    def __init__(self, part: Slice) -> None:
        self._part = part
        self._events = part.events
        self._states = [part.start]
        """States after each _STRIDE_EVENTS events, computed on demand."""
        # The position before the first event; 0 for a whole log.
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
        """The moment after all events and calls of the log."""
        if not self._events:
            return self._beginning
        return log_cursor.Moment(self.tail, self._events[-1].time, lasts=True)

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold up to `seq`; before the first event, the state that the log begins with."""
        count = _count(self._events, seq)
        stride, rest = divmod(count, _STRIDE_EVENTS)
        while len(self._states) <= stride:
            first = (len(self._states) - 1) * _STRIDE_EVENTS
            self._states.append(fold_all(self._events[first : first + _STRIDE_EVENTS], self._states[-1]))
        return fold_all(self._events[count - rest : count], self._states[stride])

    def visits(self, vault: VaultId, seq: int) -> Sequence[Visit]:
        """The visits of a vault's notes up to `seq`.

        Raises:
            NotRecorded: the log does not hold events early enough.
        """
        stream = VisitStream(start=self._part.start_visits())
        feed_in_chunks(self._events[: _count(self._events, seq)], stream.feed)  # drops old visits after each chunk
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
