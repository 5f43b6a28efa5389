"""What the machines of a link share of the current vault, without the notes that are withheld here."""

from collections.abc import Callable

from msgspec.structs import replace

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.shared_view import shared_view
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema.catalogue import Sharing
from workspaced_events.schema.peer_events import LinkMember, SharedVault

from ..ports.peers import LinkedMachines, Machine
from ..tools.linked_workspace import workspace_of


def linked_machines(
    state: WorkspaceState, level: Sharing, withheld: Callable[[NoteId], bool]
) -> LinkedMachines | None:
    """For a client of that level; None: the current vault is not linked."""
    peers = state.peers
    own = peers.vaults.get(state.current) if state.current is not None else None
    if own is None or peers.own is None or peers.own not in peers.members:
        return None
    linked = own.mapping.linked
    # The own machine's part is not what leaves it: whatever is shared of the vault, its own agents see it all.
    mapped = replace(own, mapping=replace(own.mapping, replicate="all"))
    here = shared_view(
        replace(state, peers=replace(peers, vaults={own.mapping.vault: mapped})), selection_text=True
    ).get(linked, SharedVault(linked))

    def shown(vault: SharedVault) -> SharedVault:
        return _without(vault, withheld, level)

    def machine(member: LinkMember) -> Machine:
        heard = peers.origins.get(member.origin)
        if member.origin == peers.own:
            return Machine(member.origin, member.person, member.machine, True, "", peers.ms, shown(here))
        vault = heard.view.get(linked, SharedVault(linked)) if heard is not None else SharedVault(linked)
        at, ms = (heard.applied_at, heard.ms) if heard is not None else ("", 0)
        return Machine(member.origin, member.person, member.machine, False, at, ms, shown(vault))

    members = sorted(peers.members.values(), key=lambda each: (each.origin != peers.own, each.origin))
    return LinkedMachines(peers.seq, tuple(map(machine, members)))


def linked_state(state: WorkspaceState, vault: VaultId | None, of: str, now: str) -> VaultState | None:
    """A vault's workspace of `me`, `everyone` or a person, as the user sees it. None: it is not linked.

    Raises:
        ArgumentInvalid: nobody of that name takes part.
    """
    found = linked_machines(replace(state, current=vault), "all", lambda _note: False)
    return None if found is None else workspace_of(state.of(vault), found, of, now).state


def _without(vault: SharedVault, withheld: Callable[[NoteId], bool], level: Sharing) -> SharedVault:
    selection = vault.selection if level == "all" else None
    return SharedVault(
        vault=vault.vault,
        active=None if vault.active is None or withheld(vault.active.note) else vault.active,
        selection=None if selection is None or withheld(selection.note) else selection,
        pins=tuple(pin for pin in vault.pins if not withheld(pin.note)),
        ordered_ms=vault.ordered_ms,
        tabs=tuple(tab for tab in vault.tabs if not withheld(tab.note)),
        removals=tuple(each for each in vault.removals if not withheld(each.note)),
    )
