"""Reads recorded calls from a log: a list of calls, or one call with its recording.

Every value is built from `tool_called` events and the blobs that they name. A value whose blob is no longer kept
says so and holds the rest.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.replay.position import Position
from workspaced_events.schema.catalogue import Event, ToolCalled

from ..errors import NotRecorded
from ..notes.note import NoteFailure
from ..ports.questions import Read, VersionOf
from ..prompts.model.token_estimate import estimate_json_tokens, estimate_json_tokens_of_chars
from .format import (
    SWEPT,
    Blob,
    Exchange,
    RecordedName,
    RecordedNote,
    RecordedRead,
    RecordedVersion,
    Recording,
    ResultHead,
    arguments_of,
    read_recording,
)

OFF: Final = "What agents are shown was not recorded then; the setting record = served records it."
_CHARS_SHOWN: Final = 200
_HASH_CHARS_SHOWN: Final = 12


# -- which calls --


class Wanted(msgspec.Struct, frozen=True):
    """A filter of calls. A field that is None filters nothing."""

    tool: str | None = None
    caller: str | None = None
    """Compared as the share policy does."""
    failed: bool = False
    """Only failed calls."""
    since: Position | None = None
    """A sequence, or a time in an event's form."""

    def takes(self, event: Event) -> bool:
        """Whether the event is a call that passes the filter."""
        called, since = event.data, self.since
        return (
            isinstance(called, ToolCalled)
            and (since is None or (event.seq >= since if isinstance(since, int) else event.time >= since))
            and (self.tool is None or called.tool == self.tool)
            and (self.caller is None or client_key(called.caller) == client_key(self.caller))
            and not (self.failed and called.ok)
        )


def checked_call(event: Event | None, seq: int) -> Event:
    """Checks that the event found at `seq` is a call, and returns it.

    Raises:
        InvalidArgument: there is no event, or the event is no call.
    """
    if event is None:
        raise InvalidArgument(f"The log holds no event {seq}.", hint="`workspaced calls` lists the calls.")
    if not isinstance(event.data, ToolCalled):
        raise InvalidArgument(
            f"Event {seq} is {event.type}, no call of a tool.", hint="`workspaced calls` lists the calls."
        )
    return event


# -- a list --


class Listed(msgspec.Struct, frozen=True, rename="camel"):
    """One call of a list."""

    seq: int
    time: str
    caller: str
    tool: str
    arguments: dict[str, Any]
    """Empty if the arguments are long; `arguments_sha256` then names their blob."""
    arguments_sha256: str | None
    as_of_seq: int
    ok: bool
    code: str | None
    """The error code of a failed call; null if the answer is not kept."""
    bytes: int
    tokens: int
    """An estimate (token_estimate.py), from `bytes` alone if the answer is not kept."""
    duration_us: int
    kept: bool
    """Whether the answer is kept."""


def listed(event: Event, blob: Blob) -> Listed:
    """The list entry of a call."""
    called: ToolCalled = event.data
    result = result_of(called, blob)
    code = msgspec.json.decode(result, type=ResultHead).code if result is not None and not called.ok else None
    return Listed(
        seq=event.seq,
        time=event.time,
        caller=called.caller,
        tool=called.tool,
        arguments=called.arguments,
        arguments_sha256=called.arguments_sha256,
        as_of_seq=called.as_of_seq,
        ok=called.ok,
        code=code,
        bytes=called.bytes,
        tokens=estimate_json_tokens_of_chars(called.bytes)
        if result is None
        else estimate_json_tokens(result.decode()),
        duration_us=called.duration_us,
        kept=result is not None,
    )


def result_of(called: ToolCalled, blob: Blob) -> bytes | None:
    """The answer in the bytes that the client got; None if its blob is not kept or is damaged."""
    with suppress(LogDamaged):
        return blob(called.result_sha256)
    return None


# -- one call --


class RecordedCall(msgspec.Struct, frozen=True):
    """A recorded call with its blobs. A field whose blob is not kept is None."""

    event: Event
    arguments: dict[str, Any] | None
    result: str | None
    """The text of the answer, whose UTF-8 the client got."""
    recording: Recording | None
    """What the call read."""
    why: str = ""
    """Why a field is None."""

    def answer(self) -> bytes:
        """The answer in the bytes that the client got.

        Raises:
            NotRecorded: the answer is not kept.
        """
        if self.result is None:
            raise NotRecorded(f"The answer of call {self.event.seq} is not kept", hint=self.why)
        return self.result.encode()


