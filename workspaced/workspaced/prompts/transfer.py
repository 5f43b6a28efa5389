"""Exports conversations to chat files, and imports chat files as conversations.

An export holds only what the calling client may see: parts that name a withheld note are left out and counted. An
import is recorded completely or not at all. Files hold no images, and no settings of the first layer, since these
belong to the runtime. Prompts of an imported conversation repeat its words, not what its messages attached.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import ActionError, BatchTooLarge, Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.journal.actions import Action, Plan, Planned
from workspaced_events.limits import ID_CHARS_MAX
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.note_names import NoteNames, notes_at, notes_of
from workspaced_tools.prompts.model.stored_texts import BlobStaging
from workspaced_tools.prompts.model.types import Texts

from ..limits import MESSAGES_PER_CONVERSATION_MAX
from . import params as p
from .chat_file import SETTINGS, ChatFile, Summary, read_chat, write_chat
from .commands import CONTENT, known, same, start_plan
from .message_commands import READ_BY_US, nothing_uploaded, recorded
from .visibility import WithheldNotes, with_conversation_view

if TYPE_CHECKING:
    from ..service.service import Service

NOT_KEPT: Final = "[Text not kept]"
"""Replaces a text that was forgotten."""
_SETTINGS: Final = ("provider", "model", "context_window", "output_reserve")


# -- out --


async def export(service: "Service", params: p.Named, caller: str) -> dict[str, Any]:
    """A conversation, ended or not, as a chat file: `{text, withheld, clock}`.

    Raises:
        WorkspacedError: UnknownConversation, SharingOff.
    """

    def make(view: View, withheld_notes: WithheldNotes) -> tuple[str, int]:
        exporting = _Exporting(service.texts, withheld_notes)
        return exporting.exported(_conversation(view.state, params.conversation)), exporting.withheld

    text, withheld = await with_conversation_view(
        service, _conversation(service.tail.state, params.conversation), make, caller, works_paused=True
    )
    return {"text": text, "withheld": withheld, "clock": service.tail.clock()}


def _conversation(state: WorkspaceState, name: str) -> Conversation:
    """The conversation with that id, ended or not.

    Raises:
        UnknownConversation: there is none.
    """
    return state.conversations.by_id.get(ConversationId(name)) or known(state, name)


class _Exporting:
    """Builds the chat file of one conversation.

    Attributes:
        withheld: how many things were left out.
    """

    def __init__(self, texts: Texts, withheld_notes: WithheldNotes) -> None:
        self._texts = texts
        self._withheld_notes = withheld_notes
        self.withheld = 0

    def exported(self, conversation: Conversation) -> str:
        whole = [self._whole(message) for message in conversation.messages.values()]
        self._withheld_notes.refresh_flags(
            note for message in whole for names in _notes_named(message) for note in names.every
        )
        settings, summary = conversation.settings, conversation.summary
        values = (getattr(settings, name) for name in _SETTINGS)
        return write_chat(
            ChatFile(
                {"conversation": conversation.id, **dict(zip(SETTINGS, values, strict=True))},
                tuple(map(self._shared, whole)),
                tuple(message.at for message in conversation.messages.values()),
                Summary(self._text(summary.text_sha256), summary.up_to) if summary is not None else None,
            )
        )

    def _whole(self, message: Message) -> p.Message:
        return p.Message(
            message.role,
            message.id,
            self._text(message.text_sha256) if message.text_sha256 is not None else None,
            attachments=list(map(self._attached, message.attachments)),
            tool_calls=[
                p.ToolCall(each.id, each.name, self._kept(each.arguments_sha256) or "{}")
                for each in message.tool_calls
            ],
            tool_results=[
                p.ToolResult(
                    each.id, each.name, is_error=each.is_error, **self._content(each.form, each.text_sha256)
                )
                for each in message.tool_results
            ],
            thinking=[
                p.Thinking(redacted=text) if each.redacted else p.Thinking(text, each.signature)
                for each in message.thinking
                if (text := self._kept(each.text_sha256)) is not None
            ],
        )

    def _attached(self, attached: c.Attachment) -> p.Attached:
        has_text = attached.text_sha256 is not None and attached.kind not in (*READ_BY_US, "image")
        content = self._content(attached.form, attached.text_sha256 or "") if has_text else {}
        return p.Attached(attached.kind, attached.id, title=attached.title, **content)

    def _content(self, form: c.Form, sha256: str) -> dict[str, Any]:
        """The `text` or the `search` of a part."""
        text = self._kept(sha256)
        if form == "search" and text is not None:
            return {"search": msgspec.json.decode(text, type=p.Search)}
        return {"text": NOT_KEPT if text is None else text}

    def _text(self, sha256: str) -> str:
        text = self._kept(sha256)
        return NOT_KEPT if text is None else text

    def _kept(self, sha256: str) -> str | None:
        try:
            return self._texts(sha256)
        except NotRecorded:
            return None

    def _shared(self, message: p.Message) -> p.Message:
        """The message without attachments and documents of withheld notes."""
        attachments = [
            each for each in message.attachments if not self._withheld_notes.hides(notes_of(each.kind, each.id))
        ]
        self.withheld += len(message.attachments) - len(attachments)
        return replace(
            message,
            attachments=[replace(each, search=self._found(each.search)) for each in attachments],
            tool_results=[replace(each, search=self._found(each.search)) for each in message.tool_results],
        )

    def _found(self, search: p.Search | None) -> p.Search | None:
        if search is None:
            return None
        documents = [each for each in search.documents if not self._withheld_notes.hides(notes_at(each.source))]
        self.withheld += len(search.documents) - len(documents)
        return replace(search, documents=documents)


def _notes_named(message: p.Message) -> Iterator[NoteNames]:
    """The notes that a message's attachments name, and the notes in its search results."""
    for attached in message.attachments:
        yield notes_of(attached.kind, attached.id)
    parts: list[p.Attached | p.ToolResult] = [*message.attachments, *message.tool_results]
    for part in parts:
        for document in part.search.documents if part.search is not None else ():
            yield notes_at(document.source)


