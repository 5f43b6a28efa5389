"""What is worth looking at in a log, newest first: each one sentence with its evidence.

Found are prompts that held a note in an older version than it had by then, prompts that did without a note that a
compaction had left out and the user asked about, calls that failed, and notes that were withheld while the user
looked at them.
"""

import difflib
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from workspaced_events.errors import InvalidArgument, LogDamaged, WorkspacedError
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.errors import NoActiveNote, NotRecorded
from workspaced_tools.ports.manifest import ManifestEntry
from workspaced_tools.prompts.model.stored_texts import inputs_of, texts_in
from workspaced_tools.recording.format import read_recording
from workspaced_tools.recording.recorded_calls import listed
from workspaced_tools.recording.shown_notes import NOT_IN_PROMPT

from ... import replay
from ..inspected import Inspected
from .prompts.conversations import answer_to, kept_manifest, note_of, state_of, words_of

Kind = Literal["olderNote", "failedCall", "withheldNote", "folded"]


class Evidence(msgspec.Struct, rename="camel"):
    """Where the page shows what a finding rests on."""

    title: str
    link: list[str]
    """The parts of the page's link, such as `prompt`, `167`."""


class Finding(msgspec.Struct, rename="camel"):
    """One thing that is worth looking at."""

    seq: int
    time: str
    kind: Kind
    sentence: str
    """Without the full stop: behind it stands `since`."""
    evidence: list[Evidence]
    since: str | None = None
    """When the note changed; null: no event says so, or this is no older note."""
    note: str | None = None
    """The note that was older, withheld, or left out."""
    difference: list[str] = []
    """A unified diff from what was read to what the note said, at most 200 lines; empty if a text is not kept."""
    answer: str = ""
    """The beginning of what the model then said; empty: nothing, or it is not kept."""
    times: int = 1
    """How many prompts of the conversation had this older version, or calls did without the withheld note."""


def life_of(note: str) -> Evidence:
    """The note's line of life."""
    return Evidence("the note's life", ["note", note])


def prompt_at(seq: int) -> Evidence:
    """A prompt."""
    return Evidence(f"prompt {seq}", ["prompt", str(seq)])


_SEARCHED_EVENTS: Final = 10_000
"""Events that one answer looks at, backwards."""
_FINDINGS_MAX: Final = 100
_TYPES: Final = (*replay.CALL_TYPES, "prompt_assembled", "note_changed", "note_withheld")


class FindingsParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which findings."""

    before: Annotated[int, Meta(ge=1)] | None = None
    """Only what was before this sequence; left out: the newest."""


class Findings(msgspec.Struct, rename="camel"):
    """What is worth looking at, newest first."""

    findings: list[Finding]
    left_out: int
    """Older findings that are not listed; ask with `before`."""
    searched_from: int | None
    """The first sequence that was looked at; null: the log's beginning."""


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
    every = (*older(log, stretch), *compacted(log, stretch), *_failed(log, stretch), *withheld(log, stretch))
    found = sorted(every, key=lambda each: -each.seq)
    return Findings(found[:_FINDINGS_MAX], max(0, len(found) - _FINDINGS_MAX), searched_from)


