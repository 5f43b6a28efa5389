"""Which notes agents were given, and which of them the agents' answers named or their later calls asked for.

A log knows what was given to an agent. What the agent made of it is known only from what it did next: words and
calls of a conversation whose runtime records its answers, and calls of tools. So a note is *unused* only if every
agent that had it answered afterwards, in words that the log holds; of any other note that nothing named, nobody
knows. An answer may rest on a note that it does not name.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Final, Literal, NamedTuple

import msgspec

from workspaced_events.errors import LogDamaged
from workspaced_events.ids import ConversationId, MessageId, NoteId, is_markdown
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.projections.workspace_state import client_key
from workspaced_events.schema.catalogue import ContextVolunteered, Event, PromptAssembled, ToolCalled

from ..errors import NotRecorded
from ..prompts.assembly.mentions import mentioned
from ..prompts.model.note_names import notes_of
from ..prompts.model.sent_turn import SentPart, SentTurn
from ..prompts.model.stored_texts import manifest_of_prompt, texts_in
from ..prompts.model.token_estimate import estimate_tokens
from ..prompts.model.types import Texts
from ..prompts.sources.search_block import DOCUMENT_CHARS_MAX, read_search
from ..volunteering.wording import text_of
from .format import Blob, arguments_of
from .recorded_calls import result_of

How = Literal["call", "prompt", "volunteered"]
What = Literal["text", "name"]
"""`text`: the note's text, an excerpt or changes of it. `name`: its name alone."""
Status = Literal["used", "unused", "unknown"]

_GIVEN_STATES: Final = frozenset({"full", "changes", "stale", "shortened"})
_TEXTS: Final = ("content", "snippet")
"""The fields of an answer that hold text of the note beside them."""
_REFERENCE: Final = "reference"
_NAME_CHARS_MIN: Final = 4
"""Shorter titles stand in answers by chance."""


class GivenNote(msgspec.Struct, frozen=True, rename="camel"):
    """That an agent was given a note."""

    seq: int
    how: How
    what: What
    to: str
    """The client."""
    conversation: str | None
    bytes: int
    tokens: int
    """Estimated."""


class UsedNote(msgspec.Struct, frozen=True, rename="camel"):
    """That the agent came back to a note which it had been given."""

    seq: int
    how: Literal["cited", "named", "touched"]
    """`cited`: an answer or a call of a conversation has its path, a link to it or its number as a source.
    `named`: an answer has its title or its file's name. `touched`: a later call of a tool asks for it."""
    by: str
    """The client."""


class NoteCoverage(msgspec.Struct, frozen=True, rename="camel"):
    """One note."""

    note: NoteId
    status: Status
    given: tuple[GivenNote, ...]
    used: tuple[UsedNote, ...]
    unknown_to: tuple[str, ...]
    """The clients of which the log holds no answer after they were given the note: its text, or else its name."""


class Coverage(msgspec.Struct, frozen=True, rename="camel"):
    """All notes that were given."""

    notes: tuple[NoteCoverage, ...]
    not_kept: int
    """Calls and prompts whose content is not kept: what they gave is not known."""


def coverage(
    events: Iterable[Event], conversations: Mapping[ConversationId, Conversation], blob: Blob
) -> Coverage:
    """Follows every note that the calls, prompts and volunteered texts among `events` gave.

    Args:
        events: in order; the others among them do not count.
        conversations: as they are after the events: their messages hold the answers.
    """
    found = _Found(blob, conversations)
    for event in events:
        if type(event.data) is PromptAssembled:
            found.add_prompt(event, event.data)
        elif isinstance(event.data, ToolCalled):
            found.add_call(event, event.data)
    for name, sent in found.prompts.items():
        if name in conversations:
            found.add_answers(conversations[name], sent)
    notes = tuple(found.covered(note) for note in found.given)
    return Coverage(notes, found.not_kept)


class _Sent(NamedTuple):
    """A prompt of a conversation."""

    seq: int
    message: MessageId
    client: str
    turn_sha256: str | None


