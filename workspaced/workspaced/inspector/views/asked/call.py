"""The calls, the latest first; one of them with all that is known of it; and how it differs from another, or from
its replay by this program.

What is known are its arguments, the bytes that were answered, and what it read through its view of the workspace.
"""

import difflib
import time
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.projections.state_diff import changes, lines
from workspaced_events.projections.workspace_state import StateJson, to_json
from workspaced_events.schema.catalogue import ContextInserted, ContextVolunteered, Event, Sharing, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.token_estimate import (
    estimate_json_tokens,
    estimate_json_tokens_of_chars,
    estimate_tokens,
)
from workspaced_tools.recording.call_diff import compared, readable_json
from workspaced_tools.recording.format import Blob, Exchange, Raised, RecordedNote, RecordedRead
from workspaced_tools.recording.recorded_calls import (
    Listed,
    RecordedCall,
    Wanted,
    brief,
    checked_call,
    listed,
    notes_read,
    recorded_call,
    result_of,
)
from workspaced_tools.replay.verify import Outcome

from .... import replay
from ...inspected import Download, EventParameters, Inspected

TEXT_CHARS_MAX: Final = 200_000
"""Of one text in an answer of the API; a call's whole answer is a download."""
_KEEP_LONGER: Final = (
    "Recordings are kept for `record_days` and within `record_bytes`: raise these settings, or keep a session "
    "that matters with `workspaced bundle`."
)
CALLS_MAX: Final = 200
_LOOKED_AT_MAX: Final = 5_000
"""Calls that one request looks at; a filter may take few of them."""


class Asked(msgspec.Struct, rename="camel"):
    """One question of a call, without its answer."""

    index: int
    question: str
    """Its name, such as `read`."""
    about: str
    """The notes it is about, or what it asks, on one line."""
    bytes: int
    """Of the recorded answer, and of the notes' texts that it names."""
    failed: bool


class Told(msgspec.Struct, rename="camel"):
    """What an agent was told without asking."""

    text: str | None
    """Null: not kept."""
    session: str
    """The runtime's name of the agent's session."""
    moment: str
    """The runtime's name of the moment, such as `UserPromptSubmit`."""
    since: int | None
    """The session had been told the state as of this event before; null: nothing yet."""
    is_inserted: bool
    """Whether it was put into a request to a provider: the session is its chat, the moment the request's form."""


class Call(msgspec.Struct, rename="camel"):
    """A recorded call."""

    seq: int
    time: str
    tool: str
    caller: str
    ok: bool
    code: str | None
    """The error code of a failed call."""
    duration_us: int
    bytes: int
    """Of the answer; of what was told without asking: of its text."""
    tokens: int
    """An estimate."""
    as_of_seq: int
    """It saw the state as of this event."""
    tail_seq: int
    """It saw the log up to this event."""
    arguments: dict[str, Any] | None
    """Null: long, and not kept."""
    answer: str | None
    """The text of the answer, as it was answered, cut to 200,000 characters; null: not kept."""
    answer_chars: int
    told: Told | None
    """Null: a call."""
    level: Sharing | None
    """How much the caller was shown of the vault; null: not recorded."""
    withheld: int
    """How many notes were withheld from it."""
    refused: str | None
    """Why no tool ran."""
    asked: list[Asked] | None
    """What it read, in order; null: not recorded."""
    why: str
    """Why something is null."""
    keep_longer: str
    """What to do so that recordings are kept longer; empty if this one is whole."""


class AskedParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which question of which call."""

    seq: int
    index: int


class NoteRead(msgspec.Struct, rename="camel"):
    """A note as it was read."""

    id: str
    text: str | None
    """Cut to 200,000 characters; null: its title alone was read, it could not be read, or is not kept."""
    bytes: int
    """Of the file."""
    why: str


class Exchanged(msgspec.Struct, rename="camel"):
    """One question of a call with its answer."""

    question: str
    asked: msgspec.Raw
    """The question's fields."""
    answer: msgspec.Raw
    """Texts of notes are named by their hashes, and stand in `notes`."""
    raised: Raised | None
    """The error instead of an answer."""
    notes: list[NoteRead]


