"""Checks whether a vault may answer: its index must be reconciled with its ignore rules, and missing notes
searched for."""

from workspaced_events.ids import VaultId

from .served_vault import ServedVault


class ReconcileFirst(Exception):
    """The vault must be reconciled with its files first: its ignore rules changed since the last reconcile, or a
    note that was shown is missing and may have moved to a withheld path."""


class PolicyChecks:
    """One for each daemon; remembers how each vault was reconciled."""

    def __init__(self) -> None:
        self._digests: dict[VaultId, str] = {}
        """Digest of the rules that each vault's index was reconciled with."""
        self._unsearchable: dict[VaultId, bool] = {}
        """Whether the last reconcile of a vault could not search for missing notes."""

    def policy_enforced(self, served: ServedVault, digest: str, *, searched: bool = True) -> None:
        """Remembers the digest of the rules that the index was, or is about to be, reconciled with. Must be called
        once before the vault answers.

        `searched`: whether missing notes were searched for; if not, they stay withheld until the next reconcile.
        """
        self._digests[served.id] = digest
        self._unsearchable[served.id] = not searched

    def check_rules(self, served: ServedVault, changed: type[BaseException]) -> None:
        """Raises `changed` if the rules changed since the index was reconciled: counts and scores would still
        reveal notes that the new rules withhold."""
        served.vault.policy.refresh()
        if self._digests[served.id] != served.vault.policy.digest:
            raise changed

    def check_missing(self, served: ServedVault, missing: type[BaseException]) -> None:
        """Raises `missing` if a note that was shown is not at its path, and no reconcile has searched for it
        yet."""
        if served.vault.visibility.wants_search and not self._unsearchable.get(served.id):
            raise missing


def policy_version(served: ServedVault) -> tuple[int, str]:
    """A value that changes whenever the set of withheld notes may have changed."""
    return served.vault.privacy_version, served.vault.policy.digest
