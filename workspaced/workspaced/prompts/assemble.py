"""Prompts of conversations: reads their inputs, assembles them, and records them.

A prompt names no note that was known to be withheld when it was assembled. If nothing has changed
since the last prompt, the answer is that prompt, and nothing is recorded.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Annotated, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from workspaced_events.errors import Conflict, InvalidArgument
from workspaced_events.ids import MessageId, NoteId
from workspaced_events.journal.actions import Action, Planned
from workspaced_events.limits import ACTION_BYTES
from workspaced_events.projections.conversations import Conversation, Prompt
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.assembly.assemble import assemble as assemble_prompt
from workspaced_tools.prompts.audit.rebuild import prompt_event
from workspaced_tools.prompts.model.sent_so_far import kept_turn
from workspaced_tools.prompts.model.sent_turn import SentTurn
from workspaced_tools.prompts.model.stored_texts import BlobStaging, inputs_of
from workspaced_tools.prompts.model.types import Assembled, Envelope, Turn
from workspaced_tools.prompts.providers.bodies import RENDERER, CacheOffer, RenderedBody, shape
from workspaced_tools.prompts.providers.templates import Template, template_named
from workspaced_tools.prompts.sources.gather import gather, pinned_in
from workspaced_tools.sharing.gate import policy_kept_changing

from ..errors import UnknownMessage
from ..limits import ANSWER_BYTES_MAX, ASSEMBLE_ATTEMPTS_MAX
from ..service.service import Service
from ..vaults.served_vault import WithheldDuringRead
from . import params as p
from .commands import action, checked_message, known
from .visibility import WithheldNotes, with_conversation_view


class ConversationChanged(Conflict):
    """The conversation changed after it was read for the prompt."""


class Shaped(NamedTuple):
    """The body of a provider's request."""

    made: RenderedBody
    encoded: msgspec.Raw
    """Its JSON: what is hashed is what is measured and sent."""
    recorded: c.Shape


class Attempt(NamedTuple):
    """The result of one attempt: what to record and what to answer."""

    conversation: Conversation
    """The conversation as the attempt read it."""
    actions: list[Action]
    """To be recorded."""
    envelope: Envelope | None = None
    shaped: Shaped | None = None
    only_compacted: bool = False
    """True if the attempt only removed withheld notes from the library, so that another one must follow."""

    @property
    def texts(self) -> list[bytes]:
        """The texts that the actions name."""
        return [text for action in self.actions for text in action.blobs]

    @property
    def size_bytes(self) -> int:
        """Memory that the actions occupy until they are written."""
        return ACTION_BYTES * len(self.actions) + sum(map(len, self.texts))

    def plan(self, now: Planned) -> list[Action]:
        """The actions, if the conversation has not changed (a `Plan` of the log's writer).

        Raises:
            ConversationChanged: it has.
        """
        if now.state.conversations.by_id.get(self.conversation.id) is not self.conversation:
            raise ConversationChanged(
                f"The conversation {self.conversation.id!r} kept moving while its prompt was made.",
                hint="Ask again once its messages are there.",
            )
        return self.actions


async def _recorded(
    service: Service, params: p.Assemble, template: Template | None, caller: str
) -> tuple[Attempt, int | None]:
    """The prompt and the sequence of its last event; None if there was nothing to record.

    The writer checks at the moment of appending that the conversation has not changed since it was read; if it
    has, all is made again. Notes that are withheld at present first leave the conversation's library and turns,
    which is recorded as a compaction.

    Raises:
        ConversationChanged: the conversation changed at each of ASSEMBLE_ATTEMPTS_MAX attempts.
        ReadFailed: each attempt found more withheld notes in the library.
    """
    changed: ConversationChanged | None = None
    for _ in range(ASSEMBLE_ATTEMPTS_MAX):
        conversation = known(service.tail.state, params.conversation)
        make = partial(_attempt, service, params, template)
        made = await with_conversation_view(service, conversation, make, caller)
        if not made.actions:
            return made, None
        try:
            receipts = await service.publishing.record(
                made.plan, caller, size_bytes=made.size_bytes, texts=made.texts
            )
        except ConversationChanged as error:
            changed = error
            continue
        if not made.only_compacted:
            return made, receipts[-1].seq
    raise changed or policy_kept_changing()