def recorded_call(event: Event, blob: Blob) -> RecordedCall:
    """Reads the blobs of a recorded call."""
    called: ToolCalled = event.data
    result = result_of(called, blob)
    why = OFF if called.inputs_sha256 is None else SWEPT
    arguments: dict[str, Any] | None = None
    recording: Recording | None = None
    try:
        with suppress(NotRecorded):
            arguments = arguments_of(called, blob)
        inputs = blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
        if inputs is not None:
            recording = read_recording(inputs, called.inputs_sha256 or "")
    except (NotRecorded, LogDamaged) as error:
        why = str(error)
    whole = None not in (arguments, result, recording)
    text = result.decode() if result is not None else None
    return RecordedCall(event, arguments, text, recording, "" if whole else why)


def made_from(recording: Recording) -> list[str]:
    """What a call read, as lines for people: one for each note version and each other question."""
    if recording.refused is not None:
        return [f"nothing: {recording.refused.message}"]
    lines = [] if recording.level == "all" else [f"shared with this client: {recording.level}"]
    for exchange in recording.asked:
        if exchange.raised is not None:
            lines.append(f"{_question(exchange.ask, exchange.question)} -> {exchange.raised.message}")
        elif exchange.ask == Read.name:
            lines += map(_version, notes_read(exchange))
        elif exchange.ask == VersionOf.name:
            then = msgspec.json.decode(exchange.answer, type=RecordedVersion)
            lines += [f"as of event {then.seq}: {_version(each)}" for each in notes_read(exchange)]
        else:
            lines.append(f"{_question(exchange.ask, exchange.question)} -> {brief(exchange.answer)}")
    return lines


def notes_read(exchange: Exchange) -> list[RecordedRead]:
    """The notes that the answer to a question holds, as they were read."""
    if exchange.raised is not None:
        return []
    if exchange.ask == Read.name:
        return msgspec.json.decode(exchange.answer, type=list[RecordedRead])
    if exchange.ask == VersionOf.name:
        version = msgspec.json.decode(exchange.answer, type=RecordedVersion)
        return [msgspec.json.decode(version.note, type=RecordedRead)]
    return []


def read_texts(event: Event, blob: Blob) -> dict[str, str]:
    """The notes whose text a call read, each with the text that it read last.

    Raises:
        NotRecorded: a text is not kept.
    """
    texts = {}
    for kept in _notes_kept(event, blob):
        content = blob(kept.text)
        if content is None:
            raise NotRecorded(f"The text of {kept.id} as it was read is not kept", hint=SWEPT)
        texts[str(kept.id)] = content.decode()
    return texts


def supposed_blob(event: Event, blob: Blob, notes: Mapping[str, str]) -> Blob:
    """The blobs as they would be if the call had read other texts of notes.

    Raises:
        InvalidArgument: the call did not read one of the notes.
    """
    read = _notes_kept(event, blob) if notes else []
    known = dict.fromkeys(kept.id for kept in read)
    if unknown := [note for note in notes if note not in known]:
        raise InvalidArgument(
            f"Call {event.seq} did not read {unknown[0]!r}.", hint=f"It read: {', '.join(known) or 'no note'}."
        )
    changed = {kept.text: notes[kept.id].encode() for kept in read if kept.id in notes}
    return lambda name: changed[name] if name in changed else blob(name)


def _notes_kept(event: Event, blob: Blob) -> list[RecordedNote]:
    recorded = recorded_call(event, blob)
    if recorded.recording is None:
        raise NotRecorded(f"What call {event.seq} read is not kept", hint=recorded.why)
    read = (each for exchange in recorded.recording.asked for each in notes_read(exchange))
    return [each for each in read if isinstance(each, RecordedNote)]


def _version(kept: RecordedRead) -> str:
    match kept:
        case RecordedNote():
            return f"note {kept.id}, {kept.stat.size} bytes, sha256 {kept.sha256[:_HASH_CHARS_SHOWN]}"
        case RecordedName():
            return f"note {kept.id}, its title alone"
        case NoteFailure():
            return f"note {kept.id}: {kept.message} [{kept.code}]"


def _question(ask: str, question: msgspec.Raw) -> str:
    return brief(f"{ask}{bytes(question).decode()}")


def brief(value: str | msgspec.Raw) -> str:
    """A text or JSON value, cut to _CHARS_SHOWN characters."""
    text = value if isinstance(value, str) else bytes(value).decode()
    return text if len(text) <= _CHARS_SHOWN else f"{text[:_CHARS_SHOWN]}..."


def texts_of(result: bytes) -> list[tuple[NoteId, str]]:
    """Notes in an answer and their texts, in its order."""
    found: list[tuple[NoteId, str]] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            note, content = value.get("id"), value.get("content")
            if isinstance(note, str) and isinstance(content, str):
                found.append((NoteId(note), content))
                return
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(each)

    collect(msgspec.json.decode(result).get("data"))
    return found
