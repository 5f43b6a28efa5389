"""Gathers the inputs of one prompt through the calling client's View.

The result is a `Turn`: with the conversation, it is everything that the assembler knows. An attachment or pin that
cannot be read is in the `Turn` as failed, with a code; none is left out silently, and none is guessed.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, takewhile
from typing import Final

from msgspec.structs import replace

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import MessageId, NoteId, VaultId
from workspaced_events.projections.conversations import (
    NO_CALIBRATION,
    Calibration,
    Conversation,
    Message,
    model_key,
    turn_of,
)
from workspaced_events.schema.catalogue import Pipeline

from ...errors import ArgumentInvalid, NotRecorded
from ...limits import ATTACHED_AT_ONCE
from ...ports.asking import VaultPort
from ...ports.questions import Images, Read
from ...ports.vault import NoteImage
from ...ports.view import View
from ...tools.linked_workspace import of_person
from ..model.changes import line_changes
from ..model.kept_turns import KeptTurns
from ..model.sent_so_far import SentSoFar, lost_turns, sent_before, sent_so_far_of
from ..model.stored_texts import inputs_of
from ..model.turn_window import begins
from ..model.types import TURN_VERSION, Artifact, Policy, Present, Provided, Texts, Turn
from .attachments import ExplicitNotes, artifact_of, attached
from .environment import OTHER_VAULT, other_vault
from .pinned import provide
from .view_reader import Keep, Reading, Unavailable

_PINNED_CONTENT_SHARE: Final = 0.15
"""Of the tokens that a prompt may have: for the contents of notes of one pin of many notes."""


def gather(
    conversation: Conversation,
    message: MessageId,
    view: View,
    texts: Texts,
    keep: Keep,
    calibration: Calibration,
    *,
    rebase: bool = False,
    pipeline: Pipeline = "chat",
    current: VaultId | None = None,
    requested: View | None = None,
    kept: KeptTurns | None = None,
) -> Turn:
    """The inputs of the prompt up to `message`; a compression reads no attachments and no pins.

    `current`: the vault that the user has open; where it is not the conversation's, a chat says so.
    `requested`: the view for the notes that messages attach by name, and for nothing else; None: `view`.
    `kept`: from earlier prompts of the conversation, to be made faster.

    A prompt that continues a turn reuses the inputs of the turn's last prompt, so that the turn's payload keeps
    its bytes. It reads everything again if the client may no longer see one of the notes in those inputs.

    Raises:
        ArgumentInvalid: the conversation has no such message.
        OSError: from `keep`.
    """
    if message not in conversation.messages:
        raise ArgumentInvalid(
            f"The conversation has no message {message!r}", hint="Add the message, or name one that it has."
        )
    kept = kept or KeptTurns()
    reading = _reading(conversation, view, requested, texts, keep, calibration)
    begin, is_chat = turn_of(conversation, message), pipeline == "chat"
    lost = lost_turns(conversation, begin, texts, kept) if is_chat else ()
    rebase = rebase and is_chat
    if (
        begin != message
        and is_chat
        and (earlier := _earlier(conversation, begin, message, texts)) is not None
        and _is_shown(earlier, reading)
    ):
        known = tuple(_as_kept(each, texts) for each in earlier.present)
        return replace(earlier, message=message, rebase=rebase, lost=lost, present=known)
    artifacts: tuple[Artifact, ...] = ()
    provided: tuple[Provided, ...] = ()
    present: tuple[Present, ...] = ()
    if is_chat:
        attachments = chain.from_iterable(each.attachments for each in _unanswered(conversation, begin))
        artifacts = attached(attachments, reading)
        provided = _pinned(conversation, view, current, reading)
        sent = sent_before(conversation, begin, texts, kept, lost)
        present = changed_since(sent_so_far_of(conversation, begin, sent, kept), artifacts, reading)
    settings, is_calibrated = conversation.settings, calibration.factor != NO_CALIBRATION.factor
    return Turn(
        TURN_VERSION,
        conversation.id,
        message,
        artifacts=artifacts,
        provided=provided,
        factor=calibration.factor,
        estimator=model_key(settings.provider, settings.model) if is_calibrated else "seed",
        policy=_policy(conversation, pipeline),
        present=present,
        rebase=rebase,
        lost=lost,
    )


def _pinned(
    conversation: Conversation, view: View, current: VaultId | None, reading: Reading
) -> tuple[Provided, ...]:
    provided = tuple(provide(pin, reading) for pin in conversation.pins.values())
    if text := other_vault(view.state, conversation.vault, current):
        return Provided(OTHER_VAULT, "text", reading.keep(text.encode())), *provided
    return provided


def _policy(conversation: Conversation, pipeline: Pipeline) -> Policy:
    settings = conversation.settings
    return Policy(
        pipeline=pipeline,
        each_turn=settings.promotion == "each_turn" or (settings.promotion is None and _is_kept(conversation)),
    )


def _is_kept(conversation: Conversation) -> bool:
    """Whether the provider keeps the first two layers by name, and nothing else for certain."""
    return any(prompt.shape is not None and prompt.shape.cached_content for prompt in conversation.prompts)


def _reading(
    conversation: Conversation,
    view: View,
    requested: View | None,
    texts: Texts,
    keep: Keep,
    calibration: Calibration,
) -> Reading:
    settings, fence = conversation.settings, conversation.id
    room = _PINNED_CONTENT_SHARE * (settings.context_window - settings.output_reserve) / calibration.factor
    return Reading(
        of_person(view),
        texts,
        keep,
        conversation.vault,
        fence=fence,
        pinned_tokens=round(room),
        requested=Reading(of_person(requested), texts, keep, conversation.vault, fence=fence)
        if requested
        else None,
        is_explicit=ExplicitNotes(conversation, requested) if requested else lambda _note: False,
    )


def _unanswered(conversation: Conversation, begin: MessageId) -> Iterator[Message]:
    """The messages of the user that no answer and no prompt came after, up to `begin`, oldest first.

    A user who sends several messages in a row, or stops an answer before it begins, wants all they attached seen.
    """
    found = [conversation.messages[begin]]
    earlier = takewhile(lambda each: each.id != begin, conversation.messages.values())
    for each in reversed(list(earlier)):
        if not begins(each) or each.id in conversation.turns or each.id == conversation.elided_until:
            break
        found.append(each)
    return reversed(found)


def _earlier(conversation: Conversation, begin: MessageId, message: MessageId, texts: Texts) -> Turn | None:
    """The inputs of the chat's last prompt of this turn; None if the turn's message has changed since."""
    ids = list(conversation.messages)
    turn = set(ids[ids.index(begin) : ids.index(message) + 1])
    since = conversation.messages[begin].seq
    same = [prompt for prompt in conversation.prompts if prompt.pipeline == "chat"]
    for prompt in reversed(same):
        if prompt.message in turn and prompt.as_of_seq >= since:
            try:
                earlier = inputs_of(prompt.inputs_sha256, texts)
            except NotRecorded:  # it mentioned a note that was forgotten
                return None
            return earlier if earlier.version == TURN_VERSION else None
    return None


def _as_kept(present: Present, texts: Texts) -> Present:
    """The present version of a note as an earlier prompt read it, without its text if that was not recorded."""
    try:
        if present.artifact.revision:
            texts(present.artifact.revision)
    except NotRecorded:
        return replace(present, is_kept=False)
    return present


def _is_shown(turn: Turn, reading: Reading) -> bool:
    """Whether the client may still see all notes of the turn, and the images that they embed."""
    attached = list(dict.fromkeys(_attached_in(turn)))
    is_shown = reading.shows(pinned_in(turn)) and (
        reading.shows(attached)
        or all(reading.shows([note]) or reading.of(note).shows([note]) for note in attached)
    )
    return is_shown and all(_embeds(each.note, each.id, reading) for each in turn.artifacts if each.is_embedded)


def _embeds(note: NoteId | None, image: str, reading: Reading) -> bool:
    assert note is not None, "an image is embedded by a note"
    vault, _ = reading.of(note).whole()
    return any(isinstance(each, NoteImage) and each.path == image for each in vault.ask(Images(note)).images)


def pinned_in(turn: Turn) -> Iterator[NoteId]:
    """The notes whose names or texts the turn holds because of pins."""
    return (note for provided in turn.provided for note in provided.notes)


def _attached_in(turn: Turn) -> Iterator[NoteId]:
    for artifact in turn.artifacts:
        if artifact.note is not None:
            yield artifact.note
    for present in turn.present:
        yield NoteId(present.id)
        if present.artifact.note is not None and present.artifact.failed is None:
            yield present.artifact.note


def changed_since(sent_so_far: SentSoFar, attached: Iterable[Artifact], reading: Reading) -> tuple[Present, ...]:
    """The notes of another version than the prompt shows, also those moved or gone; none that the turn attaches.

    If the vault cannot be read, no note is known to have changed.

    Raises:
        OSError: from `Reading.keep`.
    """
    now = {artifact.id for artifact in attached}
    shown = {key[1]: each.revision for key, each in sent_so_far.shown.items() if key[0] == "note"}
    wanted = [note for note in shown if note not in now]
    if not wanted:
        return ()
    try:
        vault, state = reading.whole()
    except (Unavailable, WorkspacedError):
        return ()
    paths = {note: state.current_path(NoteId(note)) or NoteId(note) for note in wanted}
    found = []
    for note, artifact in zip(wanted, _read(vault, list(paths.values()), reading), strict=True):
        if artifact.failed is not None and reading.of(paths[note]) is not reading:
            [artifact] = _read(reading.of(paths[note]).whole()[0], [paths[note]], reading)
        if artifact.id != note and artifact.id in now:
            continue
        if artifact.failed is not None or artifact.revision != shown[note] or artifact.id != note:
            present = Present(artifact, note)
            if artifact.failed is None and sent_so_far.reported.get(note) != present.state:
                added, removed = _counts(shown[note], artifact.revision, reading.texts)
                present = replace(present, added=added, removed=removed)
            found.append(present)
    return tuple(found)


def _read(vault: VaultPort, notes: list[NoteId], reading: Reading) -> Iterator[Artifact]:
    for begin in range(0, len(notes), ATTACHED_AT_ONCE):
        for each in vault.ask(Read(notes[begin : begin + ATTACHED_AT_ONCE])):
            yield artifact_of("note", each, reading)


def _counts(before: str, after: str, texts: Texts) -> tuple[int, int]:
    try:
        return line_changes(texts(before), texts(after))
    except NotRecorded:
        return 0, 0