# -- on a worker thread --


def _attempt(
    service: Service, params: p.Assemble, template: Template | None, view: View, withheld_notes: WithheldNotes
) -> Attempt:
    """Removes withheld notes from library and turns if they show any, else makes the prompt."""
    conversation = known(view.state, params.conversation)
    turns = _turns_of(conversation, service)
    withheld_notes.refresh(conversation.library, turns.values())
    if (compaction := _without_withheld(conversation, turns, withheld_notes)) is not None:
        return Attempt(conversation, [action(compaction, conversation)], only_compacted=True)
    return _prompt(service, params, template, conversation, view, withheld_notes)


def _turns_of(conversation: Conversation, service: Service) -> dict[MessageId, SentTurn]:
    """The turns that prompts repeat; one that is no longer kept is repeated by nobody."""
    found, kept = {}, service.kept_turns.of(conversation.id)
    for name, sent in conversation.turns.items():
        with suppress(NotRecorded):
            found[name] = kept_turn(name, sent.turn_sha256, service.texts, kept)
    return found


def _without_withheld(
    conversation: Conversation, turns: Mapping[MessageId, SentTurn], withheld_notes: WithheldNotes
) -> c.ContextFolded | None:
    """The event that takes out of library and turns what is withheld or gone; None: they show none of it."""
    library = withheld_notes.without_withheld(conversation.library)
    known_to_be = set(conversation.left_out)
    left_out = tuple(each for each in withheld_notes.parts_withheld(turns) if each not in known_to_be)
    if left_out or library != conversation.library:
        is_gone = library == conversation.library and all(each.why == "gone" for each in left_out)
        reason: Literal["gone", "withheld"] = "gone" if is_gone else "withheld"
        return c.ContextFolded(conversation=conversation.id, reason=reason, library=library, left_out=left_out)
    return None


_SURELY_SENT_CHARS: Final = ANSWER_BYTES_MAX // 32
"""A shorter prompt text always fits into an answer, which holds it at most three times, each character as at most
six bytes. Not true of a provider's body, which may hold anything."""
_FRAME_BYTES: Final = 4_096
"""Bytes of an answer around the prompt."""
_Revision = tuple[str, str]
"""An artifact's id and revision."""


class Prompted(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """An envelope as it is answered. With a body it has no messages: the body has them."""

    seq: int
    """Of its `prompt_assembled`."""
    clock: str
    body: Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "object"})] | None = None
    """What the provider is to be sent."""
    changes: tuple[str, ...] | None = None
    """What the body says otherwise than the messages, or leaves out; a sentence each."""
    tool_names: dict[str, str] | None = None
    """Of each tool that the body has under another name, by that name: the one it was defined with."""
    cached_content: CacheOffer | None = None
    """Where the provider may keep the first two layers."""


async def assemble(service: Service, params: p.Assemble, caller: str) -> Prompted:
    """The prompt up to a message, recorded.

    Raises:
        WorkspacedError: UnknownConversation, UnknownMessage, SharingOff, BudgetExceeded, Conflict if the
            conversation changed at each attempt; UnknownShape, TemplateFailed.
    """
    if params.shape is None and params.cached_content is not None:
        raise InvalidArgument(
            "`cachedContent` is left out of a provider's body, and none is asked for.",
            hint="Name its `shape`, or leave `cachedContent` out.",
        )
    template = None
    if params.shape is not None:
        template = await service.threads.run(template_named, params.shape, service.templates)
    made, seq = await _recorded(service, params, template, caller)
    assert made.envelope is not None
    if seq is None:
        last = made.conversation.last_prompt(params.pipeline)
        assert last is not None, "nothing was recorded, so the answer is the last prompt"
        seq = last.seq
    return _answer(made.envelope, made.shaped, params, seq, service.tail.clock())


# -- on a worker thread --