# -- in --


async def import_(service: "Service", params: p.Import, caller: str) -> dict[str, Any]:
    """A conversation begun from a chat file: `{conversation, messages, lost, clock}`.

    Its messages have the present time.

    Raises:
        WorkspacedError: ArgumentInvalid if the text is no chat file; InvalidArgument if a setting is missing or a
            message invalid; Conflict if there is another conversation of its id; BatchTooLarge.
    """
    made = await service.threads.run(_imported, params)
    texts = [text for _data, blobs in made.parts for text in blobs]
    try:
        await service.publishing.record(made.plan, caller, size_bytes=p.bytes_of(params), texts=texts)
    except BatchTooLarge as error:
        raise BatchTooLarge(
            f"The chat has {len(made.messages)} messages, too many to be recorded as one.",
            hint="Take some out of the file.",
        ) from error
    return {
        "conversation": made.conversation,
        "messages": made.messages,
        "lost": made.lost(),
        "clock": service.tail.clock(),
    }


_Part = tuple[c.Data, Iterable[bytes]]
"""What an event says, and the texts that it names."""


class _Imported(NamedTuple):
    """A checked chat that is about to be recorded."""

    conversation: ConversationId
    settings: p.Start
    start: Plan
    messages: Sequence[MessageId]
    parts: Sequence[_Part]
    """The messages, then the summary."""

    def plan(self, now: Planned) -> list[Action]:
        """The actions to record; none if the log has all of it (a `Plan` of the log's writer).

        Raises:
            Conflict: the conversation has other content.
        """
        state = now.state
        before = state.conversations.by_id.get(self.conversation)
        if before is not None:
            if self._is_there(before):
                return []
            raise Conflict(
                f"There is another conversation {self.conversation!r}.", hint="Import the chat under another id."
            )
        parts = [Action(data, blobs=tuple(blobs)) for data, blobs in self.parts]
        return [replace(each, vault=state.current) for each in (*self.start(now), *parts)]

    def lost(self) -> list[str]:
        """What answered messages attached: no prompt shows it, so it is named, as in each manifest."""
        messages = [data for data, _blobs in self.parts if isinstance(data, c.MessageData)]
        answered = max((at for at, each in enumerate(messages) if each.role == "assistant"), default=0)
        attached = (each for message in messages[:answered] for each in message.attachments)
        return list(dict.fromkeys(each.id or each.kind for each in attached if each.kind != "skill"))

    def _is_there(self, before: Conversation) -> bool:
        for data, _blobs in self.parts:
            there: object = before.summary
            if isinstance(data, c.MessageData):
                there = before.messages.get(data.message)
            fields = CONTENT if isinstance(data, c.MessageData) else ("text_sha256", "up_to")
            if there is None or not same(there, data, fields):
                return False
        return same(before.settings, self.settings, _SETTINGS) and list(before.messages) == list(self.messages)


def _imported(params: p.Import) -> _Imported:
    """
    Raises:
        ArgumentInvalid: the text is no chat file.
        InvalidArgument: a setting is missing, or a limit is broken.
    """
    chat = read_chat(params.text)
    name = params.conversation or chat.fields.get("conversation")
    if not isinstance(name, str) or not 0 < len(name) <= ID_CHARS_MAX:
        raise InvalidArgument(
            f"Expected the id of a conversation, 1 to {ID_CHARS_MAX} characters, in the file or the request.",
            hint="Name it with `conversation` (--conversation).",
        )
    if len(chat.messages) > MESSAGES_PER_CONVERSATION_MAX:
        raise InvalidArgument(
            f"A conversation holds at most {MESSAGES_PER_CONVERSATION_MAX} messages; the chat has "
            f"{len(chat.messages)}.",
            hint="Take some out of the file.",
        )
    conversation, settings = ConversationId(name), _settings(chat, params)
    messages: list[MessageId] = []
    parts: list[_Part] = []
    for message in chat.messages:
        try:
            data, blobs = recorded(conversation, message, 0, nothing_uploaded)
        except ActionError as error:
            raise InvalidArgument(
                f"The message {message.id!r} cannot be taken: {error.message}", hint="Change or remove it."
            ) from None
        messages.append(data.message)
        parts.append((data, blobs))
    if chat.summary is not None:
        up_to = MessageId(chat.summary.up_to)
        if up_to not in messages:
            raise InvalidArgument(
                f"The summary goes up to the message {up_to!r}, which is not there.", hint="Take the summary out."
            )
        staging = BlobStaging()
        summary = c.SummarySet(conversation=conversation, text_sha256=staging.text(chat.summary.text), up_to=up_to)
        parts.append((summary, staging.blobs.values()))
    return _Imported(conversation, settings, start_plan(settings, conversation, ""), messages, parts)


def _settings(chat: ChatFile, params: p.Import) -> p.Start:
    """The settings: of the request, else of the file."""
    given = msgspec.to_builtins(params)
    named = {name: given[name] if name in given else chat.fields.get(name) for name in SETTINGS}
    if missing := [name for name, value in named.items() if value is None]:
        raise InvalidArgument(
            f"Neither the file nor the request says: {', '.join(missing)}.",
            hint="Give them with the import (--provider ...).",
        )
    try:
        return msgspec.convert({**named, "environment": False}, p.Start)
    except msgspec.ValidationError as error:
        raise InvalidArgument(
            f"The settings of the chat cannot be taken: {error}.", hint="Give other ones as parameters."
        ) from None
