"""A model's answer with its citations in order: numbered as they come, one list of sources at the end."""

import re
from itertools import product
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin
from support.growth import grows_linearly, thread_seconds
from support.profiles import examples

from workspaced_tools.prompts.citations.renumber import Cited, cited
from workspaced_tools.prompts.sources.search_block import Source

A = Source(1, "Alpha", "a b.md")
B = Source(2, "Beta [draft]", "https://example.org/b?q=(1)&copy;=2")
C = Source(3, "Gamma", "notes/c.md")
A_AGAIN = Source(4, "Alpha, page 2", "a b.md")
CATALOGUE = (A, B, C, A_AGAIN)
A_LINK = "[Alpha](<a b.md>)"
B_LINK = r"[Beta \[draft\]](<https://example.org/b?q=(1)\&copy;=2>)"
C_LINK = "[Gamma](<notes/c.md>)"
MARKDOWN = MarkdownIt("commonmark").enable("table").use(footnote_plugin)


def listed(*links: str) -> str:
    return "#### Sources\n\n" + "\n".join(f"[^{i}]: {link}" for i, link in enumerate(links, 1))


def body_of(answer: str) -> str:
    """The words of an answer whose citations are in order."""
    return cited(answer, CATALOGUE).text.partition("\n\n#### Sources\n\n")[0]


def tokens_of(text: str) -> list:
    found = []
    for token in MARKDOWN.parse(text):
        found += (token, *(token.children or ()))
    return found


# -- marks --


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[^3][^2]", "[^1][^2]"),
        ("[^3, ^2]", "[^1][^2]"),
        ("[^3 ^2]", "[^1][^2]"),
        ("[^1-3]", "[^1][^2][^3]"),
        ("[^1–^3]", "[^1][^2][^3]"),
        ("[^2-3, 1]", "[^1][^2][^3]"),
        ("[^3-2]", "[^1][^2]"),
        ("[^3], [^2]", "[^1], [^2]"),
        ("Great![^3]", "Great![^1]"),
        (r"\\[^3]", r"\\[^1]"),
        ("[3]", "[^1]"),
        ("[3, 2]", "[^1][^2]"),
        ("[1-3]", "[^1][^2][^3]"),
        ("^[3]", "[^1]"),
        ("【3†source】", "[^1]"),
        ("[3†source]", "[^1]"),
        ("word[3].", "word[^1]."),
        ('"[3]"', '"[^1]"'),
        ("[^3](notes/c.md)", "[^1](notes/c.md)"),
        ("**bold [^3]** | x", "**bold [^1]** | x"),
    ],
)
def test_several_citations_may_be_written_in_several_ways(written: str, shown: str) -> None:
    assert body_of(f"so {written} it is") == f"so {shown} it is"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[^3][^3]", "[^1]"),
        ("[^3] [^3]", "[^1]"),
        ("[^1][^4]", "[^1]"),
        ("[^3], [^3]", "[^1], [^1]"),
        ("[^3]\n[^3]", "[^1]\n[^1]"),
        ("[^3] [^3]x", "[^1] x"),
    ],
)
def test_neighbours_of_one_source_merge(written: str, shown: str) -> None:
    assert body_of(f"so {written} it is") == f"so {shown} it is"


@pytest.mark.parametrize(
    "text",
    [
        *[r"\[^3]", r"\\\[^3]", r"\[3]", "[0]", "[03]", "[2026]", "[3rd]", "x[3]", "row_ids[3]", "[[3]]"],
        *["[3](notes/c.md)", "[see [3] there](notes/c.md)", "![figure [3]](x.png)", "`[3]`", "【4:0†source】"],
        *["“it grows [3] every year”", '"it grows [3] every year"', "«it grows [3] every year»", "[^note]"],
        *["[^0]", "[^03]", "[^3x]", "[^3", "[^1234567890]", "`[^3]`", "``a ` [^3]``", "[link](<x[^3].md>)"],
        *["<https://example.org/[^3]>", "![image](x[^3])"],
    ],
)
def test_what_is_no_citation_stays(text: str) -> None:
    assert body_of(f"Beta [^2] and {text} end") == f"Beta [^1] and {text} end"
    assert cited(f"and {text} end", CATALOGUE).fallback


@pytest.mark.parametrize(
    "code",
    [
        "```py\nx[^3]\n[^3]: y\n#### Sources\n```",
        "~~~\n[^3]\n~~~",
        "```\r[^3]\r```",
        "- item\n\n  ```\n  [^3]\n  ```",
        "> ```\n> [^3]\n> ```",
        "    [^3] indented\n\n    [^9]",
        "é ü 日本 `[^3]` 😀 `[^9]`",
    ],
)
def test_code_stays_to_the_byte(code: str) -> None:
    assert body_of(f"Beta [^2]:\n\n{code}\n\nend [^2]") == f"Beta [^1]:\n\n{code}\n\nend [^1]"


# -- numbers that nothing has --


