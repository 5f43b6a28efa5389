"""Finds the conversation that given messages go on with.

Messages are compared by role, words, names and arguments of calls, results and images; ids do not count. What we
gave out, with its context, counts as the message that it was made from. Empty messages are passed over. Several
messages of the user in a row may have become one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.prompts.model.blocks import BLANK_LINE, LIBRARY_FRAME, QUERY_FRAME, trimmed
from workspaced_tools.prompts.model.standing import content_of, read_turn
from workspaced_tools.prompts.model.types import Texts

from . import params as p
from .commands import vault_of
from .message_commands import nothing_uploaded, recorded, resolved

MERGED_MAX: Final = 8
"""At most so many messages of the user in a row are recognised where a framework made one of them."""
_NOTHING: Final = sha256(b"").hexdigest()
IsGivenOut = Callable[[str], bool]
"""Whether the client was given that text."""


class Said(NamedTuple):
    """What a message says, whoever gave it which id."""

    role: str
    words: str
    """A sha256, as calls, results and images have too."""
    calls: tuple[tuple[str, str | None], ...]
    results: tuple[tuple[str | None, bool, tuple[c.ResultImage, ...]], ...]
    images: tuple[str | None, ...]

    @property
    def is_empty(self) -> bool:
        return self.words == _NOTHING and not (self.calls or self.results or self.images)

    @property
    def is_words_of_user(self) -> bool:
        return self.role == "user" and not self.results


class Given(NamedTuple):
    """A message of a request."""

    message: p.Message
    """As it is recorded: without context that we gave."""
    said: Said
    text: str
    data: c.MessageData
    """As it would be recorded, but for its ids and what the workspace decides."""
    behind: str | None
    """The sha256 of the words behind a context, if the text begins with one."""


class Place(NamedTuple):
    """Where given messages go on."""

    conversation: Conversation | None = None
    """None: a new one."""
    held: int = 0
    """The number of its messages that the given ones begin with."""
    given: int = 0
    """The number of given messages that it has already."""
    before_last: int = 0
    """`held` without what the last of these was compared with."""


def read_given(messages: Iterable[p.Message], is_given_out: IsGivenOut) -> list[Given]:
    """The messages, prepared to be compared and recorded.

    Raises:
        InvalidArgument: a message's parts do not fit its role, or each other.
    """
    return [_given(message, at, is_given_out) for at, message in enumerate(messages)]


def _given(message: p.Message, at: int, is_given_out: IsGivenOut) -> Given:
    data = recorded(ConversationId(""), message, at, nothing_uploaded)[0]
    said, text = said_by(data), message.text or ""
    context, frame, words = text.rpartition(QUERY_FRAME)
    if not frame or not said.is_words_of_user:
        return Given(message, said, text, data, None)
    words = trimmed(words)
    if is_given_out(context):
        message = replace(message, text=words)
    return Given(message, said, text, data, _hash(words))


def without_library(system: str, is_given_out: IsGivenOut) -> str:
    """The system prompt without the context library that we gave with it."""
    own, frame, _library = system.partition(LIBRARY_FRAME)
    return trimmed(own) if frame and is_given_out(system) else system


def contexts_in(text: str) -> Iterator[str]:
    """The context in a text that is given out."""
    context, frame, _words = text.rpartition(QUERY_FRAME)
    if frame:
        yield context


def contexts_of(conversation: Conversation, texts: Texts) -> Iterator[str]:
    """The contexts that were given out with the turns that stand."""
    for sent in conversation.turns.values():
        with suppress(NotRecorded):
            blocks = content_of(read_turn(sent.turn_sha256, texts).parts)
            yield from contexts_in(BLANK_LINE.join(block.text for block in blocks if block.text is not None))


def said_by(message: Message | c.MessageData) -> Said:
    return Said(
        message.role,
        message.text_sha256 or _NOTHING,
        tuple((each.name, each.arguments_sha256) for each in message.tool_calls),
        tuple((each.text_sha256, each.is_error, each.images) for each in message.tool_results),
        tuple(each.text_sha256 for each in message.attachments if each.kind == "image"),
    )


def found(
    state: WorkspaceState, conversations: Iterable[Conversation], given: Sequence[Given], texts: Texts
) -> Place:
    """Where the messages go on, among `conversations`, of which the last one changed most recently.

    First comes a conversation that waits for just this answer or question; then the one that shares the most
    messages; then the most recent one.
    """
    memory: dict[int, Said] = {}
    best, best_rank = Place(), (False, 0)
    for conversation in conversations:
        place = aligned(state, conversation, given, texts, memory)
        rank = (_goes_on(place, given), place.given)
        if place.given and rank >= best_rank:
            best, best_rank = place, rank
    return best


def _goes_on(place: Place, given: Sequence[Given]) -> bool:
    """Whether the conversation ends where the messages go on with one answer at most: each request came to us."""
    assert place.conversation is not None
    answers = sum(each.said.role == "assistant" for each in given[place.given :])
    return place.held == len(place.conversation.messages) and answers <= 1


def aligned(
    state: WorkspaceState,
    conversation: Conversation,
    given: Sequence[Given],
    texts: Texts,
    memory: dict[int, Said] | None = None,
) -> Place:
    """How much of the conversation the given messages begin with.

    Where a fold left turns out, the messages may begin behind it. Words of the user that come last are another
    message if they attach something else now: a new chat often begins with the words of an older one, over
    another note.
    """
    held = list(conversation.messages.values())
    walk = _Walk(conversation, held, given, texts, {} if memory is None else memory)
    place = walk.place(0)
    if not place.given and conversation.elided_until is not None:
        ids = list(conversation.messages)
        place = walk.place(ids.index(conversation.elided_until) + 1)
    last = given[-1]
    if place.given < len(given) or not last.said.is_words_of_user:
        return place
    workspace = state.of(vault_of(state, conversation))
    if _besides_images(resolved(last.data, workspace).message) == _besides_images(held[place.held - 1]):
        return place
    return Place(conversation, place.before_last, place.given - 1)


def _besides_images(message: c.MessageData | Message) -> list[c.Attachment]:
    return [each for each in message.attachments if each.kind != "image"]


class _Walk:
    def __init__(
        self,
        conversation: Conversation,
        held: Sequence[Message],
        given: Sequence[Given],
        texts: Texts,
        memory: dict[int, Said],
    ) -> None:
        self._conversation, self._held, self._given = conversation, held, given
        self._texts, self._memory = texts, memory

    def place(self, start: int) -> Place:
        at, of, before = start, 0, start
        while of < len(self._given):
            if at < len(self._held) and (taken := self._taken(at, self._given[of])):
                before, at, of = at, at + taken, of + 1
            elif at < len(self._held) and self._said(at).is_empty:
                at += 1
            elif self._given[of].said.is_empty and of + 1 < len(self._given):
                of += 1
            else:
                break
        return Place(self._conversation, at, of, before) if of else Place(self._conversation)

    def _said(self, at: int) -> Said:
        message = self._held[at]
        found = self._memory.get(id(message))
        if found is None:
            found = self._memory[id(message)] = said_by(message)
        return found

    def _taken(self, at: int, given: Given) -> int:
        """How many held messages from `at` on the given one is."""
        held = self._said(at)
        if held == given.said:
            return 1
        if not (held.is_words_of_user and given.said.is_words_of_user):
            return 0
        is_ours = given.behind is not None and set(held.images) <= set(given.said.images)
        if is_ours and held.words == given.behind:
            return 1
        return self._merged(at, given)

    def _merged(self, at: int, given: Given) -> int:
        """How many of the user's messages from `at` on became the given one; the most of them."""
        end = at
        while end < min(len(self._held), at + MERGED_MAX) and self._said(end).is_words_of_user:
            end += 1
        with suppress(NotRecorded):
            words = [self._texts(self._said(each).words) for each in range(at, end) if self._is_said(each)]
            for count in range(len(words), 1, -1):
                if _holds(given, words[:count]):
                    return count
        return 0

    def _is_said(self, at: int) -> bool:
        return self._said(at).words != _NOTHING


def _holds(given: Given, words: Sequence[str]) -> bool:
    """Whether the text is these words, or ends with them behind contexts of ours."""
    if given.said.words == _hash(BLANK_LINE.join(words)):
        return True
    if given.behind is None or not given.text.endswith(words[-1]):
        return False
    at = 0
    for each in words:
        at = given.text.find(each, at)
        if at < 0:
            return False
        at += len(each)
    return True


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
