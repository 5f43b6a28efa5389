"""Two readers of Markdown, ours and the oracle's, say the same, or `EXPLAINED` says why not."""

from pathlib import Path

import oracle
import pytest
from bench.vaults import make_vault
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

NOTES = 30


def _differing(folder: Path) -> tuple[int, list[str]]:
    outcomes = [oracle.check(path) for path in oracle.distinct(folder)]
    return len(outcomes), [outcome.failure for outcome in outcomes if outcome.failure is not None]


@pytest.mark.thorough
def test_both_read_the_same_in_the_vault_of_the_benchmarks(tmp_path: Path) -> None:
    make_vault(tmp_path / "vault", NOTES)
    read, differing = _differing(tmp_path / "vault")
    assert differing == []
    assert read > NOTES // 2


@pytest.mark.thorough
def test_both_read_the_same_in_the_files_that_installed_packages_bring() -> None:
    _, differing = _differing(Path(pytest.__file__).parents[1])
    assert differing == []


# Nasty Markdown: spans within lines within blocks within blocks.

WORDS = ["a", "é", "日本", "B c", "1", "x_y", "n.md"]
SPANS = [
    *["[[a]]", "[[a|b]]", "![[a#b|c]]", "[[a#^b]]", "[[a\\|b]]", "[[ ]]", "[[a", "b]]", "[[a]](b.md)"],
    *["[[[a]]]", "[t](n.md)", "![i](n.md)", "[t](<b c.md> 'x')", "[t](%41.md#h%20i)", "[t](a.png)"],
    *["[a *b* `c`](d.md)", "[r]", "[![i](e.md)](n.md)", "[r][r]", "[t][]", "[^1]", "[x [[a]] y](n.md)"],
    *["<https://x.y/z.md>", "[t](x.md", "[t]: n.md", "#tag", "#a/b-c", "#1", "#1a", "\\#no", "&#35;no"],
    *["(#no)", "**#yes**", "#日本", "#a/", "x#no", "[#no](n.md)", "`[[a]]`", "`` ` ``", "`", "``"],
    *["$[[a]]$", "$a$", "$", "5$", "$$b$$", "\\", "\\[[a]]", "\\$", "|", "\\|", "*", "**", "_a_"],
    *["~~s~~", "<i>", "</i>", "<!-- [[a]] -->", "<!--", "-->", "<i t='[[a]]'>", "&amp;", "&copy;", "!"],
]
HEADS = [
    *["", "# ", "## ", "###### ", "#", "> ", "- ", "* ", "1. ", "    ", "\t", " ", "  ", "- [ ] "],
    *["[r]: n.md ", "[^1]: "],
]
RULES = [
    *["===", "---", "```", "~~~", "```md", "$$", "| a | b |", "|---|---|", "<div>", "</div>", "<!--"],
    *["-->", "", "***"],
]

spans = st.lists(st.sampled_from(SPANS + WORDS), min_size=1, max_size=4)
inline = st.builds(lambda parts, gap: gap.join(parts), spans, st.sampled_from(["", " ", " "]))
line = st.one_of(inline, st.builds(str.__add__, st.sampled_from(HEADS), inline), st.sampled_from(RULES))
block = st.one_of(
    st.lists(line, min_size=1, max_size=3).map("\n".join),
    st.builds("```\n{}\n```".format, inline),
    st.builds("{}\n{}".format, inline, st.sampled_from(["===", "---"])),
    st.builds("| a | b |\n|---|---|\n| {} | {} |".format, inline, inline),
    st.builds("- {}\n  - {}\n\n    {}".format, inline, inline, inline),
    st.builds("> {}\n> # {}".format, inline, inline),
    st.builds("<div>\n{}\n</div>".format, inline),
    st.builds("[r]: n.md\n\n[r] {}".format, inline),
    st.builds("x[^1]\n\n[^1]: {}\n    {}".format, inline, inline),
)
VALUES = [
    *["", "b", "1", "1.5", "true", "no", "~", "12:30", "2026-01-01", "0o17", "0x1F", "1e3", "[x, y]"],
    *["{k: v}", "'q'", '"\\u00e9"', "|\n  text", "\n  - x\n  - y", "#c", "é # c", "[", "a: b", "-"],
    *["&x b", "*x", ".inf", "'#t'", "1_000"],
    *["[[B]]", "'[[B#C|d]]'", "[a, '[[B]]']", "|\n  [[B]]\n  [[C]]", "{k: '[[B]]'}", "Review: Dune", "3.10"],
]
NAMES = ["title", "tags", "aliases", "a", "1", "é", "Title"]
field = st.builds("{}: {}".format, st.sampled_from(NAMES), st.sampled_from(VALUES))
front = st.one_of(
    st.just(""),
    st.builds(
        "{}\n{}\n{}".format,
        st.sampled_from(["---", "--- ", "----", " ---"]),
        st.lists(field, max_size=3, unique_by=lambda text: text.partition(":")[0]).map("\n".join),
        st.sampled_from(["---\n", "---", "...\n", "--- \n\n", "----\n", ""]),
    ),
)
bodies = st.lists(block, max_size=4).map("\n\n".join)
texts = st.builds(
    lambda head, body, end: (head + body).replace("\n", end),
    front,
    bodies,
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
)


@settings(max_examples=examples(1_500), derandomize=True)
@given(texts)
def test_both_read_the_same_in_nasty_markdown(text: str) -> None:
    assert oracle.unexplained(text) == []
