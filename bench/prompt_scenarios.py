"""Conversations of 120 turns, to compare what ways to make their prompts cost; a function of scenario and seed.

Every turn has a question, an answer and the list of open notes, which is another one on 60 % of the turns. A
scenario adds to that: the active note at each turn, notes that come once, notes that are attached again and again,
edits of notes that were attached before, a round of tools. An edited note is attached to that turn.

Each note has a word in its text that nothing else has, neither its path nor its title, and each edit puts another
one into it, so that a prompt can be asked whether the note stands in it as it is now. Each question has one too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from .vaults import KINDS, NOUNS, make_vault

T = TypeVar("T")

TURNS: Final = 120
STATE_CHANGES: Final = 0.6
"""The share of turns on which the list of open notes is another one."""
OPEN: Final = 7
OPENED_IN_ALL: Final = 24
ACTIVE_NOTES: Final = 6
"""One of these is the active note; it changes when the list of open notes does."""
ACTIVE_CHARS: Final = 1_200
QUESTION_CHARS: Final = 140
ANSWER_CHARS: Final = 420
RESULT_CHARS: Final = 1_000
EDIT_CHARS: Final = 300
SYSTEM: Final = (
    "You help people with their notes. Say which note you rely on, and ask before you change one. " * 24
)
TOOL: Final = "look_up"
TOOLS: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "description": f"{does} Paths are relative to the vault. Answers are cut where they are long.",
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": f"What to {name.replace('_', ' ')}."},
                "limit": {"type": "integer", "description": "The most to answer with.", "default": 10},
            },
            "required": ["query"],
        },
    }
    for name, does in (
        (TOOL, "Looks up what notes say about a subject."),
        ("read_note", "Reads one note whole, or some of its lines."),
        ("related_notes", "Lists notes that link to a note or are linked from it."),
    )
]


@dataclass(frozen=True)
class Scenario:
    """What happens in a conversation."""

    name: str
    limit: int
    """Tokens that a prompt may have."""
    active: bool = False
    once: int = 0
    """Notes that are attached once, evenly spread over the turns."""
    again: int = 0
    """Notes of which one or two are attached to each turn."""
    note_chars: int = ACTIVE_CHARS
    edits: float = 0.0
    """The share of turns before which a note that was attached before is edited."""
    tools: float = 0.0
    """The share of turns that have a round of tools, and so two prompts."""


SCENARIOS: Final = (
    Scenario("state_8k", 8_000),
    Scenario("active_8k", 8_000, active=True),
    Scenario("active_edits_8k", 8_000, active=True, edits=0.15),
    Scenario("active_edits_tools_8k", 8_000, active=True, edits=0.15, tools=0.3),
    Scenario("notes_40_tools_8k", 8_000, once=40, tools=0.3),
    Scenario("notes_60_tools_32k", 32_000, once=60, note_chars=2_400, tools=0.3),
    Scenario("notes_110_tools_128k", 128_000, once=110, note_chars=6_000, tools=0.3),
    Scenario("again_8k", 8_000, again=6),
    Scenario("again_edited_32k", 32_000, again=8, note_chars=4_000, edits=0.6),
)


@dataclass(frozen=True)
class Attached:
    """A note as it is when a turn attaches it."""

    path: str
    text: str
    marks: frozenset[str]
    """The word of the note, and that of its last edit."""
    active: bool = False


@dataclass(frozen=True)
class ScenarioTurn:
    number: int
    question: str
    answer: str
    state: str
    """The list of open notes."""
    attached: tuple[Attached, ...]
    result: str | None
    """What a tool answers; None: the turn has no round of tools."""


@dataclass
class _Note:
    """A note that is edited a paragraph at a time; its first paragraph stays."""

    path: str
    mark: str
    paragraphs: list[str]
    edits: int = 0

    def edit(self, at: int, paragraph: str) -> None:
        """Puts the paragraph into the place of another one, behind a word of its own."""
        self.edits += 1
        self.paragraphs[at] = f"{self._edit_mark} {paragraph}"

    def attached(self, *, active: bool) -> Attached:
        marks = {self.mark} | ({self._edit_mark} if self.edits else set())
        return Attached(self.path, "\n\n".join(self.paragraphs), frozenset(marks), active)

    @property
    def _edit_mark(self) -> str:
        return f"{self.mark[:-1]}e{self.edits:03}q"


@dataclass
class _World:
    """What a conversation is about, on its way through the turns."""

    random: Random
    words: "Words"
    opened: list[str]
    pool: list[_Note]
    """The notes that may be active or attached again."""
    active: int = 0
    known: list[_Note] = field(default_factory=list)
    """Notes that were attached before, in the order first attached."""


class Words:
    """Markdown of a generated vault, by the number of characters."""

    def __init__(self, folder: Path, seed: int) -> None:
        make_vault(folder, 200, seed)
        self._paragraphs = [
            paragraph
            for path in sorted(folder.rglob("*.md"))
            for paragraph in path.read_text().split("\n\n")
            if paragraph.strip()
        ]

    def paragraphs(self, random: Random, chars: int) -> list[str]:
        """Paragraphs of so many characters in all."""
        found = list[str]()
        while (left := chars - sum(map(len, found))) > 0:
            found.append(self._paragraphs[int(random.random() * len(self._paragraphs))][:left].strip() or "More.")
        return found

    def text(self, random: Random, chars: int) -> str:
        return "\n\n".join(self.paragraphs(random, chars))


def mark_of_turn(number: int) -> str:
    """The word that stands in this turn's question and nowhere else."""
    return f"Zt{number:03}q"


