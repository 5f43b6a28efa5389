"""Prompts made for conversations: read what they need, assemble, record.

What is recorded is decided at the moment of appending: if the conversation moved since it was looked at, its
prompt is made again. A prompt tells of no note that was known to be withheld when it was made; what is withheld by
now leaves the context library, too, which the log tells as a rebase.

Asked again for what the last prompt was made of, it is that prompt: nothing is recorded.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from workspaced_events.errors import Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, MessageId, NoteId, uuid7
from workspaced_events.journal.actions import Action
from workspaced_events.limits import ACTION_BYTES
from workspaced_events.projections.conversations import Conversation, Message, Prompt
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.assembly.assemble import assemble as assemble_prompt
from workspaced_tools.prompts.audit.event import prompt_event
from workspaced_tools.prompts.model.pipelines import PARTS
from workspaced_tools.prompts.model.stored_inputs import inputs_of
from workspaced_tools.prompts.model.text_store import BlobStaging
from workspaced_tools.prompts.model.types import Assembled, Envelope, Turn
from workspaced_tools.prompts.requests.templates import CacheOffer, Shaped
from workspaced_tools.prompts.sources.environment import environment
from workspaced_tools.prompts.sources.gather import gather
from workspaced_tools.sharing.gate import policy_kept_changing

from ..calls.answers import WithheldDuringRead
from ..errors import UnknownMessage
from ..limits import ANSWER_BYTES_MAX, ASSEMBLE_ATTEMPTS_MAX
from ..service.service import Service
from . import params as p
from .commands import action, checked_message, known, start_plan, vault_of
from .request_body import Wanted, body_of, template_for
from .visibility import WithheldNotes, with_conversation_view

_SURELY_SENT_CHARS: Final = ANSWER_BYTES_MAX // 32
"""Of a prompt's text: it comes three times at most, a character as six bytes at most. A body may hold anything."""
_FRAME_BYTES: Final = 4_096
"""Of an answer: what stands around the prompt."""


class Prompted(Envelope, frozen=True, kw_only=True, omit_defaults=True):
    """An envelope as it is answered. With a body it has no messages: the body has them."""

    seq: int
    """Of its `prompt_assembled`."""
    clock: str
    body: dict[str, Any] | None = None
    """What the provider is to be sent."""
    changes: tuple[str, ...] | None = None
    """What the body says otherwise than the messages, or leaves out; a sentence each."""
    tool_names: dict[str, str] | None = None
    """Of each tool that the body has under another name, by that name: the one it was defined with."""
    cached_content: CacheOffer | None = None
    """Where the provider may keep the first two layers."""


class ConversationChanged(Conflict):
    """The conversation is not the one that the prompt was made of."""


class _Made(NamedTuple):
    """What came of looking at a conversation once."""

    conversation: Conversation
    """That was looked at."""
    actions: list[Action]
    """To be recorded."""
    envelope: Envelope | None = None
    shaped: Shaped | None = None
    look_again: bool = False
    """Whether that only prepared what was asked for."""

    @property
    def size_bytes(self) -> int:
        """What the actions keep in memory until they are written."""
        return sum(ACTION_BYTES + sum(map(len, each.blobs)) for each in self.actions)

    def plan(self, state: WorkspaceState, _seq: int) -> list[Action]:
        """The actions, if they still hold (a recorder.Plan)."""
        if state.conversations.by_id.get(self.conversation.id) is not self.conversation:
            raise ConversationChanged(
                f"The conversation {self.conversation.id!r} kept moving while its prompt was made.",
                hint="Ask again once its messages are there.",
            )
        return self.actions


async def start(service: Service, params: p.Start, caller: str) -> ConversationId:
    """Begins a conversation, or gives it other settings.

    Raises:
        WorkspacedError: of the parameters; SharingOff where the environment may not be told.
    """
    conversation = ConversationId(params.conversation or uuid7())
    before = service.tail.state.conversations.by_id.get(conversation)
    told = ""
    if params.environment:
        vault = vault_of(service.tail.state, before)
        told = await service.calls.with_view(lambda view, _withheld: environment(view), caller, vault)
    await service.publishing.record(start_plan(params, conversation, told), caller, size_bytes=p.bytes_of(params))
    return conversation


async def assemble(service: Service, params: p.Assemble, caller: str) -> Prompted:
    """The prompt up to a message, recorded.

    Raises:
        WorkspacedError: UnknownConversation, UnknownMessage, SharingOff, BudgetExceeded, Conflict where the
            conversation moved all the time; UnknownShape, TemplateFailed, BodyInvalid.
    """
    wanted = None
    if params.shape is not None or params.cached_content is not None:
        wanted = await service.threads.run(template_for, params, service.templates)
    make = partial(_prompt, service, params, wanted)
    made, seq = await _recorded(service, params.conversation, make, caller)
    assert made.envelope is not None
    if seq is None:
        last = made.conversation.last_prompt(params.pipeline)
        assert last is not None, "it is that one"
        seq = last.seq
    return _answer(made.envelope, made.shaped, params, seq, service.tail.clock())


