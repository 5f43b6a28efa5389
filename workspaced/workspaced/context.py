"""Prompts made for conversations: read what they need, assemble, record.

What is recorded is decided at the moment of appending: if the conversation moved since it was looked at, its
prompt is made again. A prompt tells of no note that was known to be withheld when it was made; what is withheld by
now leaves the context library, too, which the log tells as a rebase.

Asked again for what the last prompt was made of, it is that prompt: nothing is recorded.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from workspaced_events import catalogue as c
from workspaced_events.actions import Action
from workspaced_events.catalogue import LibraryEntry
from workspaced_events.conversation import Conversation, Message, Prompt
from workspaced_events.errors import Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, MessageId, NoteId, VaultId, uuid7
from workspaced_events.state import WorkspaceState
from workspaced_tools.context.acquire import acquire
from workspaced_tools.context.assemble import assemble
from workspaced_tools.context.environment import environment
from workspaced_tools.context.model import Assembled, Envelope, Turn
from workspaced_tools.errors import NotRecorded
from workspaced_tools.sharing import IsWithheld, unsettled
from workspaced_tools.view import View

from . import said
from .calls import FoundPrivate
from .conversing import action, checked_message, known, started
from .errors import UnknownMessage
from .limits import ASSEMBLE_ATTEMPTS_MAX
from .texts import Aside

if TYPE_CHECKING:
    from .service import Service

OF_NOTES: Final = frozenset({"note", "active_note"})
"""What the library has from the vault, under the note's path."""


class Prompted(Envelope, frozen=True, kw_only=True):
    """An envelope as it is answered."""

    seq: int
    """Of its `prompt_assembled`."""
    clock: str


class Moved(Conflict):
    """The conversation is not the one that the prompt was made of."""


class _Made(NamedTuple):
    """What came of looking at a conversation once."""

    conversation: Conversation
    """That was looked at."""
    actions: list[Action]
    """To be recorded."""
    envelope: Envelope | None = None
    look_again: bool = False
    """Whether that only prepared what was asked for."""

    def plan(self, state: WorkspaceState, _seq: int) -> list[Action]:
        """The actions, if they still hold (a recorder.Plan)."""
        if state.conversations.by_id.get(self.conversation.id) is not self.conversation:
            raise Moved(
                f"The conversation {self.conversation.id!r} kept moving while its prompt was made.",
                hint="Ask again once its messages are there.",
            )
        return self.actions


