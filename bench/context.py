"""What prompts cost: how many of their tokens a provider's cache serves, and how long it takes to make one.

The cache is one as hosted models have it: blocks of 16 tokens, each known by itself and all before it, none of a
prefix of fewer than 1,024. Tokens are a real tokenizer's. Our prompts come from a daemon, over its socket, of
notes on disk.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from workspaced.client.sync_client import SyncClient
from workspaced_events.ids import MessageId
from workspaced_events.projections.conversations import Conversation
from workspaced_events.schema import catalogue as c
from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.model.types import TURN_VERSION, Artifact, Texts, Turn
from workspaced_tools.prompts.providers.bodies import RenderedBody, shape
from workspaced_tools.prompts.providers.templates import template_named

from .assembler import AT, CONVERSATION, InProcess, keep
from .daemon import Place, daemon
from .measure import Figure, at_least, at_most, interleaved, median, percentile, seconds
from .peer_install import Skip, install
from .peer_table import Skipped
from .prompts import BASELINES, NEW_NOTES, SYSTEM, TURNS, Message, Script, messages_of, prompts_of, script
from .pulling import READERS, pulled
from .tokenizer import NAME, PACKAGE, Tokenizer

BLOCK_TOKENS: Final = 16
PREFIX_TOKENS_MIN: Final = 1_024
ARTIFACTS: Final = 1_000
ATTACHED: Final = 20
ARTIFACT_CHARS: Final = 2_000
SEEDS: Final = (1, 2, 3, 4, 5, 6)
PULL_SEEDS: Final = SEEDS[:3]
INJECTED: Final = ("injected", "injected_and_kept")
"""The baselines that are static injection."""
SHAPES: Final = ("openai", "anthropic", "gemini")
_ROLES: Final = ("system", "user", "assistant")


def tokens(at: Place) -> Iterator[Figure]:
    """Conversations of 20 turns: ours against other ways to make their prompts."""
    return _measured(at, "context.uncached.glued", SEEDS, _compared)


def pulling(at: Place) -> Iterator[Figure]:
    """The same conversations by tools alone. Each of them takes three daemons, so there are fewer."""
    return _measured(at, "context.pull.sent.injected.active", PULL_SEEDS, _pulled)


def _measured(
    at: Place,
    first: str,
    seeds: Sequence[int],
    measure: Callable[[Place, str, Sequence[Script], Tokenizer], Iterator[Figure]],
) -> Iterator[Figure]:
    """The figures of both kinds of conversations. `first`: the one that stands for all where none can be made."""
    try:
        python = install(PACKAGE, at.new("tokenizer")) / "python"
    except Skip as skip:
        yield Skipped(first, 0.0, "", reason=str(skip))
        return
    with Tokenizer(python, at.new("tokenizer.stderr")) as tokenizer:
        for kind in NEW_NOTES:
            made = [script(at.new("words"), kind, seed) for seed in (seeds[:1] if at.sizes.quick else seeds)]
            yield from measure(at, kind, made, tokenizer)


def _compared(at: Place, kind: str, made: Sequence[Script], tokenizer: Tokenizer) -> Iterator[Figure]:
    """All conversations of one kind together. The goals are for those that are steady."""
    ours = [_ours(at, each) for each in made]
    cost = _cost([[messages_of(prompt) for prompt in prompts] for prompts in ours], tokenizer)
    fields = {**_fields(cost), "tokenizer": NAME, "conversations": len(made), "turns": TURNS}
    is_steady = kind == "steady"
    mark = "" if is_steady else f".{kind}"
    for name, way in BASELINES.items():
        other = _cost([list(prompts_of(each, way)) for each in made], tokenizer)
        with_goals = is_steady and name == "glued"
        yield Figure(
            f"context.uncached.{name}{mark}",
            100 * (1 - cost.uncached / other.uncached),
            "% fewer",
            at_least(80) if with_goals else None,
            at_least(90) if with_goals else None,
            {**fields, **{f"{name}_{key}": value for key, value in _fields(other).items()}},
        )
    prefixes = [_prefixes(prompts, tokenizer) for prompts in ours]
    kept, cacheable = (sum(each) for each in zip(*prefixes, strict=True))
    goal = at_least(95) if is_steady else None
    more = {"kept": kept, "cacheable": cacheable, **fields}
    yield Figure(f"context.prefix{mark}", 100 * kept / cacheable, "% kept", goal, None, more)


def _pulled(at: Place, kind: str, made: Sequence[Script], tokenizer: Tokenizer) -> Iterator[Figure]:
    """By tools alone, against static injection. The goal is the tools': of all tokens of a conversation."""
    injected = {
        name: _cost([list(prompts_of(each, BASELINES[name])) for each in made], tokenizer) for name in INJECTED
    }
    for reader, way in READERS.items():
        prompts = [pulled(at, each, way) for each in made]
        cost = _cost(prompts, tokenizer)
        system = prompts[0][0][0][1]
        more = {
            **_fields(cost),
            "conversations": len(made),
            "definitions": len(tokenizer(system)) - len(tokenizer(SYSTEM)),
        }
        for name, other in injected.items():
            mark = f"{name}.{reader}" if kind == "steady" else f"{name}.{reader}.{kind}"
            goal = at_least(60) if (kind, reader) == ("steady", "active") else None
            both = {**more, **{f"{name}_{key}": value for key, value in _fields(other).items()}}
            sent = 100 * (1 - cost.sent / other.sent)
            yield Figure(f"context.pull.sent.{mark}", sent, "% fewer", goal, None, both)
            uncached = 100 * (1 - cost.uncached / other.uncached)
            yield Figure(f"context.pull.uncached.{mark}", uncached, "% fewer", None, None, both)


