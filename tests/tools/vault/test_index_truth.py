"""Whatever happens to the files, the index ends up as one made from scratch, and what is told adds up.

A history is a list of steps on a real folder: files written, deleted, moved; folders moved; rules changed; hints,
some of them lost or about nothing; questions (they mend what they meet); stops in good order and crashes.
"""

import os
import shutil
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.index_contents import held
from support.profiles import examples
from support.tool_fixtures import later_ns

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE
from workspaced_tools.vault.index.changes import Changes
from workspaced_tools.vault.index.crawl import Bounds
from workspaced_tools.vault.index.indexer import INLINE
from workspaced_tools.vault.vault import Vault

NFC, NFD = (unicodedata.normalize(form, "x/Crème.md") for form in ("NFC", "NFD"))
PATHS = ("a.md", "b.md", "A.md", "x/a.md", "x/b.md", "x/y/c.md", "x.z/d.md", "private/e.md", NFC, NFD)
FOLDERS = ("x", "x/y", "x.z", "private", "new", "a.md")
HEADS = (
    "",
    "---\nid: n-1\naliases: [Ay, Bee]\ntags: [one, design/type]\n---\n",
    "---\ntitle: A Title\ntag: One\n---\n",
    "---\nworkspaced: private\ntags: secret\n---\n",
    "---\n[broken, private\n---\n",
    "---\n[broken\n---\n",
)
BODIES = (
    "",
    "# Alpha\napple [[b]] and [[x/a|that]]\n",
    "# Beta\npear #two [back](../a.md) ![[Alpha#part]]\n",
    "text with [[Crème]], [[Ay]] and [[nowhere]]\n\n# Alpha\n",
    "東京 #two #Two/three\n",
)
RULES = (None, "private/\n", "x/\n!x/a.md\n", "*.md\n", "/**/\n", "Cr*\n")

Step = tuple[Any, ...]


class World:
    """A folder, the vault over it, and what the steps do to them."""

    def __init__(
        self, place: Path, clock_ns: Callable[[], int], clock_s: Callable[[], float], inline: Bounds
    ) -> None:
        self.folder, self.cache = place / "vault", place / "cache"
        self.folder.mkdir()
        self.clock_ns, self.clock_s = clock_ns, clock_s
        self.inline = inline
        self.told: list[Changes] = []
        self.written = 0
        self.vault = self.opened()
        self.vault.reconcile()

    def opened(self) -> Vault:
        return Vault(
            self.folder,
            cache_dir=self.cache,
            clock_ns=self.clock_ns,
            clock_s=self.clock_s,
            inline=self.inline,
            index_wait_s=0.0,
        )

    def run(self, step: Step) -> None:
        with suppress(OSError):  # a move of nothing, a folder in the way: then the step does nothing
            getattr(self, step[0])(*step[1:])

    # -- steps --

    def write(self, path: str, head: str, body: str) -> None:
        # Every version has a size of its own: two within a tick of the file system's clock have equal times.
        self.written += 1
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{head}{body}{'.' * self.written}\n")

    def delete(self, path: str) -> None:
        (self.folder / path).unlink()

    def move(self, old: str, new: str) -> None:
        (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / old).rename(self.folder / new)

    def move_folder(self, old: str, new: str) -> None:
        (self.folder / old).rename(self.folder / new)

    def delete_folder(self, path: str) -> None:
        shutil.rmtree(self.folder / path)

    def make_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            (self.folder / path).unlink()
        (self.folder / path).mkdir()

    def rule(self, rules: str | None) -> None:
        if rules is None:
            (self.folder / IGNORE_FILE).unlink()
        else:
            (self.folder / IGNORE_FILE).write_text(rules)

    def hint(self, *paths: str) -> None:
        self.told.append(self.vault.changed(paths))

    def ask(self, word: str) -> None:
        self.vault.searches.search(SearchQuery(word, 3))
        self.vault.links.resolve(word, EMPTY_VAULT)
        self.vault.links.incoming(NoteId("a.md"), 3, EMPTY_VAULT)
        self.vault.searches.overview(3)

    def reconcile(self) -> None:
        self.told.append(self.vault.reconcile())

    def reopen(self) -> None:
        self.vault.close()
        self.vault = self.opened()

    def crash(self) -> None:
        """The next start finds the files as they are at this moment: no seal, the write-ahead log beside."""
        kept = self.cache.with_name("kept")
        shutil.copytree(self.cache, kept)
        self.vault.close()
        shutil.rmtree(self.cache)
        kept.rename(self.cache)
        self.vault = self.opened()

    def compare(self) -> None:
        """The index, once it was reconciled, is one made from scratch."""
        self.reconcile()
        fresh = Vault(self.folder, clock_ns=self.clock_ns, clock_s=self.clock_s)
        try:
            fresh.reconcile()
            assert held(self.vault) == held(fresh)
        finally:
            fresh.close()


