"""Conversations without a socket: the events of one, their fold, and the prompts assembled of it.

`ConversationLog` holds the events and the texts. Two classes assemble prompts of it and record them as the service
does: `Talk` is given what each prompt read, `NotesTalk` reads notes on disk (past_world.py).
"""

import json
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from support.past_world import World
from workspaced_events.ids import ConversationId, EventId, MessageId
from workspaced_events.projections.conversations import Conversation, Conversations, apply_conversation
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import LayerId, ManifestEntry
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.audit.rebuild import prompt_event
from workspaced_tools.prompts.model.kept_turns import KeptTurns
from workspaced_tools.prompts.model.types import (
    TURN_VERSION,
    Artifact,
    Assembled,
    ChatMessage,
    Envelope,
    Policy,
    Provided,
    Turn,
)
from workspaced_tools.prompts.sources.gather import gather

ID: Final = ConversationId("talk")
NOTES_ID: Final = ConversationId("chat")
MTIME: Final = "2026-03-01T12:00:00Z"
Attached = str | c.Attachment
"""A note's path, or an attachment of any kind."""


def active(note: str = "") -> c.Attachment:
    return c.Attachment("active_note", note)


class MemoryLog:
    """A log of conversations' events in memory: what a `ConversationLog` needs of a `World`."""

    def __init__(self) -> None:
        self.state = EMPTY
        self.blobs: dict[str, bytes] = {}
        self.seq = 0

    def append(self, data: c.Data) -> None:
        self.seq += 1
        event = c.ENTRY_OF[type(data)].event(self.seq, EventId(str(self.seq)), MTIME, "test", None, data)
        self.state = replace(self.state, conversations=apply_conversation(self.state.conversations, event))


class ConversationLog:
    """The events of one conversation, and its texts by their hashes. Nothing is started yet."""

    def __init__(self, log: Any = None, of: ConversationId = ID) -> None:
        self.log = MemoryLog() if log is None else log
        self.id = of
        self.kept = KeptTurns()

    @property
    def conversations(self) -> Conversations:
        found: Conversations = self.log.state.conversations
        return found

    @property
    def now(self) -> Conversation:
        """The conversation as the log has it."""
        return self.conversations.by_id[self.id]

    @property
    def seq(self) -> int:
        seq: int = self.log.seq
        return seq

    @property
    def blobs(self) -> dict[str, bytes]:
        blobs: dict[str, bytes] = self.log.blobs
        return blobs

    def tell(self, data: c.Data) -> None:
        """Appends an event."""
        self.log.append(data)

    # -- texts --

    def keep(self, content: str | bytes) -> str:
        """Stores a text; returns its hash."""
        content = content.encode() if isinstance(content, str) else content
        name = sha256(content).hexdigest()
        self.blobs[name] = content
        return name

    def texts(self, name: str) -> str:
        """Raises NotRecorded where nothing has that hash."""
        try:
            return self.blobs[name].decode()
        except KeyError:
            raise NotRecorded("Not kept", hint="", sha256=name) from None

    def _keep(self, text: str | None) -> str | None:
        return None if text is None else self.keep(text)

    # -- events --

    def start(
        self,
        window: int = 100_000,
        reserve: int = 0,
        provider: str = "p",
        model: str = "m",
        tools: str | None = None,
        promotion: c.Promotion = "at_fold",
        **sections: str,
    ) -> None:
        """Starts the conversation, or changes its settings. `window` and `reserve` are tokens."""
        self.tell(
            c.ConversationStarted(
                conversation=self.id,
                provider=provider,
                model=model,
                context_window=window,
                output_reserve=reserve,
                sections=tuple(c.Section(name, self.keep(text)) for name, text in sections.items()),  # type: ignore[arg-type]
                tools_sha256=self._keep(tools),
                promotion=promotion,
            )
        )

    def add(self, role: c.Role, text: str | None, name: str, *, replaces: bool = False, **parts: Any) -> MessageId:
        """Adds the message `name`, or replaces it."""
        kind = c.MessageReplaced if replaces else c.MessageAdded
        self.tell(kind(self.id, MessageId(name), role, self._keep(text), **parts))
        return MessageId(name)

    def remove(self, message: str, *, following: bool = False) -> None:
        self.tell(c.MessageRemoved(conversation=self.id, message=MessageId(message), following=following))

    def summarise(self, text: str, up_to: str) -> None:
        self.tell(c.SummarySet(conversation=self.id, text_sha256=self.keep(text), up_to=MessageId(up_to)))

    def pin(self, name: str, kind: c.ProviderKind, **of: Any) -> None:
        text = self._keep(of.pop("text", None))
        self.tell(c.ContextPinned(conversation=self.id, id=name, kind=kind, text_sha256=text, **of))

    def unpin(self, name: str) -> None:
        self.tell(c.ContextUnpinned(conversation=self.id, id=name))

    def report(self, input_tokens: int, cached_tokens: int = 0, message: str | None = None) -> None:
        """What the provider counted of a prompt, the last one by default."""
        of, settings = self.now.prompts[-1].message if message is None else message, self.now.settings
        self.tell(
            c.UsageReported(
                conversation=self.id,
                message=MessageId(of),
                provider=settings.provider,
                model=settings.model,
                input_tokens=input_tokens,
                cached_tokens=cached_tokens,
            )
        )

    def record(self, turn: Turn, made: Assembled) -> None:
        """Appends the events of an assembled prompt, and keeps its texts."""
        as_of_seq = self.now.seq
        for block in made.blocks:
            self.keep(block)
        if made.compacted is not None:
            self.tell(made.compacted)
        if made.near_limit is not None:
            self.tell(made.near_limit)
        sent = self.keep(msgspec.json.encode(made.sent)) if made.sent is not None else None
        self.tell(
            prompt_event(
                as_of_seq,
                made,
                inputs_sha256=self.keep(msgspec.json.encode(turn)),
                manifest_sha256=self.keep(msgspec.json.encode(made.envelope.manifest)),
                turn_sha256=sent,
            )
        )


