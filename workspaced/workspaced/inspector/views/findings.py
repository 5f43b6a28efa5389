"""What is worth looking at in a log, newest first: each one sentence with its evidence.

Found are prompts that held a note in an older version than it had by then, calls that failed, and notes that were
withheld while the user looked at them. Of an older version both texts are shown where recordings hold them, so
that a reader sees what the model could not know.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import VaultId
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.ports.manifest import ManifestEntry
from workspaced_tools.recording.format import RecordedNote, read_recording
from workspaced_tools.recording.recorded_calls import listed, notes_read

from ... import replay
from ..inspected import Inspected
from .prompts.conversations import answer_to, kept_manifest, note_of, state_of, words_of

_SEARCHED_EVENTS: Final = 10_000
"""Events that one answer looks at, backwards."""
_RECORDINGS_READ: Final = 1_000
"""Recordings of calls that one answer reads, for the texts of notes."""
_FINDINGS_MAX: Final = 100
_DIFF_LINES_MAX: Final = 200
_TEXT_BYTES_MAX: Final = 200_000
"""Longer notes are not compared."""
_WORDS_CHARS: Final = 60
"""Of what changed in a line, for the sentence."""
_TYPES: Final = (*replay.CALL_TYPES, "prompt_assembled", "note_changed", "note_withheld")
_PARTS: Final = re.compile(r"\s+|\w[\w.-]*\w|\w|[^\s\w]+")
"""A line is compared by words, dates and numbers, by signs, and by blanks."""


class FindingsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which findings."""

    before: Annotated[int, Meta(ge=1)] | None = None
    """Only what was before this sequence; left out: the newest."""


class Evidence(msgspec.Struct, rename="camel"):
    """Where the page shows what a finding rests on."""

    title: str
    link: list[str]
    """The parts of the page's link, such as `prompt`, `167`."""


class Finding(msgspec.Struct, rename="camel"):
    """One thing that is worth looking at."""

    seq: int
    time: str
    kind: Literal["olderNote", "failedCall", "withheldNote"]
    sentence: str
    """Without the full stop: behind it stands `since`."""
    since: str | None
    """When the note changed; null: no event says so, or this is no older note."""
    note: str | None
    """The note that was older, or withheld."""
    difference: list[str]
    """A unified diff from what was read to what the note said, at most 200 lines; empty if a text is not kept."""
    answer: str
    """The beginning of what the model then said; empty: nothing, or it is not kept."""
    prompts: int
    """How many prompts of the conversation had this older version."""
    evidence: list[Evidence]


class Findings(msgspec.Struct, rename="camel"):
    """What is worth looking at, newest first."""

    findings: list[Finding]
    left_out: int
    """Older findings that are not listed; ask with `before`."""
    searched_from: int | None
    """The first sequence that was looked at; null: the log's beginning."""


class _Version(NamedTuple):
    note: str
    revision: str
    """The sha256 of the file."""


class _Stale(NamedTuple):
    """A note that stood in a prompt in an older version."""

    prompt: Event
    entry: ManifestEntry
    note: str


def findings(inspected: Inspected, parameters: FindingsParameters) -> Findings:
    """The findings of one stretch of the log, read backwards."""
    log = inspected.log
    stretch: list[Event] = []
    searched_from = None
    for event in log.events_of(_TYPES, before=parameters.before or log.end.seq + 1):
        stretch.append(event)
        if len(stretch) == _SEARCHED_EVENTS:
            searched_from = event.seq
            break
    every = (*_older(log, stretch), *_failed(log, stretch), *_withheld(log, stretch))
    found = sorted(every, key=lambda each: -each.seq)
    return Findings(found[:_FINDINGS_MAX], max(0, len(found) - _FINDINGS_MAX), searched_from)


