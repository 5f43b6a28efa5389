"""The notes of a folder, or with a tag: all of them, sorted by path, only those that are there and shared."""

import pytest
from support.tool_fixtures import MakeVault

from workspaced_tools.ports.vault import MemberNotes
from workspaced_tools.vault.vault import Vault

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
