"""Sections: `[[Note#Heading]]` and `[[Note#^block]]` give that part of the note."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples
from support.tool_fixtures import Call, MakeVault, MakeView

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.limits import RESULTS_CHARS_MAX
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.notes.sections import block_section, heading_section

TOOL = "get_note_by_reference"
FRONT = "---\naliases: [MP]\n---\n"
TEXT = (
    "Intro.\n\n# One\n\nFirst.\n\n## Deep\n\nA goal. ^g1\n\n### Deeper\n\nx\n\n## Next\n\ny\n\n"
    "# Two\n\n## Deep\n\nsecond deep\n"
)


@pytest.fixture
def ask(make_vault: MakeVault, make_view: MakeView, call: Call) -> Call:
    """ask(text, fragment, **arguments) -> the result for `n#fragment`."""

    def make(text: str, fragment: str, **arguments: Any) -> dict[str, Any]:
        view = make_view(make_vault({"n.md": text}), EMPTY_VAULT)
        return call(TOOL, view, reference=f"[[n#{fragment}]]", **arguments)

    return make


def of(text: str) -> Note:
    return Note(NoteId("n.md"), StatKey(1, 2, 3, 4, 5), None, "", text.encode())


def section_of(text: str, fragment: str) -> str | None:
    """The text that `#fragment` names."""
    note = of(text)
    found = block_section(note, fragment[1:]) if fragment.startswith("^") else heading_section(note, fragment)
    return note.body[found.start : found.end] if found is not None else None


# -- the answer --


def test_a_heading_gives_its_section_up_to_the_next_one_of_its_level_or_higher(ask: Call) -> None:
    result = ask(FRONT + TEXT, "Deep")
    wanted = "## Deep\n\nA goal. ^g1\n\n### Deeper\n\nx\n\n"
    assert result["data"]["content"] == wanted
    at = TEXT.index(wanted)
    assert result["data"]["section"] == {
        "heading": "Deep", "level": 2, "startLine": 10, "endLine": 17, "offset": at,
    }  # fmt: skip
    assert "heading" not in result["data"] and "truncation" not in result, "the section has it"
    assert "warnings" not in result


@settings(max_examples=examples(50))
@given(st.integers(100, 1500), st.sampled_from(["Long", "Before", "Last"]))
def test_pages_go_on_within_the_section_and_end_with_it(
    make_vault: MakeVault, make_view: MakeView, call: Call, limit: int, heading: str
) -> None:
    code = "```py\n" + "x = 1  # a line of code\n" * 20 + "```\n\n"
    text = f"# Before\n\nß ü 🧑‍🚀.\n\n# Long\n\n{'Many words stand here. ' * 40}\n\n{code}# Last\n\n{'End. ' * 60}"
    vault = make_vault({"n.md": text})
    view = make_view(vault, EMPTY_VAULT)
    offset, got, pages = 0, "", 0
    while offset is not None:
        result = call(TOOL, view, reference=f"n#{heading}", maxContentLength=limit, offset=offset)
        start = max(offset, result["data"]["section"]["offset"])
        text_of = len(result["data"]["content"])
        share = result.get("truncation", {"originalLength": text_of, "returnedLength": text_of})
        got += text[start : start + share["returnedLength"]]
        assert len(result["data"]["content"]) <= limit
        offset, pages = share.get("nextOffset"), pages + 1
    assert got == section_of(text, heading)
    assert share["originalLength"] == len(got)
    assert pages >= len(got) / limit
    vault.close()


@pytest.mark.parametrize(("offset", "content"), [(3, "## Next\n\ny\n\n"), (10_000, "")])
def test_an_offset_outside_the_section_is_a_warning(ask: Call, offset: int, content: str) -> None:
    result = ask(TEXT, "Next", offset=offset)
    assert result["data"]["content"] == content
    assert "outside the section" in result["warnings"][0]
    assert "nextOffset" not in result.get("truncation", {})


@pytest.mark.parametrize("fragment", ["Nothing like it", "^nope", "Two#Next", "^", "^g1 x"])
def test_an_unknown_heading_or_block_is_an_error_with_the_outline(ask: Call, fragment: str) -> None:
    result = ask(TEXT, fragment)
    if fragment == "^":
        assert result["data"]["content"] == TEXT  # names nothing
        return
    assert (result["success"], result["code"]) == (False, "SECTION_NOT_FOUND")
    assert "outline" in result["message"]
    assert result["data"]["note"] == {"id": "n.md", "title": "One"}
    assert [each["title"] for each in result["data"]["outline"]] == [
        *["One", "Deep", "Deeper", "Next", "Two", "Deep"]
    ]
    assert result["data"]["outline"][1] == {"level": 2, "title": "Deep", "line": 7}
    assert result["data"]["outlineTotal"] == 6


def test_the_outline_of_an_error_is_bounded(ask: Call) -> None:
    result = ask("".join(f"# {n} {'long ' * 100}\n" for n in range(900)), "nothing" * 50)
    assert result["data"]["outlineTotal"] == 900
    assert 50 < len(result["data"]["outline"]) < 200
    assert len(str(result["data"])) < RESULTS_CHARS_MAX * 1.2
    assert len(result["error"]) < 300


# -- headings --

HEADINGS = (
    "# Start\n\n## Goals & Risks\n1\n## **Bold** and `code`\n2\n## See [[Other|it]] and [site](http://x.y)\n3\n"
    "## 🚀 Launch\n4\n## ❤\ufe0f\n5\n## Closed ##\n6\n## C# basics\n7\n## Same\n8\n## Same\n9\n\n"
    "Set\next\n---\n10\n## ???\n11\n## With id ^h1\n12\n## ÄRGER\n13\n## Ende\n"
)


FOUND = {
    "1": ["Goals & Risks", "goals RISKS", "Goals  Risks", "goals-risks", "goals--risks"],
    "2": ["Bold and code", "**Bold** and `code`"],
    "3": ["See Other it and site http x.y", "See it and site"],
    "4": ["🚀 Launch", "launch"],
    "5": ["❤"],
    "6": ["Closed", "Closed ##"],
    "7": ["C# basics", "C basics"],
    "8": ["Same", "Start#Same"],
    "10": ["Set ext"],
    "11": ["???"],
    "12": ["With id", "With id ^h1"],
    "13": ["a\u0308rger"],
    None: ["🌙 Launch", "!!!", "Sam", "Same#Same", "Start#Nothing", "Nothing#Same"],
}


def test_a_heading_is_found_as_obsidian_writes_it() -> None:
    for number, fragments in FOUND.items():
        for fragment in fragments:
            found = section_of(HEADINGS, fragment)
            assert (found.split("\n")[-2] if found is not None else None) == number, fragment


NESTED = "# A\n## B\n1\n### C\n2\n# D\n## B\n3\n### C\n4\n# A\n## E\n### C\n5\n"


LED = {"1": "A#B|B|A#", "3": "D#B", "2": "A#B#C|a # b # c", "4": "D#B#C|D#C", "5": "A#E#C|E#C"}


def test_nested_headings_lead_down() -> None:
    for number, fragments in LED.items():
        for fragment in fragments.split("|"):
            found = section_of(NESTED, fragment)
            assert found is not None and next(line for line in found.split("\n") if line.isdigit()) == number
    assert [section_of(NESTED, each) for each in ("B#A", "A#B#C#D", "A#B#C#D#E#F#G#H")] == [None] * 3


BLOCKS = """para one
para two ^p1

