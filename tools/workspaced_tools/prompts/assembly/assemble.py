"""Assembles a prompt from a conversation and its gathered inputs: a pure function.

The first two of the five layers form the system message, the third and the fifth one user message, which results
of tools follow. Nothing here reads a file, a clock, a locale or the order of a set, so log and blobs suffice to
rebuild any prompt to the byte. A prompt that needs a compaction is assembled as if it were recorded, and it is
recorded with the prompt.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from workspaced_events.projections.conversations import Conversation, Message, compacted, library_of, turn_of
from workspaced_events.schema.catalogue import ContextFolded, ConversationStarted, Pipeline

from ...errors import ArgumentInvalid
from ...ports.manifest import LAYERS, LayerId, ManifestEntry, State
from ..model import blocks as b
from ..model.kept_turns import KeptTurns
from ..model.sent_so_far import LEFT_OUT, SentSoFar, content_of, sent_before, sent_so_far_of
from ..model.sent_turn import PIN, SENT_VERSION, SentPart, SentTurn, library_kind
from ..model.token_estimate import Estimator, estimate_definitions_tokens, estimate_tokens
from ..model.turn_window import begins, end_of_previous, window_of
from ..model.types import (
    COMPRESSION_SYSTEM,
    COMPRESSION_TASK,
    ENVELOPE_VERSION,
    TURN_VERSION,
    Artifact,
    Assembled,
    Block,
    CacheHint,
    ChatMessage,
    Envelope,
    Layer,
    Segment,
    Texts,
    Turn,
)
from ..sources.artifacts import named
from .budget import Parts, exceeded, fit
from .compacting import Compacting, Rendered
from .history import Past, PastTurn, continuation_of, history_of, own_message, short_up_to, shortenings
from .layers import (
    LayerBuilder,
    LayerEntry,
    cache_hints,
    digests_of,
    joined,
    manifest_of,
    message_text,
    reuse_of,
    warnings_of,
)
from .library import LibraryIndex
from .turn_context import TurnContext

NEVER_SENT: Final = "no prompt of its turn is kept"
SUMMARY_ID: Final = "summary"
NOTHING: Final = Past((), ())


def assemble(conversation: Conversation, turn: Turn, texts: Texts, kept: KeptTurns | None = None) -> Assembled:
    """The prompt up to `turn.message`. `kept`: from earlier prompts of this conversation, to be made faster.

    Raises:
        ArgumentInvalid: the turn belongs to another conversation, or a compression has nothing to summarise.
        BudgetExceeded: the prompt cannot be made to fit.
        NotRecorded: from `texts`.
        LogDamaged: a turn's blob is no turn.
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
    return _Prompt(conversation, turn, texts, kept or KeptTurns()).assembled()


