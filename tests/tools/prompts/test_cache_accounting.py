"""Cache accounting: what of a prompt a provider could serve again, what it did, and what is to blame."""

from typing import Any

import pytest
from support.conversation import ConversationLog

from workspaced_events.ids import ConversationId, MessageId
from workspaced_events.projections.conversations import PROMPTS_MAX
from workspaced_events.schema import catalogue as c
from workspaced_tools.ports.manifest import Manifest
from workspaced_tools.prompts.audit import cache_accounting as account_of
from workspaced_tools.prompts.audit.cache_accounting import Accounted, account, summed
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
        """The library has these blocks from now on: of the first turn, or of the message behind an `@`."""
        of = [(name, message or "m0") for name, _, message in (each.partition("@") for each in blocks)]
        library = tuple(
            c.LibraryEntry(name, "note", NAME, name, BLOCK, MessageId(message)) for name, message in of
        )
        self.tell(c.ContextFolded(conversation=ID, reason=reason, library=library))

    def prompt(
        self,
        message: str,
        *,
        query: str = "",
        elided: int = 0,
        pipeline: c.Pipeline = "chat",
        system: str | None = None,
        prefix: int = 0,
        repeats: bool = False,
    ) -> None:
        blocks = [each for each in self.now.library if each.message != message]
        prefix = prefix or SYSTEM + BLOCK * len(blocks)
        self.tell(
            c.PromptAssembled(
                conversation=ID,
                message=MessageId(message),
                as_of_seq=self.seq,
                inputs_sha256=NAME,
                manifest_sha256=NAME,
                turn_sha256=NAME if repeats else None,
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

    def report(self, message: str, cached: int) -> None:  # type: ignore[override]
        super().report(10_000, cached, message)

    def ask(self, message: str, cached: int | None = None, **more: Any) -> None:
        """Said, sent and reported."""
        self.say(message)
        self.prompt(message, **more)
        if cached is not None:
            self.report(message, cached)

    def repeat(self, message: str, cached: int | None = None) -> None:
        """As `ask`, where a prompt repeats the turns before it."""
        self.ask(message, cached, repeats=True)

    def elide(self, message: str, elided: int, cached: int | None = None) -> None:
        self.ask(message, cached, elided=elided)

    def move(self) -> None:
        self.system = "it moved"

    def change(self, message: str) -> None:
        self.tell(c.MessageReplaced(ID, MessageId(message), "user", NAME))

    @property
    def last(self) -> Accounted:
        return account(self.now)[-1]


@pytest.fixture
def story() -> Story:
    """Of an imported chat a first prompt was sent, with one note; nothing was cached of it."""
    made = Story()
    made.say("m0")
    made.fold("imported", "a")
    made.ask("m1", cached=0)
    return made


PREFIX = SYSTEM + BLOCK
"""What the system and the note `a` are together."""
WHOLE = PREFIX + TURN
"""What the second prompt, `m2`, is estimated at."""
ABC, XYZ = ("fold", "asked", *"abc"), ("fold", "asked", "a", *"xyz")
ACCOUNTS: dict[str, tuple[list[tuple[Any, ...]], str, str | None, int]] = {
    "nothing can be cached of the first prompt": ([], "miss", account_of.FIRST, 0),
    "other settings": ([("start", "another system"), ("ask", "m2", 0)], "miss", account_of.SETTINGS, 0),
    "another first layer of the same settings": ([("move",), ("ask", "m2", 0)], "miss", account_of.UNEXPLAINED, 0),
    "another model": ([("start", "system", "n"), ("ask", "m2", 0)], "miss", account_of.MODEL_OR_TOOLS, PREFIX),
    "nothing changed and nothing was served": ([("ask", "m2", 0)], "miss", account_of.EVICTED, PREFIX),
    "a hit begins at half": ([("ask", "m2", PREFIX // 2)], "hit", None, PREFIX),
    "less than half": ([("ask", "m2", PREFIX // 2 - 1)], "miss", account_of.EVICTED, PREFIX),
    **{
        f"folded: {reason}": (
            [ABC, ("ask", "m2"), ("fold", reason, "a", *"xyz"), ("ask", "m4", 0)],
            "miss",
            f"folded: {reason}",
            PREFIX,
        )
        for reason in ("asked", "pays", "budget", "withheld")
    },
    "folded, and most was served": (
        [ABC, ("ask", "m2"), XYZ, ("ask", "m4", PREFIX)],
        "hit",
        "folded: asked",
        PREFIX,
    ),
    "a removed turn takes its notes along": (
        [("ask", "m2"), ("fold", "asked", "a", "b@m2"), ("ask", "m3"), ("cut", "m2"), ("ask", "m4", 0)],
        "miss",
        account_of.REMOVED,
        PREFIX,
    ),
    "a prompt for an earlier turn has less of the library": (
        [
            ("say", "m2"),
            ("fold", "asked", "a", "b@m1"),
            ("prompt", "m1"),
            ("prompt", "m2"),
            ("report", "m2", PREFIX),
        ],
        "hit",
        account_of.GREW,
        PREFIX,
    ),
    "elided": ([("elide", "m2", 0), ("elide", "m3", 3, PREFIX)], "hit", account_of.ELIDED, PREFIX),
    "elided, and nothing reported": (
        [("elide", "m2", 0), ("elide", "m3", 3)],
        "unknown",
        account_of.ELIDED,
        PREFIX,
    ),
    "replaced": ([("ask", "m2"), ("change", "m2"), ("ask", "m3", PREFIX)], "hit", account_of.REPLACED, PREFIX),
    "removed": ([("ask", "m2"), ("cut", "m2"), ("ask", "m3", PREFIX)], "hit", account_of.MESSAGE_REMOVED, PREFIX),
    "turns repeated": ([("repeat", "m2"), ("repeat", "m3", WHOLE)], "hit", None, WHOLE),
    "turns repeated, and less than half served": (
        [("repeat", "m2"), ("repeat", "m3", WHOLE // 2 - 1)],
        "miss",
        account_of.EVICTED,
        WHOLE,
    ),
}


@pytest.mark.parametrize("name", ACCOUNTS)
def test_each_prompt_has_an_outcome_a_cause_and_what_was_expected(story: Story, name: str) -> None:
    steps, outcome, cause, expected = ACCOUNTS[name]
    for step, *given_to in steps:
        getattr(story, step)(*given_to)
    assert (story.last.outcome, story.last.cause, story.last.expected) == (outcome, cause, expected)


def test_a_prefix_that_no_provider_keeps_is_not_blamed_on_it() -> None:
    story = Story()
    for message in ("m1", "m2"):
        story.ask(message, 0, prefix=account_of.CACHED_TOKENS_MIN - 1)
    assert (story.last.outcome, story.last.cause) == ("miss", account_of.TOO_SHORT)


def test_of_a_prompt_whose_predecessor_is_forgotten_nothing_is_said() -> None:
    story = Story()
    for number in range(PROMPTS_MAX + 5):
        story.ask(f"m{number}", cached=SYSTEM)
    told = account(story.now)
    assert len(told) == PROMPTS_MAX - 1
    assert account_of.FIRST not in {each.cause for each in told}


def test_prompts_of_two_pipelines_differ_for_that_reason(story: Story) -> None:
    story.prompt("m1", pipeline="compression")
    story.ask("m2")
    story.start("another system")
    story.ask("m3")
    first, other, _, last = story.now.prompts
    assert account_of.causes_of(story.now, [first, other], "L3_TURN") == [account_of.OTHER_PIPELINE]
    assert account_of.causes_of(story.now, [first, other, *story.now.prompts[2:]], "L1_SYSTEM") == [
        account_of.SETTINGS
    ]
    assert account_of.cause_of(story.now, first, last) == account_of.SETTINGS


def test_the_sum_counts_hits_misses_and_their_causes(story: Story) -> None:
    story.ask("m2", cached=SYSTEM)
    story.ask("m3", cached=0)
    story.ask("m4")
    sums = summed(account(story.now))
    assert (sums.prompts, sums.hits, sums.misses, sums.not_reported) == (4, 1, 2, 1)
    assert sums.causes == {account_of.FIRST: 1, account_of.EVICTED: 1}
    assert (sums.input_tokens, sums.cached_tokens) == (30_000, SYSTEM)


# -- two prompts --


def envelope(*texts: str) -> Envelope:
    hashes = c.LayerHashes("", "", "", "", "")
    manifest = Manifest(ID, MessageId("m"), (), (), 0, 0, TOOLS, "seed", 1.0)
    messages = tuple(ChatMessage("user", (Block("text", text),)) for text in texts)
    return Envelope(1, ID, MessageId("m"), (), messages, hashes, "", manifest, (), 0)


def common(one: Envelope, two: Envelope) -> int:
    """Without the tools."""
    return account_of.common_tokens(one, two, same_tools=True) - TOOLS


def test_common_tokens_end_where_the_texts_part_and_tools_come_first() -> None:
    long = "word " * 400
    assert common(envelope(long), envelope(long)) == 500
    assert common(envelope(long, "x"), envelope(long, "y")) == 500
    assert common(envelope(f"{long}a"), envelope(f"{long}b")) == 500
    assert common(envelope(f"a{long}"), envelope(f"b{long}")) == 0
    assert common(envelope(), envelope(long)) == 0
    assert account_of.common_tokens(envelope("same"), envelope("same"), same_tools=False) == 0
