"""Row 36: what a hostile text costs grows no faster than its length, whatever it repeats.

Processor time of this thread for a text and for one of four times its length (support/growth.py); the shorter text
is long enough to take milliseconds.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.growth import grows_linearly, thread_seconds

from workspaced_events.ids import NoteId
from workspaced_tools.limits import FRONT_MATTER_CHARS_MAX, LINKS_PER_NOTE_MAX, TAGS_PER_NOTE_MAX
from workspaced_tools.notes.markdown import link_contexts, word_count
from workspaced_tools.notes.note import Note
from workspaced_tools.vault.vault import Vault

LONG = 262_144
FRONT_LONG = FRONT_MATTER_CHARS_MAX - 100

REPEATED = [
    *("[[", "[", "[a](", "`", "![", "[[a|", "](", "<!--", "$", "#", "> ", "- [", "*_", "\\["),
    *("[[a]] ", "[a](b) ", "![[a]]", "![[", "[[a#^b", "]]", "[^a]", "[^", "[a]: b\n", "[a]:", "|a", "|-|\n", "||"),
    *("**", "_", "~~", "==", "&", "&amp;", "<", "<a ", "</", "<![CDATA[", "<?", "{{", "%%", "$$", "$`", "```\n"),
    *("\n", "\n\n", "\r", "\t", " ", "a ", "a\n", "- ", "1. ", "* a\n", "# a\n", "a\n=\n", "---\n", "- - ", ">>"),
    *("#a ", "#a/", "#a#", "http://a ", "a@b.c ", "\\", "\\|", "é", "\u200b", "日", "👨\u200d", "'a", "a-", "\0"),
]
AROUND = [
    ("- ", "a\n"),
    ("1. ", "a\n"),
    (">", "a\n"),
    ("> - ", "a\n"),
    ("[", "]"),
    ("[[", "]]"),
    ("(", ")"),
    ("> ", "a\n"),
    ("*", "a*"),
    ("[a](", ")"),
    ("`", "``"),
    ("<", ">"),
]
FRONT = [
    *("a: b\n", "- a\n", "a: [", "a: {", "&a ", "*a ", "# \n", "'", '"', ": ", "? ", "- - ", "| \n", "!a "),
    *("\t", "...\n"),
]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    made = Vault(tmp_path, clock_ns=lambda: time.time_ns() + 10_000_000_000)
    (tmp_path / "top.md").write_text("# Top\n")
    made.reconcile()
    yield made
    made.close()


def take(vault: Vault, note: NoteId) -> None:
    """Everything that is ever found out about a note: what reading it, listing it and searching for it need."""
    [found] = vault.notes.read([note])
    assert isinstance(found, Note)
    assert found.title and found.front_matter is not None
    assert len(found.markdown.links) <= LINKS_PER_NOTE_MAX and len(found.tags) <= TAGS_PER_NOTE_MAX
    link_contexts(found.text, found.markdown.links)
    word_count(found.body)
    assert found.images is not None
    assert [version.id for version in vault.changed([note]).created] == [note]


def seconds(vault: Vault, text: str, name: str) -> float:
    note = NoteId(f"{name}.md")
    (vault.root.path / note).write_text(text)
    return thread_seconds(lambda: take(vault, note))


def assert_linear(vault: Vault, text: Callable[[int], str], length: int = LONG) -> None:
    names = itertools.count()
    assert grows_linearly(lambda size: seconds(vault, text(size), str(next(names))), length // 4, length)


@pytest.mark.fault(row=36)
@pytest.mark.parametrize("unit", REPEATED, ids=ascii)
def test_row_36_what_is_repeated_takes_linear_time(unit: str, vault: Vault) -> None:
    assert_linear(vault, lambda length: "a " + unit * (length // len(unit)) + "\n[[top]]\n")


@pytest.mark.fault(row=36)
@pytest.mark.parametrize(("opening", "closing"), AROUND, ids=ascii)
def test_row_36_what_is_nested_takes_linear_time(opening: str, closing: str, vault: Vault) -> None:
    each = len(opening) + len(closing)
    assert_linear(vault, lambda length: opening * (length // each) + "a" + closing * (length // each) + "\n")


@pytest.mark.fault(row=36)
@pytest.mark.parametrize("unit", FRONT, ids=ascii)
def test_row_36_front_matter_takes_linear_time(unit: str, vault: Vault) -> None:
    assert_linear(vault, lambda length: "---\n" + unit * (length // len(unit)) + "\n---\nbody\n", FRONT_LONG)
