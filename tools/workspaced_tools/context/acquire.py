"""Acquiring: all that one prompt needs of the world, read through the View of the client that asks.

The `Turn` that comes of it is everything the assembler learns beside the conversation. Whatever cannot be read
stands in it as failed, with a code; nothing is left out silently, and nothing is guessed.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from workspaced_events.conversation import NO_CALIBRATION, Calibration, Conversation, model_key, turn_of
from workspaced_events.ids import MessageId, NoteId

from ..errors import ArgumentInvalid, NotRecorded
from ..view import View
from .attachments import attached
from .model import TURN_VERSION, Texts, Turn
from .providers import provide
from .reading import Keep, Reading


def acquire(
    conversation: Conversation,
    message: MessageId,
    view: View,
    texts: Texts,
    keep: Keep,
    calibration: Calibration,
    *,
    rebase: bool = False,
) -> Turn:
    """What the prompt up to `message` is made from.

    A prompt that goes on with a turn gets what was read for the one before, so that the turn's payload keeps its
    bytes; unless something of it may not be shown any more, then all is read anew.

    Raises:
        ArgumentInvalid: the conversation has no such message.
        OSError: of `keep`.
    """
    if message not in conversation.messages:
        raise ArgumentInvalid(
            f"The conversation has no message {message!r}", hint="Add the message, or name one that it has."
        )
    reading = Reading(view, texts, keep, conversation.vault)
    begin = turn_of(conversation, message)
    if begin != message:
        earlier = _earlier(conversation, begin, message, texts)
        if earlier is not None and reading.shows(_notes_of(earlier)):
            return replace(earlier, message=message, rebase=rebase)
    settings = conversation.settings
    is_calibrated = calibration.factor != NO_CALIBRATION.factor
    return Turn(
        TURN_VERSION,
        conversation.id,
        message,
        artifacts=attached(conversation.messages[begin].attachments, reading),
        provided=tuple(provide(pin, reading) for pin in conversation.pins.values()),
        factor=calibration.factor,
        estimator=model_key(settings.provider, settings.model) if is_calibrated else "seed",
        rebase=rebase,
    )


def _earlier(conversation: Conversation, begin: MessageId, message: MessageId, texts: Texts) -> Turn | None:
    """What was read for the last prompt of the same turn, since the turn's message became what it is."""
    ids = list(conversation.messages)
    turn = set(ids[ids.index(begin) : ids.index(message) + 1])
    since = conversation.messages[begin].seq
    for prompt in reversed(conversation.prompts):
        if prompt.message in turn and prompt.as_of_seq >= since:
            try:
                earlier = msgspec.json.decode(texts(prompt.inputs_sha256), type=Turn)
            except NotRecorded:  # it told of a note that was forgotten
                return None
            return earlier if earlier.version == TURN_VERSION else None
    return None


def _notes_of(turn: Turn) -> Iterator[NoteId]:
    for artifact in turn.artifacts:
        if artifact.note is not None:
            yield artifact.note
    for provided in turn.provided:
        yield from provided.notes
