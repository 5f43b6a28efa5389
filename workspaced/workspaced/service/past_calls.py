"""Calls that ask about a moment of the past."""

from collections.abc import Callable
from typing import Final

from workspaced_events.ids import NoteId
from workspaced_tools.ports.history import VersionAt
from workspaced_tools.replay.past_vault import PastVersions

AT_HINT: Final = "Give a sequence such as an asOfSeq you were given, or a time such as 2026-03-01T12:00:00Z."


class VersionsUntilNow:
    """Implements `PastPort` for the present: goes up to the moment of asking."""

    def __init__(self, wait_until_recorded: Callable[[], None], versions: Callable[[], PastVersions]) -> None:
        self._wait_until_recorded = wait_until_recorded
        self._versions = versions

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        self._wait_until_recorded()
        return self._versions().version(note, since, current)