class Talk(ConversationLog):
    """A conversation without a vault: a test gives what each prompt read. `last` is the latest prompt."""

    def __init__(self, *, window: int = 100_000, tools: str | None = None, **sections: str) -> None:
        super().__init__()
        self.policy = Policy()
        self.turns: dict[MessageId, Turn] = {}
        self.last: Assembled
        self.start(window, tools=tools, **sections or {"system": "You help."})

    # -- messages --

    def say(self, text: str = "?", *, name: str = "", **more: Any) -> MessageId:
        return self._add("user", name, text, **more)

    def answer(self, text: str = "!", *calls: str) -> MessageId:
        called = tuple(c.ToolCall(call, "look", self.keep("{}")) for call in calls)
        return self._add("assistant", "", text, tool_calls=called)

    def results(self, *calls: str, text: str = "found") -> MessageId:
        given = tuple(c.ToolResult(call, "look", self.keep(f"{text} {call}")) for call in calls)
        return self._add("user", "", "", tool_results=given)

    def _add(self, role: c.Role, name: str, text: str, **parts: Any) -> MessageId:
        return self.add(role, text or None, name or f"m{len(self.now.messages) + 1}", **parts)

    # -- reads --

    def read(self, name: str, text: str = "", *, kind: c.ArtifactKind = "note", **more: Any) -> Artifact:
        title = more.pop("title", name.rpartition("/")[2].removesuffix(".md"))
        mtime = MTIME if kind in ("note", "active_note") else None
        return Artifact(kind, name, title, self.keep(text), mtime, bytes=len(text), **more)

    def provided(self, name: str, text: str, kind: c.ProviderKind = "text") -> Provided:
        return Provided(name, kind, self.keep(text))

    def turn(self, message: MessageId, *artifacts: Artifact, **more: Any) -> Turn:
        return Turn(TURN_VERSION, self.id, message, artifacts, policy=self.policy, **more)

    # -- prompts --

    def ask(self, text: str, *artifacts: Artifact, **more: Any) -> Envelope:
        """A whole turn: asked, assembled, recorded, answered."""
        envelope = self.prompt(self.say(text), *artifacts, **more)
        self.answer()
        return envelope

    def prompt(self, message: MessageId, *artifacts: Artifact, **more: Any) -> Envelope:
        return self.assemble(self.turn(message, *artifacts, **more))

    def go_on(self, message: MessageId, before: MessageId) -> Envelope:
        """The prompt of a carrier, from what was read for the turn's first."""
        return self.assemble(replace(self.turns[before], message=message, rebase=False))

    def assemble(self, turn: Turn) -> Envelope:
        """Assembles the prompt of a turn, and records it."""
        made = self.last = assemble(self.now, turn, self.texts, self.kept)
        self.turns[turn.message] = turn
        self.record(turn, made)
        return made.envelope


