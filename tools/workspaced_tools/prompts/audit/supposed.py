"""A recorded prompt as it would have been with other texts of notes, with notes more, or without notes.

The recorded inputs are kept, but for what they hold of these notes; then the assembler makes the prompt of them. A
note that the prompt did not show stands in it as if the user had attached it.
What agents and people said afterwards, results of tools, and lines that say that a note has changed stay as they
were.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, note_id
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema.catalogue import PromptAssembled

from ...notes.note import NO_STAT, Note
from ..assembly.assemble import assemble
from ..assembly.layers import sha256_hex
from ..model.blocks import fence_of
from ..model.note_names import NOTE_KINDS
from ..model.sent_so_far import read_turn
from ..model.sent_turn import SentPart, SentTurn
from ..model.stored_texts import inputs_of
from ..model.types import Artifact, Assembled, Texts, Turn
from ..model.untrusted_text import with_body

Notes = Mapping[str, str | None]
"""For each note, by the path that it had, the text that it should have had; None: it should not be there."""


def whole_notes(data: PromptAssembled, conversation: Conversation, texts: Texts) -> dict[NoteId, str]:
    """The notes whose whole text was put into the prompt or stood there, each in the version that came last.

    Raises:
        NotRecorded, LogDamaged: an input is not kept, or damaged.
    """
    turn = inputs_of(data.inputs_sha256, texts)
    return {NoteId(note): texts(revision) for note, revision in _shown(turn, conversation, texts) if revision}


def _shown(turn: Turn, conversation: Conversation, texts: Texts) -> Iterator[tuple[str, str]]:
    """Each note and the hash of its text, in the order of the prompt."""
    for entry in conversation.library:
        if entry.kind in NOTE_KINDS:
            yield entry.id, entry.revision
    for sent in conversation.turns.values():
        for part in read_turn(texts, sent.turn_sha256).parts:
            if part.kind in NOTE_KINDS and part.is_whole:
                yield part.id, part.revision
    for artifact in turn.artifacts:
        if artifact.kind in NOTE_KINDS and artifact.failed is None:
            yield artifact.id, artifact.revision
    for provided in turn.provided:
        if provided.path is not None:
            yield provided.path, provided.text_sha256 or ""


def rebuild_supposing(data: PromptAssembled, conversation: Conversation, texts: Texts, notes: Notes) -> Assembled:
    """Rebuilds a prompt as it would have been.

    Args:
        data: the prompt's event.
        conversation: the state at `data.as_of_seq`.

    Raises:
        InvalidArgument: a note that should not be there is not shown whole in the prompt, or one that should be
            there has no path of a note.
        NotRecorded, LogDamaged: an input is not kept, or damaged.
    """
    turn = inputs_of(data.inputs_sha256, texts)
    shown = dict.fromkeys(note for note, _revision in _shown(turn, conversation, texts))
    if unknown := [note for note, text in notes.items() if note not in shown and text is None]:
        raise InvalidArgument(
            f"The prompt does not show {unknown[0]!r} whole.", hint=f"It shows: {', '.join(shown) or 'no note'}."
        )
    world = _World(texts, notes, conversation.id)
    supposed = world.turn(turn)
    more = tuple(
        world.attached(note, text) for note, text in notes.items() if note not in shown and text is not None
    )
    supposed = replace(supposed, artifacts=supposed.artifacts + more)
    return assemble(world.conversation(conversation), supposed, world)


class _World:
    """The texts, with those of the notes as they should have been."""

    def __init__(self, texts: Texts, notes: Notes, conversation: str) -> None:
        self._texts = texts
        self._notes = notes
        self._conversation = conversation
        self._changed: dict[str, str] = {}
        """By the hash of the text that each stands for."""

    def __call__(self, name: str) -> str:
        return self._changed[name] if name in self._changed else self._texts(name)

    def conversation(self, real: Conversation) -> Conversation:
        library = []
        for entry in real.library:
            if entry.id not in self._notes or entry.kind not in NOTE_KINDS:
                library.append(entry)
            elif (text := self._notes[entry.id]) is not None:
                block = self._texts(entry.block_sha256)
                self._changed[entry.block_sha256] = self._block(block, entry.id, text)
                library.append(entry)
        for sent in real.turns.values():
            turn = read_turn(self._texts, sent.turn_sha256)
            parts = tuple(part for each in turn.parts for part in self._part(each))
            if parts != turn.parts:
                changed = SentTurn(turn.version, parts)
                self._changed[sent.turn_sha256] = msgspec.json.encode(changed).decode()
        return replace(real, library=tuple(library))

    def turn(self, real: Turn) -> Turn:
        gone = {note for note, text in self._notes.items() if text is None}
        provided = tuple(each for each in real.provided if each.path not in gone)
        artifacts = tuple(each for each in real.artifacts if not (_is_note(each) and each.id in gone))
        revisions = [(each.id, each.revision) for each in artifacts if _is_note(each)]
        revisions += [(each.path, each.text_sha256 or "") for each in provided if each.path is not None]
        for note, revision in revisions:
            if revision and (text := self._notes.get(note)) is not None:
                self._changed[revision] = text
        present = tuple(each for each in real.present if each.id not in self._notes)
        return replace(real, artifacts=artifacts, provided=provided, present=present)

    def attached(self, note: str, text: str) -> Artifact:
        """A note that the user attaches."""
        content, revision = text.encode(), sha256_hex(text)
        read = Note(note_id(note), NO_STAT, None, revision, content)
        self._changed[revision] = text
        return Artifact("note", read.id, read.title, revision, bytes=len(content), note=read.id)

    def _part(self, part: SentPart) -> Iterator[SentPart]:
        if part.kind not in NOTE_KINDS or part.id not in self._notes:
            yield part
        elif (text := self._notes[part.id]) is not None:
            yield replace(part, text=self._block(part.text, part.id, text)) if part.is_whole else part

    def _block(self, block: str, note: str, text: str) -> str:
        return with_body(block, text, fence=fence_of(self._conversation, note, sha256_hex(text)))


def _is_note(artifact: Artifact) -> bool:
    return artifact.kind in NOTE_KINDS
