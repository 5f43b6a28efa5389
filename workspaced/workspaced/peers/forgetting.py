"""A note that `workspaced forget` erases here: what the link's files hold of it goes, and the other machines are
asked to forget it once the daemon runs.
"""

from collections.abc import Collection
from pathlib import Path
from secrets import randbits
from typing import NamedTuple

from msgspec.structs import replace

from workspaced_events.ids import LinkedVaultId, NoteId, OriginId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.peers.without_notes import Asks, asks_of, name_hash, vault_without
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.peer_events import AskedName, RemoteEventsApplied, SharedVault, VaultDifference
from workspaced_events.schema.registry import Sha256

from .keys.origin_keys import load_keys
from .membership import Ask, load_membership, save_membership
from .outbox import Sent, SharedNames, load_sent, save_sent


class Asked(NamedTuple):
    """Whom an ask can reach."""

    machines: list[str]
    removed: list[OriginId]
    """Members that were removed: they keep what they have received."""


def ask_to_forget(folder: Path, vault: VaultId, names: Collection[NoteId]) -> Asked | None:
    """Prepares what the daemon sends when it runs next: a generation without the note, and the ask to forget it.

    Args:
        folder: the link's, of a daemon that is stopped.
        vault: the note's.
        names: every name that it had.

    Returns:
        None: there is no link, or the note never left.

    Raises:
        OSError, ValueError, msgspec.MsgspecError: the link's files cannot be read or written.
    """
    membership, keys, shared = load_membership(folder), load_keys(folder), SharedNames(folder)
    own = membership.vaults.get(vault) if membership is not None else None
    if membership is None or membership.roster is None or keys is None or own is None:
        return None
    hashes = {name_hash(own.linked, name) for name in names if shared.holds(own.linked, name)}
    if not hashes:
        return None
    save_membership(folder, replace(membership, asks=asking(membership.asks, own.linked, hashes)))
    save_sent(folder, sent_without(load_sent(folder), own.linked, names))
    roster = membership.roster
    others = [each.machine for each in roster.members if each.origin != keys.origin]
    return Asked(others, [each.origin for each in roster.removed])


def asking(asks: Collection[Ask], linked: LinkedVaultId, hashes: Collection[Sha256]) -> tuple[Ask, ...]:
    """The asks, with new ones for these names in place of former ones that have not reached everybody."""
    rest = (each for each in asks if each.vault != linked or each.asked.name not in hashes)
    return (*rest, *(Ask(linked, AskedName(name, randbits(53))) for name in sorted(hashes)))


def sent_without(sent: Sent, linked: LinkedVaultId, names: Collection[NoteId]) -> Sent:
    """What was sent last, never to be sent again: a generation follows it."""
    view = tuple(vault_without(each, names) if each.vault == linked else each for each in sent.view)
    named = {
        vault: tuple(note for note in notes if vault != linked or note not in names)
        for vault, notes in sent.named.items()
    }
    return replace(sent, view=view, frame=b"", named=named)


def as_asks(asks: Collection[Ask]) -> Asks:
    """By vault."""
    return {vault: {each.asked for each in asks if each.vault == vault} for vault in {each.vault for each in asks}}


def let_go(state: WorkspaceState, event: RemoteEventsApplied) -> list[Action]:
    """Takes from the own pins and tabs what the same person has forgotten at the machine whose message is about to
    be applied. The active note stays: it is on a screen."""
    peers = state.peers
    if peers.person is None or event.origin not in peers.of_person(peers.person):
        return []
    parts: tuple[SharedVault | VaultDifference, ...] = (*event.view, *event.changed)
    asked = {each.vault: set(each.forgetting.asks) for each in parts if each.forgetting is not None}
    known = asks_of([peers.origins[event.origin].view] if event.origin in peers.origins else [])
    actions = []
    for vault, own in peers.vaults.items():
        linked, at = own.mapping.linked, state.of(vault)
        new = {ask.name for ask in asked.get(linked, set()) - known.get(linked, set())}
        if (
            not new or vault not in state.vaults or not state.vaults[vault].open
        ):  # of a closed one nothing is recorded
            continue
        for note in (note for note in {**at.pins, **at.tabs} if name_hash(linked, note) in new):
            if note in at.pins:  # which makes it a tab
                actions.append(Action(c.NoteUnpinned(note), vault=vault))
            actions.append(Action(c.TemporaryTabClosed(note=note), vault=vault))
    return actions
