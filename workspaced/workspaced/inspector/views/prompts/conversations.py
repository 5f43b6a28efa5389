"""Conversations, and one of them as a column of prompts: layers, costs, and what broke the provider's cache."""

from collections.abc import Iterable, Mapping
from itertools import dropwhile, islice
from typing import Final

import msgspec
from msgspec.structs import replace

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import ConversationId
from workspaced_events.projections.conversations import CONVERSATIONS_MAX, Conversation, Message, Prompt
from workspaced_events.schema.catalogue import ConversationStarted, Event, Pipeline, PromptAssembled, UsageReported
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.manifest import LayerId, Manifest, ManifestEntry
from workspaced_tools.prompts.audit.cache_accounting import SENT, Outcome, Summed, account, summed
from workspaced_tools.prompts.audit.overlaid_chats import OverlaidChat
from workspaced_tools.prompts.audit.prices import Cost, Tokens, summed_cost
from workspaced_tools.prompts.audit.prices import Prices as PriceSource
from workspaced_tools.prompts.audit.prompt_blocks import (
    PromptBlock,
    Reuse,
    ReuseTokens,
    blocks_of,
    reuse_tokens,
    tools_reuse,
)
from workspaced_tools.prompts.model.note_names import notes_of
from workspaced_tools.prompts.model.stored_texts import manifest_of_prompt, texts_in

from .... import replay
from ....settings.prices import Prices, current_prices
from ...inspected import Inspected, NoParameters, overlaid_chats
from ..asked.call import TEXT_CHARS_MAX


class OverlaidParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which chat."""

    chat: str
    """Its hash, or the name of an insertion of it."""


class ListedChat(msgspec.Struct, rename="camel"):
    """One chat whose requests were overlaid."""

    chat: str
    caller: str
    form: str
    last: str
    """When it was told something last; ISO 8601 UTC."""
    insertions: int
    requests: int


def overlaid(inspected: Inspected, parameters: OverlaidParameters) -> OverlaidChat:
    """What was put into a chat, each text cut to 200,000 characters.

    Raises:
        InvalidArgument: there is no such chat.
    """
    chats = overlaid_chats(inspected.log)
    name = chats.chat_of(parameters.chat)
    if name is None:
        raise InvalidArgument(
            f"Nothing was put into a chat {parameters.chat[:100]!r}.",
            hint="`/api/conversations` lists those that were overlaid.",
        )
    shown = chats.shown(name, inspected.log.blob)
    cut = [replace(each, text=each.text and each.text[:TEXT_CHARS_MAX]) for each in shown.insertions]
    return replace(shown, insertions=cut)


def listed_chats(inspected: Inspected) -> list[ListedChat]:
    """All chats, the one that was told something last at the end."""
    chats = overlaid_chats(inspected.log)
    return [
        ListedChat(
            name,
            own[-1].data.caller,
            own[-1].data.event,
            own[-1].time,
            len(chats.insertions_of(name)),
            len(chats.requests_of(name)),
        )
        for name, own in chats.by_chat.items()
    ]


COLUMN_PROMPTS_MAX: Final = 50
_COUNTED: Final = ("prompt_assembled", "usage_reported")
_COUNTED_MAX: Final = 2_000
"""How many of these are read after a prompt, to find what was reported of it."""
_LISTED_COUNTED_MAX: Final = 5_000
"""The last so many of these are read to sum what conversations cost."""
_LISTED_READ_MAX: Final = 10
"""The last so many prompts of each conversation are read for the list."""
WORDS_CHARS: Final = 160
"""Of the words of a message that a list shows."""


class ListedConversation(msgspec.Struct, rename="camel"):
    """One conversation."""

    conversation: str
    words: str
    """The beginning of the user's first message; empty: it is not kept."""
    vault: str | None
    provider: str
    model: str
    messages: int
    prompts: int
    """Of those that the log's fold remembers: the last 50 of each pipeline."""
    last_seq: int | None
    begin: str | None
    """The time of the first message; ISO 8601 UTC, `end` likewise."""
    end: str | None
    ended: bool
    estimate: int | None
    """Tokens of the last prompt, estimated."""
    cache: Summed
    cost: Cost | None
    """Of the remembered prompts that have a price, with their answers as far as the last 5,000 prompts and reports
    tell of them; null: none has a price."""
    uncached: Cost | None
    """What those would have cost had no cache served any; null: none has a price."""
    stale: int
    """Of the last 10 remembered prompts those with a note in an older version than it had by then."""


class Conversations(msgspec.Struct, rename="camel"):
    """All conversations that the log's fold remembers, the one spoken of last at the end."""

    conversations: list[ListedConversation]
    remembered_max: int
    """Older conversations than so many are not listed; links to their prompts work."""
    overlaid: list[ListedChat]
    """Chats whose programs keep the history; the one that was told something last at the end."""
    prices: Prices


