"""Makes a bundle: a part of a log, the recordings of its calls, and the versions of the programs."""

from collections.abc import Iterator
from typing import IO

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId
from workspaced_events.projections.conversations import blobs_named
from workspaced_events.projections.note_visibility import without_visibility
from workspaced_events.replay.bundle import Manifest, Versions, write_bundle
from workspaced_events.replay.log_slice import Slice
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.questions import Images
from workspaced_tools.prompts.model.sent_turn import SentTurn
from workspaced_tools.prompts.model.types import Turn
from workspaced_tools.recording.format import (
    RecordedImage,
    RecordedImages,
    RecordedNote,
    Recording,
    read_recording,
)
from workspaced_tools.recording.recorded_calls import notes_read


def make_bundle(
    file: IO[bytes],
    part: Slice,
    *,
    versions: Versions,
    created: str,
    redacted: bool = False,
    visibility: bool = False,
) -> Manifest:
    """Writes the bundle of `part` with all blobs that it needs, and returns its manifest.

    Args:
        versions: the versions of the programs that make the bundle.
        visibility: keeps all events about notes' visibility. Else only those about notes whose texts the bundle
            holds, so that these notes are withheld where they were; of a redacted bundle none do.

    Raises:
        InvalidArgument: the part is too large.
        OSError: the file cannot be written.
    """
    manifest = Manifest(
        log=part.log_id,
        first=part.first,
        last=part.last,
        created=created,
        redacted=redacted,
        versions=versions,
        swept_until=part.swept_until or msgspec.UNSET,
    )
    conversation = () if redacted else conversation_blobs(part)
    if not (redacted or visibility):
        events = list(without_visibility(part.events, frozenset(_notes_told(part))))
        part = Slice(part.log_id, part.start, part.visits_json, events, part.blob, part.warnings)
        visibility = True
    return write_bundle(file, part, [*named_blobs(part), *conversation], manifest, visibility=visibility)


def _notes_told(part: Slice) -> Iterator[NoteId]:
    """The notes whose texts the recordings of a part hold."""
    for event in part.events:
        if isinstance(event.data, c.ToolCalled) and event.data.inputs_sha256 is not None:
            recording = _recording(part, event.data.inputs_sha256)
            for exchange in recording.asked if recording is not None else ():
                yield from (each.id for each in notes_read(exchange) if isinstance(each, RecordedNote))


def named_blobs(part: Slice) -> Iterator[str]:
    """The blobs that a replay of the part needs, with repetitions."""
    for vault in part.start.by_vault.values():
        if vault.selection is not None and vault.selection.text_sha256 is not None:
            yield vault.selection.text_sha256
    for event in part.events:
        data = event.data
        if isinstance(data, c.SelectionChanged) and data.text_sha256 is not None:
            yield data.text_sha256
        elif isinstance(data, c.ToolCalled) and data.inputs_sha256 is not None:
            yield data.inputs_sha256
            yield data.result_sha256
            if data.arguments_sha256 is not None:
                yield data.arguments_sha256
            if (recording := _recording(part, data.inputs_sha256)) is not None:
                yield from blobs_read(recording)


def conversation_blobs(part: Slice) -> Iterator[str]:
    """The blobs that the part's conversations name, and those needed to rebuild its prompts."""
    mentioned = set()
    for event in part.events:
        if isinstance(event.data, c.ArtifactRecorded | c.MessageData | c.ConversationData):
            yield from blobs_named(event.data)
            mentioned.add(getattr(event.data, "conversation", None))
        if isinstance(event.data, c.PromptAssembled):
            yield from _texts_of(part, event.data.inputs_sha256, Turn)
            if event.data.turn_sha256 is not None:
                yield from _texts_of(part, event.data.turn_sha256, SentTurn)
    for name, conversation in part.start.conversations.by_id.items():
        if name in mentioned:
            yield from blobs_named(replace(conversation, prompts=()))
            for sent in conversation.turns.values():
                yield from _texts_of(part, sent.turn_sha256, SentTurn)


def _texts_of(part: Slice, name: str, kind: type[Turn | SentTurn]) -> Iterator[str]:
    """The blobs that a prompt's inputs, or a turn as it was sent, name."""
    try:
        content = part.blob(name)
        if content is not None:
            yield from blobs_named(msgspec.json.decode(content, type=kind))
    except (LogDamaged, msgspec.MsgspecError):
        return


def _recording(part: Slice, inputs: str) -> Recording | None:
    try:
        content = part.blob(inputs)
        return read_recording(content, inputs) if content is not None else None
    except (LogDamaged, NotRecorded):
        return None


def blobs_read(recording: Recording) -> Iterator[str]:
    """The blobs that a recording names: the texts and images that the call read."""
    for exchange in recording.asked:
        yield from (each.text for each in notes_read(exchange) if isinstance(each, RecordedNote))
        if exchange.raised is None and exchange.ask == Images.name:
            found = msgspec.json.decode(exchange.answer, type=RecordedImages)
            yield from (each.sha256 for each in found.images if isinstance(each, RecordedImage))
