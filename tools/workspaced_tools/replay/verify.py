"""Verifies a log: replays every recorded call and compares the answers byte for byte; rebuilds every prompt and
compares its hashes. Of a request that texts were put into, these texts are rebuilt: the rest was never ours.

A call is recorded shortly after its answer, so its state is one of the latest states, which are kept in memory
while the log streams by. A call about an older moment (`at`) waits for a second pass.
"""

import itertools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from hashlib import sha256
from typing import Final, Protocol

import msgspec

from workspaced_events.errors import LogDamaged, WorkspacedError
from workspaced_events.ids import ConversationId, VaultId
from workspaced_events.projections.conversations import FORGOTTEN, Conversation
from workspaced_events.projections.insertions import Insertions, chain
from workspaced_events.projections.visits import Visit, VisitStream
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.position import Position, feed_until
from workspaced_events.replay.source import Progress, Source
from workspaced_events.schema import catalogue as c

from ..errors import NotKept, NotRecorded, SharingOff
from ..prompts.audit.rebuild import Versions, checked, first_difference, rebuild
from ..prompts.model.stored_texts import texts_in
from ..prompts.model.types import Envelope
from ..prompts.providers.bodies import BODY, RENDERER, body_hash, rebuild_request_body
from ..recording.format import SWEPT, Recording, ResultHead, arguments_of, read_recording
from ..tools.tool import ANSWER_VERSION
from ..volunteering.tool import text_told
from .call_replay import Answers, Notes, replay_answer

NOT_KEPT: Final = "See the setting `record`, and what `workspaced status` says of it."
_NO_MOMENT: Final = "Its moment is not in this log."
_NO_INSERTION: Final = "What was put into it is not in this log: it was forgotten, or is of before this part."
_REMOVED: Final = "What it was made from was removed when the log was redacted."
_STATES_KEPT: Final = 5_000


class Outcome(StrEnum):
    """The result of verifying a call or a prompt."""

    SAME = "same"
    DIFFERENT = "different"
    NOT_RECORDED = "notRecorded"
    DAMAGED = "damaged"
    """A blob does not hold what was recorded."""
    OTHER_VERSION = "otherVersion"
    """The call has another answer version than this program, or the body was made by another renderer: it is not
    compared."""


class Verified(msgspec.Struct, frozen=True):
    """The verification of one recorded call."""

    seq: int
    called: c.ToolCalled
    outcome: Outcome
    why: str = ""
    """Why there is nothing to compare."""
    served: bytes | None = None
    """The recorded answer; None if only its hash is known."""
    answered: bytes | None = None
    """The answer of the replay."""
    differs: str | None = None
    """What differs: `answer`, or a field of the event."""
    is_explained: bool = False
    """Not recorded, and the source says why: it was swept, forgotten with a note, or removed by redaction."""


class Rebuilt(msgspec.Struct, frozen=True):
    """The verification of one prompt, or of what was put into one request."""

    seq: int
    prompt: c.PromptAssembled | c.PromptOverlaid
    outcome: Outcome
    why: str = ""
    """Why there is nothing to compare, or why the prompt cannot be rebuilt."""
    differs: str | None = None
    """The first layer that differs from the sent one, or `manifest`, `body` or a field of the event."""
    is_explained: bool = False
    """Not recorded, since it was forgotten with a note, or removed by redaction."""
    envelope: Envelope | None = None
    """The rebuilt prompt."""


class KnownMoments(Protocol):
    """What the replay of calls and prompts needs of a log's past."""

    def state_seen(self, as_of_seq: int) -> WorkspaceState | None:
        """The state as of a sequence; None if it is not known."""
        ...

    def conversation_at(self, conversation: ConversationId, as_of_seq: int) -> Conversation | None:
        """The conversation as of a sequence; None if it is not known."""
        ...

    def visits_at(self, tail_seq: int, vault: VaultId) -> Sequence[Visit]:
        """The visits as of a sequence.

        Raises:
            StateNotRetained: they are not known.
        """
        ...


class Moments:
    """Implements `KnownMoments` for recent sequences, while events stream by.

    It keeps the latest states, the latest versions of conversations, and the visits.
    """

    def __init__(self, source: Source) -> None:
        self.state = source.start
        self._visits = VisitStream(start=source.start_visits())
        self._latest: deque[WorkspaceState] = deque([source.start], maxlen=_STATES_KEPT)
        self._versions = Versions(source.start.conversations)

    def take(self, event: c.Event) -> None:
        """Folds the next event."""
        state = apply(self.state, event)
        self._visits.feed((event,))
        if state.seq != self.state.seq:
            self._latest.append(state)
        self._versions.take(state.conversations)
        self.state = state

    def state_seen(self, as_of_seq: int) -> WorkspaceState | None:
        at = bisect_right(self._latest, as_of_seq, key=lambda state: state.seq)
        return self._latest[at - 1] if at else None

    def conversation_at(self, conversation: ConversationId, as_of_seq: int) -> Conversation | None:
        return self._versions.at(conversation, as_of_seq)

    def visits_at(self, tail_seq: int, vault: VaultId) -> Sequence[Visit]:
        visits = self._visits.visits(vault, tail_seq)
        if visits is None:
            raise StateNotRetained
        return visits


