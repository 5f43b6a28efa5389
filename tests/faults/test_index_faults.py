"""The index's file fails under a running vault: no call fails, no answer is wrong, and the file is made anew.

An answer is right, or it comes from an index that says it is being built. Nothing is ever written into the vault.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.patience import is_indexed

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.errors import ReadFailed
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.index import database
from workspaced_tools.vault.vault import Vault

LATER_NS = 10_000_000_000
FILES = {
    **{
        f"d{n % 3}/n{n}.md": f"# Title {n}\n\nword{n % 5} [[n{n + 1}]] #tag{n % 3}\n\n{'filler ' * 50}\n"
        for n in range(60)
    },
    "private.md": "---\nworkspaced: private\n---\nsecret word1",
}


def later() -> int:
    return time.time_ns() + LATER_NS


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of notes that is, when the test is over, as it was."""
    folder = tmp_path / "vault"
    for path, text in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    before = listing(folder)
    yield folder
    assert listing(folder) == before


def listing(folder: Path) -> dict[str, Any]:
    return {
        os.fspath(path): (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        for path in (folder, *folder.rglob("*"))
        if (status := path.lstat())
    }


@pytest.fixture
def opened(folder: Path, tmp_path: Path) -> Iterator[Callable[..., Vault]]:
    """opened() -> a Vault over the folder with its index in `cache`, closed at the end."""
    made: list[Vault] = []

    def open_one(**options: Any) -> Vault:
        made.append(Vault(folder, **{"cache_dir": tmp_path / "cache", "clock_ns": later, **options}))
        return made[-1]

    yield open_one
    for vault in made:
        vault.close()


def asked(vault: Vault) -> dict[str, Any]:
    """One answer of each method of the port that asks the index."""
    note = NoteId("d1/n1.md")
    found = vault.searches.search(SearchQuery("word1", 50))
    return {
        "search": (sorted(hit.note.id for hit in found.hits), found.total) if found.complete else None,
        "resolve": vault.links.resolve("Title 7", EMPTY_VAULT).note,
        "near": vault.links.resolve("Titel 7", EMPTY_VAULT).near,
        "path": vault.links.resolve("d1/n1", EMPTY_VAULT).note,
        "links": vault.links.link_targets(note, ["n2"], EMPTY_VAULT),
        "incoming": vault.links.incoming(NoteId("d2/n2.md"), 9, EMPTY_VAULT),
        "names": vault.notes.names([note, NoteId("private.md"), NoteId("missing.md")]),
        "similar": [each.note.id for each in vault.searches.similar(note, 9)],
        "tags": [each.note.id for each in vault.searches.sharing_tags(note, 50)],
        "members": vault.searches.members("d1", None, 9),
        "overview": vault.searches.overview(50),
        "state": (vault.index_state(), vault.note_count(), vault.statistics().withheld),
        "read": [type(each) for each in vault.notes.read([note, NoteId("private.md")])],
    }


def assert_none_is_wrong(vault: Vault, right: dict[str, Any]) -> dict[str, Any]:
    """One round of answers, each right or from an index that is being built; waits until it is built."""
    found = asked(vault)
    assert is_indexed(vault)
    for name, answer in found.items():
        assert answer == right[name] or answer is None or name in ("state", "similar"), name
    return found


def overwritten(file: Path, made: Callable[[int], bytes]) -> None:
    with file.open("r+b") as it:
        it.write(made(file.stat().st_size))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "unlinked": lambda file: file.unlink(),
    "emptied": lambda file: os.truncate(file, 0),
    "halved": lambda file: os.truncate(file, file.stat().st_size // 2 // 4096 * 4096),
    "zeros": lambda file: overwritten(file, bytes),
    "garbage": lambda file: overwritten(file, os.urandom),
}


@pytest.mark.fault(row=13)
@pytest.mark.parametrize("readers_kept", [0, 8], ids=["fresh readers", "kept readers"])
@pytest.mark.parametrize("part", ["file", "log", "both"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_fails_is_made_anew_and_no_answer_is_wrong(
    damage: str, part: str, readers_kept: int, opened: Callable[..., Vault], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_READERS_KEPT", readers_kept)
    vault = opened()
    vault.reconcile()
    right = asked(vault)
    assert right["state"] == ("ready", 60, 1)
    if part != "log":
        # What was written until now lies in the file itself, not in the log.
        with vault.index.file.writing() as db:
            db.execute("UPDATE notes SET certain = certain")
        for row in vault.index.file._writer.execute("PRAGMA wal_checkpoint(PASSIVE)"):  # type: ignore[union-attr]
            assert row[0] == 0
    path = vault.index.file.path
    for file in {"file": [path], "log": [Path(f"{path}-wal")], "both": [path, Path(f"{path}-wal")]}[part]:
        DAMAGES[damage](file)
    for _ in range(3):
        assert_none_is_wrong(vault, right)
    # A write meets what no reader did; and a new reader what no kept one did.
    vault.changed(["d1/n1.md", "d2/n2.md"])
    vault.reconcile()
    assert any(assert_none_is_wrong(vault, right) == right for _ in range(5))
    assert vault.statistics().warnings == ()


# -- no place for the file --


def serves_by_path(vault: Vault) -> None:
    with pytest.raises(ReadFailed):
        vault.reconcile()
    found = asked(vault)
    assert found["path"] is not None and found["path"].id == "d1/n1.md"
    assert [type(each).__name__ for each in vault.notes.read([NoteId("d1/n1.md")])] == ["Note"]
    assert found["names"][1:] == [None, None]
    assert found["search"] is None
    assert not vault.searches.search(SearchQuery("secret", 5)).hits
    vault.changed(["d1/n1.md", "private.md"])
    [warning] = vault.statistics().warnings
    assert "index cannot be written" in warning


def test_without_a_directory_notes_are_served_by_path(opened: Callable[..., Vault], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    vault = opened(index_wait_s=0.0)
    serves_by_path(vault)
    (tmp_path / "cache").unlink()
    vault.reconcile()
    assert vault.statistics().warnings == ()
    assert vault.searches.search(SearchQuery("word1", 50)).total == 12


def test_a_disk_that_fills_up_later_costs_no_answer(small_disk: Callable[..., Path], tmp_path: Path) -> None:
    disk = small_disk("size=16m")
    notes = tmp_path / "notes"
    for path, text in FILES.items():
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_text(text)
    vault = Vault(notes, cache_dir=disk / "cache", clock_ns=later)
    try:
        vault.reconcile()
        with (disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):
            while True:
                rest.write(bytes(4_096))
        for number in range(60):
            (notes / f"d{number % 3}/n{number}.md").write_text("plum " * 20_000)
        vault.changed([f"d{number % 3}/n{number}.md" for number in range(60)])
        with pytest.raises(ReadFailed):
            vault.reconcile()
        assert len(vault.statistics().warnings) == 1
        # What the index still knows of them is not true any more, and not shown.
        assert vault.searches.search(SearchQuery("word1", 50)).hits == ()
        found = vault.links.resolve("d1/n1.md", EMPTY_VAULT)
        assert found.note is not None and found.note.title == "n1"
        (disk / "rest").unlink()
        vault.reconcile()
        assert vault.statistics().warnings == ()
        assert vault.searches.search(SearchQuery("plum", 5)).total == 60
    finally:
        vault.close()