def _failed(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    for event in stretch:
        if not isinstance(event.data, c.ToolCalled) or event.data.ok:
            continue
        row = listed(event, log.blob)
        sentence = f"{row.caller} asked {row.tool} and got {row.code or 'an error'}"
        evidence = [Evidence(f"call {event.seq}", ["call", str(event.seq)])]
        yield Finding(event.seq, event.time, "failedCall", sentence, None, None, [], "", 0, evidence)


def _withheld(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    for event in stretch:
        if not isinstance(event.data, c.NoteWithheld) or event.vault is None:
            continue
        note, active = event.data.note, _active_before(log, event.seq, event.vault)
        if note != active:
            continue
        shown = log.events_of(("note_shown",), before=event.seq)
        was_shown = any(isinstance(each.data, c.NoteShown) and each.data.note == note for each in shown)
        how = "was withheld from agents while the user looked at it"
        sentence = f"{note} {how}" if was_shown else f"The user looked at {note}, which is withheld from agents"
        evidence = [
            Evidence(f"event {event.seq}", ["at", str(event.seq)]),
            Evidence("the note's life", ["note", note]),
        ]
        yield Finding(event.seq, event.time, "withheldNote", sentence, None, note, [], "", 0, evidence)


def _active_before(log: replay.Log, seq: int, vault: VaultId) -> str | None:
    try:
        active = log.at(seq - 1).state.of(vault).active
    except InvalidArgument:
        return None  # the log begins here
    return active.id if active is not None else None


def _older(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    """Of each conversation and version the newest prompt that had it, with how many had."""
    had: dict[tuple[str, _Version], list[_Stale]] = {}
    for event in stretch:
        if isinstance(event.data, c.PromptAssembled):
            for each in _stale_in(log, event, event.data):
                version = _Version(each.note, each.entry.revision or "")
                had.setdefault((event.data.conversation, version), []).append(each)
    if not had:
        return
    texts = _texts(log, stretch)
    changes = [each for each in stretch if isinstance(each.data, c.NoteChanged)]
    for (_conversation, version), prompts in had.items():
        yield _older_note(log, version, prompts, changes, texts)


def _stale_in(log: replay.Log, event: Event, prompt: c.PromptAssembled) -> Iterator[_Stale]:
    manifest, _not_kept = kept_manifest(log, prompt.manifest_sha256)
    for entry in manifest.entries if manifest is not None else ():
        if entry.state == "stale" and (note := note_of(entry)) is not None:
            yield _Stale(event, entry, note)


def _older_note(
    log: replay.Log,
    version: _Version,
    prompts: list[_Stale],
    changes: list[Event],
    texts: Mapping[_Version, str],
) -> Finding:
    newest = prompts[0].prompt
    prompt: c.PromptAssembled = newest.data
    change = next((each for each in changes if each.data.note == version.note and each.seq < newest.seq), None)
    difference: list[str] = []
    said, says = "", ""
    evidence = [Evidence(f"prompt {newest.seq}", ["prompt", str(newest.seq)])]
    since = None
    if change is not None:
        data: c.NoteChanged = change.data
        difference = _difference(log, texts.get(version), texts.get(_Version(version.note, data.sha256 or "")))
        said, says = _words_changed(difference)
        since = change.time
        evidence.append(Evidence(f"the edit, event {change.seq}", ["at", str(change.seq)]))
    evidence.append(Evidence("the note's life", ["note", version.note]))
    if said and says:
        sentence = f"A prompt read “{said}”; {version.note} said “{says}”"
    else:
        sentence = f"A prompt read an older version of {version.note}, which said something else"
    answer = _answer(log, prompt, newest.seq)
    return Finding(
        newest.seq,
        newest.time,
        "olderNote",
        sentence,
        since,
        version.note,
        difference,
        answer,
        len(prompts),
        evidence,
    )


def _answer(log: replay.Log, prompt: c.PromptAssembled, seq: int) -> str:
    """The beginning of what the model said to the prompt; empty if the conversation has forgotten it."""
    conversation = state_of(log, log.end.seq, prompt.conversation)
    record = next((each for each in conversation.prompts if each.seq == seq), None) if conversation else None
    return words_of(log, answer_to(conversation, record)) if conversation and record else ""


def _texts(log: replay.Log, stretch: list[Event]) -> dict[_Version, str]:
    """The names of the texts of notes that calls have read, by version."""
    found: dict[_Version, str] = {}
    read = 0
    for event in stretch:
        name = event.data.inputs_sha256 if isinstance(event.data, c.ToolCalled) else None
        if name is None or read == _RECORDINGS_READ:
            continue
        read += 1
        try:
            content = log.blob(name)
            asked = read_recording(content, name).asked if content is not None else ()
            kept = [note for exchange in asked for note in notes_read(exchange)]
        except (WorkspacedError, msgspec.MsgspecError):
            continue
        found |= {_Version(each.id, each.sha256): each.text for each in kept if isinstance(each, RecordedNote)}
    return found


def _difference(log: replay.Log, old: str | None, new: str | None) -> list[str]:
    try:
        before, after = (log.blob(name) if name is not None else None for name in (old, new))
    except WorkspacedError:
        return []
    if before is None or after is None or len(before) + len(after) > _TEXT_BYTES_MAX:
        return []
    old_lines, new_lines = (each.decode(errors="replace").splitlines() for each in (before, after))
    return list(difflib.unified_diff(old_lines, new_lines, "read", "said", lineterm=""))[:_DIFF_LINES_MAX]


def _words_changed(difference: list[str]) -> tuple[str, str]:
    """What the first place that changed said before and after, with the words around it; else empty texts."""
    removed = [line[1:] for line in difference[2:] if line.startswith("-")]
    added = [line[1:] for line in difference[2:] if line.startswith("+")]
    if not removed or not added:
        return "", ""
    old, new = _PARTS.findall(removed[0]), _PARTS.findall(added[0])
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    place = next((each for each in matcher.get_opcodes() if each[0] != "equal"), None)
    if place is None:
        return "", ""
    said, says = _phrase(old, place[1], place[2]), _phrase(new, place[3], place[4])
    return (said, says) if 0 < len(said) <= _WORDS_CHARS and 0 < len(says) <= _WORDS_CHARS else ("", "")


def _phrase(parts: list[str], begin: int, end: int) -> str:
    """The parts with the words on both sides, up to the next sign."""
    while begin > 0 and _is_word(parts[begin - 1]):
        begin -= 1
    while end < len(parts) and _is_word(parts[end]):
        end += 1
    return "".join(parts[begin:end]).strip()


def _is_word(part: str) -> bool:
    return part.isspace() or part[0].isalnum()
