"""What calls and prompts show, by the log's recordings.

A call that recorded what it read shows a note if an answer that it got names the note. A prompt shows the notes
that its manifest and its inputs name.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from workspaced_events.ids import NoteId
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.conversation_events import PromptAssembled

from ..errors import NotRecorded
from ..prompts.model.note_names import names_of
from ..prompts.model.stored_texts import manifest_of_prompt
from ..prompts.model.types import Texts
from .format import SWEPT, Blob, Exchange, read_recording

_FILES: Final = frozenset({"image", "pdf", "file"})
"""Kinds whose id is a file's path, though no note's."""
NOT_IN_PROMPT: Final = frozenset({"elided", "dropped", "failed", "empty"})


def shows(event: Event, names: Collection[NoteId], blob: Blob, texts: Texts) -> bool:
    """Whether a prompt, or a call with a recording, shows one of the notes.

    Raises:
        NotRecorded, LogDamaged: what says so is not kept, or damaged.
    """
    data: Any = event.data
    if isinstance(data, PromptAssembled):
        return not set(names).isdisjoint(notes_of_prompt(data, texts))
    content = blob(data.inputs_sha256) if data.inputs_sha256 is not None else None
    if content is None:
        raise NotRecorded(f"What event {event.seq} showed is not kept", hint=SWEPT)
    recording = read_recording(content, data.inputs_sha256)
    return any(True for each in recording.asked for _ in mentions(each, names))


def notes_of_prompt(prompt: PromptAssembled, texts: Texts) -> Iterator[NoteId]:
    """The notes and other files that a prompt shows, some of them more than once.

    Raises:
        NotRecorded, LogDamaged: its manifest cannot be read.
    """
    for entry in manifest_of_prompt(prompt.manifest_sha256, texts).entries:
        if entry.state not in NOT_IN_PROMPT:
            names = names_of(entry)
            yield from names.every if entry.kind in _FILES else names.notes


def texts_of(value: Any) -> Iterator[str]:
    """All texts in a JSON value that may name a note, keys too."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += [*each, *each.values()]
        elif isinstance(each, list):
            waiting += each


def names_any(words: str, notes: Iterable[str]) -> bool:
    """Whether words or JSON name one of the notes as people and links do: without folders and `.md`."""
    names = "|".join(re.escape(note.removesuffix(".md").rpartition("/")[2]) for note in notes)
    return bool(names) and re.search(rf"(?<![\w-])(?:{names})(?![\w-])", words, re.IGNORECASE) is not None


def mentions(exchange: Exchange, names: Collection[str]) -> Iterator[dict[str, Any] | None]:
    """Each place of an answer that names one of the notes: a version that was read, or None."""
    return _mentions(msgspec.json.decode(exchange.answer), names) if exchange.raised is None else iter(())


def _mentions(answer: Any, names: Collection[str]) -> Iterator[dict[str, Any] | None]:
    if isinstance(answer, dict):
        if answer.get("is") == "failure":
            return  # it names what there is not
        if answer.get("is") == "note" and answer.get("id") in names:
            yield answer
            return
        answer = list(answer.values())
    if isinstance(answer, list):
        for each in answer:
            yield from _mentions(each, names)
    elif isinstance(answer, str) and answer in names:
        yield None
