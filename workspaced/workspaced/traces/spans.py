"""From recorded events to spans. Pure, so that a log gives the same spans once and live, with the same ids.

A call, and a context that was told, is a span of its own. A prompt begins with the event that it left by
(`prompt_assembled`, `prompt_overlaid`) and ends with the one that tells what the provider counted; the context
that was inserted for it is its child. A span without a `traceparent` begins a trace. Its ids are hashes of the
log's id and the event's sequence.

Names and attributes: OpenTelemetry semantic conventions 1.41.0, "GenAI" (inference and execute_tool spans) and
"MCP" (server spans), the last ones before these moved to a repository of their own. What they have no name for
begins with `workspaced.`.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from workspaced_events.clock import microseconds
from workspaced_events.ids import ConversationId
from workspaced_events.privacy.event_redaction import GENERATED_ID
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

_FORM: Final = re.compile(r"(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]{0,256})?")
"""Later versions may have more behind the flags."""


class Parent(NamedTuple):
    """The span of a client."""

    trace_id: int
    span_id: int
    is_sampled: bool
    """Whether the client sends its own spans of this trace; if not, ours would have no parent there."""


def parent_of(traceparent: str | None) -> Parent | None:
    """The span that a `traceparent` names; None: it names none."""
    found = _FORM.fullmatch(traceparent) if traceparent is not None else None
    if found is None or (found[1] == "00" and found[5] is not None):
        return None
    trace_id, span_id = int(found[2], 16), int(found[3], 16)
    return Parent(trace_id, span_id, bool(int(found[4], 16) & 1)) if trace_id and span_id else None


class Parents:
    """Takes what clients send as `traceparent`. One for each daemon."""

    def __init__(self) -> None:
        self.ignored = 0
        """How many since the daemon started named no span."""

    def taken(self, told: object) -> str | None:
        """The `traceparent` to record. One of nonsense is counted; the call goes on without it."""
        if told is None:
            return None
        if isinstance(told, str) and parent_of(told) is not None:
            return told
        self.ignored += 1
        return None


SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.41.0"
ANSWER_S: Final = 600.0
"""A prompt that is not answered by then, on the log's clock, is given without its end."""
_OPEN_MAX: Final = 1_000
"""Prompts that wait for their answers, and contexts that wait for their prompts; of more the oldest are given."""
_KNOWN_MAX: Final = 10_000
"""Insertions and conversations whose provider is known."""
_PROVIDERS: Final = {"anthropic": "anthropic", "openai": "openai", "responses": "openai", "gemini": "gcp.gemini"}
"""The convention's names of the providers whose requests have these forms."""
Attributes = dict[str, str | int | bool]
TYPES: Final = frozenset(
    {
        c.ToolCalled,
        c.ContextVolunteered,
        c.ContextInserted,
        c.PromptOverlaid,
        c.PromptAnswered,
        c.ConversationStarted,
        c.PromptAssembled,
        c.UsageReported,
    }
)
"""The data of the events that spans are made of."""
TEXT_TYPES: Final = frozenset({c.NoteShown, c.NoteWithheld, c.NoteRenamed, c.VaultOpened})
"""The data of the events that decide which texts leave (texts.py)."""


class Span(NamedTuple):
    """A span as it is sent."""

    seq: int
    """Of the event that names it to `workspaced inspect`."""
    name: str
    kind: Literal["server", "client", "internal"]
    trace_id: int
    span_id: int
    parent_id: int | None
    start_us: int
    """Microseconds since the epoch, as `end_us`."""
    end_us: int
    error: str
    """The convention's type of the error; empty: it succeeded."""
    attributes: Attributes


class _Begun(NamedTuple):
    """A prompt that left."""

    key: tuple[str, str]
    """By which its answer names it. Of equal requests at once the first answer is the first one's."""
    event: Event
    parent: Parent | None


