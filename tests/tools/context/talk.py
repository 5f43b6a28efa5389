"""A conversation in memory: what is said, what was read for each prompt, and the log's fold of it.

No vault and no files: a test says what was read. Every prompt is recorded as the service would, so the next one is
made from what the log says.
"""

import hashlib
from typing import Any

from msgspec.structs import replace

from workspaced_events.ids import ConversationId, EventId, MessageId
from workspaced_events.projections.conversations import NO_CONVERSATIONS, Conversation, apply_conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import ManifestEntry
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.audit.event import prompt_event
from workspaced_tools.prompts.model.types import (
    TURN_VERSION,
    Artifact,
    Assembled,
    Envelope,
    Layer,
    Policy,
    Provided,
    Turn,
)

ID = ConversationId("talk")
MTIME = "2026-03-01T12:00:00Z"


class Talk:
    """`last` is what the last prompt came to."""

    def __init__(self, *, window: int = 100_000, tools: str | None = None, **sections: str) -> None:
        self.blobs: dict[str, str] = {}
        self.conversations = NO_CONVERSATIONS
        self.seq = 0
        self.policy = Policy()
        self.turns: dict[MessageId, Turn] = {}
        self.last: Assembled
        self.begin(window, tools, **sections or {"system": "You help."})

    @property
    def now(self) -> Conversation:
        return self.conversations.by_id[ID]

    def keep(self, text: str) -> str:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        self.blobs[sha256] = text
        return sha256

    def texts(self, sha256: str) -> str:
        if sha256 not in self.blobs:
            raise NotRecorded("It is not kept")
        return self.blobs[sha256]

    def tell(self, data: Any) -> None:
        """One more event."""
        self.seq += 1
        event = c.ENTRY_OF[type(data)].event(self.seq, EventId(str(self.seq)), MTIME, "test", None, data)
        self.conversations = apply_conversation(self.conversations, event)

    def begin(self, window: int = 100_000, tools: str | None = None, **sections: str) -> None:
        named = tuple(c.Section(name, self.keep(text)) for name, text in sections.items())  # type: ignore[arg-type]
        tools_sha256 = self.keep(tools) if tools is not None else None
        self.tell(
            c.ConversationStarted(
                conversation=ID,
                provider="p",
                model="m",
                context_window=window,
                output_reserve=0,
                sections=named,
                tools_sha256=tools_sha256,
            )
        )

    # -- messages --

    def say(self, text: str = "?", *, name: str = "", **more: Any) -> MessageId:
        return self._add("user", name, text, **more)

    def answer(self, text: str = "!", *calls: str, name: str = "") -> MessageId:
        called = tuple(c.ToolCall(call, "look", self.keep("{}")) for call in calls)
        return self._add("assistant", name, text, tool_calls=called)

    def results(self, *calls: str, text: str = "found", name: str = "") -> MessageId:
        given = tuple(c.ToolResult(call, "look", self.keep(f"{text} {call}")) for call in calls)
        return self._add("user", name, "", tool_results=given)

    def _add(self, role: c.Role, name: str, text: str, **more: Any) -> MessageId:
        message = MessageId(name or f"m{len(self.now.messages) + 1}")
        text_sha256 = self.keep(text) if text else None
        self.tell(c.MessageAdded(ID, message, role, text_sha256, **more))
        return message

    def remove(self, message: MessageId, *, following: bool = False) -> None:
        self.tell(c.MessageRemoved(conversation=ID, message=message, following=following))

    # -- what was read --

    def read(self, name: str, text: str = "", *, kind: c.ArtifactKind = "note", **more: Any) -> Artifact:
        title = more.pop("title", name.rpartition("/")[2].removesuffix(".md"))
        mtime = MTIME if kind in ("note", "active_note") else None
        return Artifact(kind, name, title, self.keep(text), mtime, bytes=len(text.encode()), **more)

    def provided(self, name: str, text: str, kind: c.ProviderKind = "text") -> Provided:
        return Provided(name, kind, self.keep(text))

    def turn(self, message: MessageId, *artifacts: Artifact, **more: Any) -> Turn:
        return Turn(TURN_VERSION, ID, message, artifacts, policy=self.policy, **more)

    # -- prompts --

    def ask(self, text: str, *artifacts: Artifact, **more: Any) -> Envelope:
        """A whole turn: asked, assembled, recorded, answered."""
        envelope = self.prompt(self.say(text), *artifacts, **more)
        self.answer()
        return envelope

    def prompt(self, message: MessageId, *artifacts: Artifact, **more: Any) -> Envelope:
        return self.record(self.turn(message, *artifacts, **more))

    def go_on(self, message: MessageId, before: MessageId) -> Envelope:
        """The prompt of a carrier, from what was read for the turn's first."""
        return self.record(replace(self.turns[before], message=message, rebase=False))

    def record(self, turn: Turn) -> Envelope:
        made = self.last = assemble(self.now, turn, self.texts)
        self.turns[turn.message] = turn
        for block in made.blocks:
            self.keep(block)
        as_of = self.seq
        if made.rebased is not None:
            self.tell(c.LibraryRebased(conversation=ID, reason=made.rebased.reason, library=made.rebased.library))
        self.tell(prompt_event(ID, as_of, turn, made, inputs_sha256="0" * 64, manifest_sha256="0" * 64))
        return made.envelope


# -- looking at prompts --


def layer(envelope: Envelope, begin: str) -> Layer:
    """The layer whose id begins so."""
    [found] = [each for each in envelope.layers if each.id.startswith(begin)]
    return found


def system_of(envelope: Envelope) -> str:
    return "".join(
        block.text or "" for each in envelope.messages if each.role == "system" for block in each.content
    )


def user_text(envelope: Envelope) -> str:
    """All text of the last user's message that is no carrier."""
    mine = [each for each in envelope.messages if each.role == "user" and each.content[0].type != "toolResult"]
    last = mine[-1].content if mine else ()
    return "\n\n".join(block.text or "" for block in last if block.type == "text")


def entry(envelope: Envelope, name: str, begin: str = "L3") -> ManifestEntry:
    """The one record of that thing in that layer."""
    [found] = [each for each in envelope.manifest.entries if each.id == name and each.layer.startswith(begin)]
    return found


def library_ids(envelope: Envelope) -> list[str]:
    return [segment.id for segment in layer(envelope, "L2").segments]
