"""One prompt: rebuilt, block by block, with what was left out, its text, the body as it was sent, and what it
would have been with other notes."""

from typing import Final

import msgspec

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import Conversation, Prompt
from workspaced_events.schema.catalogue import Event, PromptAssembled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import LAYERS, LayerId, Manifest, ManifestEntry, State
from workspaced_tools.prompts.audit.prompt_blocks import (
    BlockText,
    PromptBlock,
    Reuse,
    blocks_of,
    has_block,
    text_of,
)
from workspaced_tools.prompts.model.stored_texts import texts_in
from workspaced_tools.prompts.model.types import CacheHint, Envelope
from workspaced_tools.prompts.providers.bodies import body_hash, rebuild_request_body
from workspaced_tools.replay.verify import Outcome

from .... import replay
from ....evals.fork import fork
from ....settings.prices import Prices, current_prices
from ...inspected import Download, Inspected
from .conversations import (
    PromptRow,
    before_in,
    before_of,
    kept_manifest,
    last_before,
    note_of,
    output_tokens,
    row_of,
    state_of,
)

BLOCKS_MAX: Final = 500
TEXT_CHARS_MAX: Final = 200_000
"""Of a text in one answer; `offset` gives the rest."""
_BUNDLE_MORE: Final = "Bundle more events."
PROMPTS_SEARCHED_MAX: Final = 50
"""How many earlier prompts are searched for the one that first had a block."""


class PromptParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which prompt."""

    seq: int
    offset: int = 0
    """Blocks to skip; of the body: characters."""


class PromptRebuilt(msgspec.Struct, rename="camel"):
    """What rebuilding the prompt from the log alone came to."""

    outcome: Outcome
    why: str
    """Why it could not be rebuilt or compared; empty: it was."""
    differs: str | None
    """What differs first: a layer, `manifest` or `body`."""


class ShownBlock(msgspec.Struct, rename="camel"):
    """One thing that is in the prompt, or was left out of it."""

    layer: LayerId
    index: int
    """Its place in the layer, from 1 on: `#/prompt/SEQ/layer/LAYER/block/INDEX`."""
    id: str
    kind: str
    state: State
    why: str
    detail: str | None
    tokens: int
    bytes: int
    revision: str | None
    """sha256 of the version shown."""
    reuse: Reuse | None
    turn: str | None
    """The message of the earlier turn that it was sent with."""
    note: str | None
    """The path of the note, if the block is one."""


class PromptShown(msgspec.Struct, rename="camel"):
    """One prompt."""

    prompt: PromptRow
    conversation: str
    as_of_seq: int
    """The moment that it was made from."""
    shape: str | None
    """The form of the body that the runtime was given; null: it was given messages."""
    rebuilt: PromptRebuilt
    estimator: str
    """What counted the tokens."""
    marks: list[CacheHint]
    """Where a provider may be asked to keep the prefix, with the tokens up to there."""
    blocks: list[ShownBlock]
    blocks_total: int
    warnings: list[str]
    before: int | None
    """The prompt of the same pipeline before it; `after` the next prompt of the conversation."""
    after: int | None
    prices: Prices


class BlockParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which block of which prompt."""

    seq: int
    layer: LayerId
    index: int
    offset: int = 0
    """Characters of the text to skip."""


class BlockSince(msgspec.Struct, rename="camel"):
    """The first prompt that showed the same thing without a gap up to this one."""

    seq: int
    time: str
    message: str
    prompts: int
    """How many prompts have had it, this one included."""
    is_at_least: bool
    """Whether it may be longer: earlier prompts were not searched, or their manifests are not kept."""


class BlockShown(msgspec.Struct, rename="camel"):
    """A block with its text."""

    block: ShownBlock
    title: str
    mtime: str | None
    text: str | None
    chars: int
    """Of the whole text."""
    next_offset: int | None
    not_kept: str
    """Why there is no text."""
    since: BlockSince | None


class PromptBody(msgspec.Struct, rename="camel"):
    """What the runtime was given for the provider."""

    shape: str | None
    """Null: messages instead of a body; they are shown as JSON."""
    text: str
    """JSON, indented; as sent it has no blanks."""
    chars: int
    next_offset: int | None
    bytes: int
    """Of the JSON as sent, without blanks."""
    changes: list[str]
    """What the shape could not express, as sentences."""
    same: bool | None
    """Whether its hash is the recorded one; null: none was recorded."""


# -- reading a prompt --


