"""What was shared under rules that are stricter now is taken back as a whole."""

import pytest

from workspaced.peers.leaving_notes import exceeds
from workspaced_events.ids import LinkedVaultId, NoteId, VaultId
from workspaced_events.peers.differences import view_of
from workspaced_events.projections.peers import OwnVault, Peers
from workspaced_events.schema.peer_events import (
    Replicate,
    SharedActive,
    SharedPin,
    SharedSelection,
    SharedTab,
    SharedVault,
    VaultMapping,
)

V, L, NOTE = VaultId("v"), LinkedVaultId("d" * 32), NoteId("a.md")
ACTIVE, PIN = SharedActive(NOTE, 1), SharedPin(NOTE, 1, 1, 1)


@pytest.mark.parametrize(
    ("shared", "most"),
    [
        (SharedVault(L, pins=(PIN,)), "pins"),
        (SharedVault(L, ACTIVE, pins=(PIN,)), "all"),
        (SharedVault(L, tabs=(SharedTab(NOTE, 1),)), "all"),
        (SharedVault(L), "none"),
    ],
)
@pytest.mark.parametrize("rule", ["none", "pins", "all"])
def test_whether_more_was_shared_than_a_rule_lets_leave(
    shared: SharedVault, most: Replicate, rule: Replicate
) -> None:
    strict: list[Replicate] = ["none", "pins", "all"]
    peers = Peers(vaults={V: OwnVault(VaultMapping(V, L, rule))})
    assert exceeds(view_of([shared]), peers, False) == (strict.index(rule) < strict.index(most))


@pytest.mark.parametrize("text", [None, "typed"])
@pytest.mark.parametrize("allowed", [True, False])
def test_text_of_a_selection_is_taken_back_unless_it_may_leave(text: str | None, allowed: bool) -> None:
    view = view_of([SharedVault(L, ACTIVE, SharedSelection(NOTE, 1, 1, text))])
    peers = Peers(vaults={V: OwnVault(VaultMapping(V, L, "all"))})
    assert exceeds(view, peers, allowed) == (text is not None and not allowed)
