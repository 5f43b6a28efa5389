"""Which notes are withheld, by the names that the log has for them: present paths and former ones."""

from collections.abc import Callable, Mapping

from workspaced_events.ids import NoteId

from .vault import Vault


class WithheldNames:
    """Whether a note is withheld, by a path that it has or had.

    A former path is withheld where it is denied itself, or where the note is under its present path. Where another
    note has that path by now, that one has to be shown too.
    """

    def __init__(
        self,
        vault: Vault,
        former: Mapping[NoteId, NoteId],
        withholds: Callable[[NoteId], bool] | None = None,
    ) -> None:
        """
        Args:
            former: former paths to present ones.
            withholds: whether a note is by its present path; default: as the vault says, which may read a file.
        """
        self._vault = vault
        self._former = former
        self._withholds = withholds or vault.withholds

    def __call__(self, name: NoteId) -> bool:
        now = self._former.get(name)
        if now is None or now == name:
            return self._withholds(name)
        if self._withholds(now):
            return True
        known = self._vault.known_to_withhold(name)
        return self._withholds(name) if known is None and self._vault.is_taken(name) else known is True

    def withdrew(self, name: NoteId) -> bool:
        """Whether it is withheld, and that tells nobody whether there is such a note: the path is denied, or the
        note was shown under this path or its present one."""
        names = {name, self._former.get(name, name)}
        if any(map(self._vault.policy.denies, names)):
            return True
        return any(map(self._vault.has_shown, names)) and self(name)