- item ^i1
  - below ^i2
    more of it

- last

^list

| a | b |
|---|---|
| 1 | 2 |

^t1

| c |
|---|
| 3 |
^t2

> quote
> > inner
> more ^q

```
no ^code
```

^fence

1. first

   second ^s

# Head ^h

<div>
no ^html
</div>

para ^Twice

para ^twice

^alone-at-first
"""


@pytest.mark.parametrize(
    ("block", "first", "last"),
    [
        ("p1", "para one", "para two ^p1"),
        ("P1", "para one", "para two ^p1"),
        ("i1", "- item ^i1", "    more of it"),
        ("i2", "  - below ^i2", "    more of it"),
        ("list", "- item ^i1", "- last"),
        ("t1", "| a | b |", "| 1 | 2 |"),
        ("t2", "| c |", "^t2"),
        ("q", "> quote", "> more ^q"),
        ("fence", "```", "```"),
        ("s", "1. first", "   second ^s"),
        ("h", "# Head ^h", "# Head ^h"),
        ("twice", "para ^Twice", "para ^Twice"),
        ("code", None, None),
        ("html", None, None),
        ("p", None, None),
        ("p1 ", None, None),
        (".*", None, None),
    ],
)
def test_a_block_is_what_its_id_stands_behind(block: str, first: str | None, last: str | None) -> None:
    found = section_of(BLOCKS, f"^{block}")
    lines = found.rstrip("\n").split("\n") if found is not None else [None]
    assert (lines[0], lines[-1]) == (first, last)


@settings(max_examples=examples(300))
@given(st.text("# ab>\n-`^1|\r", max_size=60), st.sampled_from(["a", "b", "ab", "^a", "^1", "a#b", "#"]))
def test_a_section_of_any_text_is_whole_lines_of_it(text: str, fragment: str) -> None:
    note = of(text)
    found = block_section(note, fragment[1:]) if fragment[0] == "^" else heading_section(note, fragment)
    if found is None:
        return
    assert 0 <= found.start < found.end <= len(note.body)
    assert found.start == 0 or note.body[found.start - 1] in "\r\n"
    assert found.end == len(note.body) or note.body[found.end - 1] in "\r\n"
    assert note.front_matter.body_line <= found.start_line <= found.end_line
    if found.heading is not None:
        assert found.heading in note.markdown.headings
