"""Reads the prompts recorded in a log, and rebuilds them."""

from collections.abc import Mapping, Sequence

import msgspec

from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import Conversation, Conversations, Prompt
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.replay.position import feed_until
from workspaced_events.replay.source import Progress, Source
from workspaced_events.schema.catalogue import Event, PromptAssembled

from ..model.stored_texts import texts_in
from ..model.types import Assembled
from .overlaid_chats import OverlaidChats
from .rebuild import Versions, checked, first_difference, rebuild

_IDS_SHOWN_MAX = 10


class SentPrompt(msgspec.Struct, frozen=True):
    """A prompt recorded in a log."""

    event: Event
    prompt: Prompt
    """The conversation's record of the prompt."""

    @property
    def data(self) -> PromptAssembled:
        data: PromptAssembled = self.event.data
        return data


class PromptHistory(msgspec.Struct, frozen=True):
    """All conversations at the end of a log, and all prompts and overlaid requests of the log."""

    conversations: Conversations
    prompts: Mapping[ConversationId, Sequence[SentPrompt]]
    overlaid: OverlaidChats
    warnings: list[str]

    def conversation(self, name: str) -> Conversation:
        """The conversation of that id, or the only one whose id begins with `name`.

        Raises:
            InvalidArgument: no conversation or several match.
        """
        by_id = self.conversations.by_id
        return by_id[ConversationId(_named([*by_id], name))]

    def conversation_or_chat(self, name: str) -> Conversation | str:
        """As `conversation`, also of the hash of an overlaid chat, which is returned.

        Raises:
            InvalidArgument: neither or several match.
        """
        by_id, chats = self.conversations.by_id, self.overlaid.by_chat
        found = _named([*chats, *by_id], name)
        return found if found in chats else by_id[ConversationId(found)]

    def sent(self, conversation: Conversation, message: str | None, seq: int | None = None) -> SentPrompt:
        """The last prompt of a conversation, for `message` and with sequence `seq` if given.

        Prompts of the chat pipeline come before those of other pipelines.

        Raises:
            InvalidArgument: no prompt matches.
        """
        prompts = self.prompts.get(conversation.id, ())
        by_rank = sorted(prompts, key=lambda sent: (sent.data.pipeline == "chat", sent.event.seq), reverse=True)
        for sent in by_rank:
            if seq in (None, sent.event.seq) and message in (None, sent.data.message):
                return sent
        of = f"of sequence {seq} " if seq is not None else f"for the message {message!r} " if message else ""
        ids = list(dict.fromkeys(sent.data.message for sent in prompts))
        raise InvalidArgument(
            f"No prompt {of}of the conversation {conversation.id!r} is in this log.",
            hint=f"Prompts are there for: {', '.join(ids[-_IDS_SHOWN_MAX:]) or 'none'}.",
        )


def _named(ids: Sequence[str], name: str) -> str:
    found = [name] if name in ids else [each for each in ids if name and each.startswith(name)]
    if len(found) != 1:
        latest = ", ".join((found or ids)[-_IDS_SHOWN_MAX:]) or "none"
        what = "There is no conversation" if not found else "Several conversations begin with"
        raise InvalidArgument(f"{what} {name!r}.", hint=f"The latest: {latest}.")
    return found[0]


def read_prompt_history(source: Source, progress: Progress | None = None) -> PromptHistory:
    """Reads all prompts, conversations and overlaid requests of a log.

    Raises:
        LogDamaged, InvalidArgument, OSError: the source cannot be read.
    """
    state = source.start
    prompts: dict[ConversationId, list[SentPrompt]] = {}
    overlaid = OverlaidChats()

    def take(events: list[Event]) -> None:
        nonlocal state
        for event in events:
            state = apply(state, event)
            overlaid.take(event)
            data = event.data
            if isinstance(data, PromptAssembled) and data.conversation in state.conversations.by_id:
                remembered = state.conversations.by_id[data.conversation].prompts[-1]
                prompts.setdefault(data.conversation, []).append(SentPrompt(event, remembered))

    warnings = source.feed(take, progress)
    return PromptHistory(state.conversations, prompts, overlaid, warnings)


class RebuiltPrompt(msgspec.Struct, frozen=True):
    """A recorded prompt and its rebuilt one."""

    sent: SentPrompt
    conversation: Conversation
    """The conversation's state when the prompt was made."""
    made: Assembled
    differs: str | None
    """The first difference, as `first_difference`; None if the prompts are equal to the byte."""


def rebuild_prompts(source: Source, wanted: Sequence[SentPrompt]) -> list[RebuiltPrompt]:
    """Rebuilds prompts of a source from its events and blobs.

    Raises:
        NotRecorded: an input or the conversation's state is not kept.
        WorkspacedError: from the assembler; or the source cannot be read.
    """
    then = _conversations_then(source, wanted)
    texts = texts_in(source.blob)
    found = []
    for sent in wanted:
        conversation = checked(then[sent.event.seq])
        made = rebuild(sent.data, conversation, texts)
        found.append(RebuiltPrompt(sent, conversation, made, first_difference(sent.data, made, conversation)))
    return found


def _conversations_then(source: Source, wanted: Sequence[SentPrompt]) -> dict[int, Conversation | None]:
    """The states of the conversations when the prompts were made, by the prompts' sequences."""
    by_seq = {sent.event.seq: sent.data for sent in wanted}
    state, versions = source.start, Versions(source.start.conversations)
    then: dict[int, Conversation | None] = {}

    def take(events: list[Event]) -> None:
        nonlocal state
        for event in events:
            state = apply(state, event)
            versions.take(state.conversations)
            if (data := by_seq.get(event.seq)) is not None:
                then[event.seq] = versions.at(data.conversation, data.as_of_seq)

    feed_until(source, max(by_seq), take)
    return then
