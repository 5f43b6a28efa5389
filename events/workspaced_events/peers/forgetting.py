"""Notes that the machines of a link ask each other to forget. A name travels as a hash, which only who knows the
name can match."""

from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from typing import Final

from ..ids import LinkedVaultId, NoteId
from ..schema.registry import Sha256
from .differences import SharedView

Asks = Mapping[LinkedVaultId, Collection[Sha256]]
NO_ASKS: Final[Asks] = {}


def name_hash(vault: LinkedVaultId, note: NoteId) -> Sha256:
    """The hash of a note's name; the vault's random id, which the server does not know, is its key."""
    return sha256(f"workspaced-forget-1\0{vault}\0{note}".encode()).hexdigest()


def has_new_asks(before: SharedView, after: SharedView) -> bool:
    """Whether a note is forgotten here or elsewhere, as of now. A difference would name it to take it back, and a
    log that has forgotten it holds less than a difference goes on from: so a generation begins."""

    def hashes(view: SharedView) -> set[tuple[LinkedVaultId, Sha256]]:
        vaults = ((each.vault, each.forgetting) for each in view.values() if each.forgetting is not None)
        return {(vault, name) for vault, known in vaults for name in (*known.asks, *known.heard)}

    return not hashes(after) <= hashes(before)


def asks_of(views: Iterable[SharedView]) -> dict[LinkedVaultId, set[Sha256]]:
    """All that the origins of these views ask to forget."""
    asks: dict[LinkedVaultId, set[Sha256]] = {}
    for view in views:
        for vault, shared in view.items():
            if shared.forgetting is not None and shared.forgetting.asks:
                asks.setdefault(vault, set()).update(shared.forgetting.asks)
    return asks
