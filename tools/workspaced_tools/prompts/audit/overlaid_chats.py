"""Chats whose requests were overlaid: what was put into them and when, and which requests left with it.

A chat is known by a keyed hash of its name, or of its first words: nothing else of it was recorded. Chats that
began alike share the insertions of their beginning.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId
from workspaced_events.projections.insertions import key_of
from workspaced_events.schema import catalogue as c

OVERLAY_TYPES: Final = ("context_inserted", "context_withdrawn", "prompt_overlaid", "prompt_answered")
Blob = Callable[[str], bytes | None]
"""A blob by its hash; None: it is not kept. Raises LogDamaged."""


class ToldNote(msgspec.Struct, frozen=True, rename="camel"):
    """A note that a text names."""

    note: NoteId
    revision: str | None
    """The sha256 of its text then; null: it could not be read."""


class InsertionShown(msgspec.Struct, frozen=True, rename="camel"):
    """One text, and what became of it."""

    seq: int
    time: str
    insertion: str
    turn: str
    """A keyed hash of the chat up to the words behind it; a turn that was answered anew has several."""
    after: str | None
    """The insertion before it in its chat."""
    form: str
    from_seq: int | None
    """The chat had been told the state as of this event before; null: nothing yet."""
    text: str | None
    """Null: not kept. Empty: the turn was answered anew, and nothing was new to the turn before."""
    notes: list[ToldNote]
    requests: int
    """How many left with it; 0: it was confirmed, but not its request."""
    withdrawn_at: int | None
    """The event since which no request has it, because a note that it names is withheld."""


class RequestShown(msgspec.Struct, frozen=True, rename="camel"):
    """A request that left with insertions."""

    seq: int
    time: str
    insertions: list[int]
    """The events of those that stood in it, the oldest first."""
    input_tokens: int | None
    """All that the provider read, by its own count; null: it reported none. The next two likewise."""
    cached_tokens: int | None
    output_tokens: int | None


class OverlaidChat(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of a chat."""

    chat: str
    caller: str
    insertions: list[InsertionShown]
    requests: list[RequestShown]


class _Sight(msgspec.Struct):
    versions: dict[str, str] = {}
    texts: dict[str, str] = {}


class _Data(msgspec.Struct):
    text: str | None = None
    notes: list[NoteId] = []
    sight: _Sight = msgspec.field(default_factory=_Sight)


class _Answer(msgspec.Struct):
    data: _Data = msgspec.field(default_factory=_Data)


class OverlaidChats:
    """All chats of the events that it has taken, the one that was told something last at the end."""

    def __init__(self) -> None:
        self.by_chat: dict[str, list[c.Event]] = {}
        """What was put into each chat itself."""
        self._inserted: dict[str, c.Event] = {}
        self._withdrawn: dict[str, int] = {}
        self._requests: dict[str, list[c.Event]] = {}
        """By the last insertion of each."""
        self._answered: dict[int, c.PromptAnswered] = {}

    def take(self, event: c.Event) -> None:
        """Takes the next event of a log."""
        data = event.data
        if isinstance(data, c.ContextInserted):
            self._inserted[data.insertion] = event
            self.by_chat[data.session] = [*self.by_chat.pop(data.session, ()), event]
        elif isinstance(data, c.ContextWithdrawn):
            for each in data.insertions:
                self._withdrawn.setdefault(each, event.seq)
        elif isinstance(data, c.PromptOverlaid):
            self._requests.setdefault(data.insertion, []).append(event)
        elif isinstance(data, c.PromptAnswered):
            of = data.caller, data.body_hash
            requests = self._requests.get(data.insertion, ())
            sent = [each for each in requests if (each.data.caller, each.data.body_hash) == of]
            if sent:
                self._answered[sent[-1].seq] = data

    def chat_of(self, name: str) -> str | None:
        """The chat of that hash, or the one that an insertion was put into; None: there is none."""
        inserted = self._inserted.get(name)
        chat = inserted.data.session if inserted is not None else name
        return chat if chat in self.by_chat else None

    def _chain(self, last: str) -> list[c.Event]:
        """What was put into a chat up to its insertion `last`, the newest first, as far back as the log has it.

        Each stands in the log before the last: a log that somebody wrote may say that one stands after itself.
        """
        found: list[c.Event] = []
        after: str | None = last
        while after is not None and (inserted := self._inserted.get(after)) is not None:
            if found and inserted.seq >= found[-1].seq:
                break
            found.append(inserted)
            after = inserted.data.after
        return found

    def requests_of(self, chat: str) -> list[c.Event]:
        """The requests whose last insertion is one of the chat itself."""
        found = [sent for each in self.by_chat[chat] for sent in self._requests.get(each.data.insertion, ())]
        return sorted(found, key=lambda event: event.seq)

    def insertions_of(self, chat: str) -> list[c.Event]:
        """What was put into the chat, and into the one that it began as."""
        found = {each.seq: each for each in self.by_chat[chat]}
        after = [each.data.after for each in found.values()]
        while after:
            inserted = self._inserted.get(after.pop() or "")
            if inserted is not None and inserted.seq not in found:
                found[inserted.seq] = inserted
                after.append(inserted.data.after)
        return [found[seq] for seq in sorted(found)]

    def shown(self, chat: str, blob: Blob) -> OverlaidChat:
        """What is known of a chat; `blob`: the texts of the log."""
        insertions, requests = self.insertions_of(chat), self.requests_of(chat)
        counts = Counter(
            each.seq
            for sent in requests
            for each in self._chain(sent.data.insertion)
            if each.data.insertion not in sent.data.without
        )
        return OverlaidChat(
            chat,
            insertions[-1].data.caller,
            [self._insertion(each, counts[each.seq], blob) for each in insertions],
            [self._request(each) for each in requests],
        )

    def _insertion(self, event: c.Event, requests: int, blob: Blob) -> InsertionShown:
        data: c.ContextInserted = event.data
        result = None
        with suppress(LogDamaged):
            result = blob(data.result_sha256)
        answer = msgspec.json.decode(result, type=_Answer).data if result is not None else _Data()
        revisions: Mapping[str, str] = {**answer.sight.versions, **answer.sight.texts}
        return InsertionShown(
            seq=event.seq,
            time=event.time,
            insertion=data.insertion,
            turn=key_of(data.insertion),
            after=data.after,
            form=data.event,
            from_seq=data.from_seq,
            text=(answer.text or "") if result is not None else None,
            notes=[ToldNote(each, revisions.get(each)) for each in dict.fromkeys(answer.notes)],
            requests=requests,
            withdrawn_at=self._withdrawn.get(data.insertion),
        )

    def _request(self, event: c.Event) -> RequestShown:
        chain = self._chain(event.data.insertion)
        if not chain or chain[-1].data.after is not None:  # the log does not have all of it
            chain = []
        answered = self._answered.get(event.seq)
        if answered is not None and answered.input_tokens is None:
            answered = None
        return RequestShown(
            event.seq,
            event.time,
            [each.seq for each in reversed(chain) if each.data.insertion not in event.data.without],
            answered.input_tokens if answered is not None else None,
            answered.cached_tokens if answered is not None else None,
            answered.output_tokens if answered is not None else None,
        )
