"""Our assembler in process, without disk or socket: a conversation folded from the events of a daemon.

This is the one place where benchmarks make the inputs of prompts by hand.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from workspaced_events.ids import ConversationId, EventId, MessageId
from workspaced_events.projections.conversations import NO_CONVERSATIONS, Conversation, apply_conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.audit.rebuild import prompt_event
from workspaced_tools.prompts.model.types import TURN_VERSION, Artifact, Assembled, Provided, Turn
from workspaced_tools.prompts.providers.bodies import shape
from workspaced_tools.prompts.providers.templates import template_named

from .prefix_caches import Block, blocks_of
from .prompt_scenarios import SYSTEM, TOOL, TOOLS, Attached, Scenario, ScenarioTurn

AT: Final = "2026-01-01T00:00:00Z"
CONVERSATION: Final = ConversationId("bench")
RESERVE: Final = 1_000
_STATE: Final = "workspace"


class InProcess:
    """A conversation, its texts, and the events so far."""

    def __init__(self, started: c.ConversationStarted, blobs: dict[str, str]) -> None:
        self._state, self._seq, self._blobs = NO_CONVERSATIONS, 0, blobs
        self.add(started)

    @property
    def conversation(self) -> Conversation:
        return self._state.by_id[CONVERSATION]

    def text(self, sha256: str) -> str:
        return self._blobs[sha256]

    def keep(self, text: str) -> str:
        return keep(self._blobs, text)

    def add(self, data: c.Data) -> None:
        """Applies an event with this data."""
        self._seq += 1
        made = c.ENTRY_OF[type(data)].event
        event = made(self._seq, EventId(str(self._seq)), "2026-01-01T00:00:00.000000Z", "bench", None, data)
        self._state = apply_conversation(self._state, event)

    def prompt(self, turn: Turn) -> Assembled:
        """The prompt, recorded."""
        before = self.conversation
        made = assemble(before, turn, self.text)
        for block in made.blocks:
            self.keep(block)
        if made.compacted is not None:
            self.add(made.compacted)
        sent = self.keep(msgspec.json.encode(made.sent).decode()) if made.sent is not None else None
        event = prompt_event(before.seq, made, inputs_sha256="", manifest_sha256="", turn_sha256=sent)
        self.add(event)
        return made


def keep(blobs: dict[str, str], text: str) -> str:
    """The text's hash, by which it is found in `blobs` from now on."""
    name = hashlib.sha256(text.encode()).hexdigest()
    blobs[name] = text
    return name


def prompts_of(scenario: Scenario, turns: Sequence[ScenarioTurn]) -> Iterator[list[Block]]:
    """The prompts of a scenario, as bodies for Anthropic."""
    blobs: dict[str, str] = {}
    run = InProcess(
        c.ConversationStarted(
            conversation=CONVERSATION,
            provider="anthropic",
            model="bench",
            context_window=scenario.limit + RESERVE,
            output_reserve=RESERVE,
            sections=(c.Section("system", keep(blobs, SYSTEM)),),
            tools_sha256=keep(blobs, msgspec.json.encode(TOOLS).decode()) if scenario.tools else None,
        ),
        blobs,
    )
    run.add(c.ContextPinned(conversation=CONVERSATION, id=_STATE, kind="workspace"))
    for turn in turns:
        name = MessageId(f"user-{turn.number}")
        run.add(
            c.MessageAdded(
                CONVERSATION, name, "user", run.keep(turn.question), tuple(map(_attachment, turn.attached))
            )
        )
        inputs = _inputs(run, name, turn)
        yield _body(run, inputs)
        if turn.result is not None:
            carrier = _add_round(run, turn)
            yield _body(run, msgspec.structs.replace(inputs, message=carrier))
        run.add(
            c.MessageAdded(CONVERSATION, MessageId(f"answer-{turn.number}"), "assistant", run.keep(turn.answer))
        )


def _attachment(note: Attached) -> c.Attachment:
    return c.Attachment("active_note" if note.active else "note", note.path)


def _inputs(run: InProcess, message: MessageId, turn: ScenarioTurn) -> Turn:
    """What a daemon reads for the turn."""
    artifacts = tuple(
        Artifact(
            "active_note" if note.active else "note",
            note.path,
            note.path.removeprefix("notes/").removesuffix(".md"),
            run.keep(note.text),
            AT,
            bytes=len(note.text.encode()),
        )
        for note in turn.attached
    )
    state = Provided(_STATE, "workspace", run.keep(turn.state))
    return Turn(TURN_VERSION, CONVERSATION, message, artifacts=artifacts, provided=(state,))


def _add_round(run: InProcess, turn: ScenarioTurn) -> MessageId:
    """Adds a call and its result; the name of the message that carries the result."""
    assert turn.result is not None
    name, carrier = f"call-{turn.number}", MessageId(f"result-{turn.number}")
    arguments = run.keep(msgspec.json.encode({"query": turn.question}).decode())
    calls = (c.ToolCall(name, TOOL, arguments),)
    results = (c.ToolResult(name, TOOL, run.keep(turn.result)),)
    run.add(c.MessageAdded(CONVERSATION, MessageId(f"calls-{turn.number}"), "assistant", tool_calls=calls))
    run.add(c.MessageAdded(CONVERSATION, carrier, "user", tool_results=results))
    return carrier


def _body(run: InProcess, inputs: Turn) -> list[Block]:
    envelope = run.prompt(inputs).envelope
    template = template_named("anthropic", None)
    return blocks_of(shape(envelope, run.conversation.settings, template, run.text, lambda _name: None).body)
