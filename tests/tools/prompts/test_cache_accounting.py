"""Cache accounting: what of a prompt a provider could serve again, what it did, and what is to blame."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversation import ConversationLog

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.conversations import (
    PROMPTS_MAX,
)
from workspaced_events.schema import catalogue as c
from workspaced_tools.ports.manifest import Manifest
from workspaced_tools.prompts.audit import cache_accounting
from workspaced_tools.prompts.audit.cache_accounting import Accounted, account, conversations_status, summed
from workspaced_tools.prompts.model.types import Block, ChatMessage, Envelope

ID = ConversationId("talk")
NAME = "0" * 64
SYSTEM, BLOCK, TURN, TOOLS = 2_000, 1_000, 500, 10


class Story(ConversationLog):
    """A conversation whose prompts have the sizes that a test says."""

    def __init__(self) -> None:
        super().__init__(of=ID)
        self.system = "system"
        self.start()

    def start(self, system: str = "system", model: str = "m") -> None:  # type: ignore[override]
        self.system = system
        super().start(model=model)

    def say(self, name: str, **more: Any) -> str:
        self.tell(c.MessageAdded(ID, MessageId(name), "user", NAME, **more))
        return name

    def cut(self, name: str) -> None:
        self.remove(name, following=True)

    def fold(self, reason: Any, *blocks: str) -> None:
        """The library has these blocks, of the first turn, from now on."""
        library = tuple(entry(block, "m0") for block in blocks)
        self.tell(c.ContextFolded(conversation=ID, reason=reason, library=library))

    def prompt(
        self,
        message: str,
        *,
        query: str = "",
        elided: int = 0,
        pipeline: c.Pipeline = "chat",
        system: str | None = None,
    ) -> None:
        blocks = [each for each in self.now.library if each.message != message]
        prefix = SYSTEM + BLOCK * len(blocks)
        self.tell(
            c.PromptAssembled(
                conversation=ID,
                message=MessageId(message),
                as_of_seq=self.seq,
                inputs_sha256=NAME,
                manifest_sha256=NAME,
                layer_hashes=c.LayerHashes(system or self.system, "", "", "", query or message),
                combined_hash=NAME,
                prefix_tokens=prefix,
                estimate=prefix + TURN,
                seed_estimate=prefix + TURN,
                limit=100_000,
                elided=elided,
                pipeline=pipeline,
            )
        )

    def report(self, message: str, cached: int) -> None:
        self.tell(
            c.UsageReported(
                conversation=ID,
                message=MessageId(message),
                provider="p",
                model="m",
                input_tokens=10_000,
                cached_tokens=cached,
            )
        )

    def ask(self, message: str, *, cached: int | None = None, **more: Any) -> None:
        """Said, sent and reported."""
        self.say(message)
        self.prompt(message, **more)
        if cached is not None:
            self.report(message, cached)

    @property
    def last(self) -> Accounted:
        return account(self.now)[-1]


def entry(block: str, message: str) -> c.LibraryEntry:
    return c.LibraryEntry(block, "note", NAME, block, BLOCK, MessageId(message))


@pytest.fixture
def story() -> Story:
    """Of an imported chat a first prompt was sent, with one note; nothing was cached of it."""
    made = Story()
    made.say("m0")
    made.fold("imported", "a")
    made.ask("m1", cached=0)
    return made


def test_nothing_can_be_cached_of_the_first_prompt(story: Story) -> None:
    assert (story.last.outcome, story.last.cause, story.last.expected) == ("miss", cache_accounting.FIRST, 0)


def test_what_another_conversation_left_in_the_cache_makes_the_first_prompt_a_hit() -> None:
    story = Story()
    story.ask("m1", cached=1_900)
    assert (story.last.outcome, story.last.cause) == ("hit", cache_accounting.FIRST)


def test_a_prompt_for_an_earlier_turn_has_less_of_the_library_and_keeps_the_prefix(story: Story) -> None:
    story.say("m2")
    library = (entry("a", "m0"), entry("b", "m1"))
    story.tell(c.ContextFolded(conversation=ID, reason="asked", library=library))
    story.prompt("m1")
    story.prompt("m2")
    story.report("m2", SYSTEM + BLOCK)
    expected = ("hit", cache_accounting.GREW, SYSTEM + BLOCK)
    assert (story.last.outcome, story.last.cause, story.last.expected) == expected
    story.ask("m3", cached=SYSTEM + 2 * BLOCK)
    assert (story.last.outcome, story.last.cause, story.last.expected) == ("hit", None, SYSTEM + 2 * BLOCK)


def test_other_settings_cost_the_whole_cache(story: Story) -> None:
    story.start("another system")
    story.ask("m2", cached=0)
    assert (story.last.outcome, story.last.cause, story.last.expected) == ("miss", cache_accounting.SETTINGS, 0)


def test_another_first_layer_without_other_settings_is_told_as_such(story: Story) -> None:
    story.system = "it moved"
    story.ask("m2", cached=0)
    assert (story.last.outcome, story.last.cause) == ("miss", cache_accounting.UNEXPLAINED)


def test_another_model_is_to_blame_though_every_layer_stayed(story: Story) -> None:
    story.start(model="n")
    story.ask("m2", cached=0)
    assert (story.last.outcome, story.last.cause) == ("miss", cache_accounting.MODEL_OR_TOOLS)


@pytest.mark.parametrize("reason", ["asked", "pays", "budget", "withheld"])
def test_a_fold_says_why_and_what_is_left_of_the_prefix(story: Story, reason: str) -> None:
    story.fold("asked", "a", "b", "c")
    story.ask("m2")
    story.fold(reason, "a", "x", "y", "z")
    story.ask("m4", cached=0)
    assert (story.last.outcome, story.last.cause) == ("miss", f"folded: {reason}")
    assert story.last.expected == SYSTEM + BLOCK  # the system and `a`


def test_where_most_of_a_folded_prompt_was_served_it_is_a_hit_that_says_why_not_all(story: Story) -> None:
    story.fold("asked", "a", "b", "c")
    story.ask("m2")
    story.fold("asked", "a", "x", "c")
    story.ask("m4", cached=SYSTEM + BLOCK)
    assert (story.last.outcome, story.last.cause) == ("hit", "folded: asked")


def test_a_removed_turn_takes_its_notes_out_of_the_prefix(story: Story) -> None:
    story.ask("m2")
    library = (entry("a", "m0"), entry("b", "m2"))
    story.tell(c.ContextFolded(conversation=ID, reason="asked", library=library))
    story.ask("m3")
    story.cut("m2")
    story.ask("m4", cached=0)
    assert (story.last.outcome, story.last.cause, story.last.expected) == (
        "miss",
        cache_accounting.REMOVED,
        SYSTEM + BLOCK,
    )


@pytest.mark.parametrize("cached", [None, SYSTEM + BLOCK])
def test_what_changed_behind_the_prefix_is_told_but_costs_no_prefix(story: Story, cached: int | None) -> None:
    story.ask("m2")
    story.ask("m3", elided=3, cached=cached)
    assert (story.last.cause, story.last.expected) == (cache_accounting.ELIDED, SYSTEM + BLOCK)
    story.ask("m4", elided=3)
    story.tell(c.MessageReplaced(ID, MessageId("m2"), "user", NAME))
    story.ask("m5", cached=cached, elided=3)
    assert (story.last.cause, story.last.expected) == (cache_accounting.REPLACED, SYSTEM + BLOCK)
    story.cut("m5")
    story.ask("m6", cached=cached, elided=3)
    assert (story.last.cause, story.last.expected) == (cache_accounting.MESSAGE_REMOVED, SYSTEM + BLOCK)
    assert story.last.outcome == ("unknown" if cached is None else "hit")


def test_where_nothing_changed_and_nothing_was_served_the_provider_dropped_it(story: Story) -> None:
    for message in ("m2", "m3"):
        story.ask(message, cached=0)
        assert (story.last.outcome, story.last.cause) == ("miss", cache_accounting.EVICTED)


def test_a_prompt_is_a_hit_from_half_of_what_it_repeats_on(story: Story) -> None:
    story.ask("m2")
    half = (SYSTEM + BLOCK) // 2
    story.ask("m3", cached=half - 1)
    assert (story.last.outcome, story.last.cause) == ("miss", cache_accounting.EVICTED)
    story.ask("m4", cached=half)
    assert (story.last.outcome, story.last.cause) == ("hit", None)


def test_a_prefix_that_no_provider_keeps_is_not_blamed_on_it() -> None:
    story = Story()
    for message in ("m1", "m2"):
        story.say(message)
        story.tell(
            c.PromptAssembled(
                conversation=ID,
                message=MessageId(message),
                as_of_seq=story.seq,
                inputs_sha256=NAME,
                manifest_sha256=NAME,
                layer_hashes=c.LayerHashes("", "", "", "", ""),
                combined_hash=NAME,
                prefix_tokens=cache_accounting.CACHED_TOKENS_MIN - 1,
                estimate=1_200,
                seed_estimate=1_200,
                limit=10_000,
            )
        )
        story.report(message, 0)
    assert (story.last.outcome, story.last.cause) == ("miss", cache_accounting.TOO_SHORT)


def test_what_goes_on_with_a_turn_repeats_all_of_the_prompt_before(story: Story) -> None:
    story.ask("m2")
    before = story.now.prompts[-1].estimate
    story.say("m3", tool_results=(c.ToolResult("t", "look", NAME),))
    story.prompt("m3", query="m2")
    story.report("m3", before)
    assert (story.last.outcome, story.last.cause, story.last.expected) == ("hit", None, before)


def test_what_goes_on_with_a_turn_is_no_hit_if_the_cache_served_little_more_than_the_library(story: Story) -> None:
    story.ask("m2")
    half = story.now.prompts[-1].estimate // 2
    assert half - 1 > (SYSTEM + BLOCK) // 2
    story.say("m3", tool_results=(c.ToolResult("t", "look", NAME),))
    story.prompt("m3", query="m2")
    story.report("m3", half - 1)
    assert (story.last.outcome, story.last.cause) == ("miss", cache_accounting.EVICTED)


def test_the_history_counts_where_its_size_is_known(story: Story) -> None:
    story.ask("m2")
    story.ask("m3")
    before = story.now.prompts[-2]
    assert account(story.now, {before.seq: 700})[-1].expected == before.prefix_tokens + 700


def test_a_conversation_without_prompts_has_nothing_to_account_for() -> None:
    assert account(Story().now) == ()


def test_of_a_prompt_whose_predecessor_is_forgotten_nothing_is_said() -> None:
    story = Story()
    for number in range(PROMPTS_MAX + 5):
        story.ask(f"m{number}", cached=SYSTEM)
    told = account(story.now)
    assert len(told) == PROMPTS_MAX - 1
    assert cache_accounting.FIRST not in {each.cause for each in told}


def test_each_pipeline_is_held_against_its_own_prompts(story: Story) -> None:
    story.ask("m2", cached=SYSTEM)
    story.prompt("m2", pipeline="compression", system="sum it up")
    story.report("m2", 0)
    story.ask("m3", cached=SYSTEM + BLOCK)
    assert (story.last.outcome, story.last.cause, story.last.expected) == ("hit", None, SYSTEM + BLOCK)
    other = account(story.now)[-2]
    assert (other.pipeline, other.outcome, other.cause) == ("compression", "miss", cache_accounting.FIRST)


def test_of_each_pipeline_whose_first_prompt_is_forgotten_the_oldest_is_left_out() -> None:
    story = Story()
    story.say("m1")
    for _ in range(PROMPTS_MAX + 5):
        story.prompt("m1", pipeline="completion")
    story.prompt("m1")
    told = account(story.now)
    assert [each.pipeline for each in told] == [*["completion"] * (PROMPTS_MAX - 1), "chat"]
    assert [each.cause for each in told].count(cache_accounting.FIRST) == 1


def test_prompts_of_two_pipelines_differ_for_that_reason(story: Story) -> None:
    story.prompt("m1", pipeline="completion")
    story.ask("m2")
    story.start("another system")
    story.ask("m3")
    first, other, _, last = story.now.prompts
    assert cache_accounting.causes_of(story.now, [first, other], "L3_TURN") == [cache_accounting.OTHER_PIPELINE]
    assert cache_accounting.causes_of(story.now, [first, other, *story.now.prompts[2:]], "L1_SYSTEM") == [
        cache_accounting.SETTINGS
    ]
    assert cache_accounting.cause_of(story.now, first, last) == cache_accounting.SETTINGS


def test_the_sum_counts_hits_misses_and_their_causes(story: Story) -> None:
    story.ask("m2", cached=SYSTEM)
    story.ask("m3", cached=0)
    story.ask("m4")
    sums = summed(account(story.now))
    assert (sums.prompts, sums.hits, sums.misses, sums.not_reported) == (4, 1, 2, 1)
    assert sums.causes == {cache_accounting.FIRST: 1, cache_accounting.EVICTED: 1}
    assert (sums.input_tokens, sums.cached_tokens) == (30_000, SYSTEM)


def test_status_tells_of_the_latest_conversations_the_last_one_first() -> None:
    story = Story()
    for number in range(15):
        data = c.ConversationStarted(
            conversation=ConversationId(f"c{number}"),
            provider="p",
            model="m",
            context_window=1,
            output_reserve=0,
        )
        story.tell(data)
    told = conversations_status(story.conversations)
    assert told["count"] == 16
    assert [each["id"] for each in told["latest"]] == [f"c{number}" for number in range(14, 4, -1)]


STEPS = st.lists(
    st.sampled_from(
        [
            *("ask", "note", "begin", "system", "fold", "remove", "replace", "elide", "report", "go on"),
            "otherwise",
        ]
    ),
    max_size=40,
)


@given(STEPS, st.randoms(use_true_random=False))
def test_whatever_happens_each_prompt_has_one_outcome_and_each_miss_a_cause(steps: list[str], random: Any) -> None:
    story = Story()
    for number, step in enumerate(["ask", *steps]):
        messages = list(story.now.messages)
        match step:
            case "begin" | "system":
                story.start(f"{number}" if step == "system" else story.system, f"{number}")
            case "fold" | "note":
                blocks = [each.block_sha256 for each in story.now.library]
                story.fold("asked", *(blocks[1:] if step == "fold" else [*blocks, f"note{number}"]))
            case "remove" if len(messages) > 1:
                story.cut(random.choice(messages[1:]))
            case "replace":
                story.tell(c.MessageReplaced(ID, random.choice(messages), "user", NAME))
            case "report":
                story.report(random.choice(messages), random.choice([0, 900, 5_000]))
            case "go on":
                story.say(f"m{number}", tool_results=(c.ToolResult("t", "look", NAME),))
                story.prompt(f"m{number}")
            case "otherwise":
                story.prompt(random.choice(messages), pipeline=random.choice(["completion", "compression"]))
            case _:
                story.ask(f"m{number}", elided=number if step == "elide" else 0)
    told = account(story.now)
    sums = summed(told)
    assert sums.prompts == sums.hits + sums.misses + sums.not_reported == len(told)
    assert sum(sums.causes.values()) == sums.misses
    for each in told:
        assert (each.cached_tokens is None) == (each.outcome == "unknown")
        assert each.outcome == "hit" or each.cause
        assert each.expected >= 0


# -- two prompts --


def envelope(*texts: str) -> Envelope:
    hashes = c.LayerHashes("", "", "", "", "")
    manifest = Manifest(ID, MessageId("m"), (), (), 0, 0, TOOLS, "seed", 1.0)
    messages = tuple(ChatMessage("user", (Block("text", text),)) for text in texts)
    return Envelope(1, ID, MessageId("m"), (), messages, hashes, "", manifest, (), 0)


def common(one: Envelope, two: Envelope) -> int:
    """Without the tools."""
    return cache_accounting.common_tokens(one, two, same_tools=True) - TOOLS


def test_common_tokens_end_where_the_texts_part() -> None:
    long = "word " * 400
    assert common(envelope(long), envelope(long)) == 500
    assert common(envelope(long, "x"), envelope(long, "y")) == 500
    assert common(envelope(f"{long}a"), envelope(f"{long}b")) == 500
    assert common(envelope(f"a{long}"), envelope(f"b{long}")) == 0
    assert common(envelope(), envelope(long)) == 0


def test_tools_come_first_so_that_others_leave_nothing_in_common() -> None:
    assert cache_accounting.common_tokens(envelope("same"), envelope("same"), same_tools=False) == 0


@given(st.text(max_size=50), st.text(max_size=50), st.text(max_size=50))
def test_what_two_texts_begin_with_is_found_whatever_they_are(same: str, one: str, two: str) -> None:
    found = cache_accounting._common_start(same + one, same + two)
    assert (same + one).startswith(found) and (same + two).startswith(found)
    assert len(found) >= len(same)
    rest = (same + one)[len(found) :], (same + two)[len(found) :]
    assert not all(rest) or rest[0][0] != rest[1][0]
