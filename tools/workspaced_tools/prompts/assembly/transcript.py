"""Assembles a chat prompt as a transcript that only grows: a pure function.

Each turn is repeated as it was sent, with its context, so that a prompt begins with the bytes of the prompt before
it. Only a fold shortens it (fold.py): over budget, when asked, when a summary or `history_turns` says so, or when
it pays. A prompt that needs a fold is assembled as if the fold were recorded, and the fold is recorded with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from workspaced_events.projections.conversations import Conversation, folded, library_of, turn_of
from workspaced_events.schema.catalogue import Attachment, ContextFolded

from ...errors import BudgetExceeded
from ...ports.manifest import LAYERS, LayerId, ManifestEntry, State
from ..model import blocks as b
from ..model.sent_turn import PIN, SENT_VERSION, SentPart, SentTurn
from ..model.standing import LEFT_OUT, Standing, content_of, sent_before, standing_before
from ..model.token_estimator import Estimator, seed_tokens
from ..model.turn_window import begins
from ..model.types import (
    ENVELOPE_VERSION,
    Assembled,
    CacheHint,
    ChatMessage,
    Envelope,
    Layer,
    Segment,
    Texts,
    Turn,
)
from ..sources.search_block import Numbers
from ..sources.turn_numbering import numbered
from .budget import Parts, exceeded
from .folding import Folding, Rendered
from .history import Past, continuation_of, own_message, short_up_to, shortenings, transcript_of
from .instructions import add_system, add_words
from .layers import LayerBuilder, LayerEntry, digests_of, joined, message_text, reuse_of
from .library import LibraryIndex
from .manifest import cache_hints, manifest_of, summary_warning, warnings_of
from .messages import leading, readable
from .turn_context import TurnContext

SUMMARY_ID: Final = "summary"


def assemble_transcript(conversation: Conversation, turn: Turn, texts: Texts) -> Assembled:
    """The prompt up to `turn.message`, a message of the conversation.

    Raises:
        BudgetExceeded: the prompt cannot be made to fit.
        NotRecorded: from `texts`.
        LogDamaged: a text of the form `search` is no search, or a turn's blob is no turn.
    """
    return _Transcript(conversation, turn, texts).assembled()


class _Transcript:
    def __init__(self, conversation: Conversation, turn: Turn, texts: Texts) -> None:
        self.before, self.turn, self.texts = conversation, turn, texts
        self.estimator = Estimator(turn.factor)
        self.start = turn_of(conversation, turn.message)
        self.artifacts = tuple(map(readable, turn.artifacts))
        self.sent = sent_before(conversation, self.start, texts, turn.lost)
        self.index = LibraryIndex(texts, turn.fence)
        tools = conversation.settings.tools_sha256
        self.tool_seed = seed_tokens(texts(tools)) if tools is not None else 0
        self.tool_tokens = self.estimator.calibrated(self.tool_seed)
        settings = conversation.settings
        self.limit = settings.context_window - settings.output_reserve
        self.folding = Folding(conversation, turn, self.artifacts, self.tool_seed, self.index, texts)

    def assembled(self) -> Assembled:
        made, fold = self._rendered(self.before), None
        for fold in self.folding.folds(made):
            made = self._rendered(folded(self.before, fold))
            if made.estimate <= self.limit:
                break
        if made.estimate > self.limit:
            raise self._exceeded(made)
        blocks = dict.fromkeys(
            entry.block_sha256 for entry in made.conversation.library if entry.block_sha256 in self.index.blocks
        )
        builders = made.builders
        return Assembled(
            envelope=self._envelope(made, fold),
            blocks=tuple(self.index.blocks[sha256] for sha256 in blocks),
            seed_estimate=sum(builder.seed for builder in builders.values()) + self.tool_seed,
            prefix_tokens=builders["L1_SYSTEM"].tokens + builders["L2_PREVIOUS"].tokens,
            elided=len(fold.left_out) if fold is not None else 0,
            folded=fold,
            sent=SentTurn(SENT_VERSION, made.parts),
        )

    # -- one state of the conversation --

    def _rendered(self, conversation: Conversation) -> Rendered:
        turn, texts = self.turn, self.texts
        standing = standing_before(conversation, self.start, self.sent)
        past = transcript_of(conversation, turn, texts, standing, self.sent)
        numbers = numbered(self.artifacts, texts)
        rest = continuation_of(conversation, turn.message, texts, numbers)
        is_of_turn = any(each.id == conversation.results_up_to for each in rest.messages)
        short = short_up_to(conversation, rest.messages) if is_of_turn else rest.messages
        rest = Past(short, (*rest.dropped, *shortenings(rest.messages, short)))
        system, query = self._builder("L1_SYSTEM"), self._builder("L5_USER")
        add_system(system, conversation.settings, "chat", texts)
        first = conversation.messages[self.start]
        add_words(query, first if begins(first) else None, conversation.settings, "chat", texts)
        context = self._context(standing, numbers, query)
        for message in rest.messages:
            context.builder.add_message(message, "tool")
        context.builder.entries += (replace(entry, layer="L3_TURN") for entry in rest.dropped)
        for attachment in self._not_gathered():
            context.builder.record(LayerEntry(attachment.id, attachment.kind, "carrier", "dropped"))
        builders: dict[LayerId, LayerBuilder] = {
            "L1_SYSTEM": system,
            "L2_PREVIOUS": self._library(conversation),
            "L3_TURN": context.builder,
            "L4_STRIP": self._history(standing, past),
            "L5_USER": query,
        }
        words = (SentPart(each.kind, each.id, each.text, seed_tokens(each.text)) for each in query.segments)
        estimate = sum(builder.tokens for builder in builders.values()) + self.tool_tokens
        return Rendered(conversation, standing, past, rest, (*context.parts, *words), builders, estimate)

    def _builder(self, layer: LayerId) -> LayerBuilder:
        return LayerBuilder(layer, self.estimator)

    def _context(self, standing: Standing, numbers: Numbers, query: LayerBuilder) -> TurnContext:
        context = TurnContext(self._builder("L3_TURN"), standing, self.texts, numbers, self.turn.fence)
        has_words = any(segment.kind == "query" for segment in query.segments)
        context.add_all(self.turn.provided, self.artifacts, self.turn.present, query=has_words)
        return context

    def _not_gathered(self) -> Iterator[Attachment]:
        """Attachments of messages that begin no turn: `gather` reads only those of a turn's first message."""
        ids = list(self.before.messages)
        for name in ids[ids.index(self.start) : ids.index(self.turn.message) + 1]:
            message = self.before.messages[name]
            if not begins(message):
                yield from message.attachments

    def _library(self, conversation: Conversation) -> LayerBuilder:
        builder = self._builder("L2_PREVIOUS")
        library = library_of(conversation, self.start)
        for entry in library:
            block = self.index.blocks.get(entry.block_sha256) or self.texts(entry.block_sha256)
            state: State = "stale" if self._is_stale(entry.kind, entry.id, entry.revision) else "full"
            builder.add(
                LayerEntry(entry.id, entry.kind, "library", state, entry.revision), block, seed=entry.tokens
            )
        if library:
            frame = LayerEntry("library", "frame", "frame")
            builder.record(frame, seed_tokens(b.LIBRARY_FRAME), len(b.LIBRARY_FRAME))
        kept = {(entry.id, entry.kind) for entry in library}
        for entry in library_of(self.before, self.start):
            if (entry.id, entry.kind) not in kept:
                builder.record(LayerEntry(entry.id, entry.kind, "fold", "dropped", entry.revision))
        return builder

    def _history(self, standing: Standing, past: Past) -> LayerBuilder:
        builder = self._builder("L4_STRIP")
        if past.summary is not None:
            block = b.summary_block(past.summary, fence=self.turn.fence)
            builder.add(LayerEntry(SUMMARY_ID, "summary", "summary"), block)
        for message in past.messages:
            turn = message.id or next(iter(standing.turns))  # without an id: the first turn's context
            if turn in standing.turns:
                self._add_turn(builder, message, standing.turns[turn])
            else:
                builder.add_message(message, "history")
        builder.entries += self._dropped(past)
        for name, parts in standing_before(self.before, self.start, self.sent).turns.items():
            if name not in standing.turns:
                for part in parts:
                    if part.revision and part.base != part.revision and part.kind != PIN:
                        builder.record(
                            LayerEntry(part.id, part.kind, "fold", "dropped", part.revision, notes=part.notes)
                        )
        return builder

    def _dropped(self, past: Past) -> Iterator[ManifestEntry]:
        """One entry for each message left out; for those that earlier prompts left out already one for all."""
        ids, until = list(self.before.messages), self.before.elided_until
        earlier = set(ids[: ids.index(until) + 1]) if until is not None else set()
        before = [each for each in past.dropped if each.kind == "message" and each.id in earlier]
        if before:
            detail = f"{len(before)} messages up to this one, left out by earlier folds"
            yield replace(before[-1], kind="messages", why="fold", detail=detail)
        yield from (each for each in past.dropped if each not in before)

    def _is_stale(self, kind: str, name: str, revision: str) -> bool:
        """Whether the note has another text or another path at present."""
        now = next((each.artifact for each in self.turn.present if each.id == name), None)
        return kind == "note" and now is not None and (now.id, now.revision) != (name, revision)

    def _add_turn(self, builder: LayerBuilder, message: ChatMessage, parts: Sequence[SentPart]) -> None:
        """A turn's message: a segment, an entry for each thing that it shows, and one for the rest of it."""
        name, tokens, rest = message.id or "", 0, 0
        for part in parts:
            if part.form == LEFT_OUT:
                why = "fold" if part.id else "withheld"
                entry = LayerEntry(part.id, part.kind, why, "elided", notes=part.notes)
                tokens += builder.record(entry, part.tokens, len(part.text.encode()))
            elif part.revision and part.base != part.revision:
                is_stale = self._is_stale(part.key[0], part.id, part.revision)
                state: State = "stale" if is_stale else "changes" if part.base else "full"
                entry = LayerEntry(part.id, part.kind, "sent", state, part.revision, notes=part.notes)
                tokens += builder.record(entry, part.tokens, len(part.text.encode()))
            else:
                rest += part.tokens
        size = len(message_text(message).encode()) - sum(
            len(each.text.encode()) for each in parts if each.revision
        )
        tokens += builder.record(LayerEntry(name, "message", "history"), rest, max(0, size))
        builder.segments.append(Segment(name, "message", message_text(message), tokens))

    # -- the answer --

    def _envelope(self, made: Rendered, fold: ContextFolded | None) -> Envelope:
        builders, turn = made.builders, self.turn
        texts = {name: joined(builders[name].segments) for name in LAYERS}
        digests = digests_of(texts)
        hashes = digests.hashes
        blocks = [entry.block_sha256 for entry in library_of(made.conversation, self.start)]
        reuse = reuse_of(self.before, turn.message, builders, hashes, blocks, repeats_turns=True)
        warnings = warnings_of(self.before, turn.message, reuse, rebased=fold is not None)
        summary = self.estimator.tokens(made.past.summary or "")
        manifest = manifest_of(
            turn,
            builders,
            digests,
            reuse,
            self.tool_tokens,
            self.limit,
            (*warnings, *summary_warning(summary, turn.policy), *self.folding.near_limit(made)),
        )
        assert manifest.estimate == made.estimate, "what was fitted is what is sent"
        messages = self._messages(made, texts)
        return Envelope(
            version=ENVELOPE_VERSION,
            conversation_id=self.before.id,
            message_id=turn.message,
            layers=tuple(
                Layer(name, texts[name], getattr(hashes, name), reuse.stable[name], tuple(builders[name].segments))
                for name in LAYERS
            ),
            messages=messages,
            hashes=hashes,
            combined_hash=digests.combined,
            manifest=manifest,
            cache_hints=self._cache_hints(builders, messages, manifest.estimate),
            estimate=manifest.estimate,
        )

    def _messages(self, made: Rendered, texts: Mapping[LayerId, str]) -> tuple[ChatMessage, ...]:
        before = (*leading(texts, made.past.summary, self.turn.fence), *made.past.messages)
        first = self.before.messages[self.start]
        own = content_of(made.parts)
        turn = own_message(own, first.id, first.cache) if begins(first) else own_message(own)
        return (*before, *turn, *made.rest.messages)

    def _cache_hints(
        self, builders: Mapping[LayerId, LayerBuilder], messages: Sequence[ChatMessage], estimate: int
    ) -> tuple[CacheHint, ...]:
        hints = cache_hints(builders, self.tool_tokens)
        newest = sum(self.estimator.message_tokens(each) for each in messages[end_of_previous(messages) :])
        previous = CacheHint("previous", max(0, estimate - newest))
        return tuple(previous if hint.after == "history" else hint for hint in hints)

    def _exceeded(self, made: Rendered) -> BudgetExceeded:
        builders, summary = made.builders, made.past.summary
        summary_tokens = self.estimator.tokens(b.summary_block(summary, fence=self.turn.fence))
        fixed = sum(builders[name].tokens for name in _FIXED) + self.tool_tokens
        parts = Parts(
            fixed=fixed,
            history=made.past.messages,
            summary_tokens=summary_tokens,
            system=builders["L1_SYSTEM"].tokens,
            tools=self.tool_tokens,
            named=tuple(entry for name in _FIXED for entry in builders[name].entries),
        )
        history = builders["L4_STRIP"].tokens - summary_tokens
        library = builders["L2_PREVIOUS"].tokens
        return exceeded(parts, self.limit, made.past.messages, history, library, self.estimator)


_FIXED: Final[tuple[LayerId, ...]] = ("L1_SYSTEM", "L3_TURN", "L5_USER")


def end_of_previous(messages: Sequence[ChatMessage]) -> int:
    """The number of messages that the request before had: those before the last answers of the assistant."""
    at = len(messages)
    while at and messages[at - 1].role == "user":
        at -= 1
    while at and messages[at - 1].role == "assistant":
        at -= 1
    return at
