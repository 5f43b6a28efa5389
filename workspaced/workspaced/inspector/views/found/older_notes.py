"""Prompts that held a note in an older version than it had by then, with both texts where they are kept.

So a reader sees what the model could not know. A prompt's inputs say which version the note had, whether or not an
event told of the change.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from workspaced_events.errors import LogDamaged, WorkspacedError
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import ManifestEntry
from workspaced_tools.prompts.model.stored_texts import inputs_of, texts_in

from .... import replay
from ..prompts.conversations import answer_to, kept_manifest, note_of, state_of, words_of
from .finding import Evidence, Finding, life_of, prompt_at

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
            for each in _stale_in(log, event, event.data):
                key = (event.data.conversation, each.note, each.entry.revision or "")
                had.setdefault(key, []).append(each)
    changes = [each for each in stretch if isinstance(each.data, c.NoteChanged)]
    for prompts in had.values():
        yield _older_note(log, prompts, changes)


def _stale_in(log: replay.Log, event: Event, prompt: c.PromptAssembled) -> Iterator[_Stale]:
    manifest, _not_kept = kept_manifest(log, prompt.manifest_sha256)
    for entry in manifest.entries if manifest is not None else ():
        if entry.state == "stale" and (note := note_of(entry)) is not None:
            yield _Stale(event, entry, note)


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
