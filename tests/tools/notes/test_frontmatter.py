"""Front matter: where it ends, what it says, and that nothing in it fails a note."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.growth import costs_less_than
from support.profiles import examples

from workspaced_tools.limits import FRONT_MATTER_CHARS_MAX
from workspaced_tools.notes.frontmatter import split_front_matter


def split(text: str) -> tuple[dict[str, object], str, int]:
    """(fields, body, line of the body)."""
    found = split_front_matter(text)
    assert found.problem is None
    return found.fields, text[found.body_offset :], found.body_line


def failed(text: str) -> str:
    """The problem, after checking that all of the text is body."""
    found = split_front_matter(text)
    assert (found.body_offset, found.body_line) == (0, 1)
    assert found.problem is not None
    assert len(found.problem) < 400
    return found.problem


def test_a_note_without_front_matter_is_all_body() -> None:
    for text in ("", "# Title\n", "-- -\n", "----\na: 1\n----\n", " ---\na: 1\n---\n", "text\n---\na: 1\n---\n"):
        assert split(text) == ({}, text, 1)
    heading = "---\n\n# Title\n---\nbody"
    assert split(heading) == ({}, heading, 1), "comments that are no entries may be headings"


STARS = "".join(f"k{i}: see *a* and R&D at &b\n" for i in range(3)) + "t: |\n" + "  * item\n" * 50


@pytest.mark.parametrize(
    ("yaml", "fields"),
    [
        ("title: A plan\ntags: [a, b]\n", {"title": "A plan", "tags": ["a", "b"]}),
        ("", {}),
        ("# tags: [a]\n#\n#- b\n", {}),
        ("a: &a {x: 1}\nb: {<<: *a, y: 2}\n", {"a": {"x": 1}, "b": {"<<": {"x": 1}, "y": 2}}),
        (
            "a: &a [1]\n" + "".join(f"b{i}: *a\n" for i in range(50)),
            {"a": [1], **{f"b{i}": [1] for i in range(50)}},
        ),
        (STARS, {**{f"k{i}": "see *a* and R&D at &b" for i in range(3)}, "t": "* item\n" * 50}),
    ],
    ids=["values", "nothing", "comments", "merge keys", "aliases", "stars in prose"],
)
@pytest.mark.parametrize("closing", ["---", "...", "---\n", "...  \n", "---\t\r\nbody\r\n"])
def test_either_closing_line_ends_it(yaml: str, fields: dict[str, object], closing: str) -> None:
    found, body, line = split(f"---\n{yaml}{closing}")
    assert (found, body) == (fields, "body\r\n" if "body" in closing else "")
    assert line == yaml.count("\n") + 3


def test_unclosed_front_matter_is_body_with_an_error_and_can_still_be_searched() -> None:
    text = "---\nworkspaced: private\nno end"
    assert "never closed" in failed(text)
    assert "private" in split_front_matter(text).raw
    assert split_front_matter("---\nA rule above a text.\n").problem is None


def test_scalars_keep_their_written_form() -> None:
    texts = ["2024-02-31", "2024-02-03T10:00:00Z", "12:30", "yes", "017", "3.10", "+4915123", "1234567e10"]
    texts += ["20240105123456789012", "0x1F", ".nan", "1_000", "True"]
    others = {"7": 7, "-2.5": -2.5, "true": True, "null": None, "~": None, "": None, "'3'": "3", "!!str 5": "5"}
    values = {**{text: text for text in texts}, **others, "9007199254740993": "9007199254740993"}
    yaml = "".join(f"k{at}: {written}\n" for at, written in enumerate(values))
    fields, _, _ = split(f"---\n{yaml}2: x\ntrue: y\n---\n")
    assert fields == {**{f"k{at}": value for at, value in enumerate(values.values())}, "2": "x", "true": "y"}


UNREADABLE = [
    *["a: [1\n", "a: b: c\n", "a:\n\tb: 1\n", "a: \x01\n", "a: \0\n", "a: @x\n", "[1, 2]: x\n", "a: {{b}}\n"],
    *["one value\n", "a: &a [*a]\n", 'a: "\\ud800"\n', "a: " + "[" * 900 + "]" * 900 + "\n", "a: *unknown\n"],
    *["**Bold**\n", "{a: 1\n"],
]


@pytest.mark.parametrize("yaml", [*UNREADABLE, "- a list\n", "a: " + "x" * 400_000 + "\n"])
def test_a_block_without_a_readable_entry_is_text(yaml: str) -> None:
    found = split_front_matter(f"---\n{yaml}---\nbody")
    failed(f"---\n{yaml}---\nbody")
    assert (found.fields, found.hidden, found.raw) == ({}, (), yaml)


@pytest.mark.parametrize("yaml", [*UNREADABLE, "fine: 2\n", "second: 2\nsecond: 3\n"])
def test_entries_beside_one_that_cannot_be_read_are_kept(yaml: str) -> None:
    text = f"---\nfine: '[[A]]'\n# comment\n{yaml}last: 1\nlist:\n- x\n---\nbody"
    found = split_front_matter(text)
    assert found.fields["fine"] == "[[A]]"
    if "[" not in yaml and "{" not in yaml:  # an open bracket reaches further
        assert found.fields["last"] == 1
    assert "line" in failed(text) and "column" in failed(text)
    hidden = "".join(text[start:end] for start, end in found.hidden)
    assert "fine: '[[A]]'" in hidden and hidden.startswith("---\n")
    assert found.unread and found.unread not in hidden
    assert [text[link.start : link.end] for link in found.links] == ["[[A]]"]


def test_a_problem_names_line_and_column_of_the_file_and_what_became_of_it() -> None:
    problem = failed("---\nfine: 1\nbroken: b: c\n---\n")
    assert "line 3, column 10" in problem and problem.endswith("It is read as text of the note: line 3.")
    assert "line 3, column 1: a second `a`" in failed("---\na: 1\na: 2\n---\n")
    assert "lines 2 to 3" in failed("---\n\nA text.\n---\n")


def alias_bomb(width: int, depth: int) -> str:
    lines = ["a0: &a0 [" + ",".join("x" * width) + "]"]
    lines += [f"a{i}: &a{i} [" + ",".join([f"*a{i - 1}"] * width) + "]" for i in range(1, depth)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    "yaml",
    [
        *[alias_bomb(9, 9), alias_bomb(2, 60)],
        "a: &a [" + "1," * 10_000 + "1]\nb: [" + "*a," * 10_000 + "*a]\n",
        "a: &a " + "x" * 50_000 + "\nb: [" + "*a, " * 50 + "]\n",
    ],
)
def test_alias_bombs_are_refused_before_they_grow(yaml: str) -> None:
    assert costs_less_than(0.5, lambda: failed(f"---\n{yaml}---\n"))


@settings(max_examples=examples(200))
@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@#, \n\t01.~<?\\é\x07", max_size=80))
def test_any_text_gives_json_shaped_fields_and_a_whole_body(yaml: str) -> None:
    text = f"---\n{yaml}\n---\nbody"
    found = split_front_matter(text)
    assert all(low < high for low, high in found.hidden)
    assert [*found.hidden] == sorted(found.hidden)
    assert msgspec.json.decode(msgspec.json.encode(found.fields)) == found.fields
    assert text[found.body_offset :].endswith("body")
    assert text[: found.body_offset].count("\n") + 1 == found.body_line
    assert found.problem is None or found.body_offset == 0
    assert len(found.raw) <= max(FRONT_MATTER_CHARS_MAX, len(text))