@contextmanager
def world(
    clock_ns: Callable[[], int] = later_ns, clock_s: Callable[[], float] = time.monotonic, inline: Bounds = INLINE
) -> Iterator[World]:
    with TemporaryDirectory() as place:
        made = World(Path(place), clock_ns, clock_s, inline)
        try:
            yield made
        finally:
            made.vault.close()


paths = st.sampled_from(PATHS)
steps = st.one_of(
    st.tuples(st.just("write"), paths, st.sampled_from(HEADS), st.sampled_from(BODIES)),
    st.tuples(st.just("write"), paths, st.sampled_from(HEADS), st.sampled_from(BODIES)),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("move_folder"), st.sampled_from(FOLDERS), st.sampled_from(FOLDERS)),
    st.tuples(st.just("delete_folder"), st.sampled_from(FOLDERS)),
    st.tuples(st.just("make_folder"), st.sampled_from(FOLDERS)),
    st.lists(st.sampled_from((*PATHS, *FOLDERS)), min_size=1, max_size=3).map(lambda each: ("hint", *each)),
    st.tuples(st.just("ask"), st.sampled_from(("apple", "Alpha", "Ay", "two", "東京"))),
    st.just(("reconcile",)),
    st.just(("reopen",)),
)
all_steps = st.one_of(steps, st.tuples(st.just("rule"), st.sampled_from(RULES)), st.just(("crash",)))
quiet = settings(suppress_health_check=list(HealthCheck), derandomize=True)


def compared(history: list[Step], **options: Any) -> None:
    with world(**options) as made:
        for step in history:
            made.run(step)
        made.compare()


@settings(quiet, max_examples=examples(120))
@given(st.lists(all_steps, min_size=4, max_size=16))
@example([("write", "a.md", "", "x"), ("reconcile",), ("make_folder", "a.md"), ("hint", "a.md")])
@example([("write", NFD, "", "x"), ("reconcile",), ("write", NFC, "", "y"), ("hint", NFC), ("delete", NFD)])
def test_after_any_history_the_index_is_one_made_from_scratch(history: list[Step]) -> None:
    compared(history)


@settings(quiet, max_examples=examples(30))
@given(st.lists(all_steps, min_size=4, max_size=12))
def test_that_holds_for_versions_too_young_to_be_trusted(history: list[Step]) -> None:
    ns, s = time.time_ns(), time.monotonic()  # clocks that stand still: nothing settles while it is compared
    compared(history, clock_ns=lambda: ns, clock_s=lambda: s)


@settings(quiet, max_examples=examples(5))
@given(st.lists(all_steps, min_size=8, max_size=12))
def test_that_holds_where_workers_survey(history: list[Step]) -> None:
    compared(history, inline=Bounds(notes=0, stale=0))


@settings(quiet, max_examples=examples(80))
@given(st.lists(steps.filter(lambda step: "private" not in str(step)), min_size=4, max_size=16))
def test_what_is_told_adds_up_to_what_became_different(history: list[Step]) -> None:
    with world() as made:
        ids: set[str] = set()
        for step in history:
            made.run(step)
        made.reconcile()
        for changes in made.told:
            for old, new in changes.renamed:
                assert old in ids and new not in ids
            ids -= {*changes.deleted, *(old for old, _ in changes.renamed)}
            ids |= {*(each.id for each in changes.created), *(new for _, new in changes.renamed)}
        assert ids == set(made.vault.index.ids())


def test_a_folder_that_gives_a_name_twice_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Twice:
        def __init__(self, descriptor: int) -> None:
            with listed(descriptor) as entries:
                self.entries = [entry for entry in entries for _ in range(2)]

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            return iter(self.entries)

        def __exit__(self, *_: object) -> None:
            pass

    listed: Any = os.scandir
    with world() as made:
        made.write("a.md", "", "apple")
        made.write("x/b.md", "", "apple")
        monkeypatch.setattr(os, "scandir", Twice)
        made.reconcile()
        monkeypatch.undo()
        assert [version.id for version in made.told[-1].created] == ["a.md", "x/b.md"]
        made.compare()