class _Prompt:
    """Assembles one prompt.

    Attributes:
        before: the conversation before any compaction.
        grows: whether the prompt is a transcript.
    """

    def __init__(self, conversation: Conversation, turn: Turn, texts: Texts, kept: KeptTurns) -> None:
        self.before, self.turn, self.texts, self.kept = conversation, turn, texts, kept
        self.pipeline = turn.policy.pipeline
        self.grows = self.pipeline == "chat"
        self.estimator = Estimator(turn.factor)
        self.start = turn_of(conversation, turn.message)
        self.now = {each.id: each.artifact for each in reversed(turn.present)}
        self.sent = sent_before(conversation, self.start, texts, kept, turn.lost) if self.grows else {}
        self.sent_so_far = self._sent_so_far(conversation)
        self.index = LibraryIndex(texts, turn.fence)
        settings = conversation.settings
        tools = settings.tools_sha256
        self.tool_seed = estimate_definitions_tokens(texts(tools)) if tools is not None else 0
        self.tool_tokens = self.estimator.calibrated(self.tool_seed)
        self.limit = settings.context_window - settings.output_reserve
        self.compacting = Compacting(conversation, turn, self.tool_seed, self.index, texts)

    def assembled(self) -> Assembled:
        made, compaction = self._rendered(self.before), None
        for compaction in self.compacting.compactions(made) if self.grows else ():
            made = self._rendered(compacted(self.before, compaction))
            if made.estimate <= self.limit:
                break
        if made.estimate > self.limit:
            builders = made.builders
            fixed = (builders["L1_SYSTEM"], builders["L3_TURN"], builders["L5_USER"])
            parts = self._budget(made.past, *fixed)
            history = builders["L4_STRIP"].tokens - parts.summary_tokens
            library = builders["L2_PREVIOUS"].tokens
            raise exceeded(parts, self.limit, made.past.messages, history, library, self.estimator)
        blocks = dict.fromkeys(
            entry.block_sha256 for entry in made.conversation.library if entry.block_sha256 in self.index.blocks
        )
        builders = made.builders
        warning, near_limit = self.compacting.near_limit(made) if self.grows else (None, None)
        return Assembled(
            envelope=self._envelope(made, compaction, warning),
            blocks=tuple(self.index.blocks[sha256] for sha256 in blocks),
            seed_estimate=sum(builder.seed for builder in builders.values()) + self.tool_seed,
            prefix_tokens=builders["L1_SYSTEM"].tokens + builders["L2_PREVIOUS"].tokens,
            pipeline=self.pipeline,
            elided=len(compaction.left_out) if compaction is not None else made.shortened,
            compacted=compaction,
            near_limit=near_limit,
            sent=SentTurn(SENT_VERSION, made.parts) if self.grows else None,
        )

    # -- one state of the conversation --

    def _rendered(self, conversation: Conversation) -> Rendered:
        sent_so_far = self.sent_so_far if conversation is self.before else self._sent_so_far(conversation)
        past = self._past(conversation, sent_so_far)
        rest = NOTHING
        if self.grows:
            rest = continuation_of(conversation, self.turn.message, self.texts)
        if any(each.id == conversation.results_up_to for each in rest.messages):
            short = short_up_to(conversation, rest.messages)
            rest = Past(short, (*rest.dropped, *shortenings(rest.messages, short)))
        system, query = self._builder("L1_SYSTEM"), self._builder("L5_USER")
        add_system(system, conversation.settings, self.pipeline, self.texts)
        first = conversation.messages[self.start]
        words = first if begins(first) else None
        add_words(query, words, self.pipeline, self.texts)
        context = TurnContext(self._builder("L3_TURN"), sent_so_far, self.texts, self.turn.fence)
        context.add_all(self.turn.provided, self.turn.artifacts, self.turn.present, query=bool(query.segments))
        self._add_rest(context.builder, rest)
        shortened = 0
        if not self.grows:
            parts = self._budget(past, system, context.builder, query)
            fitted = fit(parts, self.limit, self.turn.policy, self.estimator)
            shortened = len(fitted.dropped)
            past = Past(fitted.messages, (*past.dropped, *fitted.dropped), past.summary)
        builders: dict[LayerId, LayerBuilder] = {
            "L1_SYSTEM": system,
            "L2_PREVIOUS": self._library(conversation),
            "L3_TURN": context.builder,
            "L4_STRIP": self._history(conversation, sent_so_far, past),
            "L5_USER": query,
        }
        said = (SentPart(each.kind, each.id, each.text, estimate_tokens(each.text)) for each in query.segments)
        estimate = sum(builder.tokens for builder in builders.values()) + self.tool_tokens
        return Rendered(
            conversation, sent_so_far, past, rest, (*context.parts, *said), builders, estimate, shortened
        )

    def _sent_so_far(self, conversation: Conversation) -> SentSoFar:
        if not self.grows:
            return SentSoFar(())
        return sent_so_far_of(conversation, self.start, self.sent, self.kept)

    def _builder(self, layer: LayerId) -> LayerBuilder:
        return LayerBuilder(layer, self.estimator)

    def _past(self, conversation: Conversation, sent_so_far: SentSoFar) -> Past:
        turn, texts = self.turn, self.texts
        if self.grows:
            return history_of(conversation, turn.message, texts, turn.policy, sent_so_far, self.kept)
        past = history_of(conversation, turn.message, texts, turn.policy)
        if not (past.messages or past.summary):
            raise ArgumentInvalid(
                f"Expected a whole turn up to {turn.message!r} to sum up, there is none.",
                hint="Name the last message of a turn.",
            )
        return past

    def _add_rest(self, builder: LayerBuilder, rest: Past) -> None:
        """Adds what of the turn follows the user's message, and entries for what is left out of it."""
        if not self.grows:
            for pin in self.before.pins.values():
                notes = () if pin.path is None else (pin.path,)
                builder.record(LayerEntry(pin.id, pin.kind, "pipeline", "dropped", notes=notes))
            return
        for message in rest.messages:
            builder.add_message(message, "tool")
        builder.entries += (replace(entry, layer=builder.layer) for entry in rest.dropped)
        ids = list(self.before.messages)
        for name in ids[ids.index(self.start) : ids.index(self.turn.message) + 1]:
            later = self.before.messages[name]
            # `gather` reads only attachments of a turn's first message.
            for attachment in () if begins(later) else later.attachments:
                builder.record(LayerEntry(attachment.id, attachment.kind, "carrier", "dropped"))

    def _budget(self, past: Past, system: LayerBuilder, *others: LayerBuilder) -> Parts:
        return Parts(
            fixed=sum(each.tokens for each in (system, *others)) + self.tool_tokens,
            history=past.messages,
            summary_tokens=self.estimator.tokens(b.summary_block(past.summary, fence=self.turn.fence)),
            system=system.tokens,
            tools=self.tool_tokens,
            named=tuple(entry for each in (system, *others) for entry in each.entries),
        )

    def _library(self, conversation: Conversation) -> LayerBuilder:
        builder = self._builder("L2_PREVIOUS")
        library = library_of(conversation, self.start) if self.grows else ()
        for entry in library:
            block = self.index.blocks.get(entry.block_sha256) or self.texts(entry.block_sha256)
            state: State = "stale" if self._is_stale(entry.kind, entry.id, entry.revision) else "full"
            builder.add(
                LayerEntry(entry.id, entry.kind, "library", state, entry.revision), block, seed=entry.tokens
            )
        if library:
            frame = LayerEntry("library", "frame", "frame")
            builder.record(frame, estimate_tokens(b.LIBRARY_FRAME), len(b.LIBRARY_FRAME))
        kept = {(entry.id, entry.kind) for entry in library}
        for entry in library_of(self.before, self.start):
            if (entry.id, entry.kind) not in kept:
                why = "fold" if self.grows else "pipeline"
                builder.record(LayerEntry(entry.id, entry.kind, why, "dropped", entry.revision))
        return builder

    def _history(self, conversation: Conversation, sent_so_far: SentSoFar, past: Past) -> LayerBuilder:
        builder = self._builder("L4_STRIP")
        if past.summary is not None:
            block = b.summary_block(past.summary, fence=self.turn.fence)
            builder.add(LayerEntry(SUMMARY_ID, "summary", "summary"), block)
        for message in () if self.grows else past.messages:
            builder.add_message(message, "history")
        for turn in past.turns:
            now = tuple(self.now[part.id] for part in turn.parts or () if part.id in self.now) if self.now else ()
            builder.add_part(self.kept.of("layer", turn.id, self._past_turn, turn, self.turn.factor, now))
        builder.entries += self._dropped(past) if self.grows else past.dropped
        for entry in self._never_sent(conversation, sent_so_far) if self.grows else ():
            builder.record(entry)
        for name, parts in self.sent_so_far.turns.items():
            if name not in sent_so_far.turns:
                for part in parts:
                    if part.revision and part.base != part.revision and part.kind != PIN:
                        builder.record(
                            LayerEntry(part.id, part.kind, "fold", "dropped", part.revision, notes=part.notes)
                        )
        return builder

    def _never_sent(self, conversation: Conversation, sent_so_far: SentSoFar) -> Iterator[LayerEntry]:
        """What earlier turns attached of which no prompt is kept: their words stand alone."""
        window = window_of(conversation, self.turn.message, self.turn.policy).messages
        unsent = (each for each in window if each.attachments and each.id not in sent_so_far.turns)
        attachments = [attachment for each in unsent for attachment in each.attachments]
        if not attachments:
            return
        shown: set[tuple[str, str]] = {(library_kind(each.kind), each.id) for each in self.turn.artifacts}
        shown |= {(entry.kind, entry.id) for entry in library_of(conversation, self.start)}
        shown |= {(library_kind(part.kind), part.id) for parts in sent_so_far.turns.values() for part in parts}
        for attachment in attachments:
            artifact = named(attachment)
            if (library_kind(artifact.kind), artifact.id) in shown:
                continue
            name = "" if attachment.resolved else artifact.id  # the runtime knows what it named, and no more
            yield LayerEntry(name, artifact.kind, "history", "dropped", detail=NEVER_SENT)

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
        now = self.now.get(name)
        return kind == "note" and now is not None and (now.id, now.revision) != (name, revision)

    def _past_turn(self, turn: PastTurn, _factor: float, _now: tuple[Artifact, ...]) -> LayerBuilder:
        """`_factor`, `_now`: what of the prompt it depends on besides."""
        builder = self._builder("L4_STRIP")
        for at, message in enumerate(turn.messages):
            if at == 0 and turn.parts is not None:
                self._add_turn(builder, message, turn.parts)
            else:
                builder.add_message(message, "history")
        return builder

    def _add_turn(self, builder: LayerBuilder, message: ChatMessage, parts: Sequence[SentPart]) -> None:
        """A turn's message: a segment, an entry for each thing that it shows, and one for the rest of it."""
        name, tokens, rest = message.id or "", 0, 0
        for part in parts:
            if part.form == LEFT_OUT:
                entry = LayerEntry(part.id, part.kind, part.failed or "fold", "elided", notes=part.notes)
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

    def _envelope(self, made: Rendered, event: ContextFolded | None, warning: str | None) -> Envelope:
        builders, turn = made.builders, self.turn
        texts = {name: joined(builders[name].segments) for name in LAYERS}
        digests = digests_of(texts)
        hashes = digests.hashes
        library = library_of(made.conversation, self.start) if self.grows else ()
        blocks = [entry.block_sha256 for entry in library]
        reuse = reuse_of(self.before, turn.message, builders, hashes, blocks, self.pipeline)
        warnings = warnings_of(self.before, turn.message, reuse, self.pipeline, compacted=event is not None)
        manifest = manifest_of(
            turn,
            builders,
            digests,
            reuse,
            self.tool_tokens,
            self.limit,
            (*warnings, *((warning,) if warning is not None else ())),
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
        """System, summary, history, the user's message, and the results of tools after it."""
        library = (b.LIBRARY_FRAME, texts["L2_PREVIOUS"]) if texts["L2_PREVIOUS"] else ()
        system = b.BLANK_LINE.join(filter(None, (texts["L1_SYSTEM"], *library)))
        summary = b.summary_block(made.past.summary, fence=self.turn.fence)
        leading = [ChatMessage("system", (Block("text", system),))] if system else []
        leading += [ChatMessage("user", (Block("text", summary),))] if summary else []
        first, own = self.before.messages[self.start], content_of(made.parts)
        is_its_own = self.grows and begins(first)
        turn = own_message(own, first.id) if is_its_own else own_message(own)
        return (*leading, *made.past.messages, *turn, *made.rest.messages)

    def _cache_hints(
        self, builders: Mapping[LayerId, LayerBuilder], messages: Sequence[ChatMessage], estimate: int
    ) -> tuple[CacheHint, ...]:
        hints = cache_hints(builders, self.tool_tokens)
        if not self.grows:
            return hints
        newest = sum(
            self.estimator.message_tokens(each)
            for each in messages[end_of_previous([each.role for each in messages]) :]
        )
        previous = CacheHint("previous", max(0, estimate - newest))
        return tuple(previous if hint.after == "history" else hint for hint in hints)


def add_system(builder: LayerBuilder, settings: ConversationStarted, pipeline: Pipeline, texts: Texts) -> None:
    """Adds the runtime's sections; for a compression our own instruction instead.

    Raises:
        NotRecorded: a text is not kept.
    """
    is_compression = pipeline == "compression"
    if is_compression:
        builder.add(LayerEntry(pipeline, "instruction", "pipeline"), COMPRESSION_SYSTEM)
    for section in settings.sections:
        entry = LayerEntry(section.name, "section", "section", revision=section.text_sha256)
        if is_compression:
            builder.record(replace(entry, why="pipeline", state="dropped"))
        else:
            builder.add(entry, texts(section.text_sha256))


def add_words(builder: LayerBuilder, message: Message | None, pipeline: Pipeline, texts: Texts) -> None:
    """Adds the user's words in `message`; for a compression the task.

    `message`: None if the turn does not begin with a user's message.

    Raises:
        NotRecorded: a text is not kept.
    """
    if pipeline == "compression":
        builder.add(LayerEntry("task", "instruction", "pipeline"), COMPRESSION_TASK)
    elif message is not None:
        words = texts(message.text_sha256) if message.text_sha256 is not None else ""
        builder.add(LayerEntry(message.id, "query", "query", revision=message.text_sha256), words)
