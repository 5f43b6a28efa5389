"""`Verdicts`: which notes are withheld from one call.

Each note is decided once a call, so what the call says of a note in one place agrees with what it says in another.
The verdicts go with each question to the vault, which decides anew only of versions that have a flag, and of what
no list had named.
Meanwhile a read may find that a note is withheld. So a call takes the version of the vault's levels first, and
compares it in the end: if the version moved the call is made again, and at last the verdicts must still `hold`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import VaultState

from ..notes.note import Level
from ..ports.asking import Audience
from ..vault.vault import Vault

IsWithheld = Callable[[NoteId], bool]
"""Whether a note that the log names is withheld. A name is a present or former path."""


class KnownLists:
    """Caches which entries of a vault's long lists (archived notes, former paths) are withheld, between calls.

    Computes them again only if a list is another object or `version` returns another value. While the version
    stays the same, no note becomes withheld or ceases to be.
    """

    def __init__(self, version: Callable[[], object] = object) -> None:
        self._version = version
        self._known: dict[str, tuple[object, object, frozenset[NoteId]]] = {}

    def withheld_in(self, state: VaultState, withheld: IsWithheld) -> tuple[frozenset[NoteId], frozenset[NoteId]]:
        """The withheld archived notes, and the former paths that are withheld or lead to a withheld note."""
        version = self._version() if state.archived or state.former else None
        archived = self._of("archived", state.archived, version, withheld)
        former = self._of(
            "former", state.former, version, lambda old: withheld(old) or withheld(state.former[old])
        )
        return archived, former

    def _of(self, name: str, items: dict[NoteId, Any], version: object, is_gone: IsWithheld) -> frozenset[NoteId]:
        if not items:
            return frozenset()
        known = self._known.get(name)
        if known is None or known[0] is not items or known[1] != version:
            gone = frozenset(filter(is_gone, items))
            known = self._known[name] = (items, version, gone)
        return known[2]


class Verdicts(Audience):
    """One for each call and audience."""

    def __init__(
        self,
        withheld: "IsWithheld | WithheldNames",
        lists: KnownLists | None = None,
        unasked: "Verdicts | None" = None,
        *,
        withdrew: "IsWithheld | None" = None,
    ) -> None:
        """
        Args:
            lists: the cache of the vault, for this audience.
            unasked: those of the same call for what nobody asks for. What they show is shown on request too.
            withdrew: of those that are withheld by a function; None: to say so of any reveals nothing.
        """
        self._unasked = unasked
        if isinstance(withheld, WithheldNames):
            super().__init__(withheld.least)
            self._deciding: tuple[IsWithheld, ...] = (
                *(withheld, withheld.withdrew, withheld.uncounted),
                withheld.is_gone,
            )
            self._shown: Mapping[NoteId, object] = withheld.shown
        else:
            super().__init__()
            self._deciding, self._shown = (withheld, withdrew or withheld, *[lambda _note: False] * 2), {}
        self._given: tuple[dict[NoteId, bool], ...] = ({}, {}, {}, {})
        self._lists = lists or KnownLists()
        self._listed: tuple[VaultState, object] | None = None

    def stands(self, note: NoteId, version: object) -> bool:
        if self._unasked is not None and self._unasked.stands(note, version):
            return True
        return self._shown.get(note) == version

    def __call__(self, name: NoteId, /) -> bool:
        """Whether the note is withheld."""
        return (self._unasked is None or self._unasked(name)) and self._verdict(0, name)

    def withdrew(self, name: NoteId, /) -> bool:
        """Whether the note is withheld and saying so does not reveal that the note exists.

        This is so if its path is denied, or if the note was shown earlier.
        """
        return self._verdict(1, name)

    def uncounted(self, name: NoteId, /) -> bool:
        """Whether the note is for explicit requests only, so that to others not even a count may tell of it."""
        return self._verdict(2, name)

    def is_gone(self, name: NoteId, /) -> bool:
        """Whether all that withholds it is that its file is not there."""
        return self._verdict(3, name)

    def in_lists(self, state: VaultState) -> tuple[frozenset[NoteId], frozenset[NoteId]]:
        """As `KnownLists.withheld_in`."""
        found = self._lists.withheld_in(state, self._deciding[0])
        self._listed = state, found
        return found

    def hold(self) -> bool:
        """Whether every verdict that was given would be given now."""
        for decide, given in zip(self._deciding, self._given, strict=True):
            if any(decide(name) is not verdict for name, verdict in given.items()):
                return False
        return self._listed is None or self._listed[1] == self._lists.withheld_in(
            self._listed[0], self._deciding[0]
        )

    def _verdict(self, which: int, name: NoteId) -> bool:
        given = self._given[which]
        verdict = given.get(name)
        if verdict is None:
            verdict = given[name] = self._deciding[which](name)
        return verdict


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
        self.least: Final = least
        self.shown: Final[dict[NoteId, object]] = {}
        """Notes that `NoteLevels.shows`, and at which version of the levels."""

    def __call__(self, name: NoteId) -> bool:
        now, levels = self._former.get(name), self._vault.levels
        if now is None or now == name:
            version = levels.state_version
            if not self._vault.root.selected.is_attachment(name) and levels.shows(name):
                self.shown[name] = version
                return False
            return self._withholds(name)
        if self._withholds(now):
            return True
        known = self._vault.known_to_withhold(name, self.least)
        return self._withholds(name) if known is None and self._vault.root.is_taken(name) else known is True

    def uncounted(self, name: NoteId) -> bool:
        """Whether the note is for explicit requests only, so that to others not even a count may tell of it."""
        return any(map(self._vault.is_on_request, (name, self._former.get(name, name))))

    def is_gone(self, name: NoteId) -> bool:
        """Whether all that withholds a file which is no note is that it is not there."""
        return self._vault.is_gone(self._former.get(name, name), self.least)

    def withdrew(self, name: NoteId) -> bool:
        """Whether the note is withheld and saying so does not reveal that the note exists.

        This is so if the path is denied, or if the note was shown under this path or its present one.
        """
        names = {name, self._former.get(name, name)}
        if any(self._vault.policy.level(each) < self.least for each in names):
            return True
        return any(map(self._vault.has_shown, names)) and self(name)