def _prompt(
    service: Service,
    params: p.Assemble,
    template: Template | None,
    conversation: Conversation,
    view: View,
    withheld_notes: WithheldNotes,
) -> Attempt:
    staging = BlobStaging(service.texts)
    turn, made = _assembled(service, params, conversation, view, withheld_notes, staging)
    envelope, shaped = made.envelope, None
    if template is not None:
        shaped = _shaped(service, conversation.settings, template, envelope, params.cached_content, staging)
    recorded = shaped.recorded if shaped is not None else None
    if shaped is not None or sum(len(layer.text) for layer in envelope.layers) > _SURELY_SENT_CHARS:
        _check_size(_answer(envelope, shaped, params, 0, ""))
    last = conversation.last_prompt(params.pipeline)
    inputs = staging.keep(msgspec.json.encode(turn))
    has_compaction = made.compacted is not None
    if last is not None and not has_compaction and _is_repeated(last, envelope, inputs, recorded):
        return Attempt(conversation, [], envelope, shaped)
    durable, durable_texts = _durable_texts(service, last, conversation)
    actions = _source_actions(conversation, turn, made, staging, durable)
    manifest = staging.keep(msgspec.json.encode(envelope.manifest))
    sent = staging.keep(msgspec.json.encode(made.sent)) if made.sent is not None else None
    prompt = prompt_event(
        conversation.seq, made, inputs_sha256=inputs, manifest_sha256=manifest, shape=recorded, turn_sha256=sent
    )
    if made.near_limit is not None:
        actions.append(action(made.near_limit, conversation))
    read = [name for name in _read_for(turn, recorded) if name not in durable_texts]
    blocks = map(staging.text, made.blocks)
    actions.append(action(prompt, conversation, _staged_texts(staging, [*read, *blocks, inputs, manifest, sent])))
    return Attempt(conversation, actions, envelope, shaped)


def _shaped(
    service: Service,
    settings: c.ConversationStarted,
    template: Template,
    envelope: Envelope,
    cached_content: str | None,
    staging: BlobStaging,
) -> Shaped:
    def blob(name: str) -> bytes | None:
        return staging.blobs[name] if name in staging.blobs else service.blobs.get(name)

    made = shape(envelope, settings, template, staging, blob, cached_content)
    body = msgspec.json.encode(made.body)
    own = staging.text(template.text) if template.text is not None else None  # the body can be rebuilt
    recorded = c.Shape(
        name=made.shape,
        template_sha256=own,
        body_hash=sha256(body).hexdigest(),
        renderer=RENDERER if own is None else None,
        cached_content=cached_content,
    )
    return Shaped(made, msgspec.Raw(body), recorded)


def _durable_texts(
    service: Service, last: Prompt | None, conversation: Conversation
) -> tuple[set[_Revision], set[str]]:
    """The durable revisions and texts of library and last prompt, which need not be written again."""
    revisions = {(entry.id, entry.revision) for entry in conversation.library}
    texts: set[str] = set()
    with suppress(NotRecorded):  # its inputs named a note that was forgotten
        if last is not None:
            turn = inputs_of(last.inputs_sha256, service.texts)
            revisions |= {(artifact.id, artifact.revision) for artifact in turn.artifacts}
            texts |= set(_read_for(turn, last.shape))
    return revisions, texts


def _answer(envelope: Envelope, shaped: Shaped | None, params: p.Assemble, seq: int, clock: str) -> Prompted:
    if not params.layers:
        bare = tuple(replace(layer, text="", segments=()) for layer in envelope.layers)
        envelope = replace(envelope, layers=bare)
    answer = Prompted(**asdict(envelope), seq=seq, clock=clock)
    if shaped is None:
        return answer
    return replace(
        answer,
        messages=(),
        body=shaped.encoded,
        changes=shaped.made.changes,
        tool_names=shaped.made.tool_names,
        cached_content=shaped.made.cached_content,
    )


def _check_size(answer: Prompted) -> None:
    """Raises InvalidArgument if the prompt is too large to be sent, before it is recorded."""
    size = len(msgspec.json.encode(answer))
    if size > ANSWER_BYTES_MAX - _FRAME_BYTES:
        raise InvalidArgument(
            f"The prompt would be an answer of {size} bytes; at most {ANSWER_BYTES_MAX} are sent.",
            hint="Ask with layers: false, attach less, or set a summary.",
        )


