"""get_related_notes over a vault and a history made up for the test, and over real ones."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from support.client_view import Visited
from support.patience import is_indexed
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState
from workspaced_tools.notes.name_only import NAMES_ONLY
from workspaced_tools.notes.note import Note, NoteFailure, StatKey
from workspaced_tools.ports.questions import Question
from workspaced_tools.ports.vault import (
    IncomingLink,
    IncomingLinks,
    LinkName,
    LinkTarget,
    NoteRef,
    Resolution,
    SimilarNote,
    TaggedNote,
)
from workspaced_tools.ports.view import View
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.tools.visit_answers import opened_next, tallies, visited_together

TOOL = "get_related_notes"
STAT = StatKey(1, 1, 1, 1, 1)


def ref(path: str) -> NoteRef:
    return NoteRef(NoteId(path), f"Title of {path}", path)


class FakeVault:
    """Any path but `gone*` is a note; `note.md` has the text given here. A link leads to `<target>.md`."""

    def __init__(
        self,
        text: str = "",
        *,
        incoming: Sequence[str] = (),
        incoming_total: int | None = None,
        tagged: Sequence[tuple[str, float]] = (),
        similar: Sequence[tuple[str, float, Sequence[str]]] = (),
        resolution: Resolution | None = None,
        failure: str | None = None,
        state: str = "ready",
    ) -> None:
        self._text = text
        self._incoming = tuple(IncomingLink(ref(path), "context", 1) for path in incoming)
        self._total = len(incoming) if incoming_total is None else incoming_total
        self._tagged = [TaggedNote(ref(path), ("rare", "common"), weight) for path, weight in tagged]
        self._similar = [SimilarNote(ref(path), score, tuple(words)) for path, score, words in similar]
        self._resolution = resolution
        self._failure = failure
        self._state = state

    def ask(self, question: Question[Any], _state: VaultState, _least: Any = None) -> Any:
        return getattr(self, question.name)(*msgspec.structs.astuple(question))

    def read(self, notes: Sequence[NoteId]) -> list[Note | NoteFailure]:
        if self._failure is not None:
            return [NoteFailure(note, self._failure, "It is broken.") for note in notes]
        return [Note(note, STAT, None, "0" * 64, self._text.encode()) for note in notes]

    def resolve(self, reference: str) -> Resolution:
        return self._resolution or Resolution(ref(reference), "path")

    def link_targets(self, source: NoteId, links: Sequence[LinkName]) -> list[LinkTarget]:
        return [
            LinkTarget(None, ambiguous=link.target == "twin")
            if link.target in ("gone", "twin")
            else LinkTarget(ref(f"{link.target}.md"))
            for link in links
        ]

    def incoming(self, note: NoteId, limit: int) -> IncomingLinks:
        return IncomingLinks(self._incoming[:limit], self._total)

    def names(self, notes: Sequence[NoteId]) -> list[NoteRef | None]:
        assert len(set(notes)) == len(notes)
        return [None if note.startswith("gone") else ref(note) for note in notes]

    def sharing_tags(self, note: NoteId, limit: int) -> list[TaggedNote]:
        return self._tagged[:limit]

    def similar(self, note: NoteId, limit: int) -> list[SimilarNote]:
        return self._similar[:limit]

    def index_state(self) -> str:
        return self._state


def at(minute: int) -> str:
    return f"2026-03-01T{8 + minute // 60:02}:{minute % 60:02}:00.000000Z"


def visit(note: str, begin: int, end: int | None) -> Visit:
    return Visit(NoteId(note), begin, at(begin), at(end) if end is not None else None)


def row(*notes: str) -> list[Visit]:
    """Visits of a minute each, one after the other."""
    return [visit(f"{note}.md", n, n + 1) for n, note in enumerate(notes)]


@pytest.fixture
def ask(make_view: MakeView, make_state: MakeState, call: Call) -> Call:
    """ask(vault, visits, active, archived, **arguments) -> the result; `note.md` is active."""

    def make(
        vault: Any,
        visits: Sequence[Visit] = (),
        *,
        active: str | None = "note.md",
        archived: tuple[str, ...] = (),
        sharing: str = "all",
        **arguments: Any,
    ) -> dict[str, Any]:
        view = make_view(vault, make_state(active, archived=archived), visits)
        return call(TOOL, msgspec.structs.replace(view, sharing=sharing), **arguments)

    return make


def paths(result: dict[str, Any]) -> list[str]:
    return [each["id"] for each in result["data"]["related"]]


def scores(result: dict[str, Any]) -> dict[str, float]:
    return {each["id"]: each["score"] for each in result["data"]["related"]}


EVERY_SIGNAL = FakeVault(
    "[[a]] [[a]] [[b]]",
    incoming=["a.md", "c.md", "c.md"],
    tagged=[("a.md", 3.0), ("d.md", 3.0)],
    similar=[("e.md", 8.0, ("quokka", "zebra", "yak")), ("a.md", 4.0, ("quokka",))],
)
VISITS = row("a", "note", "f", "x", "y", "z", "note", "a")


def test_every_kind_of_tie_is_found_with_its_reason(ask: Call) -> None:
    result = ask(EVERY_SIGNAL, VISITS)
    assert result["data"]["note"] == {"id": "note.md", "title": "note"}
    reasons = {each["id"]: each["reasons"] for each in result["data"]["related"]}
    assert reasons == {
        "a.md": [
            {"kind": "linksTo", "count": 2},
            {"kind": "linkedFrom", "count": 1},
            {"kind": "sharedTags", "tags": ["rare", "common"]},
            {"kind": "visitedTogether", "count": 2},
            {"kind": "similarText", "words": ["quokka"]},
        ],
        "b.md": [{"kind": "linksTo", "count": 1}],
        "c.md": [{"kind": "linkedFrom", "count": 2}],
        "d.md": [{"kind": "sharedTags", "tags": ["rare", "common"]}],
        "e.md": [{"kind": "similarText", "words": ["quokka", "zebra", "yak"]}],
        "f.md": [{"kind": "visitedTogether", "count": 1}],
        "x.md": [{"kind": "visitedTogether", "count": 2}],
        "y.md": [{"kind": "visitedTogether", "count": 2}],
        "z.md": [{"kind": "visitedTogether", "count": 1}],
    }
    assert result["data"]["total"] == 9
    assert result["message"] == "9 of 9 related notes, the most related first."
    assert "warnings" not in result


def test_scores_are_those_of_the_table_in_the_module(ask: Call) -> None:
    found = scores(ask(EVERY_SIGNAL, VISITS))
    assert found["b.md"] == round(0.5 / 4.75, 3)
    assert found["c.md"] == round(2 / 3 / 4.75, 3)
    assert found["d.md"] == found["e.md"] == round(0.375 / 4.75, 3)
    assert found["x.md"] == round(0.375 / 4.75, 3)
    assert found["a.md"] == round((2 / 3 + 0.5 + 0.375 + 0.375 + 0.75 / 8) / 4.75, 3)
    assert list(found) == sorted(found, key=lambda path: (-found[path], path))


def test_what_was_opened_next_three_times_counts_for_more_than_what_was_opened_before(ask: Call) -> None:
    result = ask(FakeVault(), row(*("before", "note", "after") * 3))
    assert {each["id"]: each["reasons"] for each in result["data"]["related"]} == {
        "after.md": [{"kind": "visitedTogether", "count": 3}, {"kind": "openedNext", "count": 3}],
        "before.md": [{"kind": "visitedTogether", "count": 3}],
    }
    assert scores(result) == {"after.md": round((0.45 + 0.25) / 4.75, 3), "before.md": round(0.45 / 4.75, 3)}
    assert paths(ask(FakeVault("[[link]]", incoming=["link.md"]), row(*("note", "after") * 3))) == [
        "link.md",
        "after.md",
    ]


# What all three have in common, so that one more tie decides.


def test_a_note_is_not_related_to_itself_nor_to_what_is_not_there(ask: Call) -> None:
    vault = FakeVault("[[note]] [[gone]] [[twin]] [up](#place)")
    result = ask(vault, row("note", "gone", "note"))
    assert result["data"]["related"] == []
    assert result["success"] is True
    assert "search_workspace" in result["message"]


def test_archived_notes_come_last_and_say_so(ask: Call) -> None:
    vault = FakeVault("[[a]] [[a]] [[b]]", incoming=["a.md"])
    result = ask(vault, archived=("a.md",))
    assert paths(result) == ["b.md", "a.md"]
    assert [each["archived"] for each in result["data"]["related"]] == [False, True]


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


# -- which note --


def test_without_a_vault_or_a_note_it_says_so(ask: Call, make_view: MakeView, call: Call) -> None:
    assert call(TOOL, make_view(None, EMPTY_VAULT))["code"] == "NO_ACTIVE_VAULT"
    assert call(TOOL, make_view(None, EMPTY_VAULT, registered=False))["code"] == "NO_ACTIVE_VAULT"
    result = ask(FakeVault(), active=None)
    assert (result["code"], result["error"]) == ("NO_ACTIVE_NOTE", "No note currently active")
    assert result["message"] == "Open a note to use this tool."


# -- what is left out --


def test_links_that_are_not_counted_are_told_of(ask: Call) -> None:
    result = ask(FakeVault(incoming=["a.md"] * 600, incoming_total=600))
    assert result["data"]["related"][0]["reasons"] == [{"kind": "linkedFrom", "count": 500}]
    assert result["warnings"] == ["Of 600 links to the note 500 were counted."]


def test_the_answer_is_bounded(ask: Call) -> None:
    links = " ".join(f"[[{'x' * 900}{n}]]" for n in range(60))
    result = ask(FakeVault(links), limit=50, reference=f"{'y' * 1020}.md")
    shown = len(result["data"]["related"])
    assert 5 < shown < 50
    assert len(msgspec.json.encode(result)) < 50_000
    assert result["warnings"] == [f"The answer is full: {50 - shown} notes are left out."]
    twins = Resolution(candidates=tuple(ref(f"{'x' * 1000}{n}.md") for n in range(20)))
    result = ask(FakeVault(resolution=twins), reference="x" * 2048)
    assert len(msgspec.json.encode(result)) < 50_000


# -- over a real vault --

FILES = {
    "plan.md": "---\ntags: [rare]\n---\n# Plan\nSee [[Budget]]. Quokkas meet the zebra protocol.\n",
    "budget.md": "# Budget\nMoney.\n",
    "log.md": "# Log\nToday: [the plan](plan.md).\n",
    "tagged.md": "# Tagged\nOther things, #rare ones.\n",
    "likeness.md": "# Likeness\nAnother zebra protocol for quokkas.\n",
    "secret.md": "---\nworkspaced: private\ntags: [rare]\n---\n[[Plan]] quokkas zebra protocol.\n",
    **{f"other{n}.md": f"# Other {n}\nNothing of the sort, number {n}.\n" for n in range(20)},
}


@pytest.fixture
def real(make_vault: MakeVault, make_view: MakeView, make_state: MakeState) -> tuple[Any, View]:
    vault = make_vault(FILES)
    assert is_indexed(vault)
    view = make_view(vault, make_state("plan.md"), row("plan", "other7"))
    return vault, view


def test_a_real_vault_tells_all_of_it(real: tuple[Any, View], call: Call) -> None:
    _, view = real
    result = call(TOOL, view)
    assert {each["id"]: each["reasons"][0]["kind"] for each in result["data"]["related"]} == {
        "budget.md": "linksTo",
        "log.md": "linkedFrom",
        "tagged.md": "sharedTags",
        "likeness.md": "similarText",
        "other7.md": "visitedTogether",
    }
    assert call(TOOL, view, reference="the pln")["code"] == "NOTE_NOT_FOUND"
    assert call(TOOL, view, reference="/etc/passwd")["code"] == "OUTSIDE_VAULT"
    assert call(TOOL, view, reference="[[]]")["code"] == "INVALID_ARGUMENT"
    assert call(TOOL, view, reference="secret.md")["code"] == "NOTE_NOT_FOUND"


def test_a_client_that_is_shown_names_learns_of_visits_only(real: tuple[Any, View], call: Call) -> None:
    vault, whole = real
    visits = Visited(row("plan", "other7"))
    view = shared_view(whole.state, whole.now, vault, visits, level="names", withheld=vault.levels.is_withheld)
    result = call(TOOL, view)
    assert result["data"]["note"].keys() == {"id", "title"}
    assert result["data"]["related"] == [{"id": "other7.md", "title": "Other 7", "archived": False}]
    assert result["warnings"] == [NAMES_ONLY]
