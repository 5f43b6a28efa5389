"""get_related_notes: each kind of tie with its reason and its weight, over real vaults."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_tools.notes.name_only import NAMES_ONLY
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.visit_answers import opened_next, tallies, visited_together

TOOL = "get_related_notes"
FILES = {
    "plan.md": (
        "---\ntags: [rare]\n---\n# Plan\n[[Budget]] [[all]] [[all]] [[plan]] [[gone]] Quokkas, a zebra protocol.\n"
    ),
    "budget.md": "# Budget\nMoney.\n",
    "log.md": "# Log\nToday: [the plan](plan.md).\n",
    "tagged.md": "# Tagged\nOther things, #rare ones.\n",
    "likeness.md": "# Likeness\nAnother zebra protocol for quokkas.\n",
    "all.md": "# All\n#rare [[plan]]\n\nZebra.\n",
    "secret.md": "---\nworkspaced: private\ntags: [rare]\n---\n[[Plan]] quokkas zebra protocol.\n",
    **{f"other{n}.md": f"# Other {n}\nNothing of the sort, number {n}.\n" for n in range(20)},
}


def at(minute: int) -> str:
    return f"2026-03-01T{8 + minute // 60:02}:{minute % 60:02}:00.000000Z"


def visit(note: str, begin: int, end: int | None) -> Visit:
    return Visit(NoteId(note), begin, at(begin), at(end) if end is not None else None)


def row(*notes: str) -> list[Visit]:
    """Visits of a minute each, one after the other."""
    return [visit(f"{note}.md", n, n + 1) for n, note in enumerate(notes)]


@pytest.fixture
def ask(
    make_vault: MakeVault, make_view: MakeView, make_state: MakeState, call: Call
) -> Callable[..., dict[str, Any]]:
    """ask(visits, files, archived, **arguments) -> the result where `plan.md` is active."""

    def make(
        visits: Sequence[Visit] = (), files: Any = FILES, archived: tuple[str, ...] = (), **arguments: Any
    ) -> dict[str, Any]:
        return call(
            TOOL, make_view(make_vault(files), make_state("plan.md", archived=archived), visits), **arguments
        )

    return make


def test_every_kind_of_tie_is_found_with_its_reason_and_weight(ask: Call) -> None:
    result = ask(row("plan", "other7", "other1", "other2", "other3", "all", "plan"))
    related = {each["id"]: each for each in result["data"]["related"]}
    reasons = {note: [(each["kind"], each.get("count")) for each in of["reasons"]] for note, of in related.items()}
    assert reasons.pop("all.md") == [
        ("linksTo", 2),
        ("linkedFrom", 1),
        ("similarText", None),
        ("sharedTags", None),
        ("visitedTogether", 1),
    ], "the strongest first"
    assert reasons == {
        "budget.md": [("linksTo", 1), ("similarText", None)],
        "log.md": [("linkedFrom", 1), ("similarText", None)],
        "tagged.md": [("sharedTags", None)],
        "likeness.md": [("similarText", None)],
        "other7.md": [("visitedTogether", 1)],
        "other1.md": [("visitedTogether", 1)],
        "other2.md": [("visitedTogether", 2)],
        "other3.md": [("visitedTogether", 1)],
    }
    assert related["tagged.md"]["reasons"][0]["tags"] == ["rare"]
    assert set(related["likeness.md"]["reasons"][0]["words"]) == {"quokkas", "protocol", "zebra"}
    scores = [each["score"] for each in related.values()]
    assert scores == sorted(scores, reverse=True) and next(iter(related)) == "all.md"
    assert [related[f"other{n}.md"]["score"] for n in (1, 2)] == [round(each / 4.75, 3) for each in (0.25, 0.375)]
    assert (result["data"]["total"], result["message"]) == (9, "9 of 9 related notes, the most related first.")
    assert "warnings" not in result


def test_what_was_opened_next_three_times_counts_for_more_than_what_was_opened_before(ask: Call) -> None:
    files = {
        "plan.md": "# Topic\n\n[it](x.md)",
        "x.md": "# X\n\n[on](plan.md)",
        "before.md": "one",
        "after.md": "two",
    }
    linked, after, before = ask(row(*("before", "plan", "after") * 3), files)["data"]["related"]
    assert [(each["id"], each["score"]) for each in (linked, after, before)] == [
        ("x.md", round(1 / 4.75, 3)),
        ("after.md", round((0.45 + 0.25) / 4.75, 3)),
        ("before.md", round(0.45 / 4.75, 3)),
    ]
    assert after["reasons"] == [{"kind": "visitedTogether", "count": 3}, {"kind": "openedNext", "count": 3}]


def test_archived_notes_come_last_and_say_so(ask: Call) -> None:
    related = ask(archived=("all.md",))["data"]["related"]
    assert (related[-1]["id"], related[-1]["archived"], related[0]["archived"]) == ("all.md", True, False)


def test_a_note_without_ties_has_none_and_one_that_is_none_is_refused(ask: Call) -> None:
    alone = ask(files={"plan.md": "[[plan]] [[gone]] [up](#place)"})
    assert alone["data"]["related"] == [] and "search_workspace" in alone["message"]
    for reference, code in (
        ("the pln", "NOTE_NOT_FOUND"),
        ("secret.md", "NOTE_NOT_FOUND"),
        ("/etc/passwd", "OUTSIDE_VAULT"),
        ("[[]]", "INVALID_ARGUMENT"),
    ):
        assert ask(reference=reference)["code"] == code


def test_links_that_are_not_counted_are_told_of(ask: Call) -> None:
    result = ask(files={"plan.md": "x", "a.md": "[[plan]]\n" * 600})
    assert result["data"]["related"][0]["reasons"] == [{"kind": "linkedFrom", "count": 500}]
    assert result["warnings"] == ["Of 600 links to the note 500 were counted."]


def test_a_client_that_is_shown_names_learns_of_visits_only(
    make_vault: MakeVault, make_view: MakeView, make_state: MakeState, call: Call
) -> None:
    vault = make_vault(FILES)
    state = make_view(vault, make_state("plan.md")).state
    visits = row("plan", "other7")
    now = "2026-03-01T12:00:00.000000Z"
    view = shared_view(state, now, vault, lambda: visits, level="names", withheld=vault.levels.is_withheld)
    result = call(TOOL, view)
    assert result["data"]["note"].keys() == {"id", "title"}
    assert result["data"]["related"] == [{"id": "other7.md", "title": "Other 7", "archived": False}]
    assert result["warnings"] == [NAMES_ONLY]


# -- visits --

NEAR = [visit("a.md", 0, 10), visit("note.md", 40, 100), visit("b.md", 130, 131), visit("c.md", 131, 140)]
GOES_ON = [visit("a.md", 0, 5), visit("note.md", 5, None)]
TOGETHER: dict[str, tuple[list[Visit], str, dict[str, int]]] = {
    "three before and after": (row(*"abcd", "note", *"efgh"), "note", dict.fromkeys("bcdefg", 1)),
    "once for each visit it is close to": (row("a", "note", "a", "note", "b"), "note", {"a": 2, "b": 2}),
    "half an hour between end and beginning": (NEAR, "note", {"a": 1, "b": 1}),
    "and no more": ([visit("a.md", 0, 9), NEAR[1]], "note", {}),
    "one that goes on, and those before it": (GOES_ON, "note", {"a": 1}),
    "those before it, and one that goes on": (GOES_ON, "a", {"note": 1}),
    "a note that was not visited": (GOES_ON, "other", {}),
    "no visits": ([], "a", {}),
}
NEXT: dict[str, tuple[list[str], str, dict[str, int]]] = {
    "twice is too seldom": (["note", "a"] * 2, "note", {}),
    "three times": (["note", "a"] * 3, "note", {"a": 3}),
    "up to three visits later": (["note", *"abcd"] * 3, "note", dict.fromkeys("abc", 3)),
    "over the end of a round": (["note", "a", "b"] * 4, "a", {"b": 4, "note": 3}),
    "after the note was opened again it follows that visit": (
        ["note", "a", "note", "b"] * 3,
        "note",
        {"a": 3, "b": 3},
    ),
    "opened twice after one visit it followed it once": (["note", *"aba"] * 3, "note", {"a": 3, "b": 3}),
}


def named(counts: dict[str, int]) -> dict[str, int]:
    return {f"{note}.md": count for note, count in counts.items()}


@pytest.mark.parametrize("case", TOGETHER)
def test_notes_that_were_visited_together_are_counted(case: str) -> None:
    visits, note, counts = TOGETHER[case]
    assert visited_together(visits, NoteId(f"{note}.md")) == named(counts)


@pytest.mark.parametrize("case", NEXT)
def test_what_was_opened_next_is_counted_from_three_times_on(case: str) -> None:
    notes, note, counts = NEXT[case]
    assert opened_next(row(*notes), NoteId(f"{note}.md")) == named(counts)


def test_a_visit_counts_from_one_second_on() -> None:
    def seconds(note: str, begin: float, end: float) -> Visit:
        times = (f"2026-03-01T12:00:{each:09.6f}Z" for each in (begin, end))
        return Visit(NoteId(note), 1, *times)

    flashed = [seconds(f"{n}.md", 2 + n / 10, 2 + (n + 1) / 10) for n in range(9)] + [
        seconds("a.md", 2.9, 3.899999)
    ]
    visits = [seconds("note.md", 0, 2), *flashed, seconds("b.md", 4, 5)] * 3
    assert opened_next(visits, NoteId("note.md")) == {"b.md": 3}
    assert set(visited_together(visits, NoteId("note.md"))) == {"b.md"}
    assert [(each.note, each.visits) for each in tallies(visits, "2026-03-01T12:01:00Z")] == [
        ("note.md", 3),
        ("b.md", 3),
    ]