async def rebase(service: Service, params: p.Named, caller: str) -> int:
    """Gives the library what its notes are now, and says how many entries are others.

    Raises:
        WorkspacedError: as `assemble`.
    """
    made, _seq = await _recorded(service, params.conversation, partial(_refreshed, service), caller)
    data = made.actions[-1].data if made.actions else None
    if not isinstance(data, c.LibraryRebased):
        return 0
    return len(set(made.conversation.library) - set(data.library))


async def _recorded(service: Service, name: str, make: "_Make", caller: str) -> tuple[_Made, int | None]:
    """What `make` made in the end, and the sequence of its last event; None where nothing was new."""
    moved: ConversationChanged | None = None
    for _ in range(ASSEMBLE_ATTEMPTS_MAX):
        made = await with_conversation_view(
            service, known(service.tail.state, name), partial(_made_of, name, make), caller
        )
        if not made.actions:
            return made, None
        try:
            receipts = await service.publishing.record(made.plan, caller, size_bytes=made.size_bytes)
        except ConversationChanged as error:
            moved = error
            continue
        if not made.look_again:
            return made, receipts[-1].seq
    raise moved or policy_kept_changing()


# -- on a worker thread --


def _made_of(name: str, make: "_Make", view: View, withheld_notes: WithheldNotes) -> _Made:
    """Clears the library of what is withheld, if there is any; else what `make` makes of the conversation."""
    conversation = known(view.state, name)
    withheld_notes.refresh_library(conversation.library)
    if (library := withheld_notes.without_withheld(conversation.library)) != conversation.library:
        data = c.LibraryRebased(conversation=conversation.id, reason="withheld", library=library)
        return _Made(conversation, [action(data, conversation)], look_again=True)
    made = make(conversation, view, withheld_notes)
    if withheld_notes.without_withheld(library) != library:
        raise WithheldDuringRead
    return made


def _prompt(
    service: Service,
    params: p.Assemble,
    wanted: Wanted | None,
    conversation: Conversation,
    view: View,
    withheld_notes: WithheldNotes,
) -> _Made:
    message = last_message(conversation, params.message, params.pipeline)
    aside = BlobStaging(service.texts)
    turn, made = assembled(
        conversation, message, view, withheld_notes, aside, pipeline=params.pipeline, rebase=params.rebase
    )
    envelope, settings = made.envelope, conversation.settings
    body = None
    if wanted is not None:
        body = body_of(envelope, settings, wanted, aside, service.blobs.get)
    shaped, shape = body if body is not None else (None, None)
    if shaped is not None or sum(len(layer.text) for layer in envelope.layers) > _SURELY_SENT_CHARS:
        _check_size(_answer(envelope, shaped, params, 0, ""))
    last = conversation.last_prompt(params.pipeline)
    inputs = aside.keep(msgspec.json.encode(turn))
    if last is not None and made.rebased is None and _is_again(last, envelope, inputs, shape):
        return _Made(conversation, [], envelope, shaped)
    kept = _kept(service, last, conversation)
    actions = _sources(conversation, turn, made, aside, kept)
    manifest = aside.keep(msgspec.json.encode(envelope.manifest))
    prompt = prompt_event(
        conversation.id,
        conversation.seq,
        turn,
        made,
        inputs_sha256=inputs,
        manifest_sha256=manifest,
        shape=shape,
    )
    read = [name for name in _read_for(turn, shape) if name not in kept.texts]
    blocks = map(aside.text, made.blocks)
    actions.append(action(prompt, conversation, _some(aside, [*read, *blocks, inputs, manifest])))
    return _Made(conversation, actions, envelope, shaped)


def _refreshed(service: Service, conversation: Conversation, view: View, withheld_notes: WithheldNotes) -> _Made:
    """What would become of the library if a message had attached all its notes."""
    notes = tuple(c.Attachment("note", entry.id) for entry in conversation.library if entry.kind == "note")
    asking = Message(MessageId(""), "user", conversation.seq, "", attachments=notes)
    asked = replace(conversation, messages={**conversation.messages, asking.id: asking})
    aside = BlobStaging(service.texts)
    turn, made = assembled(asked, asking.id, view, withheld_notes, aside, rebase=True)
    if made.rebased is None:
        return _Made(conversation, [])
    kept = _kept(service, conversation.last_prompt(), conversation)
    return _Made(conversation, _sources(conversation, turn, made, aside, kept))