# -- the cache --


@dataclass
class Cost:
    """Tokens of a conversation's prompts."""

    prompts: int = 0
    sent: int = 0
    cached: int = 0

    @property
    def uncached(self) -> int:
        return self.sent - self.cached


def _fields(cost: Cost) -> dict[str, Any]:
    share = cost.cached / cost.sent
    return {"prompts": cost.prompts, "sent": cost.sent, "cached": cost.cached, "cached_share": share}


class Cache:
    """A provider's: blocks known by the hash of all up to their end."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def served(self, prompt: Sequence[int]) -> int:
        """How many of the prompt's first tokens it has; then it has them all."""
        served, digest, unbroken = 0, hashlib.sha256(), True
        for begin in range(0, len(prompt) - BLOCK_TOKENS + 1, BLOCK_TOKENS):
            digest.update(repr(prompt[begin : begin + BLOCK_TOKENS]).encode())
            name = digest.digest()
            unbroken = unbroken and name in self._known
            served += BLOCK_TOKENS * unbroken
            self._known.add(name)
        return served if served >= PREFIX_TOKENS_MIN else 0


def _tokens(prompt: Sequence[Message], tokenizer: Tokenizer) -> list[int]:
    """Messages one after another, each behind a token for its role."""
    return [token for role, text in prompt for token in (_ROLES.index(role) - len(_ROLES), *tokenizer(text))]


def _cost(conversations: Sequence[Sequence[Sequence[Message]]], tokenizer: Tokenizer) -> Cost:
    """Of all prompts of all conversations; each conversation finds the cache empty."""
    cost = Cost()
    for prompts in conversations:
        cache = Cache()
        for prompt in prompts:
            found = _tokens(prompt, tokenizer)
            cost.prompts += 1
            cost.sent += len(found)
            cost.cached += cache.served(found)
    return cost


def _prefixes(envelopes: Sequence[dict[str, Any]], tokenizer: Tokenizer) -> tuple[int, int]:
    """How much of what could be cached was, in tokens: each prompt could be the next one's prefix.

    Those that no cache takes, since they are too short, are not counted.
    """
    cache, before, kept, cacheable = Cache(), 0, 0, 0
    for envelope in envelopes:
        prompt = messages_of(envelope)
        assert prompt[0][0] == "system"
        served = cache.served(_tokens(prompt, tokenizer))
        if before >= PREFIX_TOKENS_MIN:
            kept += min(served, before)
            cacheable += before
        before = len(_tokens(prompt, tokenizer))
    return kept, cacheable


# -- ours --


def _ours(at: Place, made: Script) -> list[dict[str, Any]]:
    """The envelopes that a daemon makes of the conversation."""
    vault = at.new("notes")
    made.write(vault)
    with daemon(at, vault, name="context") as running:
        running.wait_for_index()
        with running.client() as client:
            return list(_prompts(client, vault, made))


