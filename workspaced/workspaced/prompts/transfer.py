"""Exports conversations to chat files, and imports chat files as conversations.

An export holds only what the calling client may see: parts that name a withheld note are left out and counted. An
import is recorded completely or not at all (import_plan.py). Files hold no settings of the first layer, since
these belong to the runtime.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import BatchTooLarge, WorkspacedError
from workspaced_events.ids import ConversationId, VaultId
from workspaced_events.projections.conversations import Conversation, Message
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema.catalogue import Attachment, LibraryEntry, ResultImage
from workspaced_tools.chats.markdown_file import read_chat, write_chat
from workspaced_tools.chats.model import (
    Chat,
    ChatWarning,
    ReadChat,
    SavedAttachment,
    SavedCall,
    SavedMessage,
    SavedResult,
    SavedSummary,
    SavedThinking,
    quoted,
)
from workspaced_tools.chats.note_lookup import looked_up, names_of_vault
from workspaced_tools.errors import ArgumentInvalid, NotRecorded
from workspaced_tools.notes.images.data_uri import encoded
from workspaced_tools.ports.questions import ManifestOf
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.assembly.library import LIBRARY_KINDS
from workspaced_tools.prompts.model.note_names import NoteNames, notes_at, notes_of
from workspaced_tools.prompts.model.sent_turn import library_kind
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.prompts.providers.request import Blob
from workspaced_tools.prompts.sources.search_block import Search

from . import params as p
from .commands import known
from .compacting import take_over
from .import_plan import imported, too_large
from .visibility import WithheldNotes, with_conversation_view

if TYPE_CHECKING:
    from ..service.service import Service

IMAGE_CHARS_MAX: Final = 256 * 1024
"""Of an image with a longer data URI, the file holds only the name."""
FILE_NAME_BYTES_MAX: Final = 120
NOT_KEPT: Final = "[Text not kept]"
"""Replaces a text that was forgotten."""

WARNINGS_MAX: Final = 200
"""Warnings in the answer of an import; one more warning counts the others. A chat may have a hundred thousand."""


_OF_SEVERAL: Final = ("folder", "tag")
"""Their notes are attached, each by itself."""
_TITLE_CHARS_MAX: Final = 80
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:[ .]|\Z)", re.IGNORECASE)
"""Device names, which Windows does not accept as file names."""


class _Exported(msgspec.Struct, frozen=True):
    text: str
    file_name: str
    withheld: int
    warnings: tuple[ChatWarning, ...]


async def export(service: "Service", params: p.Named, caller: str) -> dict[str, Any]:
    """A conversation, ended or not, as a chat file: `{text, fileName, withheld, warnings, clock}`.

    Raises:
        WorkspacedError: UnknownConversation, SharingOff.
    """

    def make(view: View, withheld_notes: WithheldNotes) -> _Exported:
        conversation = _conversation(view.state, params.conversation)
        return _Exporting(conversation, service.texts, service.blobs.get, view, withheld_notes).exported()

    made = await with_conversation_view(
        service, _conversation(service.tail.state, params.conversation), make, caller, works_paused=True
    )
    return {
        "text": made.text,
        "fileName": made.file_name,
        "withheld": made.withheld,
        "warnings": made.warnings,
        "clock": service.tail.clock(),
    }


async def import_(service: "Service", params: p.Import, caller: str) -> dict[str, Any]:
    """A conversation begun from a chat file: `{conversation, messages, warnings, clock}`.

    Raises:
        WorkspacedError: ArgumentInvalid if the text is not a chat; InvalidArgument if a setting is missing or a
            message invalid; Conflict if the conversation that the parameters name has other content;
            BatchTooLarge; SharingOff.
    """
    read = await service.threads.run(read_chat, params.text)
    vault: VaultId | None = service.tail.state.current
    if names_of_vault(read):
        read = await service.calls.with_view(lambda view, _withheld: looked_up(read, view), caller, vault)
    importing = await service.threads.run(imported, read, params, vault)
    try:
        await service.publishing.record(
            importing.plan, caller, size_bytes=p.bytes_of(params), texts=importing.texts
        )
    except BatchTooLarge as error:
        raise too_large(len(importing.messages)) from error
    with suppress(WorkspacedError):  # the chat is imported; what it names can be attached again
        await take_over(service, importing.conversation, caller)
    begun = service.tail.state.conversations.by_id.get(importing.conversation)
    lost = _lost(read, begun.library if begun is not None else ())
    return {
        "conversation": importing.conversation,
        "messages": importing.messages,
        "warnings": _first([*importing.warnings, *lost]),
        "clock": service.tail.clock(),
    }


def _lost(read: ReadChat, library: Iterable[LibraryEntry]) -> Iterator[ChatWarning]:
    """A warning for each attachment of an answered message that prompts will not show."""
    held, messages = {(entry.kind, entry.id) for entry in library}, read.chat.messages
    answered = max((at for at, each in enumerate(messages) if each.role == "assistant"), default=0)
    for line, message in zip(read.lines, messages[:answered], strict=False):
        for each in message.attachments if message.role == "user" else ():
            kind = library_kind(each.kind)
            if kind in _OF_SEVERAL or (kind, each.id) in held:
                continue
            if kind != "note" and (each.text, each.before, each.after) == (None, None, None):
                why = "the file does not have its text"
            elif kind in LIBRARY_KINDS:
                why = "it cannot be read, or the library has no room for it"
            elif kind == "skill":
                continue
            else:
                why = "it belonged to its own turn"
            what = (
                f"The {each.kind} {quoted(each.id or each.title or '')} is in no prompt: {why}. Attach it again."
            )
            yield ChatWarning(line, "ATTACHMENT_LOST", what)


def _first(warnings: Sequence[ChatWarning]) -> Sequence[ChatWarning]:
    more = len(warnings) - WARNINGS_MAX
    if more <= 0:
        return warnings
    return (*warnings[:WARNINGS_MAX], ChatWarning(1, "MORE_WARNINGS", f"{more} more warnings are left out."))


def _conversation(state: WorkspaceState, name: str) -> Conversation:
    """The conversation with that id, ended or not.

    Raises:
        UnknownConversation: there is none.
    """
    return state.conversations.by_id.get(ConversationId(name)) or known(state, name)


class _Exporting:
    """Builds the chat file of one conversation."""

    def __init__(
        self, conversation: Conversation, texts: Texts, blob: Blob, view: View, withheld_notes: WithheldNotes
    ) -> None:
        self._conversation = conversation
        self._texts = texts
        self._blob = blob
        self._view = view
        self._withheld_notes = withheld_notes
        self._withheld = 0
        self._warned: list[tuple[int, str, str]] = []
        """Index of the message, code, message."""
        self._index = 0

    def exported(self) -> _Exported:
        conversation, settings = self._conversation, self._conversation.settings
        saved = []
        for self._index, message in enumerate(conversation.messages.values()):
            saved.append(self._saved(message))
        summary = conversation.summary
        self._withheld_notes.refresh_flags(
            note for message in saved for names in _notes_named(message) for note in names.every
        )
        messages = tuple(map(self._shared, saved))
        chat = Chat(
            conversation=conversation.id,
            title=_title(messages),
            vault=conversation.vault,
            provider=settings.provider,
            model=settings.model,
            context_window=settings.context_window,
            output_reserve=settings.output_reserve,
            started=messages[0].at if messages else None,
            summary=SavedSummary(self._text(summary.text_sha256), summary.up_to) if summary is not None else None,
            messages=messages,
        )
        text = write_chat(chat)
        return _Exported(text, file_name(chat), self._withheld, self._warnings(text))

    def _warnings(self, text: str) -> tuple[ChatWarning, ...]:
        if not self._warned:
            return ()
        lines = read_chat(text).lines
        return tuple(ChatWarning(lines[index], code, what) for index, code, what in self._warned)

    # -- the whole conversation --

    def _saved(self, message: Message) -> SavedMessage:
        thinking = ((self._kept(each.text_sha256), each) for each in message.thinking)
        return SavedMessage(
            message.role,
            message.id,
            message.at,
            self._text(message.text_sha256) if message.text_sha256 is not None else None,
            tuple(map(self._attachment, message.attachments)),
            tuple(
                SavedCall(each.id, each.name, self._kept(each.arguments_sha256) or "{}")
                for each in message.tool_calls
            ),
            tuple(
                SavedResult(
                    each.id,
                    each.name,
                    self._text(each.text_sha256),
                    each.is_error,
                    each.form,
                    tuple(self._images(each.images)),
                )
                for each in message.tool_results
            ),
            tuple(
                SavedThinking(text, each.signature, each.redacted) for text, each in thinking if text is not None
            ),
            self._layers(message),
        )

    def _attachment(self, attached: Attachment) -> SavedAttachment:
        text, before, after = (
            self._kept(name) if name is not None else None
            for name in (attached.text_sha256, attached.before_sha256, attached.after_sha256)
        )
        if attached.kind == "image" and text is not None and self._is_too_large(text):
            text = None
        return SavedAttachment(attached.kind, attached.id, attached.title, text, attached.form, before, after)

    def _images(self, images: Iterable[ResultImage]) -> Iterator[str]:
        """The images in a tool's result, as data URIs."""
        for image in images:
            content = self._blob(image.sha256)
            if content is None:
                self._warned.append((self._index, "TEXT_NOT_KEPT", "An image of this message is not kept."))
            elif not self._is_too_large(uri := encoded(image.media_type, content)):
                yield uri

    def _is_too_large(self, uri: str) -> bool:
        if len(uri) <= IMAGE_CHARS_MAX:
            return False
        what = f"An image of this message has {len(uri)} characters; the file has not got it."
        self._warned.append((self._index, "IMAGE_TOO_LARGE", what))
        return True

    def _text(self, name: str) -> str:
        text = self._kept(name)
        return NOT_KEPT if text is None else text

    def _kept(self, name: str) -> str | None:
        try:
            return self._texts(name)
        except NotRecorded:
            what = "A text of this message is not kept: it may have been forgotten with its note."
            self._warned.append((self._index, "TEXT_NOT_KEPT", what))
            return None

    def _layers(self, message: Message) -> dict[str, str]:
        """The hashes of the layers of the message's last prompt, if the client may see its manifest."""
        if all(each.message != message.id for each in self._conversation.prompts):
            return {}
        try:
            shown = self._view.vault.ask(ManifestOf(self._conversation.id, message.id))
        except (ArgumentInvalid, NotRecorded):
            return {}
        return {layer.id: layer.hash for layer in shown.manifest.layers if layer.hash}

    # -- the part of it that the client may see --

    def _shared(self, message: SavedMessage) -> SavedMessage:
        """The message without attachments and documents of withheld notes."""
        attachments = tuple(
            each for each in message.attachments if not self._withheld_notes.hides(notes_of(each.kind, each.id))
        )
        self._withheld += len(message.attachments) - len(attachments)
        return replace(
            message,
            attachments=tuple(replace(each, text=self._found(each)) for each in attachments),
            tool_results=tuple(replace(each, text=self._found(each) or "") for each in message.tool_results),
        )

    def _found(self, part: SavedAttachment | SavedResult) -> str | None:
        """The part's text; if it is a search, without documents of withheld notes."""
        if (search := _search(part)) is None:
            return part.text
        documents = tuple(
            each for each in search.documents if not self._withheld_notes.hides(notes_at(each.source))
        )
        if len(documents) == len(search.documents):
            return part.text
        self._withheld += len(search.documents) - len(documents)
        return msgspec.json.encode(replace(search, documents=documents)).decode()


