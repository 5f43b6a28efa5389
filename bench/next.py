"""What comes next: how often the next note is among those offered, beside simpler guesses.

Each visit in the second half of a session is a case: from the visits before it, and from nothing after it, guess
its note. A habit exists in a case if some note followed the open one often enough to be offered; the goal is about
those. The rivals, which always name five, are asked in the same cases.

Sessions: the demo's, which is the only recorded one, and those of invented users (habits.py), who leave the editor
open between sittings and close it at night.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import resources
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from workspaced_events.clock import event_time
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.projections.visits import Visit, visits_of
from workspaced_events.projections.workspace_state import EMPTY_VAULT, ActiveNote, VaultState, WorkspaceState
from workspaced_events.projections.workspace_state import Vault as Registered
from workspaced_events.schema import catalogue as c
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.ports.questions import (
    Incoming,
    IndexState,
    LinkTargets,
    Names,
    Question,
    R,
    Read,
    SharingTags,
    Similar,
    Visits,
)
from workspaced_tools.ports.vault import IncomingLink, IncomingLinks, LinkTarget, NoteRef
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.token_estimate import estimate_tokens
from workspaced_tools.prompts.sources.pinned import NEXT
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import run
from workspaced_tools.tools.visit_answers import opened_next
from workspaced_tools.vault.vault import Vault

from .daemon import Place
from .habits import HABITS, Habit
from .measure import Figure, at_least, progress

SEEDS: Final = 5
FIRST: Final = 5
"""How many of the offered notes count."""
GOAL: Final = at_least(0.4)
VISIT_S: Final = (20, 300)
"""How long a visit lasts: evenly between these."""
BETWEEN_SITTINGS_S: Final = 7_200
NIGHT_S: Final = 36_000
BEGIN_S: Final = 1_767_250_800
"""The first morning, since the epoch."""
VAULT: Final = VaultId("notes")
Links = Mapping[str, Sequence[str]]
Guess = Callable[["Case"], Sequence[str]]


class Case(NamedTuple):
    """The user is about to open the next note."""

    before: Sequence[Visit]
    """All visits; the last one is that of the open note."""
    links: Links
    next: NoteId

    @property
    def open(self) -> NoteId:
        return self.before[-1].note


@dataclass
class Tally:
    """What came of the cases of one habit."""

    cases: int = 0
    offered: int = 0
    """Cases in which at least one note was offered."""
    names: int = 0
    tokens: int = 0
    """Of the lines in which a prompt names them."""
    hits: Counter[str] = field(default_factory=Counter)
    """In the offered cases, by guess."""
    hits_of_all: Counter[str] = field(default_factory=Counter)

    def add(self, case: Case) -> None:
        offered = opened(case)
        self.cases += 1
        self.offered += bool(offered)
        self.names += len(offered)
        self.tokens += estimate_tokens(f"{NEXT} {', '.join(offered)}") if offered else 0
        for name, guess in GUESSES.items():
            if case.next in guess(case)[:FIRST]:
                self.hits_of_all[name] += 1
                self.hits[name] += bool(offered)

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.cases + other.cases,
            self.offered + other.offered,
            self.names + other.names,
            self.tokens + other.tokens,
            self.hits + other.hits,
            self.hits_of_all + other.hits_of_all,
        )

    def figure(self, name: str, *, goal: bool) -> Figure:
        offered, cases = max(1, self.offered), max(1, self.cases)
        fields: dict[str, Any] = {"cases": self.cases, "offered": self.offered / cases}
        fields |= {each: self.hits[each] / offered for each in GUESSES if each != "opened_next"}
        fields["of_all_cases"] = {each: round(self.hits_of_all[each] / cases, 3) for each in GUESSES}
        fields |= {"names": self.names / offered, "tokens": self.tokens / offered}
        value = self.hits["opened_next"] / offered
        return Figure(f"next.{name}", value, "hits in the first 5", GOAL if goal else None, fields=fields)


def guesses(at: Place) -> Iterator[Figure]:
    """The share of hits where a habit exists, for each invented user, together, and in the demo's session."""
    together = Tally()
    for name, make in HABITS.items():
        tally = Tally()
        for seed in range(1 if at.sizes.quick else SEEDS):
            progress(f"{name}, seed {seed}")
            random = Random(seed)
            habit = make(random)
            tally = _tallied(_visits(habit, random), habit.links, tally)
        is_habit = name != "random_walk"
        together = together + tally if is_habit else together
        yield tally.figure(name, goal=is_habit)
    yield together.figure("habits", goal=True)
    yield _tallied(*_demo(), Tally()).figure("demo", goal=False)


