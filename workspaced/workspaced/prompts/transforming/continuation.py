"""Finds the conversation that given messages go on with.

Messages are compared by role, words, thinking, names and arguments of calls, results and images; ids do not count.
Context that we gave out is cut from them first. Empty messages are passed over. Several messages of the user in a
row may have become one.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from itertools import count, takewhile
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec.structs import replace

from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.blocks import BLANK_LINE
from workspaced_tools.prompts.model.types import Texts

from ...service.sent_contexts import SentContexts
from .. import params as p
from ..commands import vault_of
from ..message_commands import nothing_uploaded, recorded, resolved, workspace_now
from .context_extraction import sent_text

MERGED_MAX: Final = 8
"""At most so many messages of the user in a row are recognised where a framework made one of them."""
_NOTHING: Final = sha256(b"").hexdigest()


class MessageContent(NamedTuple):
    """The content of a message, without ids."""

    role: str
    words: str
    """A sha256, as calls, results and images have too."""
    calls: tuple[tuple[str, str | None], ...]
    results: tuple[tuple[str | None, bool, tuple[c.ResultImage, ...]], ...]
    images: tuple[str | None, ...]
    """Those in the message itself."""
    thinking: tuple[c.Thinking, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self.words == _NOTHING and not (self.calls or self.results or self.images)

    @property
    def is_words_of_user(self) -> bool:
        return self.role == "user" and not self.results


class Incoming(NamedTuple):
    """A message of a request."""

    message: p.Message
    """As it is recorded: without context that we gave."""
    data: c.MessageData
    """As its event would have it, but for its ids and what the workspace decides."""
    content: MessageContent
    text: str
    """As it was given."""


class Continuation(NamedTuple):
    """Where given messages go on."""

    conversation: Conversation | None = None
    """None: a new one."""
    held: int = 0
    """The number of its messages that the given ones begin with."""
    given: int = 0
    """The number of given messages that it has already."""
    before_last: int = 0
    """`held` without what the last of these was compared with."""
    answers: int = 0
    """How many of them are the assistant's."""
    exact: int = 0
    """How many of them have the very context that the conversation was sent with."""
    calls: Mapping[str, str] = MappingProxyType({})
    """The conversation's id of each call that it has already, by the given one."""


def read_incoming(messages: Iterable[p.Message], sent_contexts: SentContexts) -> list[Incoming]:
    """The messages, prepared to be compared and recorded.

    Raises:
        InvalidArgument: a message's parts do not fit its role, or each other.
    """
    found = []
    for at, message in enumerate(messages):
        text = message.text or ""
        own = sent_contexts.cut(text) if message.role == "user" else text
        cut = message if own == text else replace(message, text=own)
        data = recorded(ConversationId(""), cut, at, nothing_uploaded)[0]
        found.append(Incoming(cut, data, content_of_message(data), text))
    return found


def content_of_message(message: Message | c.MessageData) -> MessageContent:
    attached = zip(count(1), message.attachments)
    own = takewhile(lambda each: each[1].kind == "image" and each[1].id == f"image {each[0]}", attached)
    return MessageContent(
        message.role,
        message.text_sha256 or _NOTHING,
        tuple((each.name, each.arguments_sha256) for each in message.tool_calls),
        tuple((each.text_sha256, each.is_error, each.images) for each in message.tool_results),
        tuple(each.text_sha256 for _number, each in own),
        message.thinking,
    )


def find_continuation(
    state: WorkspaceState, conversations: Iterable[Conversation], given: Sequence[Incoming], texts: Texts
) -> Continuation:
    """Where the messages go on, among `conversations`, of which the last one changed most recently.

    First comes the conversation that was sent with the very contexts that the messages have; then the one that
    shares the most answers, since two chats rarely get the same; then one that waits for just this answer or
    question; then the one that shares the most messages; then the most recent one.
    """
    contents: dict[int, MessageContent] = {}
    best, best_rank = Continuation(), (0, 0, False, 0)
    for conversation in conversations:
        place = align(state, conversation, given, texts, contents)
        rank = (place.exact, place.answers, _goes_on(place, given), place.given)
        if place.given and rank >= best_rank:
            best, best_rank = place, rank
    return best


def _goes_on(place: Continuation, given: Sequence[Incoming]) -> bool:
    """Whether the conversation ends where the messages go on with one answer at most: each request came to us."""
    assert place.conversation is not None
    answers = sum(each.content.role == "assistant" for each in given[place.given :])
    return place.held == len(place.conversation.messages) and answers <= 1


