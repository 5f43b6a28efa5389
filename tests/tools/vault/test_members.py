"""The notes of a folder, or with a tag: all of them, sorted by path, only those that are there and shared."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.profiles import examples

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_state import Vault as RegisteredVault
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.ports.asking import WouldBlock, without_waiting
from workspaced_tools.ports.questions import Members
from workspaced_tools.ports.vault import MemberNotes, NoteRef
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.vault.index.queries import members
from workspaced_tools.vault.vault import Vault

MakeVault = Callable[..., Vault]
V = VaultId("brain")

FILES = {
    "b.md": "# Bee\n\n#x/y\n",
    "work/z.md": "#x\n",
    "work/a.md": "---\ntags: [X]\ntitle: First\n---\n",
    "work/deep/m.md": "#xx\n",
    "workshop/w.md": "nothing",
    "Work/upper.md": "nothing",
    "wörk/ü.md": "#Ü\n",
}


def paths(found: MemberNotes) -> list[str]:
    return [ref.id for ref in found.notes]


@pytest.fixture
def vault(make_vault: MakeVault) -> Vault:
    return make_vault(FILES)


@pytest.mark.parametrize(
    ("folder", "tag", "expected"),
    [
        ("work", None, ["work/a.md", "work/deep/m.md", "work/z.md"]),
        ("work/deep", None, ["work/deep/m.md"]),
        ("wörk", None, ["wörk/ü.md"]),
        (None, "x", ["b.md", "work/a.md", "work/z.md"]),
        (None, "X/Y", ["b.md"]),
        (None, "ü", ["wörk/ü.md"]),
        ("work", "x", ["work/a.md", "work/z.md"]),
        ("", None, sorted(FILES)),
        (None, None, sorted(FILES)),
        ("wor", None, []),
        ("../work", None, []),
        ("work' OR 1 --", None, []),
        (None, "%", []),
    ],
)
def test_all_below_the_folder_with_the_tag_sorted_by_path(
    vault: Vault, folder: str | None, tag: str | None, expected: list[str]
) -> None:
    found = vault.searches.members(folder, tag, 100)
    assert paths(found) == expected and found.total == len(expected)


def test_the_first_ones_and_how_many_there_are(vault: Vault) -> None:
    found = vault.searches.members("work", None, 2)
    assert found == MemberNotes(
        (
            NoteRef(NoteId("work/a.md"), "First", "work/a.md"),
            NoteRef(NoteId("work/deep/m.md"), "m", "work/deep/m.md"),
        ),
        3,
    )
    assert vault.searches.members("work", None, 3).total == 3


names = st.sampled_from(["a", "b", "ab", "a b", "é", "0"])


@settings(max_examples=examples(25))
@given(
    st.sets(st.lists(names, min_size=1, max_size=3).map("/".join), max_size=12),
    names,
    st.integers(1, 14),
    st.data(),
)
def test_whatever_the_folder_it_is_what_lies_below_it(
    stems: set[str], folder: str, limit: int, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as place:
        for each in stems:
            file = Path(place) / f"{each}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("text")
        vault = Vault(place, clock_ns=lambda: time.time_ns() + 10_000_000_000)
        try:
            vault.reconcile()
            found = vault.searches.members(folder, None, limit)
        finally:
            vault.close()
    below = sorted(f"{each}.md" for each in stems if each.startswith(f"{folder}/"))
    assert paths(found) == below[:limit] and found.total == len(below)


def test_a_note_that_is_gone_or_changed_unnoticed_is_told_as_it_is(vault: Vault) -> None:
    (vault.root.path / "work/a.md").unlink()
    (vault.root.path / "work/z.md").write_text("---\ntitle: Last\n---\n")
    found = vault.searches.members("work", None, 100)
    assert [(ref.id, ref.title) for ref in found.notes] == [("work/deep/m.md", "m"), ("work/z.md", "Last")]
    assert found.total == 2
    assert paths(vault.searches.members(None, "x", 100)) == ["b.md"]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_what_is_withheld_is_in_no_folder_and_has_no_tag(make_vault: MakeVault, limit: int) -> None:
    private = make_vault(
        {**FILES, "work/s.md": "---\nworkspaced: private\n---\n#x\n", "deny/d.md": "#x"}, deny=["deny/"]
    )
    plain = make_vault(FILES)
    for folder, tag in (("work", None), ("deny", None), (None, "x"), (None, None)):
        assert private.searches.members(folder, tag, limit) == plain.searches.members(folder, tag, limit)


def test_a_note_that_turned_private_unnoticed_is_no_member(vault: Vault) -> None:
    (vault.root.path / "work/a.md").write_text("---\nworkspaced: private\n---\n#x")
    found = vault.searches.members("work", "x", 100)
    assert paths(found) == ["work/z.md"] and found.total == 1


def test_a_client_with_names_is_told_of_folders_and_not_of_tags(vault: Vault) -> None:
    level: Sharing = "names"
    state = WorkspaceState(7, V, {V: RegisteredVault(V, "Brain", "/x", True)}, {V: VaultState()})
    view = shared_view(state, "2026-03-01T12:00:00.000000Z", vault, level=level, withheld=lambda _note: False)
    assert view.vault.ask(Members("work", None, 9)) == vault.searches.members("work", None, 9)
    tagged = [Members(None, "x", 9), Members("work", "x", 9)]
    assert [view.vault.ask(each) for each in tagged] == [MemberNotes((), 0)] * 2


def test_a_call_that_must_not_block_does_not_ask(vault: Vault) -> None:
    with pytest.raises(WouldBlock), without_waiting():
        vault.ask(Members("work", None, 9), VaultState())


def test_without_an_index_file_there_is_nothing(make_vault: MakeVault) -> None:
    vault = make_vault(FILES)
    vault.index.close()
    assert members(vault.index, "work", None, 1) == ([], 0)