def _read_for(turn: Turn, shape: c.Shape | None) -> Iterator[str]:
    """The hashes of what a prompt was assembled from, except the artifacts' own texts.

    An image that a note embeds is among them: no event of its own outlasts the note when that is forgotten.
    """
    for provided in turn.provided:
        yield provided.text_sha256 or ""
    for artifact in turn.artifacts:
        yield artifact.revision if artifact.is_embedded else ""
    if shape is not None:
        yield shape.template_sha256 or ""


def _assembled(
    service: Service,
    params: p.Assemble,
    conversation: Conversation,
    view: View,
    withheld_notes: WithheldNotes,
    staging: BlobStaging,
) -> tuple[Turn, Assembled]:
    """The turn that was read through `view`, and the prompt assembled from it.

    Raises:
        WithheldDuringRead: a note that was read is withheld at present.
        WorkspacedError: raised by the assembler.
    """
    kept = service.kept_turns.of(conversation.id)
    turn = gather(
        conversation,
        _last_message(conversation, params.message),
        view,
        staging,
        staging.keep,
        view.state.conversations.calibration(conversation.settings),
        rebase=params.rebase,
        pipeline=params.pipeline,
        current=service.tail.state.current,
        requested=withheld_notes.requested,
        kept=kept,
    )
    made = assemble_prompt(conversation, turn, staging, kept)
    if withheld_notes.includes_any(_attached_in(turn), pinned_in(turn)):
        raise WithheldDuringRead
    return turn, made


def _source_actions(
    conversation: Conversation, turn: Turn, made: Assembled, staging: BlobStaging, durable: set[_Revision]
) -> list[Action]:
    """The actions that record the versions read for the prompt, and the compaction if there was one."""
    actions, known_revisions = [], set(durable)
    if made.compacted is None:  # a compaction's library may hold what this turn read
        above = (entry for entry in made.envelope.manifest.entries if entry.state == "reference")
        known_revisions |= {(entry.id, entry.revision or "") for entry in above}
    for artifact in turn.artifacts:
        version = artifact.id, artifact.revision
        if artifact.revision and not artifact.is_embedded and version not in known_revisions:
            known_revisions.add(version)
            read = c.ArtifactRecorded(artifact.id, artifact.kind, artifact.revision, artifact.bytes)
            actions.append(action(read, conversation, _staged_texts(staging, [artifact.revision])))
    if (compaction := made.compacted) is not None:
        for present in turn.present:  # what the compaction was planned with, the library's new texts among them
            now = present.artifact
            if present.is_kept and now.revision and (now.id, now.revision) not in known_revisions:
                read = c.ArtifactRecorded(now.id, now.kind, now.revision, now.bytes)
                actions.append(action(read, conversation, _staged_texts(staging, [now.revision])))
        actions.append(action(compaction, conversation, _staged_texts(staging, map(staging.text, made.blocks))))
    return actions


def _last_message(conversation: Conversation, wanted: str | None) -> MessageId:
    """The message that the prompt ends with.

    Raises:
        UnknownMessage: there is no such message, or none at all.
    """
    if wanted is None and not conversation.messages:
        raise UnknownMessage(
            f"The conversation {conversation.id!r} has no message yet.",
            hint="Add one with workspaced/context/message.",
        )
    return checked_message(conversation, wanted) if wanted is not None else next(reversed(conversation.messages))


def _attached_in(turn: Turn) -> Iterator[NoteId]:
    """The notes whose names or texts the turn holds because they were attached."""
    for artifact in turn.artifacts:
        if artifact.failed is None:
            yield from artifact.notes
    for present in turn.present:
        if present.artifact.failed is None:
            yield NoteId(present.artifact.id)


def _is_repeated(last: Prompt, envelope: Envelope, inputs: str, shape: c.Shape | None) -> bool:
    return (last.message, last.inputs_sha256, last.hashes, last.combined_hash, last.shape) == (
        envelope.message_id,
        inputs,
        envelope.hashes,
        envelope.combined_hash,
        shape,
    )


def _staged_texts(staging: BlobStaging, names: Iterable[str | None]) -> list[bytes]:
    """The staged texts with these hashes, each once."""
    return [staging.blobs[name] for name in dict.fromkeys(names) if name is not None and name in staging.blobs]
