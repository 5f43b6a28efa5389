"""Other ways to make the prompts of a scenario: everything glued into the newest message, and two transcripts that
only grow until the budget is spent.

They count with the estimator that our assembler counts with, so all cut at the same limit. A prompt is the blocks
of a request, each with its mark. Marks are the best that the way allows: behind the system prompt, behind what the
request before ended with, and at the end.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import msgspec

from workspaced_tools.prompts.model.token_estimate import estimate_tokens

from .prefix_caches import Block
from .prompt_scenarios import SYSTEM, TOOL, TOOLS, Attached, Scenario, ScenarioTurn

CUT_TO: Final = 0.5
Prompt = list[Block]
_estimated: Final = lru_cache(maxsize=4_096)(estimate_tokens)


def head_of(scenario: Scenario) -> list[Block]:
    """What every prompt begins with: tools, where the scenario has some, and the system prompt."""
    tools = TOOLS if scenario.tools else []
    return [*(Block("tools", msgspec.json.encode(tool).decode()) for tool in tools), Block("system", SYSTEM, True)]


def estimate(blocks: Sequence[Block]) -> int:
    """The tokens that count against the limit."""
    return sum(_estimated(block.text) for block in blocks)


def note_block(note: Attached) -> str:
    """A note as every way here writes it."""
    kind = "active_note" if note.active else "note"
    return f"<{kind}>\n<path>{note.path}</path>\n{note.text}\n</{kind}>"


def round_of_tools(turn: ScenarioTurn) -> list[Block]:
    """A call and its result, if the turn has them."""
    if turn.result is None:
        return []
    name = f"call-{turn.number}"
    call = {"type": "tool_use", "id": name, "name": TOOL, "input": {"query": turn.question}}
    return [Block("assistant", msgspec.json.encode(call).decode()), Block("user", f"{name} {turn.result}")]


# -- glued --


def glued(scenario: Scenario, turns: Sequence[ScenarioTurn]) -> Iterator[Prompt]:
    """All notes that were ever attached, as they are now, and the state, in the newest message.

    The history is words alone; its oldest half goes when the prompt is over the limit. The conversation ends where
    the notes alone are.
    """
    head, known, history = head_of(scenario), dict[str, Attached](), list[list[Block]]()
    for turn in turns:
        known |= {note.path: note for note in turn.attached}
        text = "\n\n".join((*map(note_block, known.values()), turn.state, turn.question))
        newest = [Block("user", text), *round_of_tools(turn)]
        if estimate([*head, *newest, *_flat(history)]) > scenario.limit:
            history = _newest(history, CUT_TO * scenario.limit - estimate([*head, *newest]))
        if estimate([*head, *newest]) > scenario.limit:
            return
        for end in _ends(newest):
            yield [*head, *_marked(_flat(history)), *_marked(newest[:end])]
        history.append([Block("user", turn.question), *newest[1:], Block("assistant", turn.answer)])


# -- append-only --


@dataclass
class _Sent:
    """A turn as it was sent, and what it told."""

    blocks: list[Block]
    told: dict[str, str] = field(default_factory=dict)
    """The texts of its notes, whole, by their paths, and of the state by the empty path."""


@dataclass(frozen=True)
class Transcript:
    """Each turn keeps its bytes, its context included, until turns go for want of room, the oldest first.

    What stands in the transcript as it is now is not sent again: a note is one line then, and the state none.
    """

    cut_to: float
    """The share of the limit that is left after a cut. 1: turns go one by one, as few as possible."""

    def __call__(self, scenario: Scenario, turns: Sequence[ScenarioTurn]) -> Iterator[Prompt]:
        head, sent, before = head_of(scenario), list[_Sent](), 0
        for turn in turns:
            newest = _first(turn, sent)
            while sent and estimate([*head, *_all(sent), *newest.blocks]) > scenario.limit:
                low = self.cut_to * scenario.limit - estimate([*head, *newest.blocks])
                sent, before = _cut(sent, low), 0
                newest = _first(turn, sent)
            newest.blocks += round_of_tools(turn)
            for end in _ends(newest.blocks):
                blocks = [*_all(sent), *newest.blocks[:end]]
                yield [*head, *_marked(blocks, before)]
                before = len(blocks)
            newest.blocks.append(Block("assistant", turn.answer))
            sent.append(newest)


APPEND_ONLY: Final = Transcript(CUT_TO)
STEP_BY_STEP: Final = Transcript(1.0)
BASELINES: Final[dict[str, Callable[[Scenario, Sequence[ScenarioTurn]], Iterator[Prompt]]]] = {
    "append_only": APPEND_ONLY,
    "step_by_step": STEP_BY_STEP,
    "glued": glued,
}


def _first(turn: ScenarioTurn, sent: Sequence[_Sent]) -> _Sent:
    """The turn's first message, and what it tells that `sent` does not."""
    told = {path: text for each in sent for path, text in each.told.items()}
    new = {note.path: note.text for note in turn.attached if told.get(note.path) != note.text}
    texts = [note_block(note) for note in turn.attached if note.path in new]
    texts += [f"Attached, unchanged: {note.path}" for note in turn.attached if note.path not in new]
    if told.get("") != turn.state:
        new[""] = turn.state
        texts.append(turn.state)
    return _Sent([Block("user", "\n\n".join((*texts, turn.question)))], new)


def _cut(sent: Sequence[_Sent], low: float) -> list[_Sent]:
    """The newest turns that take at most `low` tokens; at least the oldest goes."""
    kept = _newest([each.blocks for each in sent[1:]], low)
    return list(sent[len(sent) - len(kept) :])


def _newest(turns: Sequence[list[Block]], low: float) -> list[list[Block]]:
    """The newest of the turns that take at most `low` tokens together."""
    at, left = len(turns), low
    while at > 0 and (left := left - estimate(turns[at - 1])) >= 0:
        at -= 1
    return list(turns[at:])


def _all(sent: Sequence[_Sent]) -> list[Block]:
    return _flat([each.blocks for each in sent])


def _flat(turns: Sequence[list[Block]]) -> list[Block]:
    return [block for turn in turns for block in turn]


def _ends(newest: Sequence[Block]) -> list[int]:
    """The number of the turn's blocks in each of its prompts."""
    return [1] if len(newest) == 1 else [1, len(newest)]


def _marked(blocks: Sequence[Block], before: int = 0) -> list[Block]:
    """The blocks with a mark on the last one, and on the one at whose place the request before ended."""
    marks = {len(blocks), before} - {0}
    return [block._replace(mark=at + 1 in marks) for at, block in enumerate(blocks)]