class Contexts:
    """One for each daemon."""

    def __init__(self, service: "Service") -> None:
        self._service = service

    async def start(self, params: said.Start, caller: str) -> ConversationId:
        """Begins a conversation, or gives it other settings.

        Raises:
            WorkspacedError: of the parameters; SharingOff where the environment may not be told.
        """
        service = self._service
        conversation = ConversationId(params.conversation or uuid7())
        before = service.state.conversations.by_id.get(conversation)
        vault = before.vault if before is not None else None
        told = ""
        if params.environment:
            told = await service.look(lambda view, _withheld: environment(view), caller, self._vault(vault))
        await service.record(started(params, conversation, told), caller)
        return conversation

    async def assemble(self, params: said.Assemble, caller: str) -> Prompted:
        """The prompt up to a message, recorded.

        Raises:
            WorkspacedError: UnknownConversation, UnknownMessage, SharingOff, BudgetExceeded, Conflict where the
                conversation moved all the time.
        """

        def make(conversation: Conversation, view: View, hidden: "_Hidden") -> _Made:
            return self._prompt(conversation, params, view, hidden)

        made, seq = await self._recorded(params.conversation, make, caller)
        envelope = made.envelope
        assert envelope is not None
        if not params.layers:
            bare = tuple(replace(layer, text="", segments=()) for layer in envelope.layers)
            envelope = replace(envelope, layers=bare)
        clock = self._service.clock()
        return Prompted(
            **asdict(envelope), seq=made.conversation.prompts[-1].seq if seq is None else seq, clock=clock
        )

    async def rebase(self, params: said.Named, caller: str) -> int:
        """Gives the library what its notes are now, and says how many entries are others.

        Raises:
            WorkspacedError: as `assemble`.
        """
        made, _seq = await self._recorded(params.conversation, self._refreshed, caller)
        data = made.actions[-1].data if made.actions else None
        if not isinstance(data, c.LibraryRebased):
            return 0
        return len(set(made.conversation.library) - set(data.library))

    async def _recorded(self, name: str, make: "_Make", caller: str) -> tuple[_Made, int | None]:
        """What `make` made in the end, and the sequence of its last event; None where nothing was new."""

        def look(view: View, withheld: IsWithheld) -> _Made:
            conversation, hidden = known(view.state, name), _Hidden(view, withheld)
            hidden.learn(conversation.library)
            if (library := hidden.cleared(conversation.library)) != conversation.library:
                data = c.LibraryRebased(conversation=conversation.id, reason="withheld", library=library)
                return _Made(conversation, [action(data, conversation)], look_again=True)
            made = make(conversation, view, hidden)
            if hidden.cleared(library) != library:
                raise FoundPrivate
            return made

        service = self._service
        moved: Moved | None = None
        for _ in range(ASSEMBLE_ATTEMPTS_MAX):
            made = await service.look(look, caller, self._vault(known(service.state, name).vault))
            if not made.actions:
                return made, None
            try:
                receipts = await service.record(made.plan, caller)
            except Moved as error:
                moved = error
                continue
            if not made.look_again:
                return made, receipts[-1].seq
        raise moved or unsettled()

    def _vault(self, vault: VaultId | None) -> VaultId | None:
        """A conversation's vault; of one that began without, the current one."""
        return vault if vault is not None else self._service.state.current

    # -- on a worker thread --

    def _prompt(self, conversation: Conversation, params: said.Assemble, view: View, hidden: "_Hidden") -> _Made:
        message = _last_message(conversation, params.message)
        aside = Aside(self._service.texts)
        turn, assembled = _assembled(conversation, message, view, hidden, aside, rebase=params.rebase)
        envelope = assembled.envelope
        last = conversation.prompts[-1] if conversation.prompts else None
        inputs = aside.keep(msgspec.json.encode(turn))
        if last is not None and assembled.rebased is None and _is_again(last, envelope, inputs):
            return _Made(conversation, [], envelope)
        kept = self._kept(conversation)
        actions = _sources(conversation, turn, assembled, aside, kept)
        manifest = aside.keep(msgspec.json.encode(envelope.manifest))
        provided = [each.text_sha256 for each in turn.provided if each.text_sha256 not in kept.provided]
        prompt = c.PromptAssembled(
            conversation=conversation.id,
            message=turn.message,
            as_of_seq=conversation.seq,
            inputs_sha256=inputs,
            manifest_sha256=manifest,
            layer_hashes=envelope.hashes,
            combined_hash=envelope.combined_hash,
            prefix_tokens=assembled.prefix_tokens,
            estimate=envelope.estimate,
            seed_estimate=assembled.seed_estimate,
            limit=envelope.manifest.limit,
            elided=assembled.elided,
            promoted=assembled.promoted,
            elided_until=assembled.elided_until,
        )
        blocks = map(aside.text, assembled.blocks)
        actions.append(action(prompt, conversation, _some(aside, [*provided, *blocks, inputs, manifest])))
        return _Made(conversation, actions, envelope)

    def _refreshed(self, conversation: Conversation, view: View, hidden: "_Hidden") -> _Made:
        """What would become of the library if a message had attached all its notes."""
        notes = tuple(c.Attachment("note", entry.id) for entry in conversation.library if entry.kind == "note")
        asking = Message(MessageId(""), "user", conversation.seq, "", attachments=notes)
        asked = replace(conversation, messages={**conversation.messages, asking.id: asking})
        aside = Aside(self._service.texts)
        turn, assembled = _assembled(asked, asking.id, view, hidden, aside, rebase=True)
        if assembled.rebased is None:
            return _Made(conversation, [])
        return _Made(conversation, _sources(conversation, turn, assembled, aside, self._kept(conversation)))

    def _kept(self, conversation: Conversation) -> "_Kept":
        """What is durable of the library and of what was read for the last prompt: not to be written again."""
        revisions = {(entry.id, entry.revision) for entry in conversation.library}
        provided: set[str | None] = {None}
        with suppress(NotRecorded):  # it told of a note that was forgotten
            for last in conversation.prompts[-1:]:
                turn = msgspec.json.decode(self._service.texts(last.inputs_sha256), type=Turn)
                revisions |= {(artifact.id, artifact.revision) for artifact in turn.artifacts}
                provided |= {each.text_sha256 for each in turn.provided}
        return _Kept(revisions, provided)


