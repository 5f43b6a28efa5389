"""What is left of the index between two starts: trusted only whole, else made anew; the answers are the same."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import images
from support.journals import flipped
from support.profiles import examples
from support.tool_fixtures import later_ns

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.index.changes import Changes
from workspaced_tools.vault.index.database import IndexFile, IndexLost
from workspaced_tools.vault.vault import Vault

FILES = {
    **{f"d{n % 3}/n{n}.md": f"# Title {n}\n\nword{n % 5} [[n{n + 1}]] #tag{n % 3}\n" for n in range(20)},
    "private.md": "---\nworkspaced: private\n---\nsecret word1",
    "head.md": "---\nid: h-1\naliases: [Kopf]\n---\n# Head\n\nword2\n",
}


class Place:
    """A folder of notes and the cache directory of the vault over it."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        self.folder, self.cache = root / "vault", root / "cache"
        images.write(self.folder, files)
        self.opened().close()

    def opened(self) -> Vault:
        vault = Vault(self.folder, cache_dir=self.cache, clock_ns=later_ns)
        vault.reconcile()
        return vault

    @property
    def database(self) -> Path:
        [found] = self.cache.glob("*.sqlite")
        return found

    @property
    def seal(self) -> Path:
        return self.database.with_suffix(".seal")

    def kept(self) -> tuple[bool, dict[str, Any], Changes]:
        """Whether what was left behind was used, the answers, and what the first comparison told."""
        vault = Vault(self.folder, cache_dir=self.cache, clock_ns=later_ns)
        try:
            used = vault.index.open()
            assert not self.seal.exists()
            changes = vault.reconcile()
            return used, answers(vault), changes
        finally:
            vault.close()


def answers(vault: Vault) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for words in ("word0", "word1", "word2", "title", "kopf", "secret"):
        result = vault.searches.search(SearchQuery(words, 50))
        found[words] = [(hit.note.id, hit.line, hit.snippet) for hit in result.hits], result.total, result.complete
    for reference in (*(f"Title {n}" for n in range(20)), "n3", "Kopf", "h-1", "Titel 7", "private"):
        resolution = vault.links.resolve(reference, EMPTY_VAULT)
        found[reference] = resolution.note, resolution.resolved_by, resolution.near
    for number in range(20):
        found[f"to {number}"] = vault.links.incoming(NoteId(f"d{number % 3}/n{number}.md"), 9, EMPTY_VAULT)
    found["tags"] = [(each.note.id, each.tags) for each in vault.searches.sharing_tags(NoteId("d0/n0.md"), 50)]
    found["overview"] = vault.searches.overview(50)
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("place"), FILES)


@pytest.fixture(scope="module")
def right(place: Place) -> dict[str, Any]:
    vault = Vault(place.folder, clock_ns=later_ns)
    vault.reconcile()
    try:
        return answers(vault)
    finally:
        vault.close()


def another_in_its_place(file: Path, make: Callable[[Path], object]) -> None:
    file.unlink()
    make(file)


def a_symlink(place: Place) -> None:
    file = place.database
    file.rename(place.folder.parent / "elsewhere")
    file.symlink_to("../elsewhere")


def seal_with(place: Place, **changes: object) -> None:
    place.seal.write_text(json.dumps({**json.loads(place.seal.read_text()), **changes}))


def row_changed_by_another_program(place: Place) -> None:
    with sqlite3.connect(place.database) as db:
        db.execute("UPDATE notes SET title = 'Title 0'")
    db.close()


def of_another_vault(place: Place) -> None:
    other = Place(place.folder.parent / "other", {"d0/n0.md": "# Foreign\n\nword1", "x.md": "# Title 3"})
    shutil.copy(other.database, place.database)
    shutil.copy(other.seal, place.seal)
    shutil.rmtree(other.folder.parent)