def call(inspected: Inspected, parameters: EventParameters) -> Call:
    """A recorded call.

    Raises:
        InvalidArgument: there is no event with that sequence, or it is no call.
    """
    recorded = call_at(inspected, parameters.seq)
    event, called, recording = recorded.event, recorded.event.data, recorded.recording
    text, told = recorded.result, _told(called, recorded.result)
    if told is not None and told.text is not None:
        tokens = estimate_tokens(told.text)
    else:
        tokens = estimate_json_tokens(text) if text is not None else estimate_json_tokens_of_chars(called.bytes)
    return Call(
        seq=event.seq,
        time=event.time,
        tool=called.tool,
        caller=called.caller,
        ok=called.ok,
        code=listed(event, inspected.log.blob).code,
        duration_us=called.duration_us,
        bytes=called.bytes,
        tokens=tokens,
        as_of_seq=called.as_of_seq,
        tail_seq=called.tail,
        arguments=recorded.arguments,
        answer=text[:TEXT_CHARS_MAX] if text is not None else None,
        answer_chars=len(text) if text is not None else 0,
        told=told,
        level=recording.level if recording is not None and recording.refused is None else None,
        withheld=recording.withheld if recording is not None else 0,
        refused=recording.refused.message if recording is not None and recording.refused is not None else None,
        asked=[_asked(at, each) for at, each in enumerate(recording.asked)] if recording is not None else None,
        why=recorded.why,
        keep_longer=_KEEP_LONGER if recorded.why and called.inputs_sha256 is not None else "",
    )


def answer(inspected: Inspected, parameters: EventParameters) -> Download:
    """The bytes that a call answered.

    Raises:
        InvalidArgument: there is no such call.
        NotRecorded: they are not kept.
    """
    content = call_at(inspected, parameters.seq).answer()
    return Download(content, "application/json", f"call-{parameters.seq}.json")


def exchanged(inspected: Inspected, parameters: AskedParameters) -> Exchanged:
    """One question that a call asked its view, and the answer.

    Raises:
        InvalidArgument: there is no such call, or it asked fewer questions.
        NotRecorded: what it read is not kept.
    """
    recorded = call_at(inspected, parameters.seq)
    if recorded.recording is None:
        raise NotRecorded(f"What call {parameters.seq} was made from is not kept", hint=recorded.why)
    questions = recorded.recording.asked
    if not 0 <= parameters.index < len(questions):
        raise InvalidArgument(f"Call {parameters.seq} asked {len(questions)} questions; got {parameters.index}.")
    exchange = questions[parameters.index]
    notes = [_note(each, inspected.log) for each in notes_read(exchange)]
    return Exchanged(exchange.ask, exchange.question, exchange.answer, exchange.raised, notes)


def call_at(inspected: Inspected, seq: int) -> RecordedCall:
    """The call recorded as the event `seq`.

    Raises:
        InvalidArgument: there is no event with that sequence, or it is no call.
    """
    return recorded_call(checked_call(inspected.log.event(seq), seq), inspected.log.blob)


def _told(called: ToolCalled, result: str | None) -> Told | None:
    if not isinstance(called, ContextVolunteered):
        return None
    is_inserted = isinstance(called, ContextInserted)
    return Told(told_in(result), called.session, called.event, called.from_seq, is_inserted)


class _Data(msgspec.Struct):
    text: str | None = None


class _Answer(msgspec.Struct):
    data: _Data | None = None


def told_in(result: bytes | str | None) -> str | None:
    """The text in a recorded answer of `volunteer_context`; None: it holds none, or is not kept."""
    answer = msgspec.json.decode(result, type=_Answer) if result is not None else None
    return answer.data.text if answer is not None and answer.data is not None else None


def _asked(index: int, exchange: Exchange) -> Asked:
    read = notes_read(exchange)
    fields = bytes(exchange.question).decode()
    about = brief(", ".join(each.id for each in read) if read else "" if fields == "[]" else fields)
    texts = sum(each.stat.size for each in read if isinstance(each, RecordedNote))
    size = len(bytes(exchange.answer)) + texts
    return Asked(index, exchange.ask, about, size, exchange.raised is not None)


def _note(kept: RecordedRead, log: replay.Log) -> NoteRead:
    if not isinstance(kept, RecordedNote):
        return NoteRead(kept.id, None, 0, getattr(kept, "message", "Only its title was shown."))
    try:
        content = log.blob(kept.text)
    except LogDamaged as error:
        return NoteRead(kept.id, None, kept.stat.size, error.message)
    if content is None:
        return NoteRead(kept.id, None, kept.stat.size, f"Its text is not kept. {_KEEP_LONGER}")
    return NoteRead(kept.id, content.decode(errors="replace")[:TEXT_CHARS_MAX], kept.stat.size, "")


class CallsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which calls. What is left out filters nothing."""

    tool: str | None = None
    """Its whole name; `volunteer_context` is what agents were told without asking."""
    caller: str | None = None
    """Compared as the share policy does."""
    failed: bool = False
    """Only failed calls."""
    before: int | None = None
    """Only calls before this event."""
    limit: int = 50


class Calls(msgspec.Struct, rename="camel"):
    """Some calls, and where the next ones begin."""

    calls: list[Listed]
    """The latest first."""
    before: int | None
    """Ask with it for the calls before these; null: there are none."""


def calls(inspected: Inspected, parameters: CallsParameters) -> Calls:
    """The latest calls that pass the filters. May give fewer than `limit` though there are more: see `before`.

    Raises:
        InvalidArgument: the limit is out of its range.
    """
    if not 1 <= parameters.limit <= CALLS_MAX:
        raise InvalidArgument(f"Expected a limit of 1 to {CALLS_MAX} calls, got {parameters.limit}.")
    wanted = Wanted(parameters.tool, parameters.caller, parameters.failed)
    found: list[Listed] = []
    before = parameters.before if parameters.before is not None else inspected.log.end.seq + 1
    for looked_at, event in enumerate(inspected.log.events_of(replay.CALL_TYPES, before=before)):
        if len(found) == parameters.limit or looked_at == _LOOKED_AT_MAX:
            return Calls(found, event.seq + 1)
        if wanted.takes(event):
            found.append(_row(event, inspected.log.blob))
    return Calls(found, None)


def _row(event: Event, blob: Blob) -> Listed:
    row = listed(event, blob)
    # The bytes of what was told are those of its text: the tokens are to be of the same.
    text = told_in(result_of(event.data, blob)) if isinstance(event.data, ContextVolunteered) else None
    return row if text is None else replace(row, tokens=estimate_tokens(text))


DIFF_LINES_MAX: Final = 4_000
_COMPARED_BYTES_MAX: Final = 2_000_000
"""Of two answers together; finding the difference of longer ones takes too long."""


class Badge(msgspec.Struct, rename="camel"):
    """Whether this program gives the same answer to what the call read then."""

    outcome: Outcome
    why: str
    """Why there is nothing to compare."""
    differs: str | None
    """`answer`, or a field of the event."""
    difference: list[str]
    """A unified diff from the recorded answer to the replay's, at most 4,000 lines; empty if not to be shown."""
    took_us: int
    """The replay, with finding its moment."""


class PairParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which two calls."""

    seq: int
    other: int


class Pair(msgspec.Struct, rename="camel"):
    """How the second call differs from the first, as lines for people. An empty list: not at all."""

    same: bool
    call: list[str]
    """Tool, client, arguments."""
    state: list[str]
    inputs: list[str]
    """What they read."""
    answer: list[str]
    """A unified diff of the answers; at most 4,000 lines."""
    lines_left_out: int


def badge(inspected: Inspected, parameters: EventParameters) -> Badge:
    """Replays the call.

    Raises:
        InvalidArgument: there is no such call.
    """
    call_at(inspected, parameters.seq)
    begun = time.perf_counter_ns()
    made = inspected.log.call(parameters.seq).verify()
    took_us = (time.perf_counter_ns() - begun) // 1_000
    difference: list[str] = []
    if made.served is not None and made.answered is not None and made.served != made.answered:
        difference = _diff(made.served, made.answered)[:DIFF_LINES_MAX]
    return Badge(made.outcome, made.why, made.differs, difference, took_us)


def _diff(served: bytes, answered: bytes) -> list[str]:
    if len(served) + len(answered) > _COMPARED_BYTES_MAX:
        return []
    old, new = readable_json(served), readable_json(answered)
    return list(difflib.unified_diff(old, new, "recorded", "replayed", lineterm=""))


def pair(inspected: Inspected, parameters: PairParameters) -> Pair:
    """Compares two calls, as `workspaced calls diff`.

    Raises:
        InvalidArgument: there is no such call, or the answers are too long to compare.
        NotRecorded: the answers differ, and one of them is not kept.
    """
    first, second = (call_at(inspected, seq) for seq in (parameters.seq, parameters.other))
    size = sum(len((each.result or "").encode()) for each in (first, second))
    if first.result != second.result and size > _COMPARED_BYTES_MAX:
        raise InvalidArgument(
            f"The two answers have {size} bytes; at most {_COMPARED_BYTES_MAX} are compared here.",
            hint=f"`workspaced calls diff {parameters.seq} {parameters.other}` has no limit.",
        )
    found = compared(first, second)
    state = _state_changes(inspected, first.event.data, second.event.data)
    same = not (found.call or found.inputs or found.answer or state)
    left_out = max(0, len(found.answer) - DIFF_LINES_MAX)
    return Pair(same, found.call, state, found.inputs, found.answer[:DIFF_LINES_MAX], left_out)


def _state_changes(inspected: Inspected, first: ToolCalled, second: ToolCalled) -> list[str]:
    if first.as_of_seq == second.as_of_seq:
        return []
    before, after = (_state(inspected, each.as_of_seq) for each in (first, second))
    if before is None or after is None:
        return ["The state that one of them saw is not in this log."]
    return lines(changes(before, after))


def _state(inspected: Inspected, seq: int) -> StateJson | None:
    try:
        return to_json(inspected.log.at(seq).state)
    except InvalidArgument:
        return None