class NotesTalk(ConversationLog):
    """A conversation over the notes of a `World`, whose log it shares. Messages are `m1`, `m2`, ..."""

    def __init__(self, world: World, **settings: Any) -> None:
        super().__init__(world, NOTES_ID)
        self.world = world
        self._number = 0
        self.start(**settings)

    def start(self, window: int = 200_000, reserve: int = 1_000, **settings: Any) -> None:
        named = {"provider": "someone", "model": "large", "system": "You help.", **settings}
        super().start(window, reserve, **named)

    # -- attachments --

    def given(self, kind: c.AttachmentKind, name: str, text: str, title: str | None = None) -> c.Attachment:
        """Something whose text the runtime gives."""
        return c.Attachment(kind, name, self._keep(text), title)

    def selection(self, name: str, text: str) -> c.Attachment:
        """Selected text, as an editor gives it."""
        return c.Attachment("selected_text", name, self._keep(text))

    # -- messages --

    def message(
        self, role: c.Role, text: str | None = None, *, replaces: str | None = None, **parts: Any
    ) -> MessageId:
        """Adds a message under the next id, or replaces one."""
        self._number += replaces is None
        return self.add(role, text, replaces or f"m{self._number}", replaces=replaces is not None, **parts)

    def say(self, text: str | None, *attached: Attached, replaces: str | None = None) -> MessageId:
        """What the user says, and what of the vault goes with it."""
        attachments = tuple(c.Attachment("note", each) if isinstance(each, str) else each for each in attached)
        return self.message("user", text, replaces=replaces, attachments=attachments)

    def answer(self, text: str | None = "I see.", *calls: str, **parts: Any) -> MessageId:
        """What the assistant says, and the tools it calls, by their calls' ids."""
        called = tuple(c.ToolCall(each, "look_up", self.keep(json.dumps({"q": each}))) for each in calls)
        return self.message("assistant", text, tool_calls=called, **parts)

    def results(self, *results: tuple[str, str], is_error: bool = False) -> MessageId:
        """What tools gave, by the ids of their calls."""
        given = (c.ToolResult(call, "look_up", self.keep(text), is_error) for call, text in results)
        return self.message("user", tool_results=tuple(given))

    def turn(self, text: str, *attached: Attached) -> Assembled:
        """A whole turn: asked, a prompt made, answered."""
        self.say(text, *attached)
        made = self.prompt()
        self.answer()
        return made

    # -- prompts --

    def acquired(self, message: str | None = None, *, rebase: bool = False, pipeline: c.Pipeline = "chat") -> Turn:
        """What is read for the prompt up to a message, the last one by default."""
        of = MessageId(message) if message is not None else next(reversed(self.now.messages))
        calibration = self.log.state.conversations.calibration(self.now.settings)
        view = self.world.live_view(self.world.tick())
        more: dict[str, Any] = {"rebase": rebase, "pipeline": pipeline, "kept": self.kept}
        return gather(self.now, of, view, self.texts, self.keep, calibration, **more)

    def prompt(
        self, message: str | None = None, *, rebase: bool = False, pipeline: c.Pipeline = "chat"
    ) -> Assembled:
        """A prompt made, and recorded."""
        turn = self.acquired(message, rebase=rebase, pipeline=pipeline)
        made = assemble(self.now, turn, self.texts, self.kept)
        self.record(turn, made)
        return made


# -- reading an envelope --


def user_text(envelope: Envelope) -> str:
    """All text of the last user's message that is no carrier."""
    mine = [each for each in envelope.messages if each.role == "user" and each.content[0].type != "toolResult"]
    last = mine[-1].content if mine else ()
    return "\n\n".join(block.text or "" for block in last if block.type == "text")


# -- reading an assembled prompt --


def text_of(message: ChatMessage) -> str:
    return "\n\n".join(block.text or "" for block in message.content)


def system(made: Assembled) -> str:
    """The system message; nothing where there is none."""
    return "\n\n".join(text_of(each) for each in made.envelope.messages if each.role == "system")


def spoken(made: Assembled) -> list[ChatMessage]:
    """All messages but the system's."""
    return [each for each in made.envelope.messages if each.role != "system"]


def user(made: Assembled) -> str:
    """This turn's user message: the last one that begins with no tool's result; where none does, the last one."""
    said = [each for each in spoken(made) if each.role == "user"]
    own = [each for each in said if each.content[0].type != "toolResult"]
    return text_of((own or said)[-1]) if said else ""


def whole(made: Assembled) -> str:
    """All that the model is sent."""
    return "\n\n".join(map(text_of, made.envelope.messages))


def layer_text(made: Assembled, name: LayerId) -> str:
    return next(each.text for each in made.envelope.layers if each.id == name)


def entries(made: Assembled, name: str) -> list[ManifestEntry]:
    """The records of one thing."""
    return [each for each in made.envelope.manifest.entries if each.id == name]