class Spans:
    """Takes the events of one log, in order."""

    def __init__(self, log_id: str, texts: Callable[[Event], Attributes] = lambda _event: {}) -> None:
        """`texts`: what may be told of an event's texts, as attributes of its span."""
        self._log_id = log_id
        self._texts = texts
        self._prompts: list[_Begun] = []
        self._waiting: dict[str, Event] = {}
        """Inserted contexts whose prompt has not left yet, by their insertions."""
        self._forms: dict[str, tuple[str, str]] = {}
        """The request's form and the session of each insertion."""
        self._conversations: dict[ConversationId, c.ConversationStarted] = {}

    def feed(self, event: Event) -> list[Span]:
        """The spans that end with this event."""
        given = self._overdue(event.time)
        data = event.data
        match data:
            case c.ContextInserted():
                _remember(self._forms, data.insertion, (data.event, data.session), _KNOWN_MAX)
                self._waiting[data.insertion] = event
                if len(self._waiting) > _OPEN_MAX:
                    given += self._told(self._waiting.pop(next(iter(self._waiting))), None)
            case c.ContextVolunteered():
                given += self._told(event, None)
            case c.ToolCalled():
                given += self._called(event)
            case c.PromptOverlaid():
                key = data.insertion, data.body_hash
                self._prompts.append(_Begun(key, event, parent_of(data.traceparent)))
            case c.PromptAnswered():
                given += self._chat(self._begun((data.insertion, data.body_hash), event), event)
            case c.ConversationStarted():
                _remember(self._conversations, data.conversation, data, _KNOWN_MAX)
            case c.PromptAssembled():
                self._prompts.append(_Begun((data.conversation, data.message), event, None))
            case c.UsageReported():
                given += self._chat(self._begun((data.conversation, data.message), event), event)
        return given

    def rest(self) -> list[Span]:
        """The spans whose end the events did not tell."""
        given = [span for begun in self._prompts for span in self._chat(begun, None)]
        given += [span for event in self._waiting.values() for span in self._told(event, None)]
        self._prompts.clear()
        self._waiting.clear()
        return given

    # -- prompts --

    def _overdue(self, now: str) -> list[Span]:
        given: list[Span] = []
        while self._prompts:
            waited_us = microseconds(now) - microseconds(self._prompts[0].event.time)
            if len(self._prompts) <= _OPEN_MAX and waited_us <= ANSWER_S * 1e6:
                break
            given += self._chat(self._prompts.pop(0), None)
        return given

    def _begun(self, key: tuple[str, str], answered: Event) -> _Begun:
        """The prompt that is answered; where it is not known any more, its answer alone."""
        for place, each in enumerate(self._prompts):
            if each.key == key:
                return self._prompts.pop(place)
        return _Begun(key, answered, None)

    def _chat(self, begun: _Begun, answered: Event | None) -> list[Span]:
        """The span of a prompt, and of the context that was inserted for it."""
        attributes: Attributes = {"gen_ai.operation.name": "chat"}
        data: Any = begun.event.data
        if isinstance(data, c.PromptOverlaid | c.PromptAnswered):
            form, session = self._forms.get(data.insertion, ("", ""))
            attributes["workspaced.client"] = data.caller
            provider, model, conversation = _PROVIDERS.get(form, ""), "", session
        else:
            known = self._conversations.get(data.conversation)
            conversation = data.conversation
            provider, model = (known.provider, known.model) if known is not None else ("", "")
            attributes["workspaced.client"] = begun.event.source
        if isinstance(data, c.PromptAssembled):
            attributes["workspaced.prompt.estimated_tokens"] = data.estimate
            attributes["workspaced.prompt.elided"] = data.elided
        if answered is not None:
            attributes |= self._usage(answered.data)
            if isinstance(answered.data, c.UsageReported):
                provider, model = answered.data.provider, answered.data.model
        named = {
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.conversation.id": self._id(conversation) if conversation else "",
        }
        attributes |= {name: value for name, value in named.items() if value}
        start_us = microseconds(begun.event.time)
        end_us = microseconds(answered.time) if answered is not None else start_us
        given = self._span(
            begun.event, f"chat {model}".rstrip(), "client", begun.parent, start_us, end_us, attributes
        )
        inserted = self._waiting.pop(data.insertion, None) if isinstance(data, c.PromptOverlaid) else None
        if inserted is not None and given:
            given += self._told(inserted, Parent(given[0].trace_id, given[0].span_id, is_sampled=True))
        return given

    def _usage(self, data: Any) -> Attributes:
        if data.input_tokens is None:
            return {}
        return {
            "gen_ai.usage.input_tokens": data.input_tokens,
            "gen_ai.usage.cache_read.input_tokens": data.cached_tokens,
            "gen_ai.usage.output_tokens": data.output_tokens,
        }

    # -- calls --

    def _called(self, event: Event) -> list[Span]:
        data: c.ToolCalled = event.data
        attributes: Attributes = {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": data.tool,
        }
        return self._answer(event, f"tools/call {data.tool}", "server", parent_of(data.traceparent), attributes)

    def _told(self, event: Event, prompt: Parent | None) -> list[Span]:
        data: c.ContextVolunteered = event.data
        attributes: Attributes = {
            "gen_ai.conversation.id": self._id(data.session),
            "workspaced.told_at": data.event,
        }
        parent = prompt or parent_of(data.traceparent)
        return self._answer(event, data.tool, "internal", parent, attributes)

    def _answer(
        self,
        event: Event,
        name: str,
        kind: Literal["server", "internal"],
        parent: Parent | None,
        attributes: Attributes,
    ) -> list[Span]:
        """The span of an answer. It began at the time that the tool saw; the event was appended later."""
        data: c.ToolCalled = event.data
        start_us = microseconds(data.now)
        attributes |= {
            "workspaced.client": data.caller,
            "workspaced.answer.bytes": data.bytes,
            **self._texts(event),
        }
        error = "" if data.ok else "tool_error"
        return self._span(event, name, kind, parent, start_us, start_us + data.duration_us, attributes, error)

    def _id(self, name: str) -> str:
        """An id that a runtime gave, as a hash unless a program made it: it may be a chat's title, or a path."""
        if GENERATED_ID.fullmatch(name):
            return name
        return hashlib.sha256(f"{self._log_id}:{name}".encode()).hexdigest()[:32]

    def _span(
        self,
        event: Event,
        name: str,
        kind: Literal["server", "client", "internal"],
        parent: Parent | None,
        start_us: int,
        end_us: int,
        attributes: Mapping[str, str | int | bool],
        error: str = "",
    ) -> list[Span]:
        """The span; none if its client sends none of the trace."""
        if parent is not None and not parent.is_sampled:
            return []
        digest = hashlib.sha256(f"{self._log_id}:{event.seq}".encode()).digest()
        span = Span(
            event.seq,
            name,
            kind,
            parent.trace_id if parent is not None else int.from_bytes(digest[:16]),
            int.from_bytes(digest[16:24]),
            parent.span_id if parent is not None else None,
            start_us,
            max(start_us, end_us),  # a clock that was set
            error,
            {
                **attributes,
                **({"error.type": error} if error else {}),
                "workspaced.log": self._log_id,
                "workspaced.seq": event.seq,
                "workspaced.inspect": f"workspaced inspect --at {event.seq}",
            },
        )
        return [span]


def _remember(known: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
