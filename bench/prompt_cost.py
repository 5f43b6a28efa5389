"""What conversations of 120 turns cost with two providers' caches: our prompts beside other ways to make them.

Costs are base tokens: what a provider charges, in tokens at the price of one that no cache was asked for
(prefix_caches.py). The goals compare with the append-only transcript that drops its oldest half; all numbers are
means of both providers and sums of all seeds.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from .assembler import prompts_of
from .daemon import Place
from .measure import Figure, at_least, at_most
from .peer_install import Skip, install
from .peer_table import Skipped
from .prefix_caches import Block, BlockCache, Counter, Encode, MarkedCache, Use, rough_tokens
from .prompt_scenarios import SCENARIOS, TURNS, Scenario, ScenarioTurn, Words, turns_of
from .tokenizer import NAME, PACKAGE, Tokenizer
from .transcripts import BASELINES

SEEDS: Final = (1, 2, 3)
QUICK_TURNS: Final = 24
TOLERANCE: Final = 1.01
CHEAPER: Final = {"again_8k": 0.85, "again_edited_32k": 0.7, "notes_110_tools_128k": 0.75}
"""The goals against append-only; of all other scenarios: no dearer."""
LAST_TURNS: Final = 10
NEWEST_TURNS: Final = 5
WHOLE_FROM: Final = 32_000
"""From this limit on every note of the last turns stands in a prompt after a cut; below 85 % of them do."""
HELD_IN_TIGHT: Final = 85
_MARK: Final = re.compile(r"Z[nt]\d{3}(?:e\d{3})?q")


def cost(at: Place) -> Iterator[Figure]:
    """Every scenario, one after the other."""
    try:
        with encoder(at) as encode:
            seeds, turns = (SEEDS[:1], QUICK_TURNS) if at.sizes.quick else (SEEDS, TURNS)
            words = {seed: Words(at.new("words"), seed) for seed in seeds}
            for scenario in SCENARIOS:
                made = [turns_of(scenario, words[seed], seed, turns) for seed in seeds]
                yield from _figures(at, scenario, made, encode)
    except Skip as skip:
        yield Skipped(f"context.long.{SCENARIOS[0].name}", 0.0, "", reason=str(skip))


@contextmanager
def encoder(at: Place) -> Iterator[Encode]:
    """A real tokenizer's; four characters a token in a quick run."""
    if at.sizes.quick:
        yield rough_tokens
        return
    python = install(PACKAGE, at.new("tokenizer")) / "python"
    with Tokenizer(python, at.new("tokenizer.stderr")) as tokenizer:
        yield tokenizer.encoded


def _figures(
    at: Place, scenario: Scenario, made: Sequence[Sequence[ScenarioTurn]], encode: Encode
) -> Iterator[Figure]:
    ours = Outcome()
    others = {name: Outcome() for name in BASELINES}
    ways = {"ours": ours, **others}
    for turns in made:
        counter = Counter(encode)
        ours.add(turns, prompts_of(scenario, turns), counter)
        for name, way in BASELINES.items():
            others[name].add(turns, way(scenario, turns), counter)
    about = {
        "tokenizer": "rough" if at.sizes.quick else NAME,
        "conversations": len(made),
        "turns": len(made[0]),
        "limit": scenario.limit,
    }
    ratio = ours.base_tokens / others["append_only"].base_tokens
    goal = at.sizes.whole(at_most(round(CHEAPER.get(scenario.name, 1.0) * TOLERANCE, 4)))
    fields = {key: value for name, way in ways.items() for key, value in way.cost_fields(name).items()}
    yield Figure(f"context.long.{scenario.name}", ratio, "x append-only", goal, None, about | fields)
    if ours.held:
        goal = at.sizes.whole(at_least(100 if scenario.limit >= WHOLE_FROM else HELD_IN_TIGHT))
        fields = {key: value for name, way in ways.items() for key, value in way.held_fields(name).items()}
        held = _percent(ours.held)
        yield Figure(f"context.long.{scenario.name}.held", held, "% of notes", goal, None, about | fields)


# -- one way to make prompts --