def align(
    state: WorkspaceState,
    conversation: Conversation,
    given: Sequence[Incoming],
    texts: Texts,
    contents: dict[int, MessageContent] | None = None,
) -> Continuation:
    """How much of the conversation the given messages begin with.

    Where a fold left turns out, the messages may begin behind it. Words of the user that come last are another
    message if they attach something else now: a new chat often begins with the words of an older one, over
    another note.
    """
    walk = _Alignment(conversation, given, texts, {} if contents is None else contents)
    place = walk.place(0)
    if not place.given and conversation.elided_until is not None:
        place = walk.place(walk.ids.index(conversation.elided_until) + 1)
    last = given[-1]
    if place.given < len(given) or not last.content.is_words_of_user:
        return place
    workspace = workspace_now(state, vault_of(state, conversation))
    held = conversation.messages[walk.ids[place.held - 1]]
    if _besides_images(resolved(last.data, workspace).message) == _besides_images(held):
        return place
    return place._replace(held=place.before_last, given=place.given - 1)


def _besides_images(message: c.MessageData | Message) -> list[c.Attachment]:
    return [each for each in message.attachments if each.kind != "image"]


class _Alignment:
    """Compares the messages of a conversation with the given ones, one by one."""

    def __init__(
        self,
        conversation: Conversation,
        given: Sequence[Incoming],
        texts: Texts,
        contents: dict[int, MessageContent],
    ) -> None:
        self.ids = list(conversation.messages)
        self._conversation, self._given = conversation, given
        self._held = list(conversation.messages.values())
        self._texts, self._contents = texts, contents

    def place(self, start: int) -> Continuation:
        at, of, before, exact, answers = start, 0, start, 0, 0
        calls: dict[str, str] = {}
        while of < len(self._given):
            given = self._given[of]
            if at < len(self._held) and (taken := self._taken(at, given)):
                ours = zip(given.data.tool_calls, self._held[at].tool_calls, strict=False)
                calls |= {mine.id: held.id for mine, held in ours}
                answers += given.content.role == "assistant"
                exact += self._is_exact(at, given)
                before, at, of = at, at + taken, of + 1
            elif at < len(self._held) and self._content(at).is_empty:
                at += 1
            elif given.content.is_empty and of + 1 < len(self._given):
                of += 1
            else:
                break
        if not of:
            return Continuation(self._conversation)
        return Continuation(self._conversation, at, of, before, answers, exact, calls)

    def _content(self, at: int) -> MessageContent:
        message = self._held[at]
        found = self._contents.get(id(message))
        if found is None:
            found = self._contents[id(message)] = content_of_message(message)
        return found

    def _taken(self, at: int, given: Incoming) -> int:
        """How many held messages from `at` on the given one is."""
        held = self._content(at)
        if held == given.content or (not given.content.thinking and held._replace(thinking=()) == given.content):
            return 1  # many frameworks drop the thinking of earlier turns
        if not (held.is_words_of_user and given.content.is_words_of_user):
            return 0
        if held._replace(images=self._all_images(at)) == given.content:
            return 1  # a framework that keeps what it got has the attached ones, too
        if self._conversation.pins and self._is_exact(at, given):
            return 1  # pins stand before the words without a label
        return self._merged(at, given.content)

    def _all_images(self, at: int) -> tuple[str | None, ...]:
        return tuple(each.text_sha256 for each in self._held[at].attachments if each.kind == "image")

    def _is_exact(self, at: int, given: Incoming) -> bool:
        """Whether the message was sent with the context that the given one has."""
        sent = self._conversation.turns.get(self._held[at].id)
        if sent is None or (given.text == (given.message.text or "") and not self._conversation.pins):
            return False
        with suppress(NotRecorded):
            return sent_text(sent.turn_sha256, self._texts) == given.text
        return False

    def _merged(self, at: int, given: MessageContent) -> int:
        """How many of the user's messages from `at` on became the given one."""
        end = at
        while end < min(len(self._held), at + MERGED_MAX) and self._is_words(end):
            end += 1
        with suppress(NotRecorded):
            words = [self._texts(self._content(each).words) for each in range(at, end)]
            for number in range(2, len(words) + 1):
                images = {image for each in range(at, at + number) for image in self._all_images(each)}
                if given.words == _hash(BLANK_LINE.join(words[:number])) and images.issuperset(given.images):
                    return number
        return 0

    def _is_words(self, at: int) -> bool:
        content = self._content(at)
        return content.is_words_of_user and content.words != _NOTHING


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