def _kept(service: Service, last: Prompt | None, conversation: Conversation) -> "_Kept":
    """What is durable of the library and of what was read for the last prompt: not to be written again."""
    revisions = {(entry.id, entry.revision) for entry in conversation.library}
    texts: set[str] = set()
    with suppress(NotRecorded):  # it told of a note that was forgotten
        if last is not None:
            turn = inputs_of(last.inputs_sha256, service.texts)
            revisions |= {(artifact.id, artifact.revision) for artifact in turn.artifacts}
            texts |= set(_read_for(turn, last.shape))
    return _Kept(revisions, texts)


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
        body=shaped.body,
        changes=shaped.changes,
        tool_names=shaped.tool_names,
        cached_content=shaped.cached_content,
    )


def _check_size(answer: Prompted) -> None:
    """Raises InvalidArgument of a prompt that cannot be sent: it would be recorded, and nobody would have it."""
    size = len(msgspec.json.encode(answer))
    if size > ANSWER_BYTES_MAX - _FRAME_BYTES:
        raise InvalidArgument(
            f"The prompt would be an answer of {size} bytes; at most {ANSWER_BYTES_MAX} are sent.",
            hint="Ask with layers: false, attach less, or set a summary.",
        )


class _Kept(NamedTuple):
    revisions: set[tuple[str, str]]
    texts: set[str]


def _read_for(turn: Turn, shape: c.Shape | None) -> Iterator[str]:
    """The texts that a prompt was made from beside the artifacts' own."""
    for provided in turn.provided:
        yield provided.text_sha256 or ""
    for artifact in turn.artifacts:
        yield from (artifact.before, artifact.after)
    if shape is not None:
        yield shape.template_sha256


_Make = Callable[[Conversation, View, WithheldNotes], _Made]


def assembled(
    conversation: Conversation,
    message: MessageId,
    view: View,
    withheld_notes: WithheldNotes,
    aside: BlobStaging,
    *,
    pipeline: c.Pipeline = "chat",
    rebase: bool = False,
) -> tuple[Turn, Assembled]:
    """What was read for a prompt through `view`, and the prompt; nothing is recorded.

    Raises:
        WithheldDuringRead: what was read is withheld by now.
        WorkspacedError: of the assembler.
    """
    calibration = view.state.conversations.calibration(conversation.settings)
    turn = gather(conversation, message, view, aside, aside.keep, calibration, rebase=rebase, pipeline=pipeline)
    made = assemble_prompt(conversation, turn, aside)
    if withheld_notes.includes_any(_notes_of(turn)):
        raise WithheldDuringRead
    return turn, made


def _sources(
    conversation: Conversation, turn: Turn, made: Assembled, aside: BlobStaging, kept: _Kept
) -> list[Action]:
    """What tells the log of versions that were read, and of another library."""
    actions, known_revisions = [], set(kept.revisions)
    for artifact in turn.artifacts:
        version = artifact.id, artifact.revision
        if artifact.revision and version not in known_revisions:
            known_revisions.add(version)
            read = c.ArtifactRecorded(artifact.id, artifact.kind, artifact.revision, artifact.bytes)
            actions.append(action(read, conversation, _some(aside, [artifact.revision])))
    if (rebased := made.rebased) is not None:
        data = c.LibraryRebased(conversation=conversation.id, reason=rebased.reason, library=rebased.library)
        actions.append(action(data, conversation, _some(aside, map(aside.text, made.blocks))))
    return actions


def last_message(conversation: Conversation, wanted: str | None, pipeline: c.Pipeline = "chat") -> MessageId:
    """The message that the prompt goes up to: a user's, unless the pipeline sums up what was said.

    Raises:
        UnknownMessage: there is none.
        InvalidArgument: nothing is to be answered there.
    """
    if wanted is None and not conversation.messages:
        raise UnknownMessage(
            f"The conversation {conversation.id!r} has no message yet.",
            hint="Add one with workspaced/context/message.",
        )
    name = checked_message(conversation, wanted) if wanted is not None else next(reversed(conversation.messages))
    if (role := conversation.messages[name].role) != "user" and PARTS[pipeline].turn:
        raise InvalidArgument(
            f"Expected a user's message to make the prompt for; {name!r} is of the role {role!r}.",
            hint="Add what the user says, or the results of the tools; or name an earlier message. What is sent "
            "again under its id is not added again.",
        )
    return name


def _notes_of(turn: Turn) -> Iterator[NoteId]:
    """The notes whose names or texts the turn holds."""
    for artifact in turn.artifacts:
        if artifact.note is not None and artifact.failed is None:
            yield artifact.note
    for provided in turn.provided:
        yield from provided.notes


def _is_again(last: Prompt, envelope: Envelope, inputs: str, shape: c.Shape | None) -> bool:
    return (last.message, last.inputs_sha256, last.hashes, last.combined_hash, last.shape) == (
        envelope.message_id,
        inputs,
        envelope.hashes,
        envelope.combined_hash,
        shape,
    )


def _some(aside: BlobStaging, names: Iterable[str | None]) -> list[bytes]:
    """The texts of these names that are not kept yet, each once."""
    return [aside.blobs[name] for name in dict.fromkeys(names) if name is not None and name in aside.blobs]
