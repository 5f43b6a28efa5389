"""Pages of a text: where they end, what they add, and that together they are the whole."""

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_tools.notes.truncation import LIMIT_MARKED_MIN, MARKER, truncate

ROOM = 100
LIMIT_AT_SPACE = ROOM + len(MARKER) + 1
LIMIT_AT_PARAGRAPH = ROOM + len(MARKER) + 2

PROSE = ["word ", "Sentence. ", "Ende! ", "好。", "もし？", " ", "\t", "1. ", "- ", "> ", "x" * 30]
BREAKS = ["\n", "\n\n", "\r\n", "\r\n\r\n"]
FENCES = [
    *["```\n", "```py\n", "\n```\n", "\n~~~~\n", "```", "````", "~~~", "  ```\n", "> ```\n> x\n", "``` x", "`"],
    *["a`b"],
]
CLUSTERS = ["e\u0301", "\u0301\u0302", "👨\u200d👩\u200d👧", "🇩🇪", "🇫", "\u0600", "。\ufe00", "각", "क्ष", "\u200d"]
pieces = st.sampled_from(PROSE + BREAKS + FENCES + CLUSTERS)
texts = st.lists(pieces, max_size=120).map("".join)
MADE_FENCES = ("intro\n\n``` " + "x" * 200 + "` y\n", "~~~\n~~~ " + "x" * 200 + "\n~~~\n")
"""In which only a cut makes a line a fence."""


def pages(text: str, limit: int) -> list[tuple[str, str, int]]:
    """(shown, the text's own, offset) of each page."""
    found, offset = [], 0
    while True:
        page = truncate(text, limit, offset)
        length = page.truncation.returned_length
        found.append((page.text, page.text[page.lead : page.lead + length], offset))
        if page.truncation.next_offset is None:
            return found
        assert page.truncation.next_offset > offset
        offset = page.truncation.next_offset


def open_fence(text: str) -> bool:
    """A plain second opinion: line by line, indented and quoted fences included."""
    run, quoted = "", False
    for line in text.split("\n"):
        if run and quoted and not line.lstrip(" \t").startswith(">"):
            run = ""
        lead = regex.match(r"[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t][ \t>]*){0,4}", line)[0]
        marked = regex.search(r"[-*+.)]", lead) is not None
        tick = regex.match(r"`{3,}|~{3,}", line[len(lead) :])
        if tick is None:
            continue
        rest = line[len(lead) + len(tick[0]) :]
        if not run:
            if tick[0][0] == "~" or "`" not in rest:
                run, quoted = tick[0], ">" in lead
        elif not marked and not rest.strip() and tick[0][0] == run[0] and len(tick[0]) >= len(run):
            run = ""
    return bool(run)


@pytest.mark.parametrize(("at", "counts"), [(70, False), (71, True), (100, True), (101, False)])
def test_an_end_of_a_sentence_counts_only_beyond_seventy_percent(at: int, counts: bool) -> None:
    text = "a" * (at - 1) + ". " + "b" * 500
    assert truncate(text, LIMIT_AT_SPACE).text == (text[:at] if counts else text[:ROOM]) + " " + MARKER
    text = "a" * at + "\n\n" + "b" * 500
    page = truncate(text, LIMIT_AT_PARAGRAPH)
    assert page.text.startswith(text[:at] + "\n\n" + MARKER) == counts
    assert not counts or page.truncation.next_offset == at


def test_a_paragraph_break_goes_before_a_later_sentence_end_and_that_before_a_later_word() -> None:
    text = "a" * 75 + "\n\n" + "b" * 9 + ". ccc dd " + "e" * 500
    assert truncate(text, LIMIT_AT_PARAGRAPH).text == "a" * 75 + "\n\n" + MARKER
    assert truncate(text.replace("\n\n", "xx"), LIMIT_AT_SPACE).text == "a" * 75 + "xx" + "b" * 9 + ". " + MARKER
    assert truncate(text.replace("\n\n", "x").replace(".", "x"), LIMIT_AT_SPACE).text.endswith("dd " + MARKER)