class ColumnParameters(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which prompts of which conversation."""

    conversation: str
    before: int | None = None
    """Only prompts with lower sequences; left out: the last ones."""
    limit: int = 20


class LayerBar(msgspec.Struct, rename="camel"):
    """A layer of one prompt, as tokens."""

    layer: LayerId
    tokens: int
    bytes: int
    reuse: ReuseTokens
    blocks: int


class PromptRow(msgspec.Struct, rename="camel"):
    """One prompt of a column."""

    seq: int
    time: str
    message: str
    pipeline: Pipeline
    words: str
    """The beginning of what the user said; empty if it is not kept, or a tool said it."""
    answer: str
    """The beginning of the message of the model that follows; empty: there is none, or it is not kept."""
    stale: list[str]
    """The notes that stand in it in an older version than the one that they had then."""
    estimate: int
    """Tokens."""
    limit: int
    tool_tokens: int
    tools: Reuse | None
    layers: list[LayerBar]
    """In the order sent; empty if the manifest is not kept."""
    not_kept: str
    """Why there are no layers."""
    outcome: Outcome | None
    """Whether the provider's cache served what it could; null: the prompt before is not known."""
    cause: str | None
    """Why the prefix changed, or why the cache served nothing."""
    expected: int | None
    """Tokens that are the same as in the prompt before, at least."""
    input_tokens: int | None
    """All that the provider read by its own count; null: it reported none. The next two likewise."""
    cached_tokens: int | None
    output_tokens: int | None
    provider: str
    model: str
    """As they were for this prompt."""
    cost: Cost | None
    """Null: the model has no price."""
    uncached: Cost | None
    """What it would have cost had no cache served any of it; null: the model has no price."""


class PromptColumn(msgspec.Struct, rename="camel"):
    """A conversation as prompts, in order."""

    conversation: str
    words: str
    """The beginning of the user's first message; empty: it is not kept."""
    vault: str | None
    provider: str
    model: str
    ended: bool
    prompts: list[PromptRow]
    earlier: int | None
    """`before` for the prompts before these; null: these are the first."""
    prices: Prices


# -- prices --


def settings_of(log: replay.Log, conversation: Conversation, prompt: Prompt) -> ConversationStarted:
    """The conversation's settings when the prompt was made: a conversation may change its model."""
    if conversation.settings_seq < prompt.seq:
        return conversation.settings
    then = state_of(log, prompt.seq, conversation.id)
    return then.settings if then is not None else conversation.settings


def cost_of(
    prompt: Prompt,
    at: str,
    settings: ConversationStarted,
    prices: PriceSource,
    output_tokens: int | None,
    *,
    uncached: bool = False,
) -> Cost | None:
    """What a prompt cost at that time; without a report, or if `uncached`, what it would have cost had no cache
    served it."""
    is_reported = prompt.input_tokens is not None
    if is_reported:
        cached = 0 if uncached else prompt.cached_tokens or 0
        tokens = Tokens(prompt.input_tokens or 0, cached, output_tokens or 0)
    else:
        tokens = Tokens(prompt.estimate)
    amount = prices.amount(settings.provider, settings.model, at, tokens)
    return None if amount is None else Cost(amount, "reported" if is_reported else "estimated")


# -- the list --


def conversations(inspected: Inspected, _parameters: NoParameters) -> Conversations:
    """Lists the conversations at the end of the log."""
    prices, told = current_prices()
    log = inspected.log
    by_id = log.end.state.conversations.by_id
    counted = list(islice(log.events_of(_COUNTED, before=log.end.seq + 1), _LISTED_COUNTED_MAX))
    outputs = _outputs_in(reversed(counted))
    return Conversations(
        [_listed(log, each, prices, outputs) for each in by_id.values()],
        CONVERSATIONS_MAX,
        listed_chats(inspected),
        told,
    )


def _listed(
    log: replay.Log, conversation: Conversation, prices: PriceSource, outputs: Mapping[int, int]
) -> ListedConversation:
    settings, prompts = conversation.settings, prompts_in(log, conversation)
    messages = list(conversation.messages.values())
    counted = [
        (each, log.event(each.seq).time, settings_of(log, conversation, each), outputs.get(each.seq))
        for each in prompts
    ]

    def cost(*, uncached: bool) -> Cost | None:
        costs = [cost_of(one, at, then, prices, output, uncached=uncached) for one, at, then, output in counted]
        return summed_cost([each for each in costs if each is not None])

    return ListedConversation(
        conversation=conversation.id,
        words=_first_words(log, conversation),
        vault=conversation.vault,
        provider=settings.provider,
        model=settings.model,
        messages=len(messages),
        prompts=len(prompts),
        last_seq=prompts[-1].seq if prompts else None,
        begin=messages[0].at if messages else None,
        end=messages[-1].at if messages else None,
        ended=conversation.ended,
        estimate=prompts[-1].estimate if prompts else None,
        cache=summed(account(conversation)),
        cost=cost(uncached=False),
        uncached=cost(uncached=True),
        stale=sum(_is_stale(log, each) for each in prompts[-_LISTED_READ_MAX:]),
    )


def _first_words(log: replay.Log, conversation: Conversation) -> str:
    return words_of(log, next((each for each in conversation.messages.values() if each.role == "user"), None))


def _is_stale(log: replay.Log, prompt: Prompt) -> bool:
    manifest, _ = kept_manifest(log, prompt.manifest_sha256)
    return manifest is not None and bool(_stale_notes(manifest))


# -- one conversation --


def column(inspected: Inspected, parameters: ColumnParameters) -> PromptColumn:
    """The prompts of a conversation, the last ones first asked for.

    Raises:
        InvalidArgument: there is no such conversation then, or the limit makes no sense.
    """
    if not 1 <= parameters.limit <= COLUMN_PROMPTS_MAX:
        raise InvalidArgument(f"Expected a limit from 1 to {COLUMN_PROMPTS_MAX}, got {parameters.limit}.")
    log = inspected.log
    found = _conversation(log, parameters)
    at_end = log.end.state.conversations.by_id.get(found.id, found)
    prices, told = current_prices()
    known = [each for each in prompts_in(log, found) if parameters.before is None or each.seq < parameters.before]
    shown = known[-parameters.limit :]
    outputs = output_tokens(log, shown)
    rows = [row_of(log, found, each, prices, outputs.get(each.seq)) for each in shown]
    then = state_of(log, shown[0].seq - 1, found.id) if shown else None
    more = len(known) > len(shown) or (then is not None and prompts_in(log, then))
    return PromptColumn(
        conversation=found.id,
        words=_first_words(log, found),
        vault=found.vault,
        provider=found.settings.provider,
        model=found.settings.model,
        ended=at_end.ended,
        prompts=rows,
        earlier=shown[0].seq if shown and more else None,
        prices=told,
    )


def _conversation(log: replay.Log, parameters: ColumnParameters) -> Conversation:
    """The conversation at the end of the log, or as it was when it remembered the prompts before `before`."""
    name = ConversationId(parameters.conversation)
    found = log.end.state.conversations.by_id.get(name)
    remembers = found is not None and any(each.seq < (parameters.before or 0) for each in found.prompts)
    if parameters.before is not None and not remembers:
        found = state_of(log, parameters.before - 1, name)
    if found is None:
        raise InvalidArgument(
            f"The log has no conversation {parameters.conversation[:100]!r}.",
            hint="`/api/conversations` lists those that it has.",
        )
    return found


def prompts_in(log: replay.Log, conversation: Conversation) -> list[Prompt]:
    """The remembered prompts whose events are in the log: it may begin after others of them."""
    events = log.events()
    return [each for each in conversation.prompts if events and each.seq >= events[0].seq]


# -- a prompt --


def row_of(
    log: replay.Log, conversation: Conversation, prompt: Prompt, prices: PriceSource, output: int | None
) -> PromptRow:
    """What a column shows of a prompt.

    Args:
        conversation: a state that remembers the prompt; the later, the more of its usage is known.
        output: the tokens of the provider's answer, if it was reported.
    """
    settings, time = settings_of(log, conversation, prompt), log.event(prompt.seq).time
    manifest, not_kept = kept_manifest(log, prompt.manifest_sha256)
    accounted = next((each for each in account(conversation) if each.seq == prompt.seq), None)
    layers: list[LayerBar] = []
    tools: Reuse | None = None
    if manifest is not None:
        before, same_tools = before_of(log, prompt, conversation.id)
        layers = layer_bars(manifest, blocks_of(manifest, before))
        tools = tools_reuse(manifest, before, same_tools=same_tools)
    return PromptRow(
        seq=prompt.seq,
        time=time,
        message=prompt.message,
        pipeline=prompt.pipeline,
        words=words_of(log, conversation.messages.get(prompt.message)),
        answer=words_of(log, answer_to(conversation, prompt)),
        stale=_stale_notes(manifest) if manifest is not None else [],
        estimate=prompt.estimate,
        limit=prompt.limit,
        tool_tokens=manifest.tool_tokens if manifest is not None else 0,
        tools=tools,
        layers=layers,
        not_kept=not_kept,
        outcome=accounted.outcome if accounted is not None else None,
        cause=accounted.cause if accounted is not None else None,
        expected=accounted.expected if accounted is not None else None,
        input_tokens=prompt.input_tokens,
        cached_tokens=prompt.cached_tokens,
        output_tokens=output,
        provider=settings.provider,
        model=settings.model,
        cost=cost_of(prompt, time, settings, prices, output),
        uncached=cost_of(prompt, time, settings, prices, output, uncached=True),
    )


def state_of(log: replay.Log, seq: int, name: ConversationId) -> Conversation | None:
    """The conversation after an event; None if there was none, or the log begins later."""
    try:
        return log.at(seq).state.conversations.by_id.get(name)
    except InvalidArgument:
        return None


def layer_bars(manifest: Manifest, blocks: list[PromptBlock]) -> list[LayerBar]:
    """The layers in the order sent."""
    layers = {each.id: each for each in manifest.layers}
    bars = []
    for name in SENT:
        own = [each for each in blocks if each.layer == name]
        bars.append(LayerBar(name, layers[name].tokens, layers[name].bytes, reuse_tokens(own), len(own)))
    return bars


def kept_manifest(log: replay.Log, sha256: str) -> tuple[Manifest | None, str]:
    """The manifest of a prompt, or None and why there is none."""
    try:
        return manifest_of_prompt(sha256, texts_in(log.blob)), ""
    except (NotRecorded, LogDamaged) as error:
        return None, f"The manifest is not kept. {error.hint or error.message}"


def before_of(log: replay.Log, prompt: Prompt, name: ConversationId) -> tuple[Manifest | None, bool]:
    """The manifest of the last prompt of the same pipeline, and whether the tools were the same then."""
    then = state_of(log, prompt.seq, name)
    last = last_before(then, prompt)
    if then is None or last is None:
        return None, False
    earlier = state_of(log, last.seq, name)
    same_tools = earlier is not None and earlier.settings.tools_sha256 == then.settings.tools_sha256
    return kept_manifest(log, last.manifest_sha256)[0], same_tools


def last_before(conversation: Conversation | None, prompt: Prompt) -> Prompt | None:
    """The prompt of the same pipeline before `prompt`."""
    if conversation is None:
        return None
    earlier = (each for each in reversed(conversation.prompts) if each.seq < prompt.seq)
    return next((each for each in earlier if each.pipeline == prompt.pipeline), None)


def before_in(log: replay.Log, conversation: Conversation, prompt: Prompt) -> Prompt | None:
    """As `last_before`, if its event is in the log."""
    last = last_before(conversation, prompt)
    return last if last is not None and last in prompts_in(log, conversation) else None


def words_of(log: replay.Log, message: Message | None) -> str:
    """The beginning of a message's text; empty if it has none that is kept."""
    if message is None or message.text_sha256 is None:
        return ""
    try:
        text = texts_in(log.blob)(message.text_sha256)
    except (NotRecorded, LogDamaged):
        return ""
    return text if len(text) <= WORDS_CHARS else f"{text[:WORDS_CHARS]}…"


def answer_to(conversation: Conversation, prompt: Prompt) -> Message | None:
    """The message behind the one that the prompt ends with, if the model said it."""
    behind = dropwhile(lambda each: each.id != prompt.message, conversation.messages.values())
    following = next(islice(behind, 1, None), None)
    return following if following is not None and following.role == "assistant" else None


def _stale_notes(manifest: Manifest) -> list[str]:
    notes = (note_of(each) for each in manifest.entries if each.state == "stale")
    return sorted({each for each in notes if each is not None})


def note_of(entry: ManifestEntry) -> str | None:
    """The note that an entry is, for certain."""
    certain = sorted(notes_of(entry.kind, entry.id).notes, key=len)
    return certain[-1] if certain else None


def output_tokens(log: replay.Log, prompts: Iterable[Prompt]) -> dict[int, int]:
    """The tokens of the provider's answers by the prompts' sequences; a later report replaces an earlier one."""
    wanted = {each.seq for each in prompts}
    if not wanted:
        return {}
    found = _outputs_in(islice(log.events_of(_COUNTED, after=min(wanted) - 1), _COUNTED_MAX))
    return {seq: tokens for seq, tokens in found.items() if seq in wanted}


def _outputs_in(events: Iterable[Event]) -> dict[int, int]:
    """As `output_tokens`, of the prompts among the events, which are `_COUNTED` ones."""
    by_message: dict[tuple[str, str], int] = {}
    found: dict[int, int] = {}
    for event in events:
        data = event.data
        if type(data) is PromptAssembled:
            by_message[data.conversation, data.message] = event.seq
        elif type(data) is UsageReported and (data.conversation, data.message) in by_message:
            found[by_message[data.conversation, data.message]] = data.output_tokens
    return found
