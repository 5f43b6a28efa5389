"""A vault over real folders: building, following changes, answering while behind."""

import unicodedata
from pathlib import Path
from typing import Any

import pytest
from support.patience import is_indexed
from support.tool_fixtures import HeldClock, MakeState, MakeVault, later_ns

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT, VaultState
from workspaced_tools.errors import ReadFailed, SymlinkNotFollowed
from workspaced_tools.notes.note import NoteFailure
from workspaced_tools.ports.vault import SearchQuery
from workspaced_tools.vault.index.crawl import Bounds
from workspaced_tools.vault.vault import Vault

HERE, BY_WORKERS = Bounds(notes=1_000, stale=1_000), Bounds(notes=0, stale=0)


def meant(vault: Vault, reference: str, state: VaultState = EMPTY_VAULT) -> str | None:
    note = vault.links.resolve(reference, state).note
    return note.id if note else None


def write(vault: Vault, path: str, text: str) -> None:
    file = vault.root.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def incoming(vault: Vault, note: str, limit: int = 100, state: VaultState = EMPTY_VAULT) -> tuple[list[Any], int]:
    found = vault.links.incoming(NoteId(note), limit, state)
    return [(link.source.id, link.line) for link in found.links], found.total


# -- building --


def test_while_the_index_is_built_paths_resolve_and_names_answer_from_what_is_there(make_vault: MakeVault) -> None:
    clock = HeldClock()
    vault = make_vault({"a.md": "# Alpha", "b.md": "# Beta"}, indexed=False, clock_ns=clock, index_wait_s=0.01)
    vault.start()
    assert clock.reached.wait(60)
    assert meant(vault, "a.md") == "a.md"
    assert meant(vault, "a") == "a.md"
    assert meant(vault, "Alpha") is None
    assert vault.index_state() == "building"
    assert vault.note_count() == 2
    assert vault.links.link_targets(NoteId("a.md"), ["b"], EMPTY_VAULT)[0].note is None
    question = SearchQuery("what does the alpha note say", 5)
    asked = vault.searches.search(question)
    assert (asked.hits, asked.complete) == ((), False)
    clock.go_on.set()
    assert is_indexed(vault, "state")
    assert meant(vault, "Alpha") == "a.md"
    assert is_indexed(vault, "text")
    answered = vault.searches.search(question)
    assert [hit.note.id for hit in answered.hits] == ["a.md"] and answered.complete


@pytest.mark.parametrize("inline", [HERE, BY_WORKERS])
def test_closing_stops_the_build_and_is_idempotent(make_vault: MakeVault, inline: Bounds) -> None:
    vault = make_vault({f"{n}.md": "x" for n in range(200)}, indexed=False, inline=inline)
    vault.start()
    vault.close()
    vault.close()
    [found] = vault.notes.read([NoteId("1.md")])
    assert isinstance(found, NoteFailure)
    assert found.code == "READ_ERROR"


def test_an_absent_folder_is_an_error_to_the_scan_and_a_warning_in_the_statistics(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "nowhere", clock_ns=later_ns)
    vault.start()
    assert is_indexed(vault, "state")
    assert vault.note_count() == 0
    assert any("folder" in warning for warning in vault.statistics().warnings)
    with pytest.raises(ReadFailed):
        vault.reconcile()
    (tmp_path / "nowhere").mkdir()
    (tmp_path / "nowhere/n.md").write_text("# There")
    assert [version.id for version in vault.reconcile().created] == ["n.md"]
    assert vault.statistics().warnings == ()
    vault.close()


# -- following changes --


def test_what_changed_between_two_runs_is_reported_by_the_second(make_vault: MakeVault, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"same.md": "s", "edited.md": "# Old", "gone.md": "g", "old.md": "# Moved"}
    first = make_vault(files, cache_dir=tmp_path / "cache")
    first.close()
    write(first, "edited.md", "# New")
    write(first, "new.md", "n")
    (first.root.path / "gone.md").unlink()
    (first.root.path / "old.md").rename(first.root.path / "moved.md")
    second = Vault(first.root.path, cache_dir=tmp_path / "cache", clock_ns=later_ns)
    changes = second.reconcile()
    assert [version.id for version in changes.created] == ["new.md"]
    assert [version.id for version in changes.changed] == ["edited.md"]
    assert (changes.deleted, changes.renamed) == (("gone.md",), (("old.md", "moved.md"),))
    assert (meant(second, "New"), meant(second, "Old"), meant(second, "Moved")) == ("edited.md", None, "moved.md")
    second.close()