@pytest.mark.parametrize("end", ["。", "！", "？", ".\n", "!\r\n", '." ', "?) "])
def test_sentences_end_in_every_script_and_before_line_breaks(end: str) -> None:
    text = "x " * 40 + "end" + end + "z" * 500
    assert truncate(text, LIMIT_AT_SPACE).text == "x " * 40 + "end" + end.rstrip() + " " + MARKER


def test_a_cut_in_code_goes_before_the_fence_if_that_keeps_seventy_percent() -> None:
    text = "p" * 80 + "\n\n```py\n" + "code\n" * 100 + "```\n"
    page = truncate(text, LIMIT_AT_PARAGRAPH)
    assert page.text == "p" * 80 + "\n\n" + MARKER
    assert text[page.truncation.next_offset :].lstrip().startswith("```py")


def test_else_the_fence_is_closed_within_the_limit_and_opened_anew_on_the_next_page() -> None:
    text = "intro\n\n```py\n" + "code = 1\n" * 100 + "```\nend\n"
    page = truncate(text, 100)
    assert page.text.endswith("code = 1\n```\n\n" + MARKER)
    assert len(page.text) <= 100
    second = truncate(text, 100, page.truncation.next_offset)
    assert second.text.startswith("```py\ncode = 1\n")
    assert second.lead == len("```py")
    listed = "- item\n\n  ~~~~sh\n" + "  run it\n" * 100 + "  ~~~~\n"
    assert truncate(listed, 100).text.endswith("\n  ~~~~\n\n" + MARKER), "with its indent"


def test_a_table_is_cut_between_its_rows() -> None:
    text = "intro\n\n| a | b |\n|---|---|\n" + "| one. two | three |\n" * 50
    page = truncate(text, 200)
    assert page.text.endswith("| one. two | three |\n\n" + MARKER)
    assert text[page.truncation.next_offset or 0 :].startswith("\n| one.")


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (-1, 0), (100, -1)])
def test_a_limit_without_room_and_a_negative_offset_are_refused(limit: int, offset: int) -> None:
    with pytest.raises(ValueError, match="Expected limit"):
        truncate("text", limit, offset)


@settings(max_examples=examples(200))
@given(texts, st.integers(1, 300))
def test_pages_never_exceed_the_limit_and_together_are_the_whole_text(text: str, limit: int) -> None:
    found = pages(text, limit)
    assert all(len(shown) <= limit for shown, _, _ in found)
    assert "".join(own for _, own, _ in found) == text
    assert all(MARKER in shown for shown, _, _ in found[:-1]) or limit < LIMIT_MARKED_MIN


@settings(max_examples=examples(200))
@given(texts, st.integers(60, 300))
@example(MADE_FENCES[0], 100)
@example(MADE_FENCES[1], 100)
@example("```\n" + "c " * 40 + "\n```\n" + "w " * 200, LIMIT_AT_SPACE)
def test_no_cut_page_leaves_a_fence_open(text: str, limit: int) -> None:
    for shown, _, _ in pages(text, limit)[:-1]:
        assert not open_fence(shown), shown


@settings(max_examples=examples(200))
@given(texts, st.integers(60, 300))
def test_no_page_ends_within_a_grapheme_cluster_that_would_fit(text: str, limit: int) -> None:
    offset = 0
    while (end := truncate(text, limit, offset).truncation.next_offset) is not None:
        clusters = {hit.start() for hit in regex.finditer(r"\X", text, pos=offset)}
        longest = max(len(hit) for hit in regex.findall(r"\X", text[offset:]))
        assert end in clusters or longest > limit // 4
        offset = end


@pytest.mark.parametrize(
    "unit",
    [
        *["\u0301", "🇩", "👨\u200d", "。\ufe00", "क्", "\u0600", "ᄀ", "\u200d", "a.\u0301 "],
        *["\n", " ", "```\n", "``` ", "> ```\n", "- ", "\r\n", "`", ". ", "~~~", "é\n \n"],
    ],
)
def test_hostile_texts_take_linear_time_and_end(unit: str) -> None:
    def seconds(length: int) -> float:
        text = "a" + unit * (length // len(unit))
        return thread_seconds(lambda: truncate(text, length // 2))

    assert grows_linearly(seconds, 25_000, 100_000)
