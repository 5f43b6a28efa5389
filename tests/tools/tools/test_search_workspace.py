"""search_workspace over real vaults."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest
from support.patience import is_indexed
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.notes.name_only import NAMES_ONLY
from workspaced_tools.ports.view import View

TOOL = "search_workspace"


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


def test_hits_are_listed_best_first_with_line_snippet_and_score(real: View, call: Call) -> None:
    result = call(TOOL, real, query="quokka money")
    budget, plan = result["data"].pop("results")
    assert plan == {
        "id": "work/plan.md",
        "title": "Plan",
        "line": 6,
        "snippet": "The quokka plan.",
        "score": 0.428,
        "heading": "Plan",
        "missing": ["money"],
    }
    assert (budget["id"], budget["score"], "missing" in budget) == ("work/budget.md", 3.35, False)
    assert result["data"] == {"matched": "some", "total": 2, "complete": True, "indexState": "ready"}
    assert result["message"] == "2 of 2 notes, best first. 1 holds all the words as they are written."
    assert "warnings" not in result


def test_the_workspace_is_active_pins_tabs_and_recents(
    make_vault: MakeVault, make_view: MakeView, make_state: MakeState, call: Call
) -> None:
    vault = make_vault(dict.fromkeys(("a.md", "p.md", "t.md", "r.md", "other.md"), "plan"))
    assert is_indexed(vault)
    view = make_view(vault, make_state("a.md", pins=("p.md", "a.md"), tabs=("t.md",), recents=("r.md", "p.md")))
    for scope, others in (("workspace", []), ("vault", ["other.md"])):
        found = call(TOOL, view, query="plan", scope=scope)["data"]["results"]
        assert sorted(each["id"] for each in found) == ["a.md", *others, "p.md", "r.md", "t.md"]


@pytest.mark.parametrize(
    ("code", "name", "values"),
    [
        ("INVALID_ARGUMENT", "tags", [["#"], [" "], ["/"]]),
        ("OUTSIDE_VAULT", "folder", ["..", "../x", "work/../../x", "/..", "work\0", "/x\0/.."]),
        ("INVALID_ARGUMENT", "query", [" ", '""', "*", "( - )", "\0", "\u0301", "-", "& ?"]),
    ],
)
def test_what_cannot_be_looked_for_is_refused(
    real: View, call: Call, code: str, name: str, values: list[Any]
) -> None:
    for value in values:
        result = call(TOOL, real, **{"query": "quokka", name: value})
        assert (result["code"], "data" in result) == (code, False), value
        assert name in result["error"] and len(result["error"]) < 320


def test_tags_are_not_shared_with_it(real: View, call: Call) -> None:
    names = msgspec.structs.replace(real, sharing="names")
    assert call(TOOL, names, query="plan", tags=["x"])["code"] == "SHARING_OFF"
    assert call(TOOL, names, query="plan", tags=[])["success"]


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


def test_missing_words_stand_as_they_were_asked(real: View, call: Call) -> None:
    [found] = call(TOOL, real, query='Zürich "Due on" star')["data"]["results"]
    assert (found["id"], found["missing"]) == ("home/cafe.md", ['"Due on"', "Zürich", "Due"])
