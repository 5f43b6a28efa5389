"""The notes that an event, and a recorded call, prompt or message names: asked for, read, answered.

A recording holds names in many fields, and an answer the paths of the state too. So every text in them that may be
a note's path counts: one that ends as Markdown does for certain, any other one as a possible note.

Two kinds of names are not found: one that stands in the text of a note, and one in the words of people and agents.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Final, get_args, get_type_hints

import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, note_id
from workspaced_events.limits import NOTE_ID_CHARS_MAX
from workspaced_events.privacy.event_redaction import TAGS
from workspaced_events.projections.conversations import Message
from workspaced_events.schema.catalogue import (
    BESIDE_VAULTS,
    ContextUnpinned,
    MessageData,
    PromptAssembled,
    Redact,
    ToolCalled,
)

from ..ports.questions import Resolve, ResolveFrom
from ..prompts.model.note_names import NoteNames, names_of, notes_of
from ..prompts.model.stored_inputs import manifest_of_prompt
from ..prompts.model.types import Texts
from .format import Blob, Exchange, Recording, arguments_of, read_recording

_RESOLVING: Final = frozenset({Resolve.name, ResolveFrom.name})
_ANY_NOTE: Final = "any note.md"


class NotKnown(Exception):
    """What a call, prompt or message names is not known: a blob is gone, or a name in it was of no note."""


# -- the fields of an event --


def of_fields(data: msgspec.Struct) -> NoteNames:
    """The notes that the fields of an event's data name; of a call, prompt or message its texts name more."""
    names = NoteNames()
    fields = _note_fields(type(data))
    for name in data.__struct_fields__:
        value, tag = getattr(data, name), TAGS[type(data)][name]
        if value is None:
            continue
        if name in fields:
            paths: Iterable[NoteId] = (NoteId(value),) if isinstance(value, str) else value
            # Agents wrote what is in a memory folder beside the vaults: nothing withholds it.
            names |= NoteNames(frozenset(path for path in paths if not path.startswith(BESIDE_VAULTS)))
        elif tag is Redact.FIELDS:
            for part in value if isinstance(value, tuple) else (value,):
                names |= of_fields(part)
        elif tag is Redact.PATH:
            names |= _in_folder(value)
    if isinstance(data, ContextUnpinned):
        return names | notes_of("note", data.id)
    kind, of = getattr(data, "kind", None), getattr(data, "id", "")
    if kind == "folder":
        names |= _in_folder(of)
    return names | notes_of("note" if kind == "pin" else kind, of) if kind is not None else names


def _in_folder(folder: str) -> NoteNames:
    """A folder, by a note that it might hold: a rule that withholds the folder denies every path in it."""
    return NoteNames(perhaps=notes_of("note", f"{folder.strip('/')}/{_ANY_NOTE}").every)


@cache
def _note_fields(struct: type[msgspec.Struct]) -> frozenset[str]:
    """The fields whose type is a note's path, or several."""
    return frozenset(name for name, hint in get_type_hints(struct).items() if NoteId in (hint, *_within(hint)))


def _within(hint: Any) -> list[Any]:
    """All types inside a type."""
    return [found for part in get_args(hint) for found in (part, *_within(part))]


# -- calls --


def of_call(called: ToolCalled, blob: Blob) -> NoteNames:
    """The notes that a call's arguments, reads and answer name.

    Raises:
        NotKnown: one of them is not kept, the call was refused, or it named a note that was not found, which may
            be a withheld one.
    """
    try:
        inputs = blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
        result = blob(called.result_sha256)
        if inputs is None or result is None:
            raise NotKnown
        recording = read_recording(inputs, called.inputs_sha256 or "")
        names = in_json(arguments_of(called, blob)) | in_json(msgspec.json.decode(result))
        return names | _in_recording(recording)
    except (WorkspacedError, msgspec.MsgspecError, RecursionError):
        raise NotKnown from None


def _in_recording(recording: Recording) -> NoteNames:
    if recording.refused is not None:
        raise NotKnown
    names = NoteNames()
    for exchange in recording.asked:
        answer = msgspec.json.decode(exchange.answer)
        if _found_nothing(exchange, answer):
            raise NotKnown
        names |= in_json(msgspec.json.decode(exchange.question)) | in_json(answer)
        if exchange.raised is not None:
            names |= in_json(exchange.raised.details)
    return names


def _found_nothing(exchange: Exchange, answer: Any) -> bool:
    """Whether no note was found by a name, which may be that of a withheld note."""
    if exchange.ask not in _RESOLVING:
        return False
    return exchange.raised is not None or not (answer.get("note") or answer.get("candidates"))


# -- prompts --


def of_prompt(prompt: PromptAssembled, messages: Iterable[Message], texts: Texts) -> NoteNames:
    """The notes that a prompt shows, those that it was asked to show, and those in its messages (`of_tools`).

    Args:
        messages: of its conversation, as it was when the prompt was made.

    Raises:
        NotKnown: its manifest or a text of a message is not kept.
    """
    try:
        entries = manifest_of_prompt(prompt.manifest_sha256, texts).entries
    except (WorkspacedError, msgspec.MsgspecError):
        raise NotKnown from None
    names = NoteNames()
    for entry in entries:
        names |= names_of(entry)
    for message in messages:
        names |= of_tools(message, texts)
    return names


def of_tools(message: Message | MessageData, texts: Texts) -> NoteNames:
    """The notes that tools' calls and results in a message name: possible ones, since any tool may speak there.

    Raises:
        NotKnown: a text is not kept.
    """
    hashes = [*(each.arguments_sha256 for each in message.tool_calls)]
    hashes += [each.text_sha256 for each in message.tool_results]
    names = NoteNames()
    for sha256 in hashes:
        try:
            text = texts(sha256)
        except WorkspacedError:
            raise NotKnown from None
        try:
            names |= in_json(msgspec.json.decode(text))
        except (msgspec.MsgspecError, RecursionError):
            names |= in_json(text)
    return NoteNames(perhaps=names.every)


# -- JSON --


def in_json(value: Any) -> NoteNames:
    """The notes that JSON names, in any text of it that may be a path."""
    certain: set[NoteId] = set()
    perhaps: set[NoteId] = set()
    for text, is_note in _texts(value):
        named = notes_of("note", _address(text))
        certain |= named.notes
        perhaps |= named.perhaps
        if is_note:
            try:
                certain.add(note_id(text))
            except WorkspacedError:
                continue  # no path
    return NoteNames(frozenset(certain), frozenset(perhaps - certain))


def _texts(value: Any, *, is_note: bool = False) -> Iterator[tuple[str, bool]]:
    """The short texts of one line, keys too, each with whether it is surely a note's path."""
    if isinstance(value, str):
        if 0 < len(value) <= NOTE_ID_CHARS_MAX and "\n" not in value:
            yield value, is_note
    elif isinstance(value, dict):
        names_note = "is" in value or "title" in value
        name = "noteId" if "noteId" in value else "id"  # a tab has an id of its own
        for key, each in value.items():
            yield from _texts(key)
            yield from _texts(each, is_note=names_note and key == name and isinstance(each, str))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _address(text: str) -> str:
    """The note that a written link names: without brackets, alias and part."""
    inner = text.strip().removeprefix("!")
    if inner.startswith("[[") and inner.endswith("]]"):
        return inner[2:-2].partition("|")[0].partition("#")[0].strip()
    return text
