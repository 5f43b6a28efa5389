"""Selected text and cursors in what stands around them: marks stand where they were put, nothing is made up."""

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from workspaced_tools.limits import SURROUNDINGS_CHARS_MAX
from workspaced_tools.prompts.model.types import Artifact
from workspaced_tools.prompts.model.untrusted_text import render_marked, unescape_body
from workspaced_tools.prompts.sources.surroundings import Around, Place, around, cut_out, marked_block

MARKS = ("selection_start", "selection_end", "cursor_position")
HOSTILE = [
    *[*(f"<{mark}/>" for mark in MARKS), *(f"< {mark.upper()} />" for mark in MARKS), "＜selection_start/>"],
    *["&lt;cursor_position/&gt;", "<selection\u200b_end/>", "</content>", "</selected_text>", "<selected_text>"],
    *["</cursor_context>", "\\u{3c}", "\\", "<", "</", "\n", "é"],
]
texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=6), max_size=10).map("".join)


def content(block: str) -> str:
    return block.partition("\n<content>\n")[2].rpartition("\n</content>\n")[0]


@given(before=texts, selected=texts, after=texts)
def test_what_lies_before_between_and_after_the_marks_is_what_was_given(
    before: str, selected: str, after: str
) -> None:
    block = marked_block(Artifact("selected_text", "a/b.md#L3-L9", ""), selected, Around(before, after, False))
    if not selected:
        assert block.startswith("<cursor_context>\n") and block.endswith("\n</content>\n</cursor_context>")
        assert [unescape_body(part) for part in content(block).split("<cursor_position/>")] == [before, after]
        return
    found = re.fullmatch(r"(.*)<selection_start/>(.*)<selection_end/>(.*)", content(block), re.DOTALL)
    assert found is not None
    assert tuple(map(unescape_body, found.groups())) == (before, selected, after)
    assert block.count("<selection_start/>") == block.count("<selection_end/>") == 1
    assert block.startswith("<selected_text>\n") and block.count("\n</content>\n</selected_text>") == 1


def test_marks_have_names_that_are_safe_and_one_less_than_pieces() -> None:
    assert "\na<my_mark/>b\n" in render_marked("my_block", {}, ("a", "b"), ("my_mark",))
    for pieces, marks in ((("a",), ("my_mark",)), (("a", "b"), ()), (("a", "b"), ("mark",))):
        with pytest.raises(ValueError, match="Expected"):
            render_marked("my_block", {}, pieces, marks)


def test_the_file_is_told_by_title_path_language_and_lines() -> None:
    block = marked_block(Artifact("selected_text", "src/x.py#L3-L4", "src/x.py#L3-L4"), "y", Around("", "", False))
    assert block.split("\n")[1:6] == [
        "<title>x.py</title>",
        "<path>src/x.py</path>",
        "<file_language>Python</file_language>",
        "<line_numbers>3-4</line_numbers>",
        "<content>",
    ]
    bare = marked_block(Artifact("selected_text", "unsaved", "Draft"), "y", Around("", "", False))
    assert bare.split("\n")[1:4] == ["<title>Draft</title>", "<path>unsaved</path>", "<content>"]


# -- cut out of a note --

LINES = "one\ntwo two\n\nfour\r\nlast"


@pytest.mark.parametrize(
    ("first", "last", "selected", "before"),
    [
        (1, 1, "one", ""),
        (1, 1, "ne\n", "o"),
        (1, 2, "one\ntwo", ""),
        (2, 2, "two two", "one\n"),
        (3, 3, "", "one\ntwo two\n"),
        (5, 5, "last", "one\ntwo two\n\nfour\r\n"),
        (1, 5, LINES, ""),
        (2, 2, "two", None),  # there twice
        (1, 1, "two", None),  # not in that line
        (1, 1, "", None),  # anywhere
        (3, 4, "", None),
        (6, 6, "", None),  # no such line
        (5, 6, "last", None),
        (999_999_999, 999_999_999, "one", None),
    ],
)
def test_a_selection_is_cut_out_only_where_its_lines_hold_it_once(
    first: int, last: int, selected: str, before: str | None
) -> None:
    found = cut_out(LINES, Place("a.md", first, last), selected)
    assert found == (None if before is None else (before, LINES[len(before) + len(selected) :]))


# -- shortened --


def shown(before: str, after: str) -> Around:
    named = {"b": before, "a": after}
    artifact = Artifact("selected_text", "x", "x", before="b" if before else "", after="a" if after else "")
    return around(artifact, named.__getitem__)


def test_the_end_of_what_is_before_and_the_beginning_of_what_is_after_are_kept() -> None:
    most = SURROUNDINGS_CHARS_MAX
    assert shown("x" * most, "y" * most) == Around("x" * most, "y" * most, False)
    cut = shown("-" + "x" * most, "y" * most + "-")
    assert cut == Around("x" * most, "y" * most, True)
    assert shown("", "y" * most + "-").is_shortened and shown("-" + "x" * most, "").is_shortened
    assert shown("", "") == Around("", "", False)


@pytest.mark.parametrize(
    "character", ["\r\n", "e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea"]
)
def test_no_character_is_cut_in_two(character: str) -> None:
    for shift in range(7 + len(character)):
        text = ("x" * 7 + character) * (SURROUNDINGS_CHARS_MAX // 7)
        whole = {0, *(each.end() for each in regex.finditer(r"\X", text))}
        cut = shown(text[: len(text) - shift], text[shift:] if shift <= 7 else text)
        assert len(text) - shift - len(cut.before) in whole
        assert (shift if shift <= 7 else 0) + len(cut.after) in whole
        for part in (cut.before, cut.after):
            assert SURROUNDINGS_CHARS_MAX - len(character) < len(part) <= SURROUNDINGS_CHARS_MAX
