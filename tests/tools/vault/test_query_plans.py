"""How SQLite runs each statement of the index: never by trying every row of one table for every row of another."""

import random
import re
import sqlite3
from typing import Any

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.ports import questions as q
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.index import database

WORDS = [f"{first}{second}{third}" for first in "kitchen" for second in "aeiou" for third in ("lm", "rst", "n")]
NOTE = NoteId("folder1/n8.md")
SEARCHES = (
    "kalm", "kalm in a", "a", "a b", "ü a kalm", "kalm tag:project", "kalm -tag:project", "kalm path:folder1",
    "kalm -inst", '"kalm inst"', "kalm inst tolm cherst hin o", "日", "in", "1 2 3 kalm", "OR",
)  # fmt: skip
QUESTIONS: list[q.Question[Any]] = [
    *(q.Search(SearchQuery(words, 10)) for words in SEARCHES),
    *(q.Search(SearchQuery(words, 10, names_only=True)) for words in SEARCHES),
    q.Search(SearchQuery("kalm a", 10, among=(NOTE,))),
    q.Search(SearchQuery("kalm a", 10, folder="folder1", tags=("project",))),
    q.Resolve("n12"), q.Resolve("folder1/n12.md"), q.Resolve("No such note"), q.ResolveFrom("n12", NOTE),
    q.LinkTargets(NOTE, []), q.Incoming(NOTE, 20), q.Images(NOTE), q.Names([NOTE]), q.NamesLike("n1", 10),
    q.Members("folder1", None, 10), q.Members(None, "project", 10), q.Members(None, None, 10),
    q.Similar(NOTE, 10), q.SharingTags(NOTE, 10), q.Overview(10), q.NoteCount(), q.Read([NOTE]),
]  # fmt: skip
NESTED = re.compile(r"SCAN \w+ VIRTUAL TABLE INDEX \d+:.*=")
"""A full-text table asked once for each row of another: `M` is a match, `=` a row's number."""


def notes(count: int) -> dict[str, str | bytes]:
    chance = random.Random(1)
    return {
        f"folder{number % 7}/n{number}.md": f"# Note {number}\n\n#project/p{number % 5} a ü 日\n\n"
        f"{' '.join(chance.choices(WORDS, k=30))} [[n{chance.randrange(count)}]]\n"
        for number in range(count)
    }


@pytest.mark.parametrize("count", [50, pytest.param(20_000, marks=pytest.mark.thorough)])
def test_no_statement_is_quadratic(count: int, make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault(notes(count))
    plans: dict[str, list[str]] = {}
    asked = database._rows

    def explained(reader: sqlite3.Connection, sql: str, arguments: Any = ()) -> list[Any]:
        if not sql.startswith("PRAGMA"):
            plan = reader.execute(f"EXPLAIN QUERY PLAN {sql}", arguments).fetchall()
            plans.setdefault(sql, [detail for _, _, _, detail in plan])
        return asked(reader, sql, arguments)

    monkeypatch.setattr(database, "_rows", explained)
    for question in QUESTIONS:
        vault.ask(question, EMPTY_VAULT)
    assert len(plans) > 30, "the statements were not seen"
    slow = {sql: plan for sql, plan in plans.items() if any(map(NESTED.match, plan)) or scans_inside(plan)}
    assert slow == {}


def scans_inside(plan: list[str]) -> bool:
    """Whether a table is read whole for each row of the one before it."""
    made = {step.removeprefix("MATERIALIZE ") for step in plan if step.startswith("MATERIALIZE ")}
    loops = [step for step in plan if step.startswith(("SCAN", "SEARCH")) and step[5:] not in made]
    return any(re.match(r"SCAN \w", step) and "VIRTUAL" not in step for step in loops[1:])