def test_a_watchers_hint_is_checked_against_the_disk(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "# Alpha", "b.md": "# Beta"})
    write(vault, "a.md", "# Omega")
    (vault.root.path / "b.md").unlink()
    write(vault, "c.md", "# Gamma")
    root = vault.root.path
    changes = vault.changed(
        [f"{root}/a.md", "b.md", "c.md", "never.md", ".obsidian/x.md", "pic.png", "bad\udcff.md"]
    )
    assert [version.id for version in changes.changed] == ["a.md"]
    assert [version.id for version in changes.created] == ["c.md"]
    assert changes.deleted == ("b.md",)
    assert vault.changed(["a.md", "c.md"]).changed == ()


@pytest.mark.fault(row=13)
def test_an_index_that_is_behind_is_mended_by_asking(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "# Alpha", "b.md": "# Twin", "c.md": "# Twin"})
    write(vault, "a.md", "# Omega")
    assert meant(vault, "Alpha") is None
    assert meant(vault, "Omega") == "a.md"
    assert len(vault.links.resolve("Twin", EMPTY_VAULT).candidates) == 2
    (vault.root.path / "c.md").unlink()
    assert meant(vault, "Twin") == "b.md"
    (vault.root.path / "b.md").unlink()
    assert vault.links.resolve("Twin", EMPTY_VAULT).note is None
    assert vault.note_count() == 1


# -- paths --


def test_symlinks_are_not_followed_and_the_owner_is_told(make_vault: MakeVault, tmp_path: Path) -> None:
    vault = make_vault({"real.md": "# Real"})
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/s.md").write_text("# Secret")
    (vault.root.path / "file.md").symlink_to(tmp_path / "secret/s.md")
    (vault.root.path / "inner.md").symlink_to("real.md")
    (vault.root.path / "folder").symlink_to(tmp_path / "secret")
    (vault.root.path / "dangling.md").symlink_to("nothing.md")
    vault.reconcile()
    for reference in ("file.md", "file", "inner.md", "folder/s.md", "folder/s", "dangling.md", "[[folder/s]]"):
        with pytest.raises(SymlinkNotFollowed):
            vault.links.resolve(reference, EMPTY_VAULT)
    assert meant(vault, "Secret") is None
    assert any("4 are symlinks" in each and "'folder'" in each for each in vault.statistics().warnings)
    assert not any("symlinks" in each for each in vault.statistics(named=False).warnings)
    assert vault.note_count() == 1


@pytest.mark.fault(row=42)
def test_names_are_nfc_whatever_the_disk_says(make_vault: MakeVault) -> None:
    nfc, nfd = (unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD"))
    vault = make_vault({nfd: "# Menu"})
    assert meant(vault, "Menu") == meant(vault, nfd) == nfc
    write(vault, nfd, "# Changed")
    assert [version.id for version in vault.changed([nfd]).changed] == [nfc]
    write(vault, nfc, "# Other")
    vault.reconcile()
    assert [meant(vault, each) for each in (nfc, nfd, "Other", "Changed")] == [nfc, nfd, nfc, nfd]
    write(vault, nfd, "# Again")
    assert [version.id for version in vault.changed([nfd]).changed] == [nfd]
    assert any("normalisation" in warning for warning in vault.statistics().warnings)
    (vault.root.path / nfc).unlink()
    assert vault.reconcile().deleted == (nfd,), "the one that is left is one note"
    assert (meant(vault, "Again"), meant(vault, "Other"), vault.note_count()) == (nfc, None, 1)


# -- links --


def test_links_to_a_former_path_are_links_to_the_note(make_vault: MakeVault, make_state: MakeState) -> None:
    vault = make_vault({"new.md": "# New", "s.md": "[[old]] and [[old place/older]]"})
    state = make_state(former={"old.md": "new.md", "old place/older.md": "new.md"})
    assert incoming(vault, "new.md", state=state) == ([("s.md", 1), ("s.md", 1)], 2)
    assert incoming(vault, "new.md") == ([], 0)


def test_incoming_links_are_read_from_the_files_as_they_are_now(make_vault: MakeVault) -> None:
    vault = make_vault({"t.md": "# Target", "a.md": "[[t]]", "b.md": "[[t]]"})
    write(vault, "a.md", "first\n\n[[t]] and [[t]]")
    (vault.root.path / "b.md").unlink()
    assert incoming(vault, "t.md") == ([("a.md", 3), ("a.md", 3)], 2)
    assert vault.note_count() == 2
    write(vault, "young.md", "# Young")
    assert incoming(vault, "young.md") == ([], 0)