def _notes_named(message: SavedMessage) -> Iterator[NoteNames]:
    """The notes that a message's attachments name, and the notes in its search results."""
    for attached in message.attachments:
        yield notes_of(attached.kind, attached.id)
    parts: list[SavedAttachment | SavedResult] = [*message.attachments, *message.tool_results]
    for part in parts:
        if (search := _search(part)) is not None:
            for document in search.documents:
                yield notes_at(document.source)


def _search(part: SavedAttachment | SavedResult) -> Search | None:
    """The search that the text encodes; None if the part is not a search, or its text is not kept."""
    if part.form != "search" or part.text is None:
        return None
    try:
        return msgspec.json.decode(part.text, type=Search)
    except msgspec.MsgspecError:  # NOT_KEPT
        return None


def _title(messages: Sequence[SavedMessage]) -> str | None:
    """The beginning of the user's first message."""
    for message in messages:
        if message.role == "user" and (words := (message.text or "").split()):
            return " ".join(words[:_TITLE_CHARS_MAX])[:_TITLE_CHARS_MAX].rstrip()
    return None


def file_name(chat: Chat) -> str:
    """A name for the chat's file that is valid on every system, at most FILE_NAME_BYTES_MAX bytes long."""
    day = (chat.started or "")[:10]
    words = unicodedata.normalize("NFC", chat.title or chat.conversation or "")
    plain = "".join(char if char.isprintable() and char not in '\\/:*?"<>|#^[]' else " " for char in words)
    name = " ".join(plain.split()).strip(". ") or "chat"
    if _RESERVED.match(name):
        name = f"chat {name}"
    end = f" {day}.md" if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else ".md"
    room = FILE_NAME_BYTES_MAX - len(end)
    return name.encode()[:room].decode(errors="ignore").rstrip(". ") + end