MARKS = ["[^9]", "[9]", "^[9]", "【9†source】", "[9†source]", "[9, 8]", "[^9, ^8]", "[8-9]", "[9][8]", "[9], [8]"]
AROUND = [
    *["{}", "({})", "( {} )", "[{}]", "（{}）", "**{}**", "*{}*", "__{}__", "_{}_", "***{}***", "~~{}~~"],
    *["=={}==", '"{}"', "'{}'", "“{}”", "„{}“", "‘{}’", "«{}»", "<sup>{}</sup>", "**({})**", "(**{}**)"],
    *['("{}")', "(({}))", "(see {})", "(Source: {})", "(cf. {})", "({}.)", "**{}:**", r"\({}\)", "({}, )"],
    *["({}) ({})", "**{}** {}"],
]
PLACES = [
    ("Alpha [^1] says so {}.", "Alpha [^1] says so."),
    ("Alpha [^1] says so{}.", "Alpha [^1] says so."),
    ("Alpha [^1] {} says so.", "Alpha [^1] says so."),
    ("{} Alpha [^1]", "Alpha [^1]"),
    ("Alpha [^1], {}.", "Alpha [^1]."),
    ("Alpha [^1], says, {}, so.", "Alpha [^1], says, so."),
    ("Alpha [^1] (so, {}).", "Alpha [^1] (so)."),
    ("Alpha [^1] ({}, so).", "Alpha [^1] (so)."),
    ("Alpha [^1] **so {}**.", "Alpha [^1] **so**."),
    ("Alpha [^1] **so {}** and", "Alpha [^1] **so** and"),
    ("Alpha [^1] {} **so**", "Alpha [^1] **so**"),
    ("> {} Alpha [^1]", "> Alpha [^1]"),
    ("1. {}, Alpha [^1]", "1. Alpha [^1]"),
    ("Alpha [^1] so {}", "Alpha [^1] so"),
    ("Alpha [^1] so {}\nmore", "Alpha [^1] so\nmore"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_an_unknown_number_goes_with_all_that_held_only_it(mark: str) -> None:
    for around, (place, shown) in product(AROUND, PLACES):
        answer = place.format(around.replace("{}", mark))
        if (place[:1] == ">" and not mark.startswith("[^")) or re.search(r"\[\[\d[^\[]*\]\]", answer):
            continue  # A plain number may be the quoted note's own, or a wiki link.
        assert (answer, body_of(answer)) == (answer, shown)


# -- lists of sources --


@pytest.mark.parametrize(
    "section",
    [
        "[^3]: Gamma, a note\n",
        "[^3]: Gamma,\n  a note\n[^1]: https://example.org\n",
        "## Sources\n\n- [Gamma](notes/c.md)\n- Alpha (a b.md)\n",
        "###### REFERENCES:\n1. `notes/c.md`\n2. Beta [draft] — https://example.org/b?q=(1)&copy;=2\n",
        "**Sources:**\n\n[1] Alpha (a b.md)\n[3] Gamma (notes/c.md)\n\n",
        "Sources:\n* [^3] Gamma\n",
        "Sources\n-------\n\n- notes/c.md",
        "# References\n[^3]: x\n\n#### Sources\n- [Gamma](<notes/c.md>)",
        "## Sources",
        "Sources: [1], [3]",
        "**Sources**: [^1] Alpha, [^3] Gamma",
        "Sources:\n- [1]\n- 【3†source】",
        "References\n[1] Alpha",
        "Sources:\n- [1] Alpha, page 3\n- [9] Made up",
        "## References\n\n- [[notes/c]]\n- [[a b|Alpha]]",
    ],
)
def test_a_models_own_list_at_the_end_gives_way_to_ours(section: str) -> None:
    assert cited(f"So [^3].\n\n{section}", CATALOGUE).text == f"So [^1].\n\n{listed(C_LINK)}"


@pytest.mark.parametrize(
    "section",
    [
        *["## Sources of error\n\n- Gamma", "## Sources\n\nSmith, 2001.", "## Sources\n\n- Smith, 2001"],
        *["Sources: Smith, 2001", "Sources: [[Other]]", "## Sources\n\n- Gamma\n\nThat is all.", "- Gamma"],
        *["```\n## Sources\n- Gamma\n```", "## Sources\n\n-     Gamma"],
    ],
)
def test_what_is_no_list_of_ours_at_the_end_stays(section: str) -> None:
    assert cited(f"So [^3].\n\n{section}", CATALOGUE).text == f"So [^1].\n\n{section}\n\n{listed(C_LINK)}"


# -- without citations --


def test_an_answer_that_cites_nothing_gets_all_sources_without_numbers() -> None:
    done = cited("Just words.\n", CATALOGUE)
    assert done.text == f"Just words.\n\n#### Sources\n\n- {A_LINK}\n- {B_LINK}\n- {C_LINK}"
    assert (done.sources, done.fallback) == ((A, B, C), True)
    assert cited(done.text, CATALOGUE) == done


@pytest.mark.parametrize(
    "section", ["## Sources\n\nSmith, 2001.\n", "**References**\n- [^3] Gamma\n", "#### Sources\n\n[^1]: x"]
)
def test_an_answer_with_sources_of_its_own_gets_no_others(section: str) -> None:
    answer = f"Just words.\n\n{section}"
    assert cited(answer, CATALOGUE) == Cited(answer, (), (), False)


def test_without_a_catalogue_an_answer_stays_as_it_is() -> None:
    answer = "So [^3].\n\n[^3]: mine\n"
    assert cited(answer, ()) == Cited(answer, (), (), False)


# -- links --


TITLES = [
    *["[a](b)", "a]b[c", "x\ny", "\\", "`c` *d* _e_", "<b>", "&amp;", "![i](j)", "[^2]", "a|b", "日本 😀", "c\\]"],
]
SOURCES = [
    *["a b.md", "a(b).md", "a)b(.md", "<x>.md", "a\\b.md", "100%.md", "a%20b.md", "C# and so.md", "why?.md"],
    *[" a ", "Plan: now.md", "javascript:alert(1)", "&lt;.md", "a [^2].md", "`x`.md", "日本 😀.md", "//x"],
    "a\nb.md",
]


@pytest.mark.parametrize(
    ("title", "source"), [*((title, "a b.md") for title in TITLES), *(("c\\]", source) for source in SOURCES)]
)
def test_a_link_shows_the_title_and_leads_to_the_source_whatever_they_hold(title: str, source: str) -> None:
    for answer in ("So [^7].", "Just words."):
        done = cited(answer, (Source(7, title, source),))
        tokens = tokens_of(done.text)
        hrefs = [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]
        assert [unquote(href).strip() for href in hrefs] == [source.strip()]
        assert not re.search(r"[?#]|\A[\w.+-]+:", hrefs[0])
        place = next(i for i, token in enumerate(tokens) if token.type == "link_open")
        close = next(i for i, token in enumerate(tokens) if token.type == "link_close")
        assert "".join(token.content for token in tokens[place:close]) == title.replace("\n", " ")
        assert cited(done.text, (Source(7, title, source),)) == done


# -- whatever a model writes --

PIECES = [
    *["[^1]", "[^2]", "[^3]", "[^4]", "[^9]", "[^1, ^3]", "[^2-4]", "[^note]", "[^1]: x", "[^note]: y", " "],
    *["\n", "\n\n", "words", ".", "`", "``", "```", "~~~", "\n```\n", "\n    ", "- ", "> ", "# Sources\n"],
    *["**Sources**\n", "\ud800", "- Alpha\n", f"[^1]: {C_LINK}\n", "[", "]", "^", "\\", "(", ")", "<", "é", "😀"],
    *["\r\n", "\t", "1. ", "|", ", ", "[1]", "[9]", "([9])", "**", "**[9]**", "【1†source】", '"', "“", "”"],
    *["Sources: ", "[1]: x\n", "#### Sources\n\n", "](", "<!--", "-->", "\n---\n", "$", "*"],
]
answers = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@settings(max_examples=examples(600))
@given(answers)
def test_an_answer_in_order_stays_as_it_is(answer: str) -> None:
    done = cited(answer, CATALOGUE)
    again = cited(done.text, CATALOGUE)
    assert again.text == done.text
    assert (again.sources, again.fallback, again.unknown) == (done.sources, done.fallback, ())


@settings(max_examples=examples(600))
@given(answers)
def test_each_cited_source_is_listed_and_each_listed_one_is_cited(answer: str) -> None:
    done = cited(answer, CATALOGUE)
    if done.fallback:
        assert done.sources == (A, B, C) and done.text.endswith(f"- {C_LINK}")
    if done.fallback or not done.sources:
        return
    links = {A.source: A_LINK, B.source: B_LINK, C.source: C_LINK}
    section = listed(*(links[each.source] for each in done.sources))
    assert done.text.endswith(f"\n\n{section}")
    assert [each.number for each in done.sources] == list(range(1, len(done.sources) + 1))
    body = done.text.removesuffix(section)
    first = [int(number) for number in dict.fromkeys(re.findall(r"\[\^([1-9])\]", body))]
    assert set(first) >= {each.number for each in done.sources}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit",
    [
        *["[^1]", "[^1][^9] ", "[^1, ", "[^", "``[^1]` ", "\\", "[a](", "[^1]: x\n", "- Alpha\n", "# Sources\n"],
        *["- [a](b", "> ", "    ", "```\n", "é[^1] ", "[^1-20]", "[[^9]", "([9])", "**[9]** ", "(([9"],
        *['"a [9] ', "“[1]", "[9], ", "(see ", "【9†", "\t(", "\nSources: , , ", "\nSources: [1", "\n[1] a"],
        *["Sources\n---\n", "<a ", "[^1]\\"],
    ],
)
def test_putting_an_answer_in_order_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        answer = unit * (length // len(unit)) + " [^1]"
        return thread_seconds(lambda: cited(answer, CATALOGUE))

    assert grows_linearly(seconds, 4_000, 16_000)
