"""How a call, a prompt or an answer showed a note: from recordings, manifests and citations."""

from collections.abc import Collection

import msgspec

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.decoding import converted
from workspaced_tools.ports.manifest import ManifestEntry
from workspaced_tools.prompts.citations.renumber import cited
from workspaced_tools.prompts.citations.turn_sources import sources_of
from workspaced_tools.prompts.model.note_names import names_of
from workspaced_tools.prompts.model.pipelines import PARTS
from workspaced_tools.prompts.model.stored_inputs import inputs_of, manifest_of_prompt, texts_in
from workspaced_tools.recording.format import RecordedNote
from workspaced_tools.recording.last_shown import mentions
from workspaced_tools.recording.reading import read_recording

from ... import replay

Names = Collection[str]
"""The paths that a note has or had."""


class CallNotKept(Exception):
    """What the call read is not kept, so nobody can say."""


def shown_in_call(log: replay.Log, called: c.ToolCalled, names: Names) -> list[RecordedNote | None]:
    """How a call got the note, each time: the version that was read, or None where the note was only named.

    Raises:
        CallNotKept: its recording was swept, or is of a newer version.
    """
    if called.inputs_sha256 is None:
        raise CallNotKept
    try:
        content = log.blob(called.inputs_sha256)
        if content is None:
            raise CallNotKept
        asked = read_recording(content, called.inputs_sha256).asked
        found = [each for exchange in asked for each in mentions(exchange, names)]
    except (WorkspacedError, msgspec.MsgspecError):
        raise CallNotKept from None
    return [converted(each, RecordedNote) if each is not None else None for each in found]


def entries_in_prompt(log: replay.Log, prompt: c.PromptAssembled, names: Names) -> list[ManifestEntry]:
    """What the prompt's manifest says of the note.

    Raises:
        WorkspacedError: the manifest is not kept.
    """
    manifest = manifest_of_prompt(prompt.manifest_sha256, texts_in(log.blob))
    wanted = {NoteId(name) for name in names}
    return [entry for entry in manifest.entries if not names_of(entry).notes.isdisjoint(wanted)]


def is_cited(log: replay.Log, event: Event, names: Names) -> bool:
    """Whether an assistant's message cites the note, by the sources that its prompt numbered."""
    data = event.data
    if not isinstance(data, c.MessageData) or data.role != "assistant" or data.text_sha256 is None:
        return False
    conversation = log.at(event.seq).state.conversations.by_id.get(data.conversation)
    prompts = [each for each in conversation.prompts if PARTS[each.pipeline].turn] if conversation else []
    if conversation is None or not prompts:
        return False
    texts = texts_in(log.blob)
    try:
        sources = sources_of(conversation, inputs_of(prompts[-1].inputs_sha256, texts), texts)
        if not any(_is_of(each.source, names) for each in sources):
            return False
        answer = cited(texts(data.text_sha256), sources)
    except WorkspacedError:
        return False
    return not answer.fallback and any(_is_of(each.source, names) for each in answer.sources)


def _is_of(source: str, names: Names) -> bool:
    return source in names or source.partition("#")[0] in names
