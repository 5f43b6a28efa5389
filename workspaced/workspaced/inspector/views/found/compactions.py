"""Compactions that left out what was asked about later: the prompt for the question did without the note."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from workspaced_events.errors import LogDamaged
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.recording.shown_notes import NOT_IN_PROMPT

from .... import replay
from ..prompts.conversations import kept_manifest, note_of
from .finding import Finding, life_of, prompt_at

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