class OpenedPrompt(msgspec.Struct):
    """A recorded prompt, rebuilt if that is possible."""

    log: replay.Log
    event: Event
    data: PromptAssembled
    rebuilt: replay.Rebuilt
    then: Conversation
    """The conversation when it was made."""
    latest: Conversation
    """A late state that remembers the prompt: its usage was reported by then."""
    record: Prompt
    """The conversation's record of it."""
    manifest: Manifest | None
    not_kept: str
    """Why there is no manifest."""


def opened(log: replay.Log, seq: int) -> OpenedPrompt:
    """Opens and rebuilds a prompt.

    Raises:
        InvalidArgument: there is no prompt with that sequence.
        NotRecorded: the log begins after its conversation.
    """
    prompt = log.prompt(seq)
    data: PromptAssembled = prompt.event.data
    then = state_of(log, data.as_of_seq, data.conversation)
    latest = _remembering(log, seq, data.conversation)
    if then is None or latest is None:
        raise NotRecorded(f"What the conversation of prompt {seq} was is not in this log", hint=_BUNDLE_MORE)
    rebuilt = prompt.verify()
    manifest, not_kept = kept_manifest(log, data.manifest_sha256)
    if manifest is None and rebuilt.envelope is not None:
        manifest = rebuilt.envelope.manifest
    record = next(each for each in latest.prompts if each.seq == seq)
    return OpenedPrompt(log, prompt.event, data, rebuilt, then, latest, record, manifest, not_kept)


def _remembering(log: replay.Log, seq: int, name: ConversationId) -> Conversation | None:
    """A late state of the conversation that remembers the prompt; None: none does."""
    ahead = log.end.seq - seq
    while True:
        found = state_of(log, seq + ahead, name)
        if found is not None and any(each.seq == seq for each in found.prompts):
            return found
        if ahead == 0:
            return None
        ahead //= 2


# -- the prompt --


def prompt(inspected: Inspected, parameters: PromptParameters) -> PromptShown:
    """A prompt, its layers and blocks.

    Raises:
        InvalidArgument: there is no prompt with that sequence.
        NotRecorded: the log begins after its conversation.
    """
    made = opened(inspected.log, parameters.seq)
    log, data, manifest, envelope = made.log, made.data, made.manifest, made.rebuilt.envelope
    prices, told = current_prices()
    output = output_tokens(log, [made.record]).get(made.event.seq)
    blocks = _blocks(made)
    begin = max(0, parameters.offset)
    last = before_in(log, made.latest, made.record)
    return PromptShown(
        prompt=row_of(log, made.latest, made.record, prices, output),
        conversation=data.conversation,
        as_of_seq=data.as_of_seq,
        shape=data.shape.name if data.shape is not None else None,
        rebuilt=PromptRebuilt(made.rebuilt.outcome, made.rebuilt.why, made.rebuilt.differs),
        estimator=manifest.estimator if manifest is not None else "",
        marks=list(envelope.cache_hints) if envelope is not None else [],
        blocks=[_shown(each) for each in blocks[begin : begin + BLOCKS_MAX]],
        blocks_total=len(blocks),
        warnings=list(manifest.warnings) if manifest is not None else [],
        before=last.seq if last is not None else None,
        after=next((each.seq for each in made.latest.prompts if each.seq > made.event.seq), None),
        prices=told,
    )


def _blocks(made: OpenedPrompt) -> list[PromptBlock]:
    if made.manifest is None:
        return []
    return blocks_of(made.manifest, before_of(made.log, made.record, made.latest.id)[0])


def _shown(block: PromptBlock) -> ShownBlock:
    entry = block.entry
    return ShownBlock(
        block.layer,
        block.index,
        entry.id,
        entry.kind,
        entry.state,
        entry.why,
        entry.detail,
        entry.tokens,
        entry.bytes,
        entry.revision,
        block.reuse,
        block.turn,
        note_of(entry),
    )


# -- a block --


def block(inspected: Inspected, parameters: BlockParameters) -> BlockShown:
    """A block of a prompt, with its text.

    Raises:
        InvalidArgument: there is no such prompt or block.
        NotRecorded: its manifest is not kept.
    """
    made = opened(inspected.log, parameters.seq)
    if made.manifest is None:
        raise NotRecorded("The prompt's blocks are not known", hint=made.not_kept)
    at = parameters.layer, parameters.index
    found = next((each for each in _blocks(made) if (each.layer, each.index) == at), None)
    if found is None:
        raise InvalidArgument(
            f"Prompt {parameters.seq} has no block {parameters.index} in {parameters.layer}.",
            hint=f"The layers are {', '.join(LAYERS)}; blocks are counted from 1.",
        )
    text = _block_text(made, found)
    content = text.text or ""
    begin = max(0, parameters.offset)
    end = begin + TEXT_CHARS_MAX
    return BlockShown(
        block=_shown(found),
        title=text.title,
        mtime=text.mtime,
        text=content[begin:end] if text.text is not None else None,
        chars=len(content),
        next_offset=end if len(content) > end else None,
        not_kept=text.why,
        since=_since(made, found.entry),
    )


