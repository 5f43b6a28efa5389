"""Plans the actions that begin a conversation from a chat file: checks the chat first, the log's state at
appending.

A part that a message's role cannot have is left out with a warning, because a person may have edited the role. A
broken limit is an error, and nothing is recorded. The messages get the time of the import.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import system_clock
from workspaced_events.errors import BatchTooLarge, Conflict, InvalidArgument
from workspaced_events.ids import ConversationId, EventId, MessageId, VaultId, uuid7
from workspaced_events.journal.actions import Action, Plan, Planned
from workspaced_events.limits import BATCH_BYTES_MAX, ID_CHARS_MAX
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.codec import encode_batch
from workspaced_tools.chats.model import Chat, ChatWarning, ReadChat, SavedAttachment, SavedMessage, SavedResult
from workspaced_tools.prompts.model.stored_texts import BlobStaging

from ..limits import IMPORT_CONTEXT_WINDOW, IMPORT_OUTPUT_RESERVE, MESSAGES_PER_CONVERSATION_MAX
from . import params as p
from .commands import CONTENT, same, start_plan
from .message_commands import NEEDS_NO_ID, READ_BY_US, nothing_uploaded, recorded

_SETTINGS: Final = ("provider", "model", "context_window", "output_reserve")


class _Message(NamedTuple):
    data: c.MessageData
    blobs: Iterable[bytes]


def imported(read: ReadChat, params: p.Import, vault: VaultId | None) -> "Importing":
    """The chat, checked and ready to be recorded as a conversation of `vault`.

    Raises:
        InvalidArgument: a setting is missing, or a limit is broken.
        BatchTooLarge: the chat is too large for one batch.
    """
    chat, checking = read.chat, _Checking(list(read.warnings))
    wanted = params.conversation or chat.conversation
    if wanted is not None and len(wanted) > ID_CHARS_MAX:
        raise InvalidArgument(
            f"Expected the id of a conversation of at most {ID_CHARS_MAX} characters, got {len(wanted)}.",
            hint="Name the conversation that is to be begun.",
        )
    settings = _start(chat, params, checking)
    if len(chat.messages) > MESSAGES_PER_CONVERSATION_MAX:
        raise InvalidArgument(
            f"A conversation holds at most {MESSAGES_PER_CONVERSATION_MAX} messages; the chat has "
            f"{len(chat.messages)}.",
            hint="Take some out of the file.",
        )
    conversation = ConversationId(wanted or uuid7())
    messages: list[_Message] = []
    names = _names(chat.messages)
    for index, (line, name, message) in enumerate(zip(read.lines, names, chat.messages, strict=True)):
        checked = checking.message(line, name, message)
        messages.append(_Message(*recorded(conversation, checked, index, nothing_uploaded)))
    _check_size(messages)
    summary = None
    if chat.summary is not None and chat.summary.up_to in names:
        staging = BlobStaging()
        text = staging.text(chat.summary.text)
        up_to = MessageId(chat.summary.up_to)
        summary = (c.SummarySet(conversation=conversation, text_sha256=text, up_to=up_to), staging.blobs.values())
    elif chat.summary is not None:
        checking.warn(
            1, "SUMMARY_UNPLACED", "The summary is left out: the message that it goes up to is not there."
        )
    return Importing(
        conversation, vault, settings, messages, summary, checking.warnings, named=params.conversation is not None
    )


def _check_size(messages: list[_Message]) -> None:
    """Raises BatchTooLarge before a text is written; the log's writer would raise it afterwards."""
    events = [
        c.ENTRY_OF[type(each.data)].event(0, EventId(uuid7()), system_clock(), "", None, each.data)
        for each in messages
    ]
    if len(encode_batch(events)) > BATCH_BYTES_MAX:
        raise too_large(len(messages))


def too_large(messages: int) -> BatchTooLarge:
    """The error for a chat with so many messages."""
    return BatchTooLarge(
        f"The chat has {messages} messages, too many to be recorded as one.", hint="Take some out of the file."
    )