def turns_of(scenario: Scenario, words: Words, seed: int, turns: int = TURNS) -> list[ScenarioTurn]:
    """The conversation of that seed."""
    return list(_turns(scenario, words, Random(f"{scenario.name} {seed}"), turns))


def _turns(scenario: Scenario, words: Words, random: Random, turns: int) -> Iterator[ScenarioTurn]:
    opened = [f"open/{at:03} {_title(random)}.md" for at in range(OPENED_IN_ALL)]
    in_pool = ACTIVE_NOTES if scenario.active else scenario.again
    new = iter(range(in_pool + scenario.once))
    pool = [_note(next(new), scenario, words, random) for _ in range(in_pool)]
    world = _World(random, words, opened[:OPEN], pool)
    for number in range(turns):
        if random.random() < STATE_CHANGES:
            closed = [path for path in opened if path not in world.opened]
            world.opened[int(random.random() * OPEN)] = _any(random, closed)
            world.active = int(random.random() * ACTIVE_NOTES)
        edited = _edited(scenario, world)
        come = scenario.once * (number + 1) // turns - scenario.once * number // turns
        notes = [_note(next(new), scenario, words, random) for _ in range(come)]
        notes += [edited] if edited is not None else []
        notes += [_any(random, pool) for _ in range(1 + (random.random() < 0.5) if scenario.again else 0)]
        active = pool[world.active] if scenario.active else None
        notes += [active] if active is not None else []
        attached = {note.path: note.attached(active=note is active) for note in notes}
        world.known += [note for note in notes if note not in world.known]
        yield ScenarioTurn(
            number,
            f"{mark_of_turn(number)}: {words.text(random, QUESTION_CHARS)}",
            words.text(random, ANSWER_CHARS),
            _state(world),
            tuple(attached.values()),
            words.text(random, RESULT_CHARS) if random.random() < scenario.tools else None,
        )


def _note(number: int, scenario: Scenario, words: Words, random: Random) -> _Note:
    """A note between half and one and a half times as long as the scenario's are."""
    path = f"notes/{number:03} {_title(random)}.md"
    chars = round(scenario.note_chars * (0.5 + random.random()))
    mark = f"Zn{number:03}q"
    return _Note(path, mark, [f"# {mark}", *words.paragraphs(random, chars)])


def _edited(scenario: Scenario, world: _World) -> _Note | None:
    """A note that was attached before, with one paragraph written anew."""
    if not world.known or world.random.random() >= scenario.edits:
        return None
    note = _any(world.random, world.known)
    at = 1 + int(world.random.random() * (len(note.paragraphs) - 1))
    note.edit(at, world.words.paragraphs(world.random, EDIT_CHARS)[0])
    return note


def _title(random: Random) -> str:
    return f"{_any(random, NOUNS)} {_any(random, KINDS)}"


def _any(random: Random, choices: Sequence[T]) -> T:
    return choices[int(random.random() * len(choices))]


def _state(world: _World) -> str:
    return "\n".join(("Open notes:", *(f"- {path}" for path in world.opened)))