def _prompts(client: SyncClient, vault: Path, made: Script) -> Iterator[dict[str, Any]]:
    settings = {"provider": "bench", "model": NAME, "contextWindow": 400_000, "outputReserve": 8_000}
    talk = client.call("workspaced/context/start", {**settings, "system": SYSTEM})["conversation"]

    def say(**message: Any) -> None:
        client.call("workspaced/context/message", {"conversation": talk, "messages": [message]})

    for number, turn in enumerate(made.turns):
        made.edit(vault, turn)
        kinds = ["active_note", *["note"] * len(turn.attached[1:])]
        attached = [{"kind": kind, "id": path} for kind, path in zip(kinds, turn.attached, strict=True)]
        say(role="user", text=turn.question, attachments=attached)
        yield client.call("workspaced/context/assemble", {"conversation": talk})
        if turn.found is not None:
            call = {"id": f"call-{number}", "name": "look_up"}
            say(role="assistant", toolCalls=[call])
            say(role="user", toolResults=[{**call, "text": turn.found}])
            yield client.call("workspaced/context/assemble", {"conversation": talk})
        say(role="assistant", text=turn.answer)


# -- time --


class _Large(NamedTuple):
    """A turn with 1,000 artifacts, and one that attaches 20 of them again and a new one."""

    conversation: Conversation
    turn: Turn
    texts: Texts


def _large() -> _Large:
    blobs: dict[str, str] = {}
    run = InProcess(
        c.ConversationStarted(
            conversation=CONVERSATION,
            provider="bench",
            model="large",
            context_window=2_000_000,
            output_reserve=1_000,
            sections=(c.Section("system", keep(blobs, SYSTEM)),),
        ),
        blobs,
    )

    def turn(message: str, numbers: Sequence[int]) -> Turn:
        artifacts = tuple(
            Artifact("note", f"n/{number}.md", f"Note {number}", run.keep(_note(number)), AT) for number in numbers
        )
        return Turn(TURN_VERSION, CONVERSATION, MessageId(message), artifacts)

    run.add(c.MessageAdded(CONVERSATION, MessageId("m1"), "user", run.keep("What is all this?")))
    run.prompt(turn("m1", range(ARTIFACTS)))
    run.add(c.MessageAdded(CONVERSATION, MessageId("m2"), "assistant", run.keep("Notes.")))
    run.add(c.MessageAdded(CONVERSATION, MessageId("m3"), "user", run.keep("And these?")))
    again = turn("m3", [*range(0, ARTIFACTS, ARTIFACTS // ATTACHED), ARTIFACTS])
    return _Large(run.conversation, again, run.text)


def assembly(at: Place) -> Iterator[Figure]:
    """One prompt of the large conversation."""
    large = _large()
    second = assemble(*large)
    shown = [entry for entry in second.envelope.manifest.entries if entry.layer == "L4_STRIP" and entry.revision]
    assert len(shown) == ARTIFACTS
    taken = [[seconds(lambda: assemble(*large)) * 1e3 for _ in range(20)] for _ in range(at.sizes.rounds + 1)][1:]
    fields = {
        "p99": percentile([each for some in taken for each in some], 0.99),
        "artifacts": ARTIFACTS,
        "prompt_bytes": len(second.envelope.layers[3].text),
        "envelope_json": seconds(lambda: msgspec.json.encode(second.envelope)) * 1e3,
    }
    yield Figure(
        "context.assembly", median([median(some) for some in taken]), "ms", at_most(10), at_most(5), fields
    )


def shaping(at: Place) -> Iterator[Figure]:
    """The same prompt as each provider's body: how long that takes against assembling it."""
    large = _large()
    envelope = assemble(*large).envelope
    settings = large.conversation.settings

    def shaped(name: str) -> RenderedBody:
        return shape(envelope, settings, template_named(name, None), large.texts, lambda _name: None)

    samplers: list[Callable[[], float]] = [lambda: seconds(lambda: assemble(*large)) * 1e3]
    samplers += [lambda name=name: seconds(lambda: shaped(name)) * 1e3 for name in SHAPES]  # type: ignore[misc]
    assembling, *shapes = interleaved(5 * at.sizes.rounds, *samplers)
    for name, taken in zip(SHAPES, shapes, strict=True):
        fields = {
            "ms": median(taken),
            "assembling_ms": median(assembling),
            "artifacts": ARTIFACTS,
            "body_bytes": len(msgspec.json.encode(shaped(name).body)),
        }
        times = median(taken) / median(assembling)
        yield Figure(f"context.shape.{name}", times, "x assembling", at_most(3), None, fields)


def _note(number: int) -> str:
    line = f"Note {number} says what note {number - 1} does not. "
    return line * (ARTIFACT_CHARS // len(line))
