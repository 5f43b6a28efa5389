"""get_current_note over real vaults."""

from typing import Any

import pytest
from support.tool_fixtures import Call, MakeState, MakeVault, MakeView

from workspaced_events.projections.workspace_state import EMPTY_VAULT

TOOL = "get_current_note"


@pytest.fixture
def ask(make_vault: MakeVault, make_view: MakeView, make_state: MakeState, call: Call) -> Call:
    """ask(text or files, **arguments) -> the result with `n.md` active."""

    def make(files: str | dict[str, str | bytes], **arguments: Any) -> dict[str, Any]:
        vault = make_vault({"n.md": files} if isinstance(files, str) else files)
        return call(TOOL, make_view(vault, make_state(active="n.md")), **arguments)

    return make


def test_no_active_note_is_the_designs_answer(make_vault: MakeVault, make_view: MakeView, call: Call) -> None:
    result = call(TOOL, make_view(make_vault({}), EMPTY_VAULT))
    assert result == {
        "success": False,
        "error": "No note currently active",
        "code": "NO_ACTIVE_NOTE",
        "message": "Open a note to use this tool.",
        "asOfSeq": 7,
    }


def test_an_active_note_that_is_gone_is_the_designs_answer(ask: Call) -> None:
    result = ask({"other.md": "x"})
    assert (result["error"], result["code"]) == ("Active note not found", "NOTE_NOT_FOUND")
    assert result["message"] == "The active note may have been deleted"


def test_the_note_comes_whole_with_its_metadata(ask: Call) -> None:
    result = ask("---\ntitle: Titled\n---\n# Heading\n\nText.\n")
    data = result["data"]
    assert (data["id"], data["title"], data["content"]) == ("n.md", "Titled", "# Heading\n\nText.\n")
    assert set(data) == {"id", "title", "type", "exists", "archived", "metadata", "content", "sha256"}
    assert "truncation" not in result
    assert "metadata" not in ask("x", includeMetadata=False)["data"]


def test_at_most_50000_characters_come_and_offset_goes_on(ask: Call) -> None:
    text = "A line of words here.\n\n" * 5_000
    result = ask(text)
    assert len(result["data"]["content"]) <= 50_000
    offset, parts = 0, []
    while offset is not None:
        page = ask(text, offset=offset, maxContentLength=50_000)
        length = page["truncation"]["returnedLength"]
        parts.append(page["data"]["content"][:length])
        offset = page["truncation"].get("nextOffset")
    assert "".join(parts) == text


@pytest.mark.parametrize(
    ("front", "metadata"),
    [
        ("tags: a, b c", {"tags": ["a", "b", "c"]}),
        ("tags: ['#a', a, 2024, '']", {"tags": ["a", "2024"]}),
        ("tag: one", {"tags": ["one"]}),
        ("tags: {x: 1}", {"tags": [], "customFields": {"tags": {"x": 1}}}),
        ("type: meeting", {"customFields": {}}),
        ("type: {name: task, schema: {due: date}}", {"noteType": {"name": "task", "schema": {"due": "date"}}}),
        ("type: [x]", {"customFields": {"type": ["x"]}}),
        ("created: 2024-01-05", {"created": "2024-01-05T00:00:00Z", "customFields": {}}),
        ("created: 2024-01-05T10:30:00+02:00", {"created": "2024-01-05T08:30:00Z"}),
        ("date: 2024-01-05 10:00", {"created": "2024-01-05T10:00:00Z"}),
        (
            "created: someday\ndate: 2024-01-05",
            {"created": "2024-01-05T00:00:00Z", "customFields": {"created": "someday"}},
        ),
        ("title: [x]", {"customFields": {"title": ["x"]}}),
        ("aliases: [A]\nid: 7", {"customFields": {"aliases": ["A"], "id": 7}}),
    ],
)
def test_metadata_comes_from_the_front_matter(ask: Call, front: str, metadata: dict[str, Any]) -> None:
    shown = ask(f"---\n{front}\n---\ntext\n")["data"]["metadata"]
    assert {key: shown[key] for key in metadata} == metadata


def test_outgoing_links_come_one_per_occurrence_with_their_heading_and_line(ask: Call) -> None:
    files = {
        "n.md": (
            "[[b|shown]] ![[c#Part]] [[missing|Its name]] [[b#^x]] [md](folder/d.md)\n"
            "`[[code]]` [[Twin]] [[b]] [web](https://example.org) [[#own]]\n"
        ),
        "b.md": "# Beta",
        "c.md": "x",
        "folder/d.md": "# Delta",
        "e.md": "# Twin",
        "f.md": "# Twin",
    }
    links = ask(files, includeLinks=True)["data"]["links"]
    beta = {"target": "b", "title": "Beta", "exists": True, "id": "b.md", "embed": False}
    delta = {"target": "folder/d.md", "title": "Delta", "id": "folder/d.md", "alias": "md"}
    assert links["outgoing"] == [
        {**beta, "alias": "shown", "line": 1},
        {"target": "c", "title": "c", "exists": True, "id": "c.md", "heading": "Part", "embed": True, "line": 1},
        {
            "target": "missing",
            "title": "Its name",
            "exists": False,
            "alias": "Its name",
            "embed": False,
            "line": 1,
        },
        {**beta, "block": "x", "line": 1},
        {**delta, "exists": True, "embed": False, "line": 1},
        {"target": "Twin", "title": "Twin", "exists": True, "embed": False, "ambiguous": True, "line": 2},
        {**beta, "line": 2},
    ]
    assert links["outgoingTotal"] == 7
    assert (links["incoming"], links["incomingTotal"]) == ([], 0)


def test_incoming_links_are_capped_with_a_total_and_short_contexts(ask: Call) -> None:
    files: dict[str, str | bytes] = {"n.md": "# Note"}
    files |= {f"s{at:03}.md": f"{'x ' * 300}[[n]]{' y' * 300}\n[[n]]" for at in range(80)}
    links = ask(files, includeLinks=True)["data"]["links"]
    assert (len(links["incoming"]), links["incomingTotal"]) == (100, 160)
    assert all(len(link["context"]) <= 240 and "[[n]]" in link["context"] for link in links["incoming"])
    assert [link["source"] for link in links["incoming"][:3]] == ["s000.md", "s000.md", "s001.md"]


def test_large_front_matter_is_cut_to_size_with_a_warning(ask: Call) -> None:
    result = ask("---\n" + "".join(f"f{n}: {'v' * 100}\n" for n in range(300)) + "---\nx")
    shown = result["data"]["metadata"]["customFields"]
    assert 10 < len(shown) < 100
    assert any(f"{300 - len(shown)} front-matter fields" in warning for warning in result["warnings"])
