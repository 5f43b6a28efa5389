"""search_workspace over a vault made up for the test, and over a real one."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from support.patience import is_indexed
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState
from workspaced_tools.notes.name_only import NAMES_ONLY
from workspaced_tools.ports.questions import Search
from workspaced_tools.ports.vault import Found, NoteRef, SearchHit, SearchQuery
from workspaced_tools.ports.view import View

TOOL = "search_workspace"


def hit(path: str, score: float = 1.0, *, title: str = "Title", snippet: str = "the line") -> SearchHit:
    return SearchHit(NoteRef(NoteId(path), title, path), 4, snippet, score)


class FakeVault:
    """Finds what it is told to, and remembers what it was asked."""

    def __init__(self, *hits: SearchHit, total: int | None = None, complete: bool = True) -> None:
        self._found = Found(hits, len(hits) if total is None else total, complete)
        self.asked: list[SearchQuery] = []

    def ask(self, question: Search, _state: VaultState, _least: Any = None) -> Found:
        self.asked.append(question.query)
        return self._found


@pytest.fixture
def ask(make_view: MakeView, call: Call) -> Call:
    """ask(vault, state, sharing, **arguments) -> the result."""

    def make(
        vault: Any, state: VaultState = EMPTY_VAULT, sharing: str = "all", **arguments: Any
    ) -> dict[str, Any]:
        view = msgspec.structs.replace(make_view(vault, state), sharing=sharing)
        return call(TOOL, view, **{"query": "plan", **arguments})

    return make


def asked_of(ask: Call, *args: Any, **arguments: Any) -> SearchQuery:
    """What the vault is asked in such a call."""
    vault = FakeVault(hit("a.md"))
    assert ask(vault, *args, **arguments)["success"]
    [search] = vault.asked
    return search


def test_hits_are_listed_best_first_with_line_snippet_and_score(ask: Call) -> None:
    result = ask(FakeVault(hit("w/a.md", 2.34567, title="A"), hit("b.md", 1, snippet=""), total=17))
    assert result["data"] == {
        "results": [
            {"id": "w/a.md", "title": "A", "line": 4, "snippet": "the line", "score": 2.346},
            {"id": "b.md", "title": "Title", "line": 4, "snippet": "", "score": 1},
        ],
        "matched": "all",
        "total": 17,
        "complete": True,
        "indexState": "ready",
    }
    assert result["message"] == "2 of 17 notes, best first."
    assert "warnings" not in result


def test_the_workspace_is_active_pins_tabs_and_recents_each_note_once(ask: Call, make_state: MakeState) -> None:
    state = make_state("a.md", pins=("p.md", "a.md"), tabs=("t.md",), recents=("r.md", "p.md"))
    assert asked_of(ask, state, scope="workspace").among == ("a.md", "p.md", "t.md", "r.md")
    assert asked_of(ask, state, scope="vault").among is None


# -- tags and folder --


@pytest.mark.parametrize("tag", ["#", " ", "/"])
def test_a_tag_without_a_name_is_refused(ask: Call, tag: str) -> None:
    result = ask(FakeVault(), tags=[tag])
    assert result["code"] == "INVALID_ARGUMENT"
    assert "'tags'" in result["error"]


@pytest.mark.parametrize("folder", ["..", "../x", "work/../../x", "/..", "work\0", "/x\0/.."])
def test_a_folder_that_leads_out_is_not_looked_for(ask: Call, folder: str) -> None:
    vault = FakeVault(hit("a.md"))
    result = ask(vault, folder=folder)
    assert result["code"] == "OUTSIDE_VAULT"
    assert "data" not in result
    assert vault.asked == []


@pytest.mark.parametrize("query", [" ", '""', "*", "( - )", "\0", "\u0301", "-", "& ?"])
def test_a_query_needs_something_to_look_for(ask: Call, query: str) -> None:
    vault = FakeVault()
    result = ask(vault, query=query)
    assert result["code"] == "INVALID_ARGUMENT"
    assert "'query'" in result["error"]
    assert len(result["error"]) < 320
    assert vault.asked == []


def test_the_answer_is_bounded(ask: Call) -> None:
    hits = [hit(f"{'x' * 1000}{n}.md", title="\x01" * 512, snippet="\x01" * 240) for n in range(50)]
    result = ask(FakeVault(*hits, complete=False), query=" ".join(f"w{n}" for n in range(50)), limit=50)
    shown = len(result["data"]["results"])
    assert 5 < shown < 50
    assert len(msgspec.json.encode(result)) < 50_000
    assert f"The answer is full: {50 - shown} results are left out." in result["warnings"]
    assert result["data"]["total"] == 50


def test_tags_are_not_shared_with_it(ask: Call) -> None:
    vault = FakeVault(hit("a.md"))
    result = ask(vault, sharing="names", tags=["x"])
    assert result["code"] == "SHARING_OFF"
    assert vault.asked == []
    assert ask(vault, sharing="names", tags=[])["success"]


# -- over a real vault --

FILES = {
    "work/plan.md": "---\ntags: [design/type]\n---\n# Plan\n\nThe quokka plan.\n",
    "work/budget.md": '# Budget\nMoney for the quokka, "quoted" AND NEAR(plan) #design\n',
    "home/日記.md": "# 日記\n日本語のテキスト and 🙂 smile\n",
    "home/cafe.md": "# Café\nCol:on -minus ^caret star* plan+\n",
    "secret.md": "---\nworkspaced: private\n---\nThe quokka is secret.\n",
}


@pytest.fixture
def real(make_vault: MakeVault, make_view: MakeView) -> View:
    """A view of those notes, which are indexed."""
    vault = make_vault(FILES)
    assert is_indexed(vault)
    return make_view(vault, EMPTY_VAULT)


@pytest.fixture
def find(real: View, call: Call) -> Callable[..., Sequence[str]]:
    """find(query, **arguments) -> the paths found."""

    def make(query: str, **arguments: Any) -> Sequence[str]:
        result = call(TOOL, real, query=query, **arguments)
        assert result["success"], result
        return sorted(each["id"] for each in result["data"]["results"])

    return make


QUERIES = [
    ("quokka", ["work/budget.md", "work/plan.md"]),
    ("QUOKKA plan", ["work/budget.md", "work/plan.md"]),
    ("quokka -plan", []),
    ("quokka -pasta", ["work/budget.md", "work/plan.md"]),
    ("quokka OR smile", ["home/日記.md", "work/budget.md", "work/plan.md"]),
    ("smile OR", ["home/日記.md"]),
    ("smile OR zebra tag:design", []),
    ('"quokka NOT plan"', []),
    ("NEAR(plan)", ["work/budget.md"]),
    ('"quoted" AND', ["home/日記.md", "work/budget.md"]),
    ('"quokka', ["work/budget.md", "work/plan.md"]),
    ("quo*", ["work/budget.md", "work/plan.md"]),
    ("star*", ["home/cafe.md"]),
    ('"text:quokka"', []),
    ("col:on", ["home/cafe.md"]),
    ("^caret", ["home/cafe.md"]),
    ("cafe", ["home/cafe.md"]),
    ("日本", ["home/日記.md"]),
    ("🙂 smile", ["home/日記.md"]),
    ("smile\0smile", ["home/日記.md"]),
    ("'; DROP TABLE notes; --", []),
    ("{ ( [ quokka ] ) }", ["work/budget.md", "work/plan.md"]),
    ("quokka " * 71, ["work/budget.md", "work/plan.md"]),
    ("secret", []),
]


def test_a_query_is_words_and_never_operators(find: Callable[..., Sequence[str]]) -> None:
    assert [(query, find(query)) for query, _ in QUERIES] == QUERIES


def test_tags_and_folder_narrow_a_real_search(find: Callable[..., Sequence[str]]) -> None:
    assert find("quokka", tags=["#Design"]) == ["work/budget.md", "work/plan.md"]
    assert find("quokka", tags=["design/type"]) == ["work/plan.md"]
    assert find("plan", folder="/home/") == ["home/cafe.md"]
    assert find("quokka", scope="workspace") == []


def test_the_syntax_of_other_searches_is_said_to_be_text_where_it_finds_nothing(real: View, call: Call) -> None:
    others = {"qu*ka plam", "/nothing+b/", "nowh.*x"}
    for query in (*others, 'zebra "plam"', "NOTHING", "zebra"):
        answer = call(TOOL, real, query=query)
        assert answer["data"]["total"] == 0
        assert ("wildcards and regular expressions" in answer["message"]) is (query in others)


def test_text_is_not_searched_for_a_client_that_is_shown_names(make_world: Callable[..., Any], call: Call) -> None:
    world = make_world(FILES, level="names")
    assert is_indexed(world.vault)
    view = world.view()
    assert call(TOOL, view, query="quokka")["data"]["total"] == 0
    found = call(TOOL, view, query="plan")
    [plan] = found["data"]["results"]
    assert (plan["id"], plan["line"], plan["snippet"]) == ("work/plan.md", 1, "")
    assert found["warnings"] == [NAMES_ONLY]


def test_missing_words_stand_as_they_were_asked(ask: Call) -> None:
    part = msgspec.structs.replace(hit("work/plan.md"), missing=("zurich", "due on friday", "plan"))
    answer = ask(FakeVault(part), query='Zürich "Due on Friday" plan')
    assert answer["data"]["results"][0]["missing"] == ["Zürich", "Due on Friday", "plan"]