def _failed(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    for event in stretch:
        if not isinstance(event.data, c.ToolCalled) or event.data.ok:
            continue
        row = listed(event, log.blob)
        sentence = f"{row.caller} asked {row.tool} and got {row.code or 'an error'}"
        evidence = [Evidence(f"call {event.seq}", ["call", str(event.seq)])]
        yield Finding(event.seq, event.time, "failedCall", sentence, evidence)


_DIFF_LINES_MAX: Final = 200
_TEXT_BYTES_MAX: Final = 200_000
"""Longer notes are not compared."""
_WORDS_CHARS: Final = 60
"""Of what changed in a line, for the sentence."""
_PARTS: Final = re.compile(r"\s+|\w[\w.-]*\w|\w|[^\s\w]+")
"""A line is compared by words, dates and numbers, by signs, and by blanks."""


class _Stale(NamedTuple):
    """A note that stood in a prompt in an older version."""

    prompt: Event
    entry: ManifestEntry
    note: str


def older(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    """The findings: of each conversation and version the newest prompt that had it, with how many had."""
    had: dict[tuple[str, str, str], list[_Stale]] = {}
    for event in stretch:
        if isinstance(event.data, c.PromptAssembled):
            manifest, _not_kept = kept_manifest(log, event.data.manifest_sha256)
            for entry in manifest.entries if manifest is not None else ():
                if entry.state == "stale" and (note := note_of(entry)) is not None:
                    key = (event.data.conversation, note, entry.revision or "")
                    had.setdefault(key, []).append(_Stale(event, entry, note))
    changes = [each for each in stretch if isinstance(each.data, c.NoteChanged)]
    for prompts in had.values():
        yield _older_note(log, prompts, changes)


def _older_note(log: replay.Log, prompts: list[_Stale], changes: list[Event]) -> Finding:
    newest, entry, note = prompts[0]
    prompt: c.PromptAssembled = newest.data
    change = next((each for each in changes if each.data.note == note and each.seq < newest.seq), None)
    difference = _difference(log, entry.revision, _present(log, prompt, entry.id))
    said, says = _words_changed(difference)
    evidence = [prompt_at(newest.seq)]
    if change is not None:
        evidence.append(Evidence(f"the edit, event {change.seq}", ["at", str(change.seq)]))
    evidence.append(life_of(note))
    if said and says:
        sentence = f"A prompt read “{said}”; {note} said “{says}”"
    else:
        sentence = f"A prompt read an older version of {note}, which said something else"
    return Finding(
        newest.seq,
        newest.time,
        "olderNote",
        sentence,
        evidence,
        since=change.time if change is not None else None,
        note=note,
        difference=difference,
        answer=_answer(log, prompt, newest.seq),
        times=len(prompts),
    )


def _present(log: replay.Log, prompt: c.PromptAssembled, name: str) -> str | None:
    """The revision that the note had when the prompt was made; None: it had none, or the inputs are not kept."""
    try:
        present = inputs_of(prompt.inputs_sha256, texts_in(log.blob)).present
    except (NotRecorded, LogDamaged):
        return None
    return next((each.artifact.revision for each in present if each.id == name), None)


def _answer(log: replay.Log, prompt: c.PromptAssembled, seq: int) -> str:
    """The beginning of what the model said to the prompt; empty if the conversation has forgotten it."""
    conversation = state_of(log, log.end.seq, prompt.conversation)
    record = next((each for each in conversation.prompts if each.seq == seq), None) if conversation else None
    return words_of(log, answer_to(conversation, record)) if conversation and record else ""


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


_LeftOut = dict[str, Event]
"""Notes that stand in no prompt any more, each with the prompt before which it was left out."""


def compacted(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    """The findings, one for each prompt and note that the user's words name."""
    left_out: dict[str, _LeftOut] = {}
    for event in reversed(stretch):
        if not isinstance(event.data, c.PromptAssembled) or event.data.pipeline != "chat":
            continue
        gone = left_out.setdefault(event.data.conversation, {})
        _take(log, event, event.data, gone)
        words = _asked(log, event.seq, event.data) if gone else ""
        for note, compaction in gone.items():
            if _names(words, note):
                sentence = f"The user asked about {note}, which a compaction had left out of the prompt"
                evidence = [prompt_at(event.seq)]
                if compaction is not event:
                    evidence.append(prompt_at(compaction.seq))
                    evidence[-1].title = f"the compaction, before prompt {compaction.seq}"
                evidence.append(life_of(note))
                yield Finding(event.seq, event.time, "folded", sentence, evidence, note=note)


def _take(log: replay.Log, event: Event, prompt: c.PromptAssembled, gone: _LeftOut) -> None:
    """Adds what a compaction left out of this prompt, and takes out what stands in it again."""
    manifest, _not_kept = kept_manifest(log, prompt.manifest_sha256)
    if manifest is None:
        return
    shown: set[str] = set()
    for entry in manifest.entries:
        note = note_of(entry)
        if note is None:
            continue
        if entry.state not in NOT_IN_PROMPT:
            shown.add(note)
        elif entry.why == "fold":
            gone.setdefault(note, event)
    for note in shown & gone.keys():
        del gone[note]


def _asked(log: replay.Log, seq: int, prompt: c.PromptAssembled) -> str:
    """What the user said in the prompt's last message; empty: nothing, or it is not kept."""
    added = log.events_of(("message_added", "message_replaced"), before=seq)
    said = (each.data for each in added if isinstance(each.data, c.MessageData))
    own = next((each for each in said if each.conversation == prompt.conversation), None)
    if own is None or own.message != prompt.message or own.role != "user" or own.text_sha256 is None:
        return ""
    try:
        return texts_in(log.blob)(own.text_sha256)
    except (NotRecorded, LogDamaged):
        return ""


def _names(words: str, note: str) -> bool:
    """Whether the words name the note by its file's name, as words of their own."""
    stem = re.escape(PurePosixPath(note).stem)
    return re.search(rf"(?<!\w){stem}(?!\w)", words, re.IGNORECASE) is not None


_RECORDINGS_READ: Final = 1_000
"""Recordings of calls that one answer reads."""
_TELL: Final = frozenset(
    {"get_current_note", "get_workspace_context", "get_workspace_summary", "volunteer_context"}
)
"""The tools that tell unasked which note is active."""


def withheld(log: replay.Log, stretch: list[Event]) -> Iterator[Finding]:
    """The findings, one for each note that was withheld while the user looked at it.

    Of the front matter an event tells. Of rules (`.workspacedignore`, the settings) only calls tell: each records
    what of the state it was not shown.
    """
    by_front_matter = list(_by_front_matter(log, stretch))
    yield from by_front_matter
    # Of each note the newest call that would have been told of it, with how many were not.
    calls: dict[NoteId, list[Event]] = {}
    recorded = (event for event in stretch if isinstance(event.data, c.ToolCalled) and event.data.inputs_sha256)
    for _, event in zip(range(_RECORDINGS_READ), recorded, strict=False):
        note = _withheld_from(log, event)
        if note is not None and note not in ({each.note for each in by_front_matter}):
            calls.setdefault(note, []).append(event)
    for note, events in calls.items():
        newest = events[0]
        call: c.ToolCalled = newest.data
        sentence = f"{call.caller} was not told that the user looked at {note}: a rule withholds it"
        evidence = [Evidence(f"call {newest.seq}", ["call", str(newest.seq)]), life_of(note)]
        yield Finding(newest.seq, newest.time, "withheldNote", sentence, evidence, note=note, times=len(events))


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