class _Found:
    def __init__(self, blob: Blob, conversations: Mapping[ConversationId, Conversation]) -> None:
        self._blob = blob
        self._conversations = conversations
        self._searches: set[tuple[ConversationId, MessageId, str]] = set()
        """The turns' searches whose documents are among what was given."""
        self._texts: Texts = texts_in(blob)
        self.given: defaultdict[NoteId, list[GivenNote]] = defaultdict(list)
        self.prompts: defaultdict[ConversationId, list[_Sent]] = defaultdict(list)
        self.not_kept = 0
        self._used: defaultdict[NoteId, list[UsedNote]] = defaultdict(list)
        self._answered: dict[str, int] = {}
        """The sequence of the last answer that the log holds, by conversation, and by client."""

    # -- what was given --

    def add_prompt(self, event: Event, data: PromptAssembled) -> None:
        self.prompts[data.conversation].append(_Sent(event.seq, data.message, event.source, data.turn_sha256))
        try:
            manifest = manifest_of_prompt(data.manifest_sha256, self._texts)
        except (NotRecorded, LogDamaged):
            self.not_kept += 1
            return
        for entry in manifest.entries:
            if entry.state in _GIVEN_STATES and entry.tokens:
                # One name of an entry's note: that with its ending.
                for note in sorted(notes_of(entry.kind, entry.id).notes, key=len)[-1:]:
                    to = event.source, data.conversation
                    self.given[note].append(GivenNote(event.seq, "prompt", "text", *to, entry.bytes, entry.tokens))
        self._add_searches(event, data)

    def _add_searches(self, event: Event, data: PromptAssembled) -> None:
        """The notes among the documents of searches: of attached ones, and of tools up to the prompt's message."""
        shown = [(data.message, each.revision) for each in self._parts(data.turn_sha256) if each.form == "search"]
        if (conversation := self._conversations.get(data.conversation)) is not None:
            for message in conversation.messages.values():
                results = (each.text_sha256 for each in message.tool_results if each.form == "search")
                shown += [(message.id, each) for each in results]
                if message.id == data.message:
                    break
        for message_id, sha256 in shown:
            if (key := (data.conversation, message_id, sha256)) not in self._searches:
                self._searches.add(key)
                self._add_documents(event, data.conversation, sha256)

    def _add_documents(self, event: Event, conversation: ConversationId, sha256: str) -> None:
        try:
            documents = read_search(self._texts(sha256)).documents
        except (NotRecorded, LogDamaged):
            self.not_kept += 1
            return
        for each in documents:
            if is_markdown(each.source) and "://" not in each.source:
                size = _size(each.text[:DOCUMENT_CHARS_MAX])
                given = GivenNote(event.seq, "prompt", "text", event.source, conversation, *size)
                self.given[NoteId(each.source)].append(given)

    def add_call(self, event: Event, called: ToolCalled) -> None:
        self._add_touched(event, called)
        result = result_of(called, self._blob)
        if result is None:
            self.not_kept += 1
            return
        data = msgspec.json.decode(result).get("data")
        if isinstance(called, ContextVolunteered):
            for note in _volunteered(data):
                text = text_of(note, data["text"])
                what: What = "name" if text is None else "text"
                size = _size(note if text is None else text)
                self.given[note].append(GivenNote(event.seq, "volunteered", what, called.caller, None, *size))
            return
        shown: defaultdict[NoteId, list[str]] = defaultdict(list)
        for note, text in _texts_in_answer(data):
            shown[note].append(text)
        for note, texts in shown.items():
            given = GivenNote(event.seq, "call", "text", called.caller, None, *_size("\n".join(texts)))
            self.given[note].append(given)

    # -- what came of it --

    def _add_touched(self, event: Event, called: ToolCalled) -> None:
        """The notes that the call asks for by name and that its client had been given before."""
        if isinstance(called, ContextVolunteered):
            return
        try:
            arguments = arguments_of(called, self._blob)
        except (NotRecorded, LogDamaged):
            return
        names = {text.removeprefix("[[").removesuffix("]]").strip("/") for text in _strings(arguments)}
        if _REFERENCE in arguments and (result := result_of(called, self._blob)) is not None:
            names |= _resolved(msgspec.json.decode(result).get("data"))
        for name in names:
            for note in (NoteId(name), NoteId(f"{name}.md")):
                if any(client_key(each.to) == client_key(called.caller) for each in self.given.get(note, ())):
                    self._used[note].append(UsedNote(event.seq, "touched", called.caller))

    def add_answers(self, conversation: Conversation, sent: list[_Sent]) -> None:
        """The notes that the conversation's answers name."""
        had = {
            note: min(each.seq for each in given if each.conversation == conversation.id)
            for note, given in self.given.items()
            if any(each.conversation == conversation.id for each in given)
        }
        client = {each.message: each.client for each in sent}
        parts = {each.message: each.turn_sha256 for each in sent}
        for turn in _turns(conversation):
            answers = [each for each in turn if each.role == "assistant"]
            others = [each for each in turn if each.role != "assistant"]
            by = next((client[each.id] for each in reversed(others) if each.id in client), sent[-1].client)
            shown = [*self._parts(next((parts[each.id] for each in others if each.id in parts), None))]
            for answer in answers:
                for name in (f"conversation {conversation.id}", f"client {client_key(by)}"):
                    self._answered[name] = max(answer.seq, self._answered.get(name, 0))
                before = [note for note, seq in had.items() if seq < answer.seq]
                cited = mentioned([*others, answer], shown, before, self._texts)
                for note in sorted(cited):
                    self._used[NoteId(note)].append(UsedNote(answer.seq, "cited", by))
                for note in sorted(self._named(answer, set(before) - cited, shown)):
                    self._used[note].append(UsedNote(answer.seq, "named", by))

    def _named(self, answer: Message, notes: Iterable[NoteId], parts: Iterable[SentPart]) -> Iterator[NoteId]:
        """The notes of which the answer has the title or the file's name, as words of their own."""
        titles = {each.id: each.title for each in parts if each.title}
        try:
            text = self._texts(answer.text_sha256) if answer.text_sha256 is not None else ""
        except (NotRecorded, LogDamaged):
            return
        for note in notes:
            names = {titles.get(note, ""), PurePosixPath(note).stem}
            if any(len(name) >= _NAME_CHARS_MIN and _has_words(text, name) for name in names):
                yield note

    def _parts(self, turn_sha256: str | None) -> Iterator[SentPart]:
        if turn_sha256 is None:
            return
        try:
            yield from msgspec.json.decode(self._texts(turn_sha256), type=SentTurn).parts
        except (NotRecorded, msgspec.MsgspecError):
            return

    def covered(self, note: NoteId) -> NoteCoverage:
        """What all of it comes to for one note."""
        given, used = self.given[note], self._used.get(note, [])
        texts = [each for each in given if each.what == "text"]
        unknown = {each.to for each in texts or given if not self._is_answered(each)}
        status: Status = "used" if used else "unknown" if unknown else "unused"
        order = sorted(used, key=lambda each: each.seq)
        return NoteCoverage(note, status, tuple(given), tuple(order), tuple(sorted(unknown)))

    def _is_answered(self, given: GivenNote) -> bool:
        """Whether the log holds an answer that may rest on what was given: a runtime answers in conversations."""
        client = f"client {client_key(given.to)}"
        name = f"conversation {given.conversation}" if given.conversation is not None else client
        return self._answered.get(name, 0) > given.seq


