"""What an event tells, for people: who did it, one plain sentence, and the notes that it names.

The sentences hold names as the log has them. Whoever prints them to a terminal escapes control characters.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from . import catalogue as c
from .catalogue import Event

_ARGUMENTS_SHOWN: Final = 3
_ARGUMENT_CHARS_MAX: Final = 60
_NAMES_SHOWN: Final = 3
_NOTES_MAX: Final = 100


def who(event: Event) -> str:
    """Who caused the event: the client of a call or of a write, else the event's source."""
    data = event.data
    if isinstance(data, c.ToolCalled):
        return data.caller
    if type(data) is c.MemoryWritten:
        return data.client
    return event.source


def sentence(event: Event) -> str:
    """What happened, without who and when: "opened work/plan.md", "pinned a.md"."""
    if (told := _TOLD.get(type(event.data))) is not None:
        return told(event.data)
    if (said := _SAID.get(event.type)) is not None:
        note = getattr(event.data, "note", None)
        return said if note is None else f"{said} {note}"
    return event.type.replace("_", " ")


def notes_named(event: Event) -> list[str]:
    """The notes that the event names, each once; of a call those among its arguments, as its client wrote them."""
    return list(dict.fromkeys(islice(_notes(event.data), _NOTES_MAX)))


def _notes(data: Any) -> Iterator[str]:
    if isinstance(data, c.ToolCalled):
        given = (data.arguments.get(name) for name in _NOTE_ARGUMENTS)
        yield from (value for value in given if isinstance(value, str))
        return
    for field in _NOTE_FIELDS:
        if isinstance(value := getattr(data, field, None), str):
            yield value
    if type(data) is c.ContextPinned and data.path is not None:
        yield data.path
    yield from getattr(data, "notes", ())
    for attachment in getattr(data, "attachments", ()):
        if attachment.kind in _NOTE_ATTACHMENTS:
            yield attachment.id


_NOTE_FIELDS: Final = ("note", "from_", "to")
_NOTE_ARGUMENTS: Final = ("reference", "from", "path", "old_path", "new_path")
_NOTE_ATTACHMENTS: Final = ("note", "active_note")

# -- the sentences --


def _called(data: c.ToolCalled) -> str:
    given = [f"{name}={_short(value)}" for name, value in islice(data.arguments.items(), _ARGUMENTS_SHOWN)]
    more = ["…"] if len(data.arguments) > _ARGUMENTS_SHOWN or data.arguments_sha256 is not None else []
    return f"called {data.tool}({', '.join(given + more)}){'' if data.ok else ', which failed'}"


def _short(value: Any) -> str:
    text = f"“{value}”" if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= _ARGUMENT_CHARS_MAX else text[:_ARGUMENT_CHARS_MAX] + "…"


def _what(data: c.ContextVolunteered) -> str:
    return "everything" if data.from_seq is None else f"what differs from event {data.from_seq}"


def _volunteered(data: c.ContextVolunteered) -> str:
    return f"was told {_what(data)} without asking, at {data.event}{'' if data.ok else ', which failed'}"


def _selected(data: c.SelectionChanged) -> str:
    if data.text == "":
        return f"put the cursor in line {data.start_line} of {data.note}"
    if data.start_line == data.end_line:
        return f"selected line {data.start_line} of {data.note}"
    return f"selected lines {data.start_line} to {data.end_line} of {data.note}"


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _memory(data: c.MemoryWritten) -> str:
    moved = f" from {data.from_}" if data.from_ is not None else ""
    undone = f", undoing event {data.undoes}" if data.undoes is not None else ""
    return f"wrote the memory file {data.note}{moved} ({data.command}{undone})"


def _message(verb: str) -> Callable[[Any], str]:
    def told(data: Any) -> str:
        return f"{verb} a message of the role {data.role} in {data.conversation}"

    return told


