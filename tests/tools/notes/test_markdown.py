"""Outline, links and tags: what is one, what is none, and where it stands."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced_events.ids import NoteId
from workspaced_tools.limits import LINK_CONTEXT_CHARS_MAX, LINKS_PER_NOTE_MAX
from workspaced_tools.notes import markdown
from workspaced_tools.notes.markdown import Link, link_contexts, parse_markdown, title_and_tags, word_count
from workspaced_tools.notes.note import Note, StatKey


def links(body: str) -> tuple[Link, ...]:
    return parse_markdown(body).links


def contexts(body: str) -> list[str]:
    return link_contexts(body, links(body))


def note(text: str, path: str = "work/The Plan.md") -> Note:
    return Note(NoteId(path), StatKey(0, 0, 0, 0, 0), None, "", text.encode())


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        ("[t](a.md)", ("a.md", None, None, "t", False)),
        ("[t](../b%20c/a.MD)", ("../b c/a.MD", None, None, "t", False)),
        ("[t](<b c.md> 'x')", ("b c.md", None, None, "t", False)),
        ("[t](a.md#A%20b)", ("a.md", "A b", None, "t", False)),
        ("[t](a.md#^b)", ("a.md", None, "b", "t", False)),
        ("[t](a.md?x=1)", ("a.md", None, None, "t", False)),
        ("[t](What%3F.md)", ("What?.md", None, None, "t", False)),
        ("[t](folder/note)", ("folder/note", None, None, "t", False)),
        ("[t](/from/root.md)", ("/from/root.md", None, None, "t", False)),
        ("[t](a%20b.pdf#page=3)", ("a b.pdf", "page=3", None, "t", False)),
        ("![t](a.canvas)", ("a.canvas", None, None, "t", True)),
        ("[t](src/a.py)", ("src/a.py", None, None, "t", False)),
        ("[](a.md)", ("a.md", None, None, None, False)),
        ("[*t* `u`](a.md)", ("a.md", None, None, "t u", False)),
        ("![t](a.md)", ("a.md", None, None, "t", True)),
        ("[t][r]\n\n[r]: a.md", ("a.md", None, None, "t", False)),
    ],
)
def test_markdown_links_to_notes_are_taken_apart(written: str, parts: tuple[object, ...]) -> None:
    (link,) = links(written)
    assert (link.target, link.heading, link.block, link.alias, link.embed) == parts
    assert not link.wiki


@pytest.mark.parametrize(
    "body",
    [
        *["```\n[[a]]\n```", "~~~md\n[[a]]\n~~~", "````\n```\n[[a]]\n```\n````", "```\n[[never closed]]"],
        *["    [[a]]", "`[[a]]`", "`` ` [[a]] ``", "<!-- [[a]] -->", "x <!-- [[a]]\n[[b]] --> y"],
        *["<!--\n\n[[a]]\n\n-->", "$[[a]]$", "$$\n[[a]]\n$$", "x $a [[b]]$ y", "\\[[a]]", "[[a\\]]", "[[a\nb]]"],
        *["[[]]", "[[ ]]", "[[#heading]]", "[[]b]]", "[[a\\[b]]", "[t](#heading)", "[t](http://x/a.md)"],
        *["[t](mailto:a@b.md)", "[t](//host/a.md)", "<http://x/a.md>", "<a@b.md>", "![t](a.png)", "[t](a.dmg)"],
        *["![t](a)", "[t](folder/)", "[t]()", "[t](%00a.md)", "[[http://x]]", "![[plan.png]]"],
        *["[[photo.PNG#x|the photo]]", "[a] [b]", "[[" + "a" * 2_000 + "]]", "[[a|" + "b" * 5_000 + "]]"],
        *["| a |\n|-|\n| `[[a]]` |"],
    ],
)
def test_these_are_no_links_to_notes(body: str) -> None:
    assert links(body) == ()


def test_the_context_is_the_trimmed_line_and_of_a_long_one_what_is_around_the_link() -> None:
    assert contexts("  - see [[a]]  \nnext")[0] == "- see [[a]]"
    long = "é" * 500 + " [[a]] " + "ü" * 500
    context = contexts(long)[0]
    assert len(context) == LINK_CONTEXT_CHARS_MAX
    assert 100 < context.index("[[a]]") < 140
    assert contexts("[[a]] " + "x " * 500)[0].startswith("[[a]] x")
    assert contexts("x " * 500 + "[[a]]")[0].endswith("x [[a]]")
    assert len(contexts("[[a|" + "b" * 1000 + "]]")[0]) == LINK_CONTEXT_CHARS_MAX


def test_tags_follow_obsidians_rule() -> None:
    body = "#a b#no #1 #1a #a/b-c_d, (#no2) #été #日本 #x/ **#bold** \\#no &#35;no #a\n- #item\n>#quoted\n"
    assert parse_markdown("\\#escaped").tags == ()
    assert parse_markdown(body).tags == ("a", "1a", "a/b-c_d", "été", "日本", "x", "bold", "item", "quoted")


def test_what_is_beyond_a_limit_is_left_out_and_said() -> None:
    found = parse_markdown("[[a]] " * (LINKS_PER_NOTE_MAX + 1))
    assert len(found.links) == LINKS_PER_NOTE_MAX
    assert not found.complete
    assert parse_markdown("[[a]]").complete


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> int:
    """Texts are read in windows of so many bytes."""
    monkeypatch.setattr(markdown, "MARKDOWN_WINDOW_BYTES", 100)
    return 100


@pytest.mark.parametrize(
    "filler", ["x" * 100, "é\n\n" * 30, "- x\n" * 30], ids=["paragraph", "paragraphs", "list"]
)
def test_a_text_longer_than_a_window_is_read_whole(filler: str, small_windows: int) -> None:
    body = f"# One\n\n[[a]] {filler}\n```\n[[code]]\n{filler}\n```\n\n# Two\n\n%%\n[[hidden]]\n%%\n\n[[b]] #end"
    found = parse_markdown(body)
    assert [link.target for link in found.links] == ["a", "b"]
    assert [heading.text for heading in found.headings] == ["One", "Two"]
    assert found.headings[1].line == body.count("\n", 0, body.index("# Two")) + 1
    assert (found.tags, found.complete) == (("end",), True)
    assert title_and_tags(body) == ("One", ("end",))


def test_a_line_longer_than_a_window_is_read_in_parts_that_end_between_characters(small_windows: int) -> None:
    body = "x" + "é" * small_windows + " [[b]]\n\n# Two\n"
    found = parse_markdown(body)
    [link], [heading] = found.links, found.headings
    assert body.encode()[link.start :].startswith(b"[[b]]\n")
    assert (link.target, heading.text, heading.line) == ("b", "Two", 3)


def test_windows_end_where_a_block_does(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "".join(
        f"# H{n}\n\n- a\n  - b [[x{n}]]\n\n  c #t{n}\n\n```\n# no\n\n[[y]]\n```\n> q\n" for n in range(40)
    )
    whole = parse_markdown(body)
    monkeypatch.setattr(markdown, "MARKDOWN_WINDOW_BYTES", 100)
    assert parse_markdown(body) == whole


IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
A_WORD = re.compile(rf"(?:(?![{IDEOGRAPH}])\w)+(?:['’-](?:(?![{IDEOGRAPH}])\w)+)*|[{IDEOGRAPH}]")


@given(st.text(st.sampled_from("ab1_ '’-.é日\n\r\t"), max_size=40), st.integers(0, 3))
@example("a-b-c a--b -a- a'-b", 0)
def test_words_are_counted_as_one_expression_finds_them_wherever_a_text_is_cut(text: str, filled: int) -> None:
    whole = text + "word " * 20_000 * filled + text
    assert word_count(whole) == len(A_WORD.findall(whole))


def test_the_title_is_the_front_matters_else_the_first_level_one_heading_else_the_stem() -> None:
    assert note("---\ntitle: ' Named '\n---\n# Heading\n").title == "Named"
    assert note("---\ntitle: 2024\n---\n").title == "2024"
    for empty in ("", "title:", "title: ' '", "title: [a]"):
        assert note(f"---\n{empty}\n---\n## Two\n# One\n# Other\n").title == "One"
    assert note("---\ntitle: true\n---\n# One\n").title == "true"
    assert note("---\nTitle: 1.10\n---\n# One\n").title == "1.10"
    assert note("---\ntitle: [\n---\n# One\n").title == "One"
    assert note("---\nexcalidraw-plugin: parsed\n---\n# Excalidraw Data\n").title == "The Plan"
    assert note("```\n# code\n```\n#\n").title == "The Plan"
    assert note("", "x.MD").title == "x"
    assert "\n" not in note('---\ntitle: "a\\nb"\n---\n').title


@example(["# ", "é ", "\n", "# ", "#t"])
@settings(max_examples=examples(300))
@given(
    st.lists(
        st.sampled_from(
            [
                *("# ", "[[a|b]]", "![[c#d]]", "[t](e.md)", "`x`", "```\n"),
                *("\n", "\n\n", "=\n", "é ", "$y$", "*", "#t"),
            ]
        )
    )
)
def test_title_and_tags_of_a_body_are_those_of_its_full_reading(pieces: list[str]) -> None:
    body = "".join(pieces)
    full = parse_markdown(body)
    title = next((each.text for each in full.headings if each.level == 1 and each.text), None)
    assert title_and_tags(body) == (title, full.tags)


@settings(max_examples=examples(200))
@given(
    st.lists(
        st.sampled_from([*"[]()|#^!`*$>é\n\r\t ", "[[", "]]", "a", "a.md", "](", "é", "日", "- ", "```\n"]),
        max_size=60,
    )
)
def test_every_link_stands_in_its_line_and_context(pieces: list[str]) -> None:
    body = "".join(pieces)
    lines = body.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for link in links(body):
        first = link.raw.replace("\r", "\n").split("\n")[0]
        assert first.strip() in link_contexts(body, [link])[0]
        assert first in lines[link.line - 1]
        assert link.target == link.target.strip() != ""
