"""The notes of a folder, or with a tag: all of them, sorted by path, only those that are there and shared."""

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import VaultId
from workspaced_events.projections.workspace_state import Vault as RegisteredVault
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.ports.questions import Members
from workspaced_tools.ports.vault import MemberNotes
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.vault.vault import Vault

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


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_what_is_withheld_is_in_no_folder_and_has_no_tag(make_vault: MakeVault, limit: int) -> None:
    private = make_vault(
        {**FILES, "work/s.md": "---\nworkspaced: private\n---\n#x\n", "deny/d.md": "#x"}, deny=["deny/"]
    )
    plain = make_vault(FILES)
    for folder, tag in (("work", None), ("deny", None), (None, "x"), (None, None)):
        assert private.searches.members(folder, tag, limit) == plain.searches.members(folder, tag, limit)


def test_a_client_with_names_is_told_of_folders_and_not_of_tags(vault: Vault) -> None:
    level: Sharing = "names"
    state = WorkspaceState(7, V, {V: RegisteredVault(V, "Brain", "/x", True)}, {V: VaultState()})
    view = shared_view(state, "2026-03-01T12:00:00.000000Z", vault, level=level, withheld=lambda _note: False)
    assert view.vault.ask(Members("work", None, 9)) == vault.searches.members("work", None, 9)
    tagged = [Members(None, "x", 9), Members("work", "x", 9)]
    assert [view.vault.ask(each) for each in tagged] == [MemberNotes((), 0)] * 2