def _has_words(text: str, name: str) -> bool:
    """Whether the name stands in the text, and not inside of longer words."""
    at = text.find(name)
    while at >= 0:
        if not (text[at - 1 : at].isalnum() or text[at + len(name) : at + len(name) + 1].isalnum()):
            return True
        at = text.find(name, at + 1)
    return False


def _size(text: str) -> tuple[int, int]:
    return len(text.encode()), estimate_tokens(text)


def _texts_in_answer(value: Any) -> Iterator[tuple[NoteId, str]]:
    """The notes of a tool's answer that stand there with text of theirs."""
    if isinstance(value, dict):
        note = value.get("id")
        if isinstance(note, str) and is_markdown(note):
            yield from ((NoteId(note), value[name]) for name in _TEXTS if isinstance(value.get(name), str))
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts_in_answer(each)


def _volunteered(data: Any) -> Iterator[NoteId]:
    """The notes whose names stand in a volunteered text."""
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        return
    sight = data.get("sight")
    named = dict.fromkeys(text for text in _strings(sight) if is_markdown(text))
    if isinstance(sight, dict) and isinstance(sight.get("versions"), dict):
        named |= dict.fromkeys(sight["versions"])
    yield from (NoteId(note) for note in named if note in data["text"])


def _resolved(data: Any) -> set[str]:
    """The note that a call with a reference was answered with."""
    values = (data, data.get("note")) if isinstance(data, dict) else ()
    return {each["id"] for each in values if isinstance(each, dict) and isinstance(each.get("id"), str)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(each)


def _turns(conversation: Conversation) -> Iterator[list[Message]]:
    """The messages by turns: each begins with a user's message that brings no results of tools."""
    messages = list(conversation.messages.values())
    begins = [at for at, each in enumerate(messages) if each.role == "user" and not each.is_carrier]
    for begin, end in pairwise([*begins, len(messages)]):
        yield messages[begin:end]
