"""Decides whether a note is withheld, given any path that the log has for it: the present one or a former one."""

from collections.abc import Callable, Mapping

from workspaced_events.ids import NoteId

from ..notes.note import Level
from .vault import Vault


class WithheldNames:
    """Whether a note is withheld, by its present path or a former one. It decides for `Verdicts`.

    A former path is withheld if a rule denies it, or if the note is withheld under its present path. If another
    note has that path now, the path is also withheld if that note is.
    """

    def __init__(
        self,
        vault: Vault,
        former: Mapping[NoteId, NoteId],
        withholds: Callable[[NoteId], bool] | None = None,
        least: Level = Level.VOLUNTEER,
    ) -> None:
        """
        Args:
            former: maps former paths to present ones.
            withholds: whether a note is withheld by its present path; by default `Vault.withholds`, which may read
                a file.
            least: the least level that the audience is shown.
        """
        self._vault = vault
        self._former = former
        self._withholds = withholds or (lambda note: vault.withholds(note, least))
        self._least = least

    def __call__(self, name: NoteId) -> bool:
        now = self._former.get(name)
        if now is None or now == name:
            return self._withholds(name)
        if self._withholds(now):
            return True
        known = self._vault.known_to_withhold(name, self._least)
        return self._withholds(name) if known is None and self._vault.root.is_taken(name) else known is True

    def uncounted(self, name: NoteId) -> bool:
        """Whether the note is for explicit requests only, so that to others not even a count may tell of it."""
        return any(map(self._vault.is_on_request, (name, self._former.get(name, name))))

    def withdrew(self, name: NoteId) -> bool:
        """Whether the note is withheld and saying so does not reveal that the note exists.

        This is so if the path is denied, or if the note was shown under this path or its present one.
        """
        names = {name, self._former.get(name, name)}
        if any(self._vault.policy.level(each) < self._least for each in names):
            return True
        return any(map(self._vault.has_shown, names)) and self(name)
