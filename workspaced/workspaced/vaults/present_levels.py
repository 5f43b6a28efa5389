"""How far notes may go at present, by any path that the log has for them: what no call reads, asked by the owner.

The decision is the gate's (`WithheldNames`, `Vault`). But no finding is recorded here, because a question of the
owner's own program is no reason to write to the log.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from workspaced_events.ids import NoteId
from workspaced_tools.notes.note import Level, Note
from workspaced_tools.vault.withheld_names import WithheldNames
from workspaced_tools.vault.withholding_reasons import rule_reasons

from .served_vault import ServedVault


class NoteLevel(NamedTuple):
    """How far one note may go."""

    level: Level
    known: bool
    """Whether there is or was such a note, or a rule denies its path. What is not known is withheld."""


NOTHING_KNOWN: Final = NoteLevel(Level.NEVER, known=False)


class PresentLevels:
    """For one question. Blocks, because it reads the notes' files: only they hold the notes' flags."""

    def __init__(self, served: ServedVault, former: Mapping[NoteId, NoteId]) -> None:
        """`former`: maps former paths to present ones."""
        served.vault.policy.refresh()
        self._vault = served.vault
        self._former = former
        self._unasked = WithheldNames(self._vault, former, partial(self._withholds, least=Level.VOLUNTEER))
        self._requested = WithheldNames(
            self._vault, former, partial(self._withholds, least=Level.ON_REQUEST), Level.ON_REQUEST
        )

    def of(self, name: NoteId) -> NoteLevel:
        """The level of the note that has or had this path. Of several, that of the least one."""
        names = {name, self._former.get(name, name)}
        self._vault.notes.read(list(names))
        if not self._unasked(name):
            level = Level.VOLUNTEER
        else:
            level = Level.NEVER if self._requested(name) else Level.ON_REQUEST
        return NoteLevel(level, any(map(self._is_known, names)))

    def _withholds(self, note: NoteId, least: Level) -> bool:
        """As `Vault.withholds`, but a note that it must read gets no finding."""
        known = self._vault.known_to_withhold(note, least)
        return known if known is not None else not isinstance(self._vault.notes.read([note], least)[0], Note)

    def _is_known(self, note: NoteId) -> bool:
        vault = self._vault
        return (
            vault.visibility.finding(note) is not None
            or bool(rule_reasons(vault.levels, note))
            or vault.is_withheld(note)
            or vault.is_taken(note)
        )
