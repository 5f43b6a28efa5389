"""`RecordedCalls`: the calls of a log by what was asked, and the stored answer that a call in the past gets."""

from collections.abc import Collection
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import LogDamaged
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import Event, Sharing, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.recording.format import VERSION, Recording, Repeats, arguments_of, read_recording
from workspaced_tools.recording.shown_notes import names_any
from workspaced_tools.tools.registry import EVERY_TOOL
from workspaced_tools.tools.tool import normalised

from .recorded_log import RecordedLog

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