def _block_text(made: OpenedPrompt, found: PromptBlock) -> BlockText:
    envelope: Envelope | None = made.rebuilt.envelope
    if envelope is None:
        return BlockText(None, f"The prompt cannot be rebuilt. {made.rebuilt.why}")
    try:
        return text_of(found, envelope, made.data, made.then, texts_in(made.log.blob))
    except WorkspacedError as error:
        return BlockText(None, f"{error.message} {error.hint}".strip())


def _since(made: OpenedPrompt, entry: ManifestEntry) -> BlockSince | None:
    """Goes back from prompt to prompt for as long as they show the same."""
    if not entry.tokens:
        return None
    first, count, is_at_least = made.record, 1, False
    while (last := last_before(made.latest, first)) is not None:
        manifest, _ = kept_manifest(made.log, last.manifest_sha256)
        is_in_log = before_in(made.log, made.latest, first) is not None
        if manifest is None or not is_in_log or count >= PROMPTS_SEARCHED_MAX:
            is_at_least = True
            break
        if not has_block(manifest, entry):
            break
        first, count = last, count + 1
    return BlockSince(first.seq, made.log.event(first.seq).time, first.message, count, is_at_least)


# -- the body --


def body(inspected: Inspected, parameters: PromptParameters) -> PromptBody:
    """The body that the runtime was given, rebuilt; its messages if it was given messages.

    Raises:
        InvalidArgument: there is no such prompt.
        NotRecorded: it cannot be rebuilt.
        TemplateFailed: this version cannot render the recorded template.
    """
    shape, content, changes, same = _sent(inspected, parameters.seq)
    text = msgspec.json.format(content, indent=2).decode()
    begin = max(0, parameters.offset)
    end = begin + TEXT_CHARS_MAX
    following = end if len(text) > end else None
    return PromptBody(shape, text[begin:end], len(text), following, len(content), changes, same)


def sent(inspected: Inspected, parameters: PromptParameters) -> Download:
    """The bytes of `body`, without blanks.

    Raises:
        As `body`.
    """
    content = _sent(inspected, parameters.seq)[1]
    return Download(content, "application/json", f"prompt-{parameters.seq}.json")


def _sent(inspected: Inspected, seq: int) -> tuple[str | None, bytes, list[str], bool | None]:
    """The body's shape, its bytes, what the shape could not express, and whether the hash is the recorded one."""
    made = opened(inspected.log, seq)
    envelope = made.rebuilt.envelope
    if envelope is None:
        raise NotRecorded("The prompt cannot be rebuilt", hint=made.rebuilt.why)
    if made.data.shape is None:
        return None, msgspec.json.encode(envelope.messages), [], None
    rendered = rebuild_request_body(made.data.shape, envelope, made.then.settings, made.log.blob)
    same = body_hash(rendered.body) == made.data.shape.body_hash
    return made.data.shape.name, msgspec.json.encode(rendered.body), list(rendered.changes), same


class SupposedParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which prompt, with which notes."""

    seq: int
    notes: dict[str, str | None] = {}
    """By the path that a note had then the text that it should have had; null: it should not have been there."""


class Supposed(msgspec.Struct, rename="camel"):
    """A prompt as it would have been."""

    notes: dict[str, str]
    """Those that the prompt shows whole, with the texts that came last: these can be other ones."""
    changes: list[str]
    """How the text that the model is shown differs, as lines of a unified diff."""


def supposed(inspected: Inspected, parameters: SupposedParameters) -> Supposed:
    """A prompt with other notes, as `workspaced replay --prompt` gives it.

    Raises:
        InvalidArgument: there is no such prompt, or it does not show whole what it should be without.
        NotRecorded, LogDamaged: what it was made from is not kept, or damaged.
    """
    made = fork(inspected.log, parameters.seq, parameters.notes, None, ())
    return Supposed(inspected.log.prompt(parameters.seq).notes(), made.changes)