@dataclass
class Outcome:
    """What the prompts of some conversations cost, and what stood in them."""

    uses: dict[str, Use] = field(default_factory=lambda: {"anthropic": Use(), "openai": Use()})
    prompts: int = 0
    folds: int = 0
    """Prompts in which a turn stands no more that stood in the one before."""
    breaks: int = 0
    """Prompts that do not begin with all blocks of the one before."""
    held: list[float] = field(default_factory=list)
    """After each fold and at the end: the share of the notes of the last turns that stand in the prompt."""
    held_newest: list[float] = field(default_factory=list)
    """The same of the newest turns."""
    held_at_end: list[float] = field(default_factory=list)
    """`held` at the end alone."""
    turns_held: list[int] = field(default_factory=list)
    """After each fold: turns that stand in the prompt."""
    unfinished: bool = False
    """Whether a conversation ended early, since its prompt did not fit."""

    @property
    def base_tokens(self) -> float:
        """The mean of both providers."""
        return sum(use.base_tokens(provider) for provider, use in self.uses.items()) / len(self.uses)

    def add(self, turns: Sequence[ScenarioTurn], prompts: Iterable[list[Block]], counter: Counter) -> None:
        """Counts one conversation; it finds the caches empty."""
        marked, automatic = MarkedCache(counter), BlockCache(counter)
        before, stood = list[Block](), frozenset[str]()
        numbers = [turn.number for turn in turns for _ in range(1 if turn.result is None else 2)]
        number = None
        for number, prompt in zip(numbers, prompts, strict=False):
            self.prompts += 1
            self.uses["anthropic"] += marked.serve(prompt)
            self.uses["openai"] += automatic.serve(prompt)
            stands = _marks_in(prompt)
            self.breaks += [each[:2] for each in prompt[: len(before)]] != [each[:2] for each in before]
            if any(mark.startswith("Zt") for mark in stood - stands):
                self.folds += 1
                self.turns_held.append(sum(mark.startswith("Zt") for mark in stands))
                self._hold(turns, number, stands)
            before, stood = prompt, stands
        if number != turns[-1].number:
            self.unfinished = True
        else:
            self._hold(turns, number, stood)
            self.held_at_end += _share(turns, number, stood, LAST_TURNS)

    def _hold(self, turns: Sequence[ScenarioTurn], number: int, stands: frozenset[str]) -> None:
        self.held += _share(turns, number, stands, LAST_TURNS)
        self.held_newest += _share(turns, number, stands, NEWEST_TURNS)

    def cost_fields(self, name: str) -> dict[str, Any]:
        """What this way costs; `None` where a conversation did not fit."""
        if self.unfinished:
            return {f"{name}_base_tokens": None}
        found: dict[str, Any] = {f"{name}_base_tokens": self.base_tokens, f"{name}_prompts": self.prompts}
        for provider, use in self.uses.items():
            found[f"{name}_{provider}_base_tokens"] = use.base_tokens(provider)
            found[f"{name}_{provider}_per_token"] = use.base_tokens(provider) / use.sent
        return found | {f"{name}_folds": self.folds, f"{name}_breaks": self.breaks}

    def held_fields(self, name: str) -> dict[str, Any]:
        """What its prompts hold; nothing where a conversation did not fit."""
        if self.unfinished:
            return {}
        return {
            f"{name}_held": _percent(self.held),
            f"{name}_held_newest": _percent(self.held_newest),
            f"{name}_held_at_end": _percent(self.held_at_end),
            f"{name}_turns_after_folds": sum(self.turns_held) / len(self.turns_held) if self.turns_held else None,
        }


def _share(turns: Sequence[ScenarioTurn], number: int, stands: frozenset[str], count: int) -> list[float]:
    """The share of the notes of the last turns that stand there as they were attached last.

    Nothing if these turns have no notes.
    """
    last = turns[max(0, number + 1 - count) : number + 1]
    newest = {note.path: note.marks for turn in last for note in turn.attached}
    return [sum(marks <= stands for marks in newest.values()) / len(newest)] if newest else []


def _marks_in(blocks: Sequence[Block]) -> frozenset[str]:
    return frozenset(mark for block in blocks for mark in _marks(block.text))


@lru_cache(maxsize=8_192)
def _marks(text: str) -> frozenset[str]:
    return frozenset(_MARK.findall(text))


def _percent(shares: Sequence[float]) -> float:
    return 100 * sum(shares) / len(shares)
