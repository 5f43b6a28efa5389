"""Assembles a prompt from a conversation and its gathered inputs: a pure function.

A prompt has five layers, from most to least stable: the runtime's system sections, the context library, this
turn's context, the history without context, and the user's words. The first two layers form the system message.
The third and the fifth form one user message, which results of tools follow. The pipeline decides which layers a
prompt has. Nothing here reads a file, a clock, a locale or the order of a set, so log and blobs suffice to rebuild
any prompt to the byte.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from workspaced_events.projections.conversations import Conversation, library_of, turn_of
from workspaced_events.schema.catalogue import Attachment

from ...errors import ArgumentInvalid
from ...ports.manifest import LAYERS, LayerId
from ..model import blocks as b
from ..model.pipelines import PARTS
from ..model.token_estimator import Estimator, seed_tokens
from ..model.turn_window import begins, nothing_of
from ..model.types import (
    ENVELOPE_VERSION,
    TURN_VERSION,
    Assembled,
    ChatMessage,
    Envelope,
    Layer,
    Texts,
    Turn,
)
from ..sources.turn_numbering import numbered
from .budget import Fitted, Parts, fit
from .history import Past, continuation_of, history_of
from .instructions import add_system, add_words
from .layers import LayerBuilder, LayerEntry, digests_of, joined, reuse_of
from .library import Attached, LibraryIndex, attached_to
from .manifest import cache_hints, manifest_of, summary_warning, warnings_of
from .messages import leading, readable, with_context
from .transcript import assemble_transcript
from .turn_layer import Payload, Rendering, payload_of

SUMMARY_ID: Final = "summary"
EMPTY: Final = Past((), ())


def assemble(conversation: Conversation, turn: Turn, texts: Texts) -> Assembled:
    """The prompt up to `turn.message`: a chat's as a transcript (transcript.py), the others' here.

    Raises:
        ArgumentInvalid: the turn belongs to another conversation, or a compression has nothing to summarise.
        BudgetExceeded: the prompt cannot be made to fit.
        NotRecorded: from `texts`.
        LogDamaged: a text of the form `search` is no search.
    """
    if turn.version != TURN_VERSION or turn.conversation != conversation.id:
        raise ArgumentInvalid(
            f"Expected inputs of version {TURN_VERSION} for the conversation {conversation.id!r}, got version "
            f"{turn.version} for {turn.conversation!r}.",
            hint="Acquire them for this conversation.",
        )
    if turn.message not in conversation.messages:
        raise ArgumentInvalid(
            f"The conversation {conversation.id!r} has no message {turn.message!r}.",
            hint="It may have been removed: name one that is there.",
        )
    if turn.policy.pipeline == "chat":
        return assemble_transcript(conversation, turn, texts)
    prompt = _Prompt(conversation, turn, texts)
    if not (prompt.parts.turn or prompt.past.messages or prompt.past.summary):
        raise ArgumentInvalid(
            f"Expected a whole turn up to {turn.message!r} to sum up, there is none.",
            hint="Name the last message of a turn.",
        )
    return prompt.assembled()


class _Prompt:
    """Assembles one prompt of a completion, a refactoring or a compression: none has a context library."""

    def __init__(self, conversation: Conversation, turn: Turn, texts: Texts) -> None:
        self.conversation, self.turn, self.texts = conversation, turn, texts
        self.estimator = Estimator(turn.factor)
        self.pipeline = turn.policy.pipeline
        self.parts = PARTS[self.pipeline]
        self.start = turn_of(conversation, turn.message)
        self.library_index = LibraryIndex(texts, turn.fence)
        self.artifacts = tuple(map(readable, turn.artifacts))
        self.numbers = numbered(self.artifacts, texts)
        self.past = self._past()
        self.rest = EMPTY
        if self.parts.turn:
            self.rest = continuation_of(conversation, turn.message, texts, self.numbers)
        tools = conversation.settings.tools_sha256
        self.tool_seed = seed_tokens(texts(tools)) if tools is not None else 0
        self.tool_tokens = self.estimator.calibrated(self.tool_seed)

    def assembled(self) -> Assembled:
        system, query = self._system(), self._query()
        payload = self._payload(attached_to(self.artifacts), query)
        fitted = self._fitted(system, payload, query)
        builders: dict[LayerId, LayerBuilder] = {
            "L1_SYSTEM": system,
            "L2_PREVIOUS": self._no_library(),
            "L3_TURN": payload.builder,
            "L4_STRIP": self._history(fitted),
            "L5_USER": query,
        }
        return Assembled(
            envelope=self._envelope(builders, payload, fitted),
            blocks=(),
            seed_estimate=sum(builder.seed for builder in builders.values()) + self.tool_seed,
            prefix_tokens=system.tokens,
            pipeline=self.pipeline,
            elided=len(fitted.entries),
        )

    def _past(self) -> Past:
        if not self.parts.history:
            return Past((), nothing_of(self.conversation, self.turn.message, "pipeline"))
        return history_of(self.conversation, self.turn.message, self.texts, self.turn.policy, self.turn.lost)

    def _envelope(self, builders: Mapping[LayerId, LayerBuilder], payload: Payload, fitted: Fitted) -> Envelope:
        texts = {name: joined(builders[name].segments) for name in LAYERS}
        digests = digests_of(texts)
        hashes = digests.hashes
        reuse = reuse_of(self.conversation, self.turn.message, builders, hashes, [], self.pipeline)
        warnings = warnings_of(self.conversation, self.turn.message, reuse, self.pipeline, rebased=False)
        summary = self.estimator.tokens(self.past.summary or "")
        settings = self.conversation.settings
        manifest = manifest_of(
            self.turn,
            builders,
            digests,
            reuse,
            self.tool_tokens,
            settings.context_window - settings.output_reserve,
            (*warnings, *summary_warning(summary, self.turn.policy)),
        )
        assert manifest.estimate == fitted.estimate, "what was fitted is what is sent"
        layers = tuple(
            Layer(name, texts[name], getattr(hashes, name), reuse.stable[name], tuple(builders[name].segments))
            for name in LAYERS
        )
        return Envelope(
            version=ENVELOPE_VERSION,
            conversation_id=self.conversation.id,
            message_id=self.turn.message,
            layers=layers,
            messages=self._messages(texts, payload, fitted),
            hashes=hashes,
            combined_hash=digests.combined,
            manifest=manifest,
            cache_hints=cache_hints(builders, self.tool_tokens),
            estimate=manifest.estimate,
        )

    def _messages(self, texts: Mapping[LayerId, str], payload: Payload, fitted: Fitted) -> tuple[ChatMessage, ...]:
        """System, summary, history, the user's message, and the results of tools after it."""
        messages = leading(texts, self.past.summary)
        content = payload.content(texts["L5_USER"])
        if not self.parts.turn:
            return (*messages, *fitted.history, ChatMessage("user", content))
        if begins(self.conversation.messages[self.start]):
            own = [ChatMessage("user", content, self.start)] if content else []
            return (*messages, *fitted.history, *own, *self.rest.messages)
        return (*messages, *with_context((*fitted.history, *self.rest.messages), content))

    # -- the layers --

    def _fitted(self, system: LayerBuilder, payload: Payload, query: LayerBuilder) -> Fitted:
        summary, settings = self.past.summary, self.conversation.settings
        parts = Parts(
            fixed=system.tokens + payload.builder.tokens + query.tokens + self.tool_tokens,
            history=self.past.messages,
            summary_tokens=self.estimator.tokens(b.summary_block(summary)) if summary is not None else 0,
            system=system.tokens,
            tools=self.tool_tokens,
            named=(*system.entries, *payload.builder.entries, *query.entries),
        )
        return fit(parts, settings.context_window - settings.output_reserve, self.turn.policy, self.estimator)

    def _no_library(self) -> LayerBuilder:
        builder = self._builder("L2_PREVIOUS")
        for entry in library_of(self.conversation, self.start):
            builder.record(LayerEntry(entry.id, entry.kind, "pipeline", "dropped", entry.revision))
        return builder

    def _builder(self, layer: LayerId) -> LayerBuilder:
        return LayerBuilder(layer, self.estimator)

    def _system(self) -> LayerBuilder:
        builder = self._builder("L1_SYSTEM")
        add_system(builder, self.conversation.settings, self.pipeline, self.texts)
        return builder

    def _payload(self, attached: Attached, query: LayerBuilder) -> Payload:
        builder = self._builder("L3_TURN")
        rendering = Rendering(
            self.library_index, self.texts, self.numbers, self.turn.fence, self.parts.surroundings
        )
        has_words = any(segment.kind == "query" for segment in query.segments)
        payload = payload_of(builder, self.turn.provided, attached, rendering, query=has_words)
        if not self.parts.turn:
            for pin in self.conversation.pins.values():
                notes = () if pin.path is None else (pin.path,)
                builder.record(LayerEntry(pin.id, pin.kind, "pipeline", "dropped", notes=notes))
            return payload
        for message in self.rest.messages:
            builder.add_message(message, "tool")
        builder.entries += (replace(entry, layer=builder.layer) for entry in self.rest.dropped)
        for attachment in self._not_gathered():
            builder.record(LayerEntry(attachment.id, attachment.kind, "carrier", "dropped"))
        return payload

    def _not_gathered(self) -> Iterator[Attachment]:
        """Attachments of messages that begin no turn: `gather` reads only those of a turn's first message."""
        ids = list(self.conversation.messages)
        for name in ids[ids.index(self.start) : ids.index(self.turn.message) + 1]:
            message = self.conversation.messages[name]
            if not begins(message):
                yield from message.attachments

    def _history(self, fitted: Fitted) -> LayerBuilder:
        builder = self._builder("L4_STRIP")
        if self.past.summary is not None:
            builder.add(LayerEntry(SUMMARY_ID, "summary", "summary"), b.summary_block(self.past.summary))
        for message in fitted.history:
            builder.add_message(message, "history")
        builder.entries += (*self.past.dropped, *fitted.entries)
        return builder

    def _query(self) -> LayerBuilder:
        builder = self._builder("L5_USER")
        message = self.conversation.messages[self.start]
        words = message if begins(message) else None
        add_words(builder, words, self.conversation.settings, self.pipeline, self.texts)
        return builder
