"""Sessions of invented users, for measuring what comes next: which note each opens, when, and what links where.

Each habit is a generator with chance in it, seeded, and none of them knows how notes are predicted. They are
assumptions, not observations: the chances below were set before anything was measured, and are the whole model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

DAYS: Final = 60
"""Days of a session."""


Day = Sequence[Sequence[str]]
"""The notes opened on one day, in order, one list for each sitting."""


@dataclass
class Habit:
    """One user's days, and what each note links to. The links of a note grow while the days are made."""

    days: Iterator[Day]
    links: dict[str, list[str]] = field(default_factory=dict)


def project_work(random: Random, days: int = DAYS) -> Habit:
    """Ten projects of eight notes; two or three sittings a day, each about one project, two of them in fashion.

    A sitting begins at the project's index, then the next note is: 50 % one of the two that usually follow the
    present note, 30 % any note of the project, 10 % the index again, 10 % any note of the vault.
    """
    projects = [[f"p{at}/{name}.md" for name in ("index", *"abcdefg")] for at in range(10)]
    every = [note for project in projects for note in project]
    usual = {note: random.sample(project, 2) for project in projects for note in project}
    links = {project[0]: list(project[1:]) for project in projects}
    links |= {note: [project[0]] for project in projects for note in project[1:]}

    def made() -> Iterator[Day]:
        for day in range(days):
            if day % 14 == 0:
                fashion = random.sample(projects, 2)
            sittings = []
            for _ in range(random.choice((2, 3))):
                project = random.choice(fashion) if random.random() < 0.7 else random.choice(projects)
                sitting = [project[0]]
                for _ in range(random.randint(5, 14)):
                    chance = random.random()
                    if chance < 0.5:
                        sitting.append(random.choice(usual[sitting[-1]]))
                    elif chance < 0.8:
                        sitting.append(random.choice(project))
                    else:
                        sitting.append(project[0] if chance < 0.9 else random.choice(every))
                sittings.append(sitting)
            yield sittings

    return Habit(made(), links)


def daily_notes(random: Random, days: int = DAYS) -> Habit:
    """A new note each day, which nobody can foresee: opened first, then yesterday's, the inbox and the tasks, each
    with 80 %; then five to fifteen times one of forty notes (a few often, most rarely) and back to the day's note
    with 60 %. In the evening the day's note, the habits' and the journal."""
    others = [f"notes/{at}.md" for at in range(40)]
    weights = [1 / (at + 1) for at in range(40)]
    habit = Habit(iter(()))

    def made() -> Iterator[Day]:
        yesterday = "daily/start.md"
        for day in range(days):
            today = f"daily/{day:03}.md"
            habit.links[today] = [yesterday, "inbox.md"]
            morning = [today, *(note for note in (yesterday, "inbox.md", "tasks.md") if random.random() < 0.8)]
            work: list[str] = []
            for note in random.choices(others, weights, k=random.randint(5, 15)):
                habit.links[today].append(note)
                work += [note, today] if random.random() < 0.6 else [note]
            yield [morning, work, [today, "habits.md", "journal.md"]]
            yesterday = today

    habit.days = made()
    return habit


def zettelkasten(random: Random, days: int = DAYS) -> Habit:
    """Four hundred notes with three to eight links each. Three sittings a day begin at one of six maps; then the
    user follows a link with 65 %, one of the note's first three links twice as often as another, goes back with
    20 %, and searches for any note with 15 %."""
    notes = [f"z/{at:03}.md" for at in range(400)]
    maps = notes[:6]
    links = {note: random.sample(notes, random.randint(3, 8)) for note in notes}

    def following(note: str) -> str:
        return random.choices(links[note], [2] * 3 + [1] * (len(links[note]) - 3))[0]

    def made() -> Iterator[Day]:
        for _ in range(days):
            sittings = []
            for _ in range(3):
                sitting = [random.choice(maps)]
                for _ in range(random.randint(6, 16)):
                    chance = random.random()
                    back = sitting[-2] if len(sitting) > 1 else sitting[-1]
                    sitting.append(
                        following(sitting[-1])
                        if chance < 0.65
                        else back
                        if chance < 0.85
                        else random.choice(notes)
                    )
                sittings.append(sitting)
            yield sittings

    return Habit(made(), links)


def random_walk(random: Random, days: int = DAYS) -> Habit:
    """Two hundred notes with two to six links each; every step follows one of them by chance, from where the last
    day ended. There is no habit but the links."""
    notes = [f"w/{at:03}.md" for at in range(200)]
    links = {note: random.sample(notes, random.randint(2, 6)) for note in notes}

    def made() -> Iterator[Day]:
        at = notes[0]
        for _ in range(days):
            sitting = []
            for _ in range(30):
                at = random.choice(links[at])
                sitting.append(at)
            yield [sitting]

    return Habit(made(), links)


HABITS: Final[dict[str, Callable[[Random], Habit]]] = {
    "project_work": project_work,
    "daily_notes": daily_notes,
    "zettelkasten": zettelkasten,
    "random_walk": random_walk,
}