DAMAGES: dict[str, Callable[[Place], object]] = {
    "gone": lambda place: place.database.unlink(),
    "truncated": lambda place: os.truncate(place.database, place.database.stat().st_size // 2),
    "zeros": lambda place: place.database.write_bytes(bytes(place.database.stat().st_size)),
    "longer": lambda place: os.truncate(place.database, place.database.stat().st_size + 4096),
    "a folder": lambda place: another_in_its_place(place.database, lambda file: (file / "x").mkdir(parents=True)),
    "a symlink": a_symlink,
    "a FIFO": lambda place: another_in_its_place(place.database, os.mkfifo),
    "without seal": lambda place: place.seal.unlink(),
    "a garbled seal": lambda place: place.seal.write_bytes(b"{\xff"),
    "a FIFO as seal": lambda place: another_in_its_place(place.seal, os.mkfifo),
    "a folder as seal": lambda place: another_in_its_place(place.seal, Path.mkdir),
    "a FIFO as next seal": lambda place: another_in_its_place(
        place.seal, lambda file: os.mkfifo(file.with_suffix(".new"))
    ),
    "of another version": lambda place: seal_with(place, version=999),
    "of another SQLite": lambda place: seal_with(place, sqlite="3.0.0"),
    "a log beside": lambda place: Path(f"{place.database}-wal").write_bytes(b"left"),
    "a journal beside": lambda place: Path(f"{place.database}-journal").write_bytes(b"left"),
    "a folder beside": lambda place: Path(f"{place.database}-wal").mkdir(),
    "a row changed": row_changed_by_another_program,
    "of another vault": of_another_vault,
}


@pytest.mark.fault(row=13)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_as_it_was_left_is_made_anew(damage: str, place: Place, right: dict[str, Any]) -> None:
    DAMAGES[damage](place)
    assert place.kept() == (False, right, Changes())
    assert place.kept() == (True, right, Changes())


@pytest.mark.fault(row=13)
@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck), derandomize=True)
@given(ending=st.sampled_from([".sqlite", ".sqlite", ".seal"]), place_of_bit=st.floats(0, 1, exclude_max=True))
def test_one_flipped_bit_anywhere_is_noticed(
    ending: str, place_of_bit: float, place: Place, right: dict[str, Any]
) -> None:
    file = place.database.with_suffix(ending)
    content = file.read_bytes()
    file.write_bytes(flipped(content, int(place_of_bit * 8 * len(content))))
    used, found, changes = place.kept()
    assert (found, changes) == (right, Changes())
    assert not used


def test_a_seal_over_no_index_costs_a_build_and_no_answer(place: Place, right: dict[str, Any]) -> None:
    # As where the file was overwritten while it was open and nobody noticed before it was sealed.
    for content in (bytes(8_192), b"SQLite format 3\0" + os.urandom(8_176), b""):
        place.database.write_bytes(content)
        file = IndexFile(place.cache, os.fspath(place.folder))
        file._seal(place.database)
        vault = place.opened()
        try:
            assert answers(vault) == right
        finally:
            vault.close()
    assert place.kept()[0]


@pytest.mark.fault(row=13)
def test_an_index_ahead_of_a_backup_is_brought_back(place: Place, right: dict[str, Any], tmp_path: Path) -> None:
    shutil.copytree(place.folder, tmp_path / "backup")
    (place.folder / "d0/n0.md").write_text("# Later\n\nword1 word2\n")
    (place.folder / "later.md").write_text("# Title 3\n\nword2\n")
    place.opened().close()
    shutil.rmtree(place.folder)
    shutil.copytree(tmp_path / "backup", place.folder)
    vault = Vault(place.folder, cache_dir=place.cache, clock_ns=later_ns)
    try:
        changes = vault.reconcile()
        assert answers(vault) == right
    finally:
        vault.close()
    assert "d0/n0.md" in [each.id for each in changes.changed]
    assert changes.deleted == ("later.md",)
    assert place.kept() == (True, right, Changes())


def test_after_closing_nothing_opens_the_index_again(place: Place, right: dict[str, Any]) -> None:
    vault = place.opened()
    vault.close()
    before = {file: file.read_bytes() for file in place.cache.iterdir()}
    vault.reconcile()
    vault.changed(["d0/n0.md", "d0"])
    vault.start()
    for ask in (
        lambda: vault.searches.search(SearchQuery("word1", 5)),
        lambda: vault.links.resolve("Title 1", EMPTY_VAULT),
    ):
        ask()
    vault.close()
    assert not vault.index.file.is_open
    assert {file: file.read_bytes() for file in place.cache.iterdir()} == before
    assert place.kept() == (True, right, Changes())


def test_a_write_that_fails_leaves_nothing_of_itself(tmp_path: Path) -> None:
    file = IndexFile(tmp_path, "/vault")
    assert file.read("SELECT 1") == []
    with pytest.raises(IndexLost), file.writing():
        pass
    assert not file.open()
    with pytest.raises(ZeroDivisionError), file.writing() as db:
        db.execute("INSERT INTO private VALUES ('a.md', 2)")
        raise ZeroDivisionError
    with pytest.raises(IndexLost), file.writing() as db:
        db.execute("INSERT INTO private VALUES ('b.md', 2)")
        db.execute("INSERT INTO nowhere VALUES (1)")
    assert file.read("SELECT path FROM private") == []
    with file.writing() as db:
        db.execute("INSERT INTO private VALUES ('c.md', 2)")
    assert file.read("SELECT path FROM private") == [("c.md",)]
    assert file.read("SELECT path FROM private WHERE path = ?", ("\ud800",)) == []
    file.drop()
    assert file.read("SELECT path FROM private") == []
    file.remake()
    assert file.read("SELECT count(*) FROM private") == [(0,)]
    file.close()
    file.close()
