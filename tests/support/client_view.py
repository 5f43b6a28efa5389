"""A conversation in a vault on disk, read as a client reads it, with blobs in memory."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import msgspec
from msgspec.structs import replace

from workspaced_events.ids import ConversationId, MessageId, VaultId
from workspaced_events.projections.conversations import NO_CALIBRATION, Calibration, Conversation, Message, Prompt
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState, WorkspaceState
from workspaced_events.projections.workspace_state import Vault as RegisteredVault
from workspaced_events.schema.catalogue import (
    Attachment,
    AttachmentKind,
    ContextPinned,
    ConversationStarted,
    LayerHashes,
    Sharing,
    ToolResult,
)
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.types import Turn
from workspaced_tools.prompts.sources.gather import gather
from workspaced_tools.prompts.sources.view_reader import Reading
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.vault.vault import Vault

NOW = "2026-03-01T12:00:00.000000Z"
V = VaultId("brain")
NO_HASHES = LayerHashes("", "", "", "", "")
SETTINGS = ConversationStarted(
    conversation=ConversationId("c"), provider="openai", model="gpt", context_window=100_000, output_reserve=1_000
)


class World:
    """What one client has before it."""

    def __init__(self, vault: Vault | None, state: VaultState = EMPTY_VAULT, level: Sharing = "all") -> None:
        self.vault = vault
        self.state = state
        self.level = level
        self.current: VaultId | None = V
        self.now = NOW
        self.visits: Sequence[Visit] = ()
        self.blobs: dict[str, bytes] = {}
        self.times_kept = 0
        self.selected: dict[str, str] = {}
        """Texts that the log has had since they were selected, by their hashes."""
        self.conversation = Conversation(ConversationId("c"), V, 1, SETTINGS)

    # -- blobs --

    def keep(self, content: bytes) -> str:
        name = sha256(content).hexdigest()
        self.blobs[name] = content
        self.times_kept += 1
        return name

    def texts(self, name: str) -> str:
        if name in self.selected:
            return self.selected[name]
        if name not in self.blobs:
            raise NotRecorded("It is not kept")
        return self.blobs[name].decode()

    # -- what is read --

    def view(self) -> View:
        vaults = {V: RegisteredVault(V, "Brain", "/home/someone/brain", True)}
        state = WorkspaceState(7, self.current, vaults if self.current == V else {}, {V: self.state})
        withheld = self.vault.levels.is_withheld if self.vault is not None else lambda _note: True
        return shared_view(state, self.now, self.vault, lambda: self.visits, level=self.level, withheld=withheld)

    def reading(self, *, pinned_tokens: int = 0) -> Reading:
        return Reading(self.view(), self.texts, self.keep, V, fence="chat", pinned_tokens=pinned_tokens)

    # -- what is said --

    def attachment(
        self, kind: AttachmentKind, name: str = "", text: str | None = None, title: str | None = None
    ) -> Attachment:
        """Of what is selected: as the daemon takes it down when the message comes."""
        if kind == "selected_text" and not name and text is None:
            return self._selected()
        return Attachment(kind, name, self.keep(text.encode()) if text is not None else None, title)

    def _selected(self) -> Attachment:
        selection = self.state.selection
        if selection is None:
            return Attachment("selected_text", "", resolved=True)
        kept = selection.text_sha256
        if selection.text is not None:
            kept = sha256(selection.text.encode()).hexdigest()
            self.selected[kept] = selection.text
        name = f"{selection.note}#L{selection.start_line}-L{selection.end_line}"
        return Attachment("selected_text", name, kept, resolved=True)

    def says(self, *attachments: Attachment, message: str = "m1", seq: int = 2) -> MessageId:
        """A user's message begins a turn; one of that id is replaced."""
        return self._add(Message(MessageId(message), "user", seq, NOW, attachments=attachments))

    def goes_on(self, message: str = "m2") -> MessageId:
        """An agent has called a tool and brings its result."""
        result = ToolResult("t", "look", self.keep(b"result"))
        self._add(Message(MessageId(f"{message}-call"), "assistant", 9, NOW))
        return self._add(Message(MessageId(message), "user", 9, NOW, tool_results=(result,)))

    def _add(self, message: Message) -> MessageId:
        messages = {**self.conversation.messages, message.id: message}
        self.conversation = replace(self.conversation, messages=messages)
        return message.id

    def pins(self, *pins: ContextPinned) -> None:
        self.conversation = replace(self.conversation, pins={pin.id: pin for pin in pins})

    # -- prompts --

    def gather(self, message: str = "m1", calibration: Calibration = NO_CALIBRATION, **options: Any) -> Turn:
        return gather(
            self.conversation, MessageId(message), self.view(), self.texts, self.keep, calibration, **options
        )

    def sends(self, turn: Turn, as_of_seq: int = 8) -> None:
        """The prompt made of `turn` is recorded."""
        inputs = self.keep(msgspec.json.encode(turn))
        prompt = Prompt(10, turn.message, NO_HASHES, "", 0, 0, 0, 0, 0, inputs, "", as_of_seq, ())
        self.conversation = replace(self.conversation, prompts=(*self.conversation.prompts, prompt))
