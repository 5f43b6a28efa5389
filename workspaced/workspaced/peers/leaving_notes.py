"""Which notes may be named to other machines: those that agents are shown without asking, and that nobody
withholds."""

from collections.abc import Mapping

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.peers.differences import SharedView, notes_of
from workspaced_events.projections.peers import Peers
from workspaced_events.projections.shared_view import shared_view
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema.peer_events import SharedVault

from ..vaults.served_vault import ServedVault
from .outbox import Sent

Named = tuple[VaultId, NoteId]


def notes_named(state: WorkspaceState) -> frozenset[Named]:
    """The notes that would be shared if all may leave."""
    named: set[Named] = set()

    def name(vault: VaultId, note: NoteId) -> bool:
        named.add((vault, note))
        return True

    shared_view(state, name)
    return frozenset(named)


def may_leave(named: frozenset[Named], served: Mapping[VaultId, ServedVault]) -> frozenset[Named]:
    """Those of the notes that may leave; of a vault that is not served, none. Reads files: not on the loop's
    thread."""
    for vault in {vault for vault, _note in named if vault in served}:
        served[vault].vault.policy.refresh()
    return frozenset(
        (vault, note) for vault, note in named if vault in served and not served[vault].vault.withholds(note)
    )


def named_by(sent: Sent, state: WorkspaceState) -> frozenset[Named]:
    """The notes that the messages of the present generation name."""
    vaults = {own.mapping.linked: vault for vault, own in state.peers.vaults.items()}
    return frozenset(
        (vaults[linked], note) for linked, notes in sent.named.items() if linked in vaults for note in notes
    )


def exceeds(shared: SharedView, peers: Peers, selection_text: bool) -> bool:
    """Whether more was shared than the settings let leave now: a generation then takes it back."""
    replicate = {own.mapping.linked: own.mapping.replicate for own in peers.vaults.values()}

    def is_over(vault: SharedVault) -> bool:
        rule = replicate.get(vault.vault, "none")
        if rule == "all":
            return vault.selection is not None and bool(vault.selection.text) and not selection_text
        presence = vault.active, vault.selection, *vault.tabs
        return presence != (None, None) or (rule == "none" and any(notes_of(vault)))

    return any(map(is_over, shared.values()))