class StateNotRetained(Exception):
    """The state of a moment is not known, or no longer."""


def recorded_visits(
    visits_at: Callable[[int, VaultId], Sequence[Visit]], seq: int, vault: VaultId
) -> Sequence[Visit]:
    """The answer of `visits_at` as of `seq`.

    Raises:
        NotRecorded: it is not known.
    """
    try:
        return visits_at(seq, vault)
    except StateNotRetained:
        raise NotRecorded("What was visited then is not in this log", hint="Bundle more events.") from None


def verify(
    source: Source,
    each: Callable[[Verified], None],
    *,
    each_prompt: Callable[[Rebuilt], None] | None = None,
    each_unknown: Callable[[c.UnknownEvent], None] = lambda _event: None,
    until: Position | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Replays every recorded call of `source`.

    Args:
        each: gets each outcome, in the order of the log; calls about an older moment come last.
        each_prompt: gets the outcome of each prompt. None: prompts are not rebuilt.
        each_unknown: gets each event of a type that this version does not know: it may be a call.
        until: the position to stop after.

    Returns:
        Warnings for people.

    Raises:
        LogDamaged, InvalidArgument, OSError: the source cannot be read.
    """
    notes = Notes(source.blob)
    moments = Moments(source)
    later: dict[int, list[c.Event]] = {}

    def first(events: list[c.Event]) -> None:
        for event in events:
            moments.take(event)
            if isinstance(event.data, c.ToolCalled):
                try:
                    each(verify_call(source, notes, moments, event))
                except StateNotRetained:
                    later.setdefault(event.data.tail, []).append(event)
            elif isinstance(event.data, c.PromptAssembled | c.PromptOverlaid) and each_prompt is not None:
                is_whole = isinstance(event.data, c.PromptAssembled)
                each_prompt(
                    verify_prompt(source, moments, event)
                    if is_whole
                    else verify_overlaid(source, moments.state.insertions, event)
                )
            elif isinstance(event, c.UnknownEvent):
                each_unknown(event)

    warnings = feed_until(source, until, first, progress)
    if later:
        moments = Moments(source)

        def second(events: list[c.Event]) -> None:
            for event in events:
                moments.take(event)
                for call in later.pop(event.seq, ()):
                    each(verify_call(source, notes, moments, call))

        feed_until(source, until, second)
    for call in itertools.chain.from_iterable(later.values()):
        each(of_another_part(call))
    return warnings


def of_another_part(call: c.Event) -> Verified:
    """What becomes of a call about a moment before this part of a log."""
    return Verified(call.seq, call.data, Outcome.NOT_RECORDED, _NO_MOMENT, is_explained=True)


def verify_call(source: Source, notes: Notes, moments: KnownMoments, event: c.Event) -> Verified:
    """Replays one recorded call at its moment.

    Raises:
        StateNotRetained: `moments` does not know the call's state.
    """
    seq, called, blob, served = event.seq, event.data, source.blob, None
    if called.answer_version != ANSWER_VERSION:
        why = f"It is of version {called.answer_version} of the answers; this program gives {ANSWER_VERSION}."
        return Verified(seq, called, Outcome.OTHER_VERSION, why)
    try:
        served = blob(called.result_sha256)
        inputs = blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
        if inputs is None:
            raise NotKept("What it read is not kept", hint=SWEPT if called.inputs_sha256 else NOT_KEPT)
        if called.tail >= seq:
            raise NotRecorded(_NO_MOMENT)
        state = moments.state_seen(called.as_of_seq)
        if state is None:
            raise StateNotRetained
        whole = msgspec.structs.replace(called, arguments=arguments_of(called, blob))
        visits = partial(moments.visits_at, called.tail)
        recording = read_recording(inputs, called.inputs_sha256 or "")
        if recording.repeats is not None:
            answered = blob(called.result_sha256)
            if answered is None:
                raise NotKept("The answer that it repeats is not kept", hint=SWEPT)
        else:
            answered = replay_answer(Answers(recording.asked, notes), whole, recording, state, visits)
    except NotKept as error:
        why = _REMOVED if source.redacted else _sentence(error)
        is_explained = source.redacted or event.time <= source.swept_until
        return Verified(seq, called, Outcome.NOT_RECORDED, why, served, is_explained=is_explained)
    except NotRecorded as error:
        return Verified(seq, called, Outcome.NOT_RECORDED, _sentence(error), served)
    except LogDamaged as error:
        return Verified(seq, called, Outcome.DAMAGED, _sentence(error), served)
    differs = _differs(whole, recording, state, answered)
    outcome = Outcome.SAME if differs is None else Outcome.DIFFERENT
    return Verified(seq, called, outcome, "", served, answered, differs)


def _differs(called: c.ToolCalled, recording: Recording, state: WorkspaceState, answered: bytes) -> str | None:
    """The part of the call's event that differs from the replay; None if nothing differs.

    What the replay rests on (`arguments`, `asOfSeq`, `tailSeq`, `now`) differs if the answer does. How long the
    call took, and what a runtime calls its session, nobody can say again.
    """
    if sha256(answered).hexdigest() != called.result_sha256:
        return "answer"
    if msgspec.json.decode(answered, type=ResultHead).success != called.ok:
        return "ok"
    given = text_told(called.tool, answered) if isinstance(called, c.ContextVolunteered) else answered
    if len(given) != called.bytes:
        return "bytes"
    if isinstance(called, c.ContextVolunteered) and sha256(given).hexdigest() != called.text_sha256:
        return "textSha256"
    if recording.caller != called.caller:
        return "caller"
    if called.names_moment:  # the level came from a later state than `state`
        return None
    if state.seq != called.as_of_seq:
        return "asOfSeq"
    off = recording.refused is not None and recording.refused.type == SharingOff.__name__
    level = "none" if off else recording.level
    if recording.refused is not None and not off:
        return None
    return None if state.sharing_of(called.caller) == level else "caller"


def verify_prompt(source: Source, moments: KnownMoments, event: c.Event) -> Rebuilt:
    """Rebuilds one prompt from its conversation at that moment, and its body as it was rendered."""
    seq, prompt, blob = event.seq, event.data, source.blob
    if source.redacted:
        return Rebuilt(seq, prompt, Outcome.NOT_RECORDED, _REMOVED, is_explained=True)
    try:
        if prompt.as_of_seq >= seq:
            raise NotRecorded(_NO_MOMENT)
        conversation = checked(moments.conversation_at(prompt.conversation, prompt.as_of_seq))
        made = rebuild(prompt, conversation, texts_in(blob))
        differs = first_difference(prompt, made, conversation)
        if differs is None and prompt.shape is not None:
            if prompt.shape.renderer not in {None, RENDERER}:
                why = f"Its body is of the renderer {prompt.shape.renderer}; this program has {RENDERER}."
                return Rebuilt(seq, prompt, Outcome.OTHER_VERSION, why, envelope=made.envelope)
            body = rebuild_request_body(prompt.shape, made.envelope, conversation.settings, blob).body
            differs = BODY if body_hash(body) != prompt.shape.body_hash else None
    except NotRecorded as error:
        is_explained = prompt.inputs_sha256 == FORGOTTEN
        return Rebuilt(seq, prompt, Outcome.NOT_RECORDED, _sentence(error), is_explained=is_explained)
    except LogDamaged as error:
        return Rebuilt(seq, prompt, Outcome.DAMAGED, _sentence(error))
    except WorkspacedError as error:
        return Rebuilt(seq, prompt, Outcome.DIFFERENT, _sentence(error))
    outcome = Outcome.SAME if differs is None else Outcome.DIFFERENT
    return Rebuilt(seq, prompt, outcome, differs=differs, envelope=made.envelope)


def verify_overlaid(source: Source, insertions: Insertions, event: c.Event) -> Rebuilt:
    """Rebuilds what was put into one request, from the answers of the insertions that stood in it.

    That these answers are the right ones, the replay of their calls says.

    Args:
        insertions: those that the log knew then.
    """
    seq, prompt = event.seq, event.data
    if source.redacted:
        return Rebuilt(seq, prompt, Outcome.NOT_RECORDED, _REMOVED, is_explained=True)
    found = [*chain(insertions, prompt.insertion)]
    if not found or found[-1].after is not None:
        return Rebuilt(seq, prompt, Outcome.NOT_RECORDED, _NO_INSERTION, is_explained=True)
    if not {each.id for each in found} >= set(prompt.without):
        return Rebuilt(seq, prompt, Outcome.DIFFERENT, differs="without")
    try:
        for each in found:
            if each.id not in prompt.without and source.blob(each.result_sha256) is None:
                raise NotKept("A text of it is not kept", hint=SWEPT)
    except NotKept as error:
        is_explained = event.time <= source.swept_until
        return Rebuilt(seq, prompt, Outcome.NOT_RECORDED, _sentence(error), is_explained=is_explained)
    except LogDamaged as error:
        return Rebuilt(seq, prompt, Outcome.DAMAGED, _sentence(error))
    return Rebuilt(seq, prompt, Outcome.SAME)


def _sentence(error: WorkspacedError) -> str:
    return f"{error.message.rstrip('.')}. {error.hint or ''}".strip()
