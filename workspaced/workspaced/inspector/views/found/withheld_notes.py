"""Notes that were withheld while the user looked at them.

Of the front matter an event tells. Of rules (`.workspacedignore`, the settings) only calls tell: each records what
of the state it was not shown.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.errors import NoActiveNote
from workspaced_tools.recording.format import read_recording
from workspaced_tools.recording.recorded_calls import listed

from .... import replay
from .finding import Evidence, Finding, life_of

_RECORDINGS_READ: Final = 1_000
"""Recordings of calls that one answer reads."""
_TELL: Final = frozenset(
    {"get_current_note", "get_workspace_context", "get_workspace_summary", "volunteer_context"}
)
"""The tools that tell unasked which note is active."""


def withheld(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    """The findings, one for each note that calls did without."""
    by_front_matter = list(_by_front_matter(log, stretch))
    yield from by_front_matter
    yield from _from_calls(log, stretch, {each.note for each in by_front_matter})


def _by_front_matter(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    for event in stretch:
        if not isinstance(event.data, c.NoteWithheld) or event.vault is None:
            continue
        note = event.data.note
        if note != _active_at(log, event.seq - 1, event.vault):
            continue
        shown = log.events_of(("note_shown",), before=event.seq)
        was_shown = any(isinstance(each.data, c.NoteShown) and each.data.note == note for each in shown)
        how = "was withheld from agents while the user looked at it"
        sentence = f"{note} {how}" if was_shown else f"The user looked at {note}, which is withheld from agents"
        evidence = [Evidence(f"event {event.seq}", ["at", str(event.seq)]), life_of(note)]
        yield Finding(event.seq, event.time, "withheldNote", sentence, evidence, note=note)


def _from_calls(log: replay.Log, stretch: list[Event], known: set[str | None]) -> Iterator[Finding]:
    """Of each note the newest call that would have been told of it, with how many were not."""
    calls: dict[NoteId, list[Event]] = {}
    recorded = (event for event in stretch if isinstance(event.data, c.ToolCalled) and event.data.inputs_sha256)
    for _, event in zip(range(_RECORDINGS_READ), recorded, strict=False):
        note = _withheld_from(log, event)
        if note is not None and note not in known:
            calls.setdefault(note, []).append(event)
    for note, events in calls.items():
        newest = events[0]
        call: c.ToolCalled = newest.data
        sentence = f"{call.caller} was not told that the user looked at {note}: a rule withholds it"
        evidence = [Evidence(f"call {newest.seq}", ["call", str(newest.seq)]), life_of(note)]
        yield Finding(newest.seq, newest.time, "withheldNote", sentence, evidence, note=note, times=len(events))


def _withheld_from(log: replay.Log, event: Event) -> NoteId | None:
    """The note that the user looked at, if the call asked for that and was not shown it."""
    call: c.ToolCalled = event.data
    name = call.inputs_sha256
    if call.tool not in _TELL if call.ok else listed(event, log.blob).code != NoActiveNote.code:
        return None
    try:
        content = log.blob(name) if name is not None else None
        recording = read_recording(content, name or "") if content is not None else None
    except (WorkspacedError, msgspec.MsgspecError):
        return None
    if recording is None or "active" not in recording.left_out:
        return None
    return _active_at(log, call.as_of_seq, None)


def _active_at(log: replay.Log, seq: int, vault: VaultId | None) -> NoteId | None:
    """The active note then, of the current vault if `vault` is None."""
    try:
        state = log.at(seq).state
    except InvalidArgument:
        return None  # the log begins later
    active = state.of(vault or state.current).active
    return active.id if active is not None else None