def _start(chat: Chat, params: p.Import, checking: "_Checking") -> p.Start:
    """The settings: of the request, else of the file, else for window and reserve a usual size.

    Raises:
        InvalidArgument: provider or model is missing, or a setting is invalid.
    """
    given = {name: getattr(params, name) for name in _SETTINGS}
    known = {name: getattr(chat, name) if value is None else value for name, value in given.items()}
    wire = dict(zip(p.Start.__struct_fields__, p.Start.__struct_encode_fields__, strict=True))
    assumed = {"context_window": IMPORT_CONTEXT_WINDOW, "output_reserve": IMPORT_OUTPUT_RESERVE}
    if known["context_window"] is not None:
        assumed["output_reserve"] = min(IMPORT_OUTPUT_RESERVE, known["context_window"] // 8)
    for name, value in assumed.items():
        if known[name] is None:
            known[name] = value
            checking.warn(
                1, "SETTING_ASSUMED", f"Neither the file nor the request says `{wire[name]}`; it is {value}."
            )
    missing = [wire[name] for name, value in known.items() if value is None]
    if missing:
        raise InvalidArgument(
            f"Neither the file nor the request says: {', '.join(missing)}.",
            hint="A chat file does not always have them; give them as parameters.",
        )
    try:
        named = {wire[name]: value for name, value in known.items()}
        return msgspec.convert({**named, "environment": False}, p.Start)
    except msgspec.ValidationError as error:
        raise InvalidArgument(
            f"The settings of the chat cannot be taken: {error}.", hint="Give other ones as parameters."
        ) from None


def _names(messages: Iterable[SavedMessage]) -> list[str]:
    """Each message's id. A message without one gets the same id at every import."""
    messages = list(messages)
    taken = {each.id for each in messages}
    names = []
    for number, each in enumerate(messages, start=1):
        name = each.id or f"m{number}"
        while each.id is None and name in taken:
            name = f"{name}x"
        taken.add(name)
        names.append(name)
    return names


class _Checking:
    """Converts a file's messages to the parameters of `workspaced/context/message`, and collects warnings."""

    def __init__(self, warnings: list[ChatWarning]) -> None:
        self.warnings = warnings

    def warn(self, line: int, code: str, message: str) -> None:
        self.warnings.append(ChatWarning(line, code, message))

    def message(self, line: int, name: str, message: SavedMessage) -> p.Message:
        """
        Raises:
            InvalidArgument: a limit is broken.
        """
        fitting = self._fitting(line, message)
        attachments = [self._attached(line, each) for each in fitting.attachments]
        raw = {
            "role": fitting.role,
            "id": name,
            "text": fitting.text,
            "attachments": [each for each in attachments if each is not None],
            "toolCalls": [msgspec.to_builtins(each) for each in fitting.tool_calls],
            "toolResults": [self._result(line, each) for each in fitting.tool_results],
            "thinking": [
                {"redacted": each.text} if each.redacted else {"text": each.text, "signature": each.signature}
                for each in fitting.thinking
            ],
        }
        try:
            return msgspec.convert(raw, p.Message)
        except msgspec.ValidationError as error:
            raise InvalidArgument(
                f"The message at line {line} cannot be taken: {error}.", hint="Change or remove it in the file."
            ) from None

    def _fitting(self, line: int, message: SavedMessage) -> SavedMessage:
        """The message without the parts that its role cannot have."""
        empty: dict[str, tuple[()]] = {}
        if message.role != "user":
            empty |= {"attachments": (), "tool_results": ()}
        elif message.tool_results:
            empty |= {"attachments": ()}
        if message.role != "assistant":
            empty |= {"tool_calls": (), "thinking": ()}
        for part in (name for name in empty if getattr(message, name)):
            what = "results of tools" if message.role == "user" and part == "attachments" else message.role
            self.warn(
                line, "ROLE_MISMATCH", f"A message of {what} has no {part.replace('_', ' ')}; they are left out."
            )
        return replace(message, **empty)

    def _attached(self, line: int, attached: SavedAttachment) -> dict[str, Any] | None:
        of_kind = f"the attachment {attached.id[:ID_CHARS_MAX]!r} of kind {attached.kind}"
        if not attached.id and attached.kind not in NEEDS_NO_ID:
            self.warn(
                line, "ATTACHMENT_INVALID", f"An attachment of kind {attached.kind} without a name is left out."
            )
            return None
        if attached.kind in READ_BY_US and attached.text is not None:
            self.warn(line, "ATTACHMENT_INVALID", f"The text of {of_kind} is left out: it is read from the vault.")
            attached = replace(attached, text=None)
        if attached.kind == "image" and attached.text is not None and not attached.text.startswith("data:"):
            what = (
                f"The text of {of_kind} is left out: it is no data URI. `workspaced context import` reads files."
            )
            self.warn(line, "ATTACHMENT_INVALID", what)
            attached = replace(attached, text=None)
        if attached.kind != "selected_text" and (attached.before, attached.after) != (None, None):
            self.warn(
                line, "ATTACHMENT_INVALID", f"What stands around {of_kind} is left out: only a selection has it."
            )
            attached = replace(attached, before=None, after=None)
        raw = {"kind": attached.kind, "id": attached.id, "title": attached.title}
        around = {"before": attached.before, "after": attached.after}
        return {**raw, **around, **self._content(line, attached, may_search=attached.kind == "tool_result")}

    def _result(self, line: int, result: SavedResult) -> dict[str, Any]:
        raw = {"id": result.id, "name": result.name, "isError": result.is_error}
        images = [{"text": each} for each in result.images]
        return {**raw, "images": images, **self._content(line, result, may_search=True)}

    def _content(self, line: int, part: SavedAttachment | SavedResult, *, may_search: bool) -> dict[str, Any]:
        """The parameters `text` or `search` of a part."""
        if part.form != "search" or part.text is None:
            return {"text": part.text}
        try:
            if not may_search:
                raise ValueError
            search = msgspec.json.decode(part.text, type=p.Search)
        except (ValueError, RecursionError):
            self.warn(line, "SEARCH_INVALID", "What a search found is taken as mere text: it is not in its form.")
            return {"text": part.text}
        return {"search": msgspec.to_builtins(search)}


class Importing:
    """A checked chat that is about to be recorded.

    Attributes:
        conversation: the conversation's id; may change until `plan` was called.
        warnings: the parts of the file that were changed or left out.
    """

    def __init__(
        self,
        conversation: ConversationId,
        vault: VaultId | None,
        settings: p.Start,
        messages: list[_Message],
        summary: tuple[c.SummarySet, Iterable[bytes]] | None,
        warnings: list[ChatWarning],
        *,
        named: bool,
    ) -> None:
        """`named`: whether the conversation must have that id; if not, it gets a new id when the id is taken."""
        self.conversation = conversation
        self.warnings = warnings
        self._vault = vault
        self._settings = settings
        self._messages = messages
        self._summary = summary
        self._named = named
        self._start: Callable[[ConversationId], Plan] = lambda name: start_plan(settings, name, "")
        self._start(conversation)  # raises now if the settings are invalid

    @property
    def messages(self) -> list[MessageId]:
        """The messages' ids."""
        return [each.data.message for each in self._messages]

    @property
    def texts(self) -> list[bytes]:
        """The texts of the messages and of the summary."""
        return [text for _data, texts in self._parts for text in texts]

    @property
    def _parts(self) -> list[tuple[c.Data, Iterable[bytes]]]:
        return [*self._messages, *([self._summary] if self._summary is not None else [])]

    def plan(self, now: Planned) -> list[Action]:
        """The actions to record; none if the log has all of it (a `Plan` of the log's writer).

        Raises:
            Conflict: the conversation has other content, or another vault has become the current one.
        """
        state = now.state
        if state.current != self._vault:
            raise Conflict("The current vault is another one since the chat was read.", hint="Import it again.")
        before = state.conversations.by_id.get(self.conversation)
        if before is not None and self._named:
            if self._is_there(before):
                return []
            raise Conflict(
                f"There is another conversation {self.conversation!r}.",
                hint="Import the chat under another id, or leave the id out to get a new one.",
            )
        if before is not None:
            self._rename(ConversationId(uuid7()))
        written: set[bytes] = set()
        actions = [replace(each, vault=self._vault) for each in self._start(self.conversation)(now)]
        for data, blobs in self._parts:
            new = tuple(each for each in blobs if each not in written)
            actions.append(Action(data, vault=self._vault, blobs=new))
            written.update(blobs)
        return actions

    def _is_there(self, before: Conversation) -> bool:
        summary = self._summary[0] if self._summary is not None else None
        recorded_one = (before.summary.text_sha256, before.summary.up_to) if before.summary is not None else None
        return (
            same(before.settings, self._settings, _SETTINGS)
            and list(before.messages) == self.messages
            and all(same(before.messages[each.data.message], each.data, CONTENT) for each in self._messages)
            and (summary is None or recorded_one == (summary.text_sha256, summary.up_to))
        )

    def _rename(self, name: ConversationId) -> None:
        what = f"There is a conversation {self.conversation!r} already; this one is {name!r}."
        self.warnings.append(ChatWarning(1, "CONVERSATION_TAKEN", what))
        self.conversation = name
        self._messages = [each._replace(data=replace(each.data, conversation=name)) for each in self._messages]
        if self._summary is not None:
            self._summary = (replace(self._summary[0], conversation=name), self._summary[1])