class _Kept(NamedTuple):
    revisions: set[tuple[str, str]]
    provided: set[str | None]


class _Hidden:
    """What the client that asks may not be shown by now."""

    def __init__(self, view: View, withheld: IsWithheld) -> None:
        self._view = view
        self._withheld = withheld

    def any(self, notes: Iterable[NoteId]) -> bool:
        """Whether one of the notes is withheld, under this name or the one that it has now."""
        state = self._view.vault_state
        names = {name for note in notes for name in (note, state.current_path(note)) if name is not None}
        return any(map(self._withheld, names))

    def cleared(self, library: tuple[LibraryEntry, ...]) -> tuple[LibraryEntry, ...]:
        """The library without notes that may not be shown, as far as is known."""
        if self._view.sharing != "all" or self._view.vault is None:
            return tuple(entry for entry in library if entry.kind not in OF_NOTES)
        return tuple(entry for entry in library if entry.kind not in OF_NOTES or not self.any([NoteId(entry.id)]))

    def learn(self, library: tuple[LibraryEntry, ...]) -> None:
        """Looks at the files of the library's notes: only they tell of their flags."""
        if self._view.sharing == "all" and self._view.vault is not None:
            self._view.vault.read([NoteId(entry.id) for entry in library if entry.kind in OF_NOTES])


_Make = Callable[[Conversation, View, _Hidden], _Made]


def _assembled(
    conversation: Conversation, message: MessageId, view: View, hidden: _Hidden, aside: Aside, *, rebase: bool
) -> tuple[Turn, Assembled]:
    """
    Raises:
        FoundPrivate: what was read is withheld by now.
    """
    calibration = view.state.conversations.calibration(conversation.settings)
    turn = acquire(conversation, message, view, aside, aside.keep, calibration, rebase=rebase)
    assembled = assemble(conversation, turn, aside)
    if hidden.any(_notes_of(turn)):
        raise FoundPrivate
    return turn, assembled


def _sources(
    conversation: Conversation, turn: Turn, assembled: Assembled, aside: Aside, kept: _Kept
) -> list[Action]:
    """What tells the log of versions that were read, and of another library."""
    actions, known_revisions = [], set(kept.revisions)
    for artifact in turn.artifacts:
        version = artifact.id, artifact.revision
        if artifact.revision and version not in known_revisions:
            known_revisions.add(version)
            read = c.ArtifactRecorded(artifact.id, artifact.kind, artifact.revision, artifact.bytes)
            actions.append(action(read, conversation, _some(aside, [artifact.revision])))
    if (rebased := assembled.rebased) is not None:
        data = c.LibraryRebased(conversation=conversation.id, reason=rebased.reason, library=rebased.library)
        actions.append(action(data, conversation, _some(aside, map(aside.text, assembled.blocks))))
    return actions


def _last_message(conversation: Conversation, wanted: str | None) -> MessageId:
    """The message that the prompt goes up to.

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
    if (role := conversation.messages[name].role) != "user":
        raise InvalidArgument(
            f"Expected a user's message to make the prompt for; {name!r} is of the role {role!r}.",
            hint="Add what the user says, or the results of the tools; or name an earlier message.",
        )
    return name


def _notes_of(turn: Turn) -> Iterator[NoteId]:
    """The notes whose names or texts the turn holds."""
    for artifact in turn.artifacts:
        if artifact.note is not None and artifact.failed is None:
            yield artifact.note
    for provided in turn.provided:
        yield from provided.notes


def _is_again(last: Prompt, envelope: Envelope, inputs: str) -> bool:
    return (last.message, last.inputs_sha256, last.hashes, last.combined_hash) == (
        envelope.message_id,
        inputs,
        envelope.hashes,
        envelope.combined_hash,
    )


def _some(aside: Aside, names: Iterable[str | None]) -> list[bytes]:
    """The texts of these names that are not kept yet, each once."""
    return [aside.blobs[name] for name in dict.fromkeys(names) if name is not None and name in aside.blobs]
