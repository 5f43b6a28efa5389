"""Recorded logs for your own programs: fold a log to a moment, call a tool there, replay recorded calls.

    with workspaced.replay.open("bug.wsb") as log:
        assert log.end.state_json()["activeNote"]["id"] == "Home.md"
        assert log.at(120).call("get_current_note")["success"]
        assert all(each.outcome == "same" for each in log.verify())

It needs no daemon and no vault. The present share policy withholds nothing here: recordings do not hold notes that
were withheld at their call, and a user who has the file can read the rest of it anyway.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, LogDamaged, WorkspacedError
from workspaced_events.finding.expression import Expression
from workspaced_events.finding.first_event import find_first
from workspaced_events.ids import VaultId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.projections.workspace_state import WorkspaceState, to_json
from workspaced_events.replay import log_cursor
from workspaced_events.replay.indexed_events import IndexedEvents
from workspaced_events.replay.kept_folds import KeptFolds, KeptStates
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import Progress, StoredSource
from workspaced_events.schema.catalogue import CATALOGUE, Event, PromptAssembled, Shape, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import manifest_at
from workspaced_tools.prompts.audit.rebuild import checked
from workspaced_tools.prompts.audit.supposed import Notes as SupposedNotes
from workspaced_tools.prompts.audit.supposed import rebuild_supposing, whole_notes
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.prompts.model.types import Assembled, Texts
from workspaced_tools.prompts.providers.bodies import rebuild_request_body
from workspaced_tools.recording.format import Blob
from workspaced_tools.recording.recorded_calls import read_texts, recorded_call, supposed_blob
from workspaced_tools.replay.call_replay import Notes
from workspaced_tools.replay.indexed_log import IndexedPast
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault, PastVersions
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.replay.verify import (
    Outcome,
    Rebuilt,
    StateNotRetained,
    Verified,
    of_another_part,
    recorded_visits,
    verify,
    verify_call,
    verify_prompt,
)
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import run

__all__ = ["CALL_TYPES", "Call", "Log", "Moment", "Outcome", "Prompt", "Rebuilt", "Verified", "open"]

Json = dict[str, Any]

CALL_TYPES: Final = tuple(name for name, entry in CATALOGUE.items() if issubclass(entry.data, ToolCalled))
"""The types of events that record a call: what was told without asking is one too."""


@contextmanager
def open(  # noqa: A001 (as gzip.open and others)
    log: str | os.PathLike[str] | IO[bytes], *, until_damage: bool = False, progress: Progress | None = None
) -> Iterator["Log"]:
    """The log of a data directory, an export or a bundle, as it is now.

    All of it is verified once. Its events stay where they are, and are read when they are asked for; so memory
    grows by some dozen bytes for each event. Nothing of the log is read after the `with` block.

    Args:
        log: or a binary stream of an export or a bundle.
        until_damage: opens a damaged log too, with the events before the damage; `Log.damage` says what it is.
        progress: gets how much was verified, and of how much.

    Raises:
        InvalidArgument: there is no log at the path, or the log is of a newer version.
        LogDamaged: the log does not verify; with `until_damage`, only if nothing of it can be read (a bundle whose
            manifest is damaged).
        OSError: the log cannot be read.
    """
    with open_source(Path(log) if isinstance(log, str | os.PathLike) else log) as source:
        yield Log(source, until_damage=until_damage, progress=progress)


class Log:
    """A log's events, and what agents were shown. Returned by `open`.

    Not thread-safe: everything it gives reads the same file and keeps what it read.

    What reads events may raise LogDamaged if the log was changed after it was opened, or OSError.

    Attributes:
        warnings: problems of the file, as sentences for people.
        damage: what was damaged, if the log was opened until its damage; None: nothing.
        log_id: the log's id; empty if unknown.
        redacted: whether pseudonyms replace names and texts.
    """

    def __init__(
        self, source: StoredSource, *, until_damage: bool = False, progress: Progress | None = None
    ) -> None:
        """`source` stays open as long as the log is used."""
        index = source.index(progress)
        self.damage: LogDamaged | None = index.damage
        if index.damage is not None and not until_damage:
            raise index.damage
        self.warnings: list[str] = index.warnings
        self.log_id: str = source.log_id
        self.redacted: bool = source.redacted
        visits = msgspec.json.encode(source.start_visits())
        self._events = IndexedEvents(index, source.start.seq)
        self._folds = KeptFolds(self._events, KeptStates(source.start), visits)
        self._past = IndexedPast(self._events, self._folds)
        self._part = Slice(
            source.log_id,
            source.start,
            visits,
            self._events,
            source.blob,
            redacted=source.redacted,
            swept_until=source.swept_until,
        )
        self._recordings = Recordings(source.blob)
        self._texts = texts_in(source.blob)

    # -- events --

    def events(self) -> Sequence[Event]:
        """All events, in order. They are read when they are used; to keep them, make a list of them."""
        return self._events

    def event(self, seq: int) -> Event:
        """The event with a sequence.

        Raises:
            InvalidArgument: the log does not hold it.
        """
        before = self._events.before
        if type(seq) is not int or not before < seq <= self._events.last:
            raise InvalidArgument(
                f"Expected the sequence of an event, {before + 1} to {self._events.last}, got {str(seq)[:100]}."
            )
        return self._events[seq - before - 1]

    def events_of(
        self, types: Collection[str] | None = None, *, after: int | None = None, before: int | None = None
    ) -> Iterator[Event]:
        """Events of some types, one by one, without reading the others.

        In order; but backwards, the last one first, if only `before` is given.

        Args:
            types: names of types; None: all.
            after, before: sequences that they lie between; neither of the two is among them.
        """
        return self._events.of_types(types, after=after, before=before)

    def counts(self) -> dict[str, int]:
        """For each type that the log holds, the number of its events. Reads nothing."""
        return self._events.columns.counts()

    def span_us(self) -> tuple[int, int] | None:
        """The earliest and the latest time of all events, in microseconds since the epoch; None: no events.

        Where the clock was set back, the latest need not be that of the last event. Reads nothing.
        """
        return self._events.columns.span_us()

    def bins(
        self, begin_us: int, end_us: int, count: int, lane_of: Callable[[str], str | None]
    ) -> dict[str, list[int]]:
        """For each lane the number of events in each of `count` equal bins of time. Reads nothing.

        An event counts at the time that it carries. So where the clock was set back, a bin counts the events of
        both stretches that have its time; each event is counted once.

        Args:
            begin_us, end_us: microseconds since the epoch; what is at `end_us` is not counted.
            count: from 1 to 10,000.
            lane_of: for the name of a type the lane in which it is counted; None: in none.

        Returns:
            Each lane that has a type in this log, with `count` numbers.

        Raises:
            InvalidArgument: `begin_us` is not before `end_us`, or `count` is out of its range.
        """
        return self._events.columns.bins(begin_us, end_us, count, lane_of)

    def extend(self, events: Sequence[Event]) -> None:
        """Adds events that continue the log, as those that a running daemon publishes: all, or none on an error.

        They are kept in memory, compressed. What the log gave before stays valid.

        Raises:
            InvalidArgument: they do not follow the last event one by one, or the log is damaged.
        """
        if self.damage is not None:
            raise InvalidArgument("A damaged log cannot be continued.", hint="Open the log again.")
        self._events.extend(events)

    def fold_some(self) -> tuple[int, int]:
        """Folds the next stretch, at most 1,000 events: the number of events that are folded, and of all.

        A caller may fold in small steps while nobody waits. What needs a fold that is not there makes it first.
        """
        self._folds.fold_some()
        return self.folded

    @property
    def folded(self) -> tuple[int, int]:
        """The number of events that are folded, and of all."""
        return self._folds.folded, len(self._events)

    def fold_only_in_steps(self) -> None:
        """From now on only `fold_some` folds: what needs more raises NotFolded, which says how many events.

        For a program that folds while it answers others, so that no answer takes as long as the whole fold.
        """
        self._folds.on_demand = False

    # -- what agents were shown --

    def calls(
        self, *, after: int | None = None, before: int | None = None, limit: int | None = None
    ) -> list["Call"]:
        """The calls of tools, in the order in which they were recorded; default: all.

        Args:
            after, before: as of `events_of`.
            limit: the most given: the last ones if only `before` is given, else the first ones.
        """
        found = self._all_of(CALL_TYPES, after, before, limit)
        return [Call(event, self._part, self._past) for event in found if isinstance(event.data, ToolCalled)]

    def call(self, seq: int) -> "Call":
        """The call that was recorded as the event with that sequence.

        Raises:
            InvalidArgument: the log does not hold that event, or it is no call of a tool.
        """
        event = self.event(seq)
        if not isinstance(event.data, ToolCalled):
            raise InvalidArgument(f"Event {seq} is no call of a tool: its type is {event.type}.")
        return Call(event, self._part, self._past)

    def prompts(
        self, *, after: int | None = None, before: int | None = None, limit: int | None = None
    ) -> list["Prompt"]:
        """The prompts that were assembled, in order; default: all. Arguments as those of `calls`."""
        found = self._all_of(("prompt_assembled",), after, before, limit)
        return [Prompt(event, self._part, self._past) for event in found if type(event.data) is PromptAssembled]

    def prompt(self, seq: int) -> "Prompt":
        """The prompt that was recorded as the event with that sequence.

        Raises:
            InvalidArgument: the log does not hold that event, or it is no prompt.
        """
        event = self.event(seq)
        if type(event.data) is not PromptAssembled:
            raise InvalidArgument(f"Event {seq} is no prompt: its type is {event.type}.")
        return Prompt(event, self._part, self._past)

    # -- moments --

    def at(self, at: int | str) -> "Moment":
        """The moment after the event with a sequence, or at an ISO 8601 time (UTC unless it names an offset).

        The sequence of a recorded call gives the moment of the call: there, the tool gives the same answer again.

        Raises:
            InvalidArgument: the log does not hold that moment.
        """
        return self._moment(self._past.moment(at))

    @property
    def end(self) -> "Moment":
        """The moment after the last event."""
        return self._moment(self._past.end)

    def state_at(self, seq: int) -> WorkspaceState:
        """The fold of all events up to a sequence. The moment of a recorded call is earlier: what the call saw."""
        return self._past.state_at(seq)

    def find(self, expression: str, *, vault: str | None = None) -> Event:
        """The first event after which a JMESPath expression over the state is true, as `workspaced log find`.

        Args:
            expression: reads the fields of `Moment.state_json`.
            vault: the vault whose state it reads; default: the vault that is current after the event.

        Raises:
            NeverTrue: it is true after no event.
            ALREADY_TRUE: it is true of the state that the log begins with.
            InvalidArgument: it cannot be evaluated, or there is no such vault.
        """
        return find_first(self._part, Expression(expression, VaultId(vault) if vault is not None else None)).event

    def blob(self, sha256: str) -> bytes | None:
        """The content with that hash, such as a call's answer or the recording of its reads; None: it is not kept.

        Raises:
            LogDamaged: what is kept has another hash, or cannot be read.
        """
        return self._part.blob(sha256)

    def verify(self) -> list[Verified | Rebuilt]:
        """Replays every recorded call and rebuilds every prompt, as `workspaced replay --verify`. Calls about an
        earlier moment come last."""
        found: list[Verified | Rebuilt] = []
        verify(self._part, found.append, each_prompt=found.append)
        return found

    def _moment(self, place: log_cursor.Moment) -> "Moment":
        return Moment(place, self._past, self._recordings, self._texts)

    def _all_of(
        self, types: Collection[str], after: int | None, before: int | None, limit: int | None
    ) -> list[Event]:
        found = list(islice(self.events_of(types, after=after, before=before), limit))
        return found if before is None or after is not None else found[::-1]


class Moment:
    """A moment of a log: its state, and the answers of tools at that moment.

    Attributes:
        seq: the sequence of the last event up to the moment.
        time: the log's time at the moment.
    """

    def __init__(self, place: log_cursor.Moment, past: IndexedPast, recordings: Recordings, texts: Texts) -> None:
        self.seq = place.seq
        self.time = place.time
        self._place = place
        self._past = past
        self._recordings = recordings
        self._texts = texts

    @cached_property
    def state(self) -> WorkspaceState:
        """The fold of all events up to here."""
        return self._past.state_at(self.seq)

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
            WorkspacedError: there is no tool with that name.
            InvalidArgument: `at` is among the arguments.
        """
        if tool not in TOOLS:
            raise WorkspacedError(
                f"There is no tool {tool[:200]!r}.", hint=f"Tools: {', '.join(TOOLS)}.", code="UNKNOWN_TOOL"
            )
        if arguments.get("at") is not None:
            raise InvalidArgument("The moment is named twice.", hint="Leave `at` out: `Log.at` says the moment.")
        answered: Json = run(TOOLS[tool], self._view(), arguments)
        return answered

    def _view(self) -> View:
        vault = self.state.current
        prompts = partial(manifest_at, self.state.conversations, vault, self._texts)
        also = tuple(self._past.state_at(seq).seq for seq in self._place.also)
        if vault is None:
            view = shared_view(self.state, self.time, None, prompts=prompts, level="all", withheld=_nothing)
            return replace(view, also_at=also)
        past = Past(self._past, self._recordings, vault, self._place)
        view = shared_view(
            self.state,
            self.time,
            PastVault(past, _nothing, withheld_image=_nothing),
            partial(recorded_visits, self._past.visits_at, self.seq, vault),
            PastVersions(self._past, self._recordings, vault, self._place, _nothing).version,
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

    def __init__(self, event: Event, part: Slice, past: IndexedPast) -> None:
        self._part = part
        self._past = past
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

    def again(self, notes: Mapping[str, str] | None = None) -> Json:
        """The answer of this program's tool to the recorded reads.

        Args:
            notes: the texts that notes should have had, by their paths.

        Raises:
            NotRecorded: the recording is not kept.
            InvalidArgument: the call did not read one of the notes.
        """
        made = self._verify(supposed_blob(self.event, self._part.blob, notes or {}))
        if made.answered is None:
            raise NotRecorded(f"What call {self.seq} was made from is not kept", hint=made.why)
        answer: Json = msgspec.json.decode(made.answered)
        return answer

    def notes(self) -> dict[str, str]:
        """The notes whose text the call read, with the texts.

        Raises:
            NotRecorded: a text is not kept.
        """
        return read_texts(self.event, self._part.blob)

    def verify(self) -> Verified:
        """Replays the call; tells whether both answers are equal byte for byte."""
        return self._verify(self._part.blob)

    def _verify(self, blob: Blob) -> Verified:
        try:
            return verify_call(self._part, Notes(blob), self._past, self.event)
        except StateNotRetained:
            return of_another_part(self.event)


class Prompt:
    """A prompt that was assembled.

    Attributes:
        event: the prompt's event in the log.
        seq: the event's sequence.
        conversation: the id of its conversation.
    """

    def __init__(self, event: Event, part: Slice, past: IndexedPast) -> None:
        self._part = part
        self._past = past
        self.event = event
        self.seq: int = event.seq
        self.conversation: str = event.data.conversation

    def verify(self) -> Rebuilt:
        """Rebuilds the prompt; tells whether its layers, its manifest and its body have the recorded hashes."""
        return verify_prompt(self._part, self._past, self.event)

    def notes(self) -> dict[str, str]:
        """The notes that the prompt shows whole, each with the text that came last.

        Raises:
            NotRecorded, LogDamaged: what it was made from is not kept, or damaged.
        """
        shown = whole_notes(self.event.data, self._conversation(), texts_in(self._part.blob))
        return {str(note): text for note, text in shown.items()}

    def text(self, notes: SupposedNotes | None = None) -> str:
        """All that the model was shown, layer after layer, as text. Arguments and errors as those of `body`."""
        return "\n\n".join(layer.text for layer in self._made(notes).envelope.layers if layer.text)

    def body(self, notes: SupposedNotes | None = None, *, shape: str | None = None) -> Json:
        """The request as the provider got it, or as it would have been with other notes.

        Args:
            notes: by the path that a note had then the text that it should have had; None: it should not have been
                there. What the prompt does not show whole stands in it as if attached, but cannot be taken out.
            shape: the form of another provider, such as `openai`; default: the recorded one, or `openai` where the
                runtime was given messages.

        Raises:
            NotRecorded, LogDamaged: what it was made from is not kept, or damaged.
            InvalidArgument: the prompt does not show a note whole that should not be there.
            TemplateFailed: this version cannot render the recorded template.
        """
        data: PromptAssembled = self.event.data
        settings, envelope = self._conversation().settings, self._made(notes).envelope
        recorded = data.shape
        if recorded is None or shape not in (None, recorded.name):
            recorded = Shape(name=shape or "openai", body_hash="")
        return rebuild_request_body(recorded, envelope, settings, self._part.blob).body

    def _conversation(self) -> Conversation:
        data: PromptAssembled = self.event.data
        if self._part.redacted:
            raise NotRecorded("Redaction removed what the prompt was made from", hint="Read the original log.")
        return checked(self._past.conversation_at(data.conversation, data.as_of_seq))

    def _made(self, notes: SupposedNotes | None) -> Assembled:
        return rebuild_supposing(self.event.data, self._conversation(), texts_in(self._part.blob), notes or {})
