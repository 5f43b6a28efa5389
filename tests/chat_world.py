"""A conversation over a `World` of real files, folded from the events that tell of it.

It does what the service does, without a socket and without a disk for the log: read what a prompt needs, assemble,
append what came of it.
"""

import importlib.util
import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import LayerId, ManifestEntry
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.audit.event import prompt_event
from workspaced_tools.prompts.model.types import Assembled, ChatMessage, Turn
from workspaced_tools.prompts.sources.gather import gather
from workspaced_tools.prompts.sources.search_block import Document, Search

_SPEC = importlib.util.spec_from_file_location("past_world", Path(__file__).with_name("past_world.py"))
assert _SPEC is not None and _SPEC.loader is not None
past_world = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(past_world)

ID: Final = ConversationId("chat")
Attached = str | c.Attachment
"""A note's path, or anything else that a message can be given."""


def active(note: str = "") -> c.Attachment:
    return c.Attachment("active_note", note)


class Chat:
    """One conversation. `window` and `reserve` are tokens."""

    def __init__(self, world: Any, **settings: Any) -> None:
        self.world = world
        self._said = 0
        self.start(**settings)

    @property
    def now(self) -> Conversation:
        """The conversation as the log has it."""
        found: Conversation = self.world.state.conversations.by_id[ID]
        return found

    # -- texts --

    def keep(self, content: bytes) -> str:
        name = sha256(content).hexdigest()
        self.world.blobs[name] = content
        return name

    def texts(self, name: str) -> str:
        try:
            content: bytes = self.world.blobs[name]
        except KeyError:
            raise NotRecorded("Not kept", hint="", sha256=name) from None
        return content.decode()

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self.keep(text.encode())

    def given(self, kind: c.AttachmentKind, name: str, text: str, title: str | None = None) -> c.Attachment:
        """Something whose text the runtime gives."""
        return c.Attachment(kind, name, self._text(text), title)

    def selection(
        self, name: str, text: str | None = None, before: str | None = None, after: str | None = None
    ) -> c.Attachment:
        """Selected text, or a cursor, as an editor gives it."""
        parts = map(self._text, (before, after))
        return c.Attachment("selected_text", name, self._text(text), None, "text", *parts)

    def found(self, query: str, *documents: Document) -> str:
        """The blob of what a search found."""
        return self.keep(msgspec.json.encode(Search(query, documents)))

    def search(self, name: str, query: str, *documents: Document, title: str = "web_search") -> c.Attachment:
        """A search that a message is given."""
        return c.Attachment("tool_result", name, self.found(query, *documents), title, "search")

    # -- what a runtime says --

    def start(
        self,
        window: int = 200_000,
        reserve: int = 1_000,
        provider: str = "someone",
        model: str = "large",
        tools: str | None = None,
        cached_in_input: bool = True,
        composer: str | None = None,
        adapter: str | None = None,
        history_turns: int | None = None,
        **sections: str,
    ) -> None:
        named = {"system": "You help.", **sections}
        data = c.ConversationStarted(
            conversation=ID,
            provider=provider,
            model=model,
            context_window=window,
            output_reserve=reserve,
            sections=tuple(c.Section(name, self.keep(text.encode())) for name, text in named.items()),  # type: ignore[arg-type]
            tools_sha256=self._text(tools),
            cached_in_input=cached_in_input,
            composer_sha256=self._text(composer),
            adapter_sha256=self._text(adapter),
            history_turns=history_turns,
        )
        self.world.append(data)

    def add(
        self, role: c.Role, text: str | None = None, *, replaces: str | None = None, **parts: Any
    ) -> MessageId:
        """A message, as it comes; the id is new, or the one that it replaces."""
        self._said += replaces is None
        name = MessageId(replaces or f"m{self._said}")
        kind = c.MessageAdded if replaces is None else c.MessageReplaced
        self.world.append(kind(ID, name, role, self._text(text), **parts))
        return name

    def say(self, text: str | None, *attached: Attached, replaces: str | None = None) -> MessageId:
        """What the user says, and what of the vault goes with it."""
        attachments = tuple(c.Attachment("note", each) if isinstance(each, str) else each for each in attached)
        return self.add("user", text, replaces=replaces, attachments=attachments)

    def answer(self, text: str | None = "I see.", *calls: str, **parts: Any) -> MessageId:
        """What the assistant says, and the tools it calls, by their calls' ids."""
        called = tuple(c.ToolCall(each, "look_up", self.keep(json.dumps({"q": each}).encode())) for each in calls)
        return self.add("assistant", text, tool_calls=called, **parts)

    def results(self, *results: tuple[str, str], is_error: bool = False) -> MessageId:
        """What tools gave, by the ids of their calls."""
        given = (c.ToolResult(call, "look_up", self.keep(text.encode()), is_error) for call, text in results)
        return self.add("user", tool_results=tuple(given))

    def search_results(self, *results: tuple[str, str]) -> MessageId:
        """What searches found, by the ids of their calls; each a blob of `found`."""
        given = (c.ToolResult(call, "look_up", blob, form="search") for call, blob in results)
        return self.add("user", tool_results=tuple(given))

    def turn(self, text: str, *attached: Attached) -> Assembled:
        """A whole turn: asked, a prompt made, answered."""
        self.say(text, *attached)
        made = self.prompt()
        self.answer()
        return made

    def remove(self, message: str, *, following: bool = False) -> None:
        self.world.append(c.MessageRemoved(conversation=ID, message=MessageId(message), following=following))

    def pin(self, name: str, kind: c.ProviderKind, **of: Any) -> None:
        text = self._text(of.pop("text", None))
        self.world.append(c.ContextPinned(conversation=ID, id=name, kind=kind, text_sha256=text, **of))

    def unpin(self, name: str) -> None:
        self.world.append(c.ContextUnpinned(conversation=ID, id=name))

    def summarise(self, text: str, up_to: str) -> None:
        self.world.append(
            c.SummarySet(conversation=ID, text_sha256=self.keep(text.encode()), up_to=MessageId(up_to))
        )

    def report(self, input_tokens: int, cached_tokens: int = 0, message: str | None = None) -> None:
        """What the provider counted of a prompt, the last one by default."""
        of, settings = self.now.prompts[-1].message if message is None else message, self.now.settings
        self.world.append(
            c.UsageReported(
                conversation=ID,
                message=MessageId(of),
                provider=settings.provider,
                model=settings.model,
                input_tokens=input_tokens,
                cached_tokens=cached_tokens,
            )
        )

    # -- prompts --

    def acquired(self, message: str | None = None, *, rebase: bool = False, pipeline: c.Pipeline = "chat") -> Turn:
        """What is read for the prompt up to a message, the last one by default."""
        of = MessageId(message) if message is not None else next(reversed(self.now.messages))
        calibration = self.world.state.conversations.calibration(self.now.settings)
        view = self.world.live_view(self.world.tick())
        return gather(self.now, of, view, self.texts, self.keep, calibration, rebase=rebase, pipeline=pipeline)

    def prompt(
        self, message: str | None = None, *, rebase: bool = False, pipeline: c.Pipeline = "chat"
    ) -> Assembled:
        """A prompt made, and recorded."""
        turn = self.acquired(message, rebase=rebase, pipeline=pipeline)
        made = assemble(self.now, turn, self.texts)
        self.record(turn, made)
        return made

    def record(self, turn: Turn, made: Assembled) -> None:
        """Tells the log of a prompt."""
        as_of_seq = self.now.seq
        for block in made.blocks:
            self.keep(block.encode())
        if made.rebased is not None:
            rebased = made.rebased
            self.world.append(c.LibraryRebased(conversation=ID, reason=rebased.reason, library=rebased.library))
        self.world.append(
            prompt_event(
                ID,
                as_of_seq,
                turn,
                made,
                inputs_sha256=self.keep(msgspec.json.encode(turn)),
                manifest_sha256=self.keep(msgspec.json.encode(made.envelope.manifest)),
            )
        )


# -- reading a prompt --


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


def layer(made: Assembled, name: LayerId) -> str:
    return next(each.text for each in made.envelope.layers if each.id == name)


def entries(made: Assembled, name: str) -> list[ManifestEntry]:
    """The records of one thing."""
    return [each for each in made.envelope.manifest.entries if each.id == name]
