"""What docs/ promises of itself: its links lead somewhere, its generated pages are current."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import documentation as page

ROOT = page.DOCS.parent
GENERATOR = page.DOCS / "generator" / "generate.py"
LINKING = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "FAULTS.md", "CHANGELOG.md")),
    *sorted((ROOT / "clients").glob("*/README.md")),
    *(page.DOCS / name for name in page.ALL_PAGES),
]
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^()\s]+)\)|\b(?:src|srcset|href)=\"([^\"]+)\"")
_MEANT = (
    *("view", "turn", "transcript", "fold", "library", "rebase", "manifest", "withheld", "clock", "position"),
    "recording",
)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the built site make them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading_that_are_there(path: Path) -> None:
    text = path.read_text()
    found = [one or other for one, other in _LINK.findall(_CODE.sub("", text))]
    for link in found:
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = path.parent / place if place else path
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text()), link


def test_the_generated_pages_are_current() -> None:
    done = subprocess.run([sys.executable, GENERATOR, "--check"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_generated_page_that_was_edited_is_named(tmp_path: Path) -> None:
    shutil.copytree(page.DOCS / "reference", tmp_path / "reference")
    edited = tmp_path / "reference" / "tools.md"
    edited.write_text(edited.read_text().replace("get_note_diff", "get_note_dif"))
    command = [sys.executable, GENERATOR, "--check", "--dir", edited.parent]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and str(edited) in done.stderr


@pytest.mark.parametrize("name", page.ALL_PAGES)
def test_a_page_begins_with_a_sentence_that_says_what_its_reader_gets(name: str) -> None:
    title, first, *_rest = re.sub(r"<!--.*?-->\n*", "", page.Page(name).text, flags=re.DOTALL).split("\n\n", 2)
    assert title.startswith("# ") and re.match(r"[\w`*\[]", first.strip()), first


def test_every_page_is_listed_by_the_index_of_its_part() -> None:
    for name in page.ALL_PAGES:
        part, _, file = name.partition("/")
        if file and file != "index.md":
            assert f"]({file})" in page.Page(f"{part}/index.md").text, name


def test_the_glossary_gives_each_term_one_sentence() -> None:
    rows = dict(
        re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \|$", page.Page("explanation/glossary.md").text, re.MULTILINE)
    )
    assert set(_MEANT) <= rows.keys()
    assert list(rows) == sorted(rows)
    assert [term for term, meaning in rows.items() if not meaning.endswith(".") or ". " in meaning] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_recording_shows_the_demo_as_it_is(theme: str) -> None:
    shown = html.unescape((page.DOCS / "images" / f"demo-{theme}.svg").read_text())
    demo = ROOT / "workspaced" / "workspaced" / "demo"
    moments = json.loads((demo / "session_moments.json").read_text())
    assert moments and all(each["title"] in shown and each["question"][:60] in shown for each in moments)
    assert shown.count("✓") == 4 and "✗" not in shown


def test_the_pictures_are_made_of_the_template_and_name_every_theme(tmp_path: Path) -> None:
    copied = tmp_path / "docs"
    shutil.copytree(page.DOCS / "generator", copied / "generator", ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "images").mkdir()
    subprocess.run([sys.executable, copied / "generator" / "pictures.py"], check=True, timeout=60, env=os.environ)
    made = sorted((copied / "images").iterdir())
    pictures = sorted(each.stem for each in (copied / "generator").glob("*.svg"))
    assert [each.name for each in made] == [
        f"{each}-{theme}.svg" for each in pictures for theme in ("dark", "light")
    ]
    for each in made:
        assert each.read_text() == (page.DOCS / "images" / each.name).read_text()