_TOLD: Final[dict[type, Callable[[Any], str]]] = {
    c.VaultOpened: lambda data: f"opened the vault {data.name}",
    c.VaultClosed: lambda data: f"closed the vault {data.vault_id}",
    c.VaultSwitched: lambda data: f"switched to the vault {data.vault_id}",
    c.ActiveNoteSet: lambda data: f"opened {data.note}",
    c.SelectionChanged: _selected,
    c.TemporaryTabOpened: lambda data: f"opened a tab of {data.note} (by {data.source})",
    c.TemporaryTabClosed: lambda data: f"closed the tab {data.note if data.note is not None else data.tab_id}",
    c.TemporaryTabsExpired: lambda data: f"let tabs go that were not used for 24 hours: {_some(data.tab_ids)}",
    c.NoteRenamed: lambda data: f"renamed {data.from_} to {data.to}",
    c.SharingSet: lambda data: f"set what {data.client} is shown to “{data.level}”",
    c.VolunteeringSet: lambda data: f"set what {data.client} is told without asking to “{data.volunteering}”",
    c.PauseStarted: lambda data: f"paused the workspace until {data.until or 'somebody resumes it'}",
    c.ViewOpened: lambda data: "began to show its view" + (", by inference" if data.confidence else ""),
    c.EventForgotten: lambda _data: "had an event here that was forgotten",
    c.ToolCalled: _called,
    c.ContextVolunteered: _volunteered,
    c.ContextInserted: lambda data: f"put {_what(data)} into a request",
    c.ContextWithdrawn: lambda data: (
        f"takes {len(data.insertions)} texts out of later requests: their notes are withheld"
    ),
    c.PromptAnswered: lambda data: (
        "was answered"
        if data.input_tokens is None
        else f"cost {data.input_tokens} tokens in, {data.cached_tokens} of them cached, {data.output_tokens} out"
    ),
    c.PromptOverlaid: lambda data: f"sent a request with what was put into it up to {data.insertion}",
    c.AnswerJudged: lambda data: (
        f"judged the answer of event {data.of} {data.verdict}"
        + (f", wanted “{data.wanted}”" if data.wanted else "")
    ),
    c.MemoryWritten: _memory,
    c.MemoryWriteEnded: lambda data: f"ended the write of event {data.write}: {data.outcome}",
    c.ClockStepped: lambda data: f"noticed that the clock was set from {data.before} to {data.after}",
    c.LogRecovered: lambda data: f"repaired the log after an unclean stop: {data.bytes} bytes quarantined",
    c.DaemonStarted: lambda data: f"started, version {data.version}",
    c.DaemonStopped: lambda data: f"stopped ({data.reason})",
    c.ConversationStarted: lambda data: f"started {data.conversation} with {data.model}",
    c.ConversationBranched: lambda data: f"branched {data.conversation} off {data.origin}",
    c.ConversationEnded: lambda data: f"ended {data.conversation}",
    c.MessageAdded: _message("added"),
    c.MessageReplaced: _message("replaced"),
    c.MessageRemoved: lambda data: (
        f"removed {'messages' if data.following else 'a message'} of {data.conversation}"
    ),
    c.ContextPinned: lambda data: (
        f"pinned {data.kind} {data.path or data.folder or data.id} in {data.conversation}"
    ),
    c.ContextUnpinned: lambda data: f"unpinned {data.id} in {data.conversation}",
    c.ArtifactRecorded: lambda data: f"kept the text of {data.kind} {data.id}: {data.bytes} bytes",
    c.PromptAssembled: lambda data: f"assembled a prompt of {data.conversation}: about {data.estimate} tokens",
    c.ContextFolded: lambda data: f"shortened {data.conversation}: {data.reason}",
    c.ContextNearLimit: lambda data: (
        f"found {data.conversation} near its limit: about {data.estimate} of {data.limit} tokens"
    ),
    c.LinkChanged: lambda data: (
        "left the link" if data.origin is None else f"is linked with {len(data.members) - 1} other machines"
    ),
    c.RemoteEventsApplied: lambda data: f"heard message {data.position.n} of the machine {data.origin[:8]}",
    c.UsageReported: lambda data: (
        f"reported {data.input_tokens} tokens in, {data.cached_tokens} of them cached, {data.output_tokens} out"
    ),
}

_SAID: Final = {
    "active_note_cleared": "left the active note",
    "note_pinned": "pinned",
    "note_unpinned": "unpinned",
    "pinned_notes_reordered": "put the pins into another order",
    "temporary_tabs_reordered": "put the tabs into another order",
    "temporary_tabs_cleared": "closed all tabs",
    "note_created": "found the new file",
    "note_changed": "found other text in",
    "note_shown": "found that agents may see",
    "note_withheld": "found that agents may not see",
    "note_deleted": "deleted",
    "note_archived": "archived",
    "note_unarchived": "took out of the archive",
    "pause_ended": "ended the pause",
    "view_closed": "stopped showing its view",
    "record_forgotten": "had a record here that was forgotten or left out",
    "summary_set": "summed up what was said",
}