def _tallied(visits: Sequence[Visit], links: Links, tally: Tally) -> Tally:
    for at in range(len(visits) // 2, len(visits)):
        tally.add(Case(visits[:at], links, visits[at].note))
    return tally


# -- guesses --


def opened(case: Case) -> list[NoteId]:
    """What a pin of kind `next-notes` names, if all notes still exist."""
    counts = opened_next(case.before, case.open)
    return sorted(counts, key=lambda note: (-counts[note], note))[:FIRST]


def most_recent(case: Case) -> list[NoteId]:
    latest = dict.fromkeys(visit.note for visit in reversed(case.before))
    return [note for note in latest if note != case.open][:FIRST]


def most_frequent(case: Case) -> list[NoteId]:
    counts = Counter(visit.note for visit in case.before)
    return [note for note, _ in counts.most_common(FIRST + 1) if note != case.open][:FIRST]


def outgoing_links(case: Case) -> list[str]:
    return list(dict.fromkeys(case.links.get(case.open, ())))[:FIRST]


def related(case: Case) -> list[str]:
    """What `get_related_notes` lists first, by links and visits; the invented notes have no tags and no text."""
    state = VaultState(active=ActiveNote(case.open, ""))
    registered = {VAULT: Registered(VAULT, "Notes", "/notes", True)}
    view = View(WorkspaceState(1, VAULT, registered, {VAULT: state}), case.before[-1].at, Linked(case))
    return [each["id"] for each in run(TOOLS["get_related_notes"], view, {"limit": FIRST})["data"]["related"]]


GUESSES: Final[dict[str, Guess]] = {
    "opened_next": opened,
    "most_recent": most_recent,
    "most_frequent": most_frequent,
    "outgoing_links": outgoing_links,
    "related": related,
}


class Linked:
    """Implements `VaultPort` over a case: every path is a note, whose text is its links."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def ask(self, question: Question[R]) -> R:
        answer: Any
        match question:
            case Visits():
                answer = self._case.before
            case Read():
                answer = [self._note(note) for note in question.notes]
            case LinkTargets():
                answer = [LinkTarget(_ref(NoteId(link.target))) for link in question.links]
            case Incoming():
                sources = (each for each, links in self._case.links.items() if question.note in links)
                found = tuple(IncomingLink(_ref(NoteId(source)), "", 1) for source in sources)
                answer = IncomingLinks(found[: question.limit], len(found))
            case Names():
                answer = [_ref(note) for note in question.notes]
            case SharingTags() | Similar():
                answer = []
            case IndexState():
                answer = "ready"
            case _:
                raise AssertionError(question.name)
        known: R = answer
        return known

    def _note(self, note: NoteId) -> Note:
        source = "\n".join(f"[[{each}]]" for each in self._case.links.get(note, ())).encode()
        return Note(note, StatKey(1, 1, 1, 1, 1), None, sha256(source).hexdigest(), source)


def _ref(note: NoteId) -> NoteRef:
    return NoteRef(note, note, note)


# -- sessions --


def _visits(habit: Habit, random: Random) -> list[Visit]:
    """The visits as the daemon folds them from what an editor publishes."""
    steps: list[tuple[int, str | None]] = []
    now = BEGIN_S
    for day in habit.days:
        for sitting in day:
            for note in sitting:
                steps.append((now, note))
                now += random.randint(*VISIT_S)
            now += BETWEEN_SITTINGS_S
        steps.append((now, None))
        now += NIGHT_S
    return _folded(steps)


def _folded(steps: Sequence[tuple[int, str | None]]) -> list[Visit]:
    make = c.CATALOGUE["active_note_set"].event
    events = (
        make(seq, EventId(str(seq)), event_time(at * 1_000_000_000), "bench", VAULT, c.ActiveNoteSet(note=note))
        for seq, (at, note) in enumerate(((at, NoteId(note) if note else None) for at, note in steps), start=1)
    )
    return visits_of(events, VAULT)


def _demo() -> tuple[list[Visit], Links]:
    """The demo's session, a note every two minutes, and the links of the demo's vault."""
    with resources.as_file(resources.files("workspaced.demo")) as folder:
        actions = [json.loads(line) for line in Path(folder, "session.jsonl").read_text().splitlines()]
        notes = [each["data"]["note"] for each in actions if each["type"] == "active_note_set"]
        visits = _folded([(BEGIN_S + at * 120, note) for at, note in enumerate(notes)])
        vault = Vault(folder / "vault")
        try:
            vault.reconcile()
            return visits, {note: _linked(vault, NoteId(note)) for note in dict.fromkeys(notes)}
        finally:
            vault.close()


def _linked(vault: Vault, note: NoteId) -> list[str]:
    [found] = vault.ask(Read([note]), EMPTY_VAULT)
    if not isinstance(found, Note):
        return []
    links = [link.target for link in found.markdown.links if link.target]
    targets = vault.ask(LinkTargets(note, links), EMPTY_VAULT)
    return [each.note.id for each in targets if each.note is not None]
