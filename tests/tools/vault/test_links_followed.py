"""`from`: what a click on a link opens. Links that are listed, links that are followed and backlinks agree."""

import json
import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.tool_fixtures import Call, MakeVault, MakeView

from workspaced_events.projections.workspace_state import EMPTY_VAULT

TOOL = "get_note_by_reference"
TABLE = json.loads((Path(__file__).parents[2] / "data" / "obsidian" / "links.json").read_text())


def opened(result: dict[str, Any]) -> str | None:
    """The id of the note that a call gave; None where there is none of that name, or it leads out of the vault."""
    if not result["success"]:
        assert result["code"] in ("NOTE_NOT_FOUND", "OUTSIDE_VAULT")
        return None
    return str(result["data"]["id"])


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["about"])
def test_a_link_opens_what_the_table_says(
    case: dict[str, Any], make_vault: MakeVault, make_view: MakeView, call: Call
) -> None:
    files = {**dict.fromkeys(case["notes"], "x"), case["from"]: case["link"]}
    view = make_view(make_vault(files), EMPTY_VAULT)
    followed = call(TOOL, view, reference=case["link"], **{"from": case["from"], "whole": True})
    if followed.get("code") != "SECTION_NOT_FOUND":  # the notes of the table have no headings
        assert opened(followed) == case["opens"]
    [listed] = call(TOOL, view, reference=case["from"], includeLinks=True)["data"]["links"]["outgoing"]
    assert listed.get("id") == case["opens"]
    if case["opens"] is not None:
        links = call(TOOL, view, reference=case["opens"], includeLinks=True)["data"]["links"]
        assert [each["source"] for each in links["incoming"]] == [case["from"]]


# -- the oracle: the rule once more, slow and by itself --


def oracle(notes: list[str], source: str, target: str) -> str | None:
    """What a link in `source` opens, found by looking at every note for every step of the rule."""
    name = target[:-3] if target.lower().endswith(".md") else target
    folder = source.split("/")[:-1]
    parts = name.split("/")
    if parts[0] in (".", "..", ""):
        where = list(folder) if parts[0] else []
        for part in parts:
            if part == "..":
                if not where:
                    return None
                where.pop()
            elif part not in ("", "."):
                where.append(part)
        return exactly(notes, "/".join(where))
    if (whole := exactly(notes, name)) is not None:
        return whole
    wanted = name.lower().split("/")
    fitting = [note for note in notes if note[:-3].lower().split("/")[-len(wanted) :] == wanted]
    below = [note for note in fitting if note.split("/")[:-1][: len(folder)] == folder]
    for group in (below, fitting):
        shortest = [note for note in group if len(note) == min(map(len, group))]
        first = [note for note in shortest if note.lower() == min(map(str.lower, shortest))]
        written = [note for note in first if note[:-3].endswith(name)]
        if first:
            return min(written or first)
    return None


def exactly(notes: list[str], path: str) -> str | None:
    for fits in (lambda note: note == path, lambda note: note.lower() == path.lower()):
        found = sorted(note for note in notes if fits(note[:-3]))
        if found:
            return found[0]
    return None


names = st.sampled_from(["Home", "home", "log", "Log", "Plan 2", "日記"])
folders = st.lists(st.sampled_from(["a", "b", "ab", "Home", "A"]), max_size=3)
paths = st.builds(lambda parts, name: "/".join([*parts, name]) + ".md", folders, names)
targets = st.one_of(
    names,
    paths,
    paths.map(lambda path: path[:-3]),
    names.map(str.upper),
    st.builds(posixpath.join, st.sampled_from([".", "..", "../..", "/", "./a", "a/..", "../b"]), names),
).filter(lambda target: not target.startswith("a/.."))
vaults = st.dictionaries(paths, st.lists(st.tuples(targets, st.booleans()), max_size=4), min_size=1, max_size=7)


@settings(max_examples=examples(150))
@given(vaults)
def test_what_a_link_opens_what_links_list_and_what_backlinks_count_agree(
    make_vault: MakeVault, make_view: MakeView, call: Call, vault: dict[str, list[tuple[str, bool]]]
) -> None:
    def raw(target: str, wiki: bool) -> str:
        return f"[[{target}]]" if wiki else f"[x]({quote(target)})"

    texts = {path: "\n\n".join(raw(*link) for link in links) + "\n" for path, links in vault.items()}
    notes = list(texts)
    folder = make_vault(texts)
    view = make_view(folder, EMPTY_VAULT)
    expected = {path: [oracle(notes, path, target) for target, _wiki in vault[path]] for path in notes}
    for path, links in vault.items():
        outgoing = call(TOOL, view, reference=path, includeLinks=True)["data"]["links"]["outgoing"]
        assert [each.get("id") for each in outgoing] == expected[path]
        for link, each, opens in zip(links, outgoing, expected[path], strict=True):
            for reference in (raw(*link), each["target"]):
                assert opened(call(TOOL, view, reference=reference, **{"from": path})) == opens
    for path in notes:
        found = call(TOOL, view, reference=path, includeLinks=True)["data"]["links"]["incoming"]
        linking = [
            (source, 1 + 2 * at)
            for source in sorted(notes)
            for at, opens in enumerate(expected[source])
            if opens == path and source != path
        ]
        assert [(each["source"], each["line"]) for each in found] == linking
    folder.close()


# -- from --


@pytest.mark.parametrize("reference", ["[[#Part]]", "#Part", "[x](#Part)", "[[#^b1]]", "^b1"])
def test_a_link_within_a_note_opens_that_note(
    make_vault: MakeVault, make_view: MakeView, call: Call, reference: str
) -> None:
    view = make_view(make_vault({"a/s.md": "x\n\n## Part\n\nHere. ^b1\n", "s.md": "## Part"}), EMPTY_VAULT)
    data = call(TOOL, view, reference=reference, **{"from": "a/s.md"})["data"]
    assert (data["id"], data["section"]["startLine"]) == ("a/s.md", 3 if "art" in reference else 5)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("nothing.md", "NOTE_NOT_FOUND"),
        ("S", "NOTE_NOT_FOUND"),  # a title is no path
        ("../s.md", "OUTSIDE_VAULT"),
        ("/etc/passwd", "OUTSIDE_VAULT"),
        ("a/../s.md", "OUTSIDE_VAULT"),
        ("link.md", "SYMLINK"),
        ("s\0", "OUTSIDE_VAULT"),
        ("\ud800", "INVALID_ARGUMENT"),
        ("", "INVALID_ARGUMENT"),
    ],
)
def test_a_from_that_is_no_note_of_the_vault_is_an_error(
    make_vault: MakeVault, make_view: MakeView, call: Call, source: str, code: str
) -> None:
    vault = make_vault({"s.md": "# S", "n.md": "x"})
    (vault.root.path / "link.md").symlink_to("/etc/passwd")
    result = call(TOOL, make_view(vault, EMPTY_VAULT), reference="n", **{"from": source})
    assert (result["success"], result["code"]) == (False, code)
    assert "from" in result["error"] + result["message"] or code in ("OUTSIDE_VAULT", "SYMLINK")
