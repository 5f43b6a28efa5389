"""Finds the first event after which a predicate is true, then shrinks the log to the few that lead there.

It reads the log by a source of its own on a thread of its own, so no view waits for it, and leaves no event.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from workspaced_events.errors import Busy, InvalidArgument, LogUnreadable, WorkspacedError
from workspaced_events.finding.expression import Expression
from workspaced_events.finding.first_event import Found, follow, never_true
from workspaced_events.finding.shrink import Shrinking
from workspaced_events.ids import VaultId
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.log_slice import Slice
from workspaced_events.replay.open import open_source
from workspaced_events.replay.source import Source
from workspaced_events.schema.catalogue import Event

from .files import part_of

_INSPECTOR_SHRINK_EVENTS_MAX: Final = 200_000
"""They are all in memory while they are shrunk."""
_INSPECTOR_SEARCH_S: Final = 600.0
"""How long one search for a predicate may take."""
Phase = Literal["finding", "shrinking", "done", "stopped", "failed"]


class _Stop(Exception):
    """The search was stopped, or took too long."""


class _Past(Exception):
    """What is looked for is behind."""


class _Watched(Expression):
    """An expression that asks before each state whether the search goes on."""

    def __init__(self, text: str, vault: VaultId | None, check: Callable[[], None]) -> None:
        super().__init__(text, vault)
        self._check = check

    def __call__(self, state: WorkspaceState) -> bool:
        self._check()
        return super().__call__(state)


class Search:
    """A search; `run` does it, on any thread, while others read its attributes.

    Attributes:
        read: events looked at so far.
        found: the event, with the states around it.
        given: events up to the one found, in which shrinking began.
        left, asked: events left so far; how often the predicate was asked while shrinking.
        shrunk: the smallest log so far.
        origins: for ids of shrunk events their sequences in the inspected log.
        failure: why it failed.
    """

    def __init__(self, path: Path, text: str, vault: str | None) -> None:
        """Raises InvalidArgument: the expression is none."""
        self.path = path
        self.text = text
        self.vault = vault
        self._expression = _Watched(text, VaultId(vault) if vault is not None else None, self._check)
        self._stopping = threading.Event()
        self._ends = time.monotonic() + _INSPECTOR_SEARCH_S
        self.phase: Phase = "finding"
        self.read = self.given = self.left = self.asked = 0
        self.found: Found | None = None
        self.shrunk: Slice | None = None
        self.origins: dict[str, int] = {}
        self.failure: WorkspacedError | None = None

    @property
    def is_running(self) -> bool:
        return self.phase in ("finding", "shrinking")

    def stop(self) -> None:
        """Ends the search soon, with what it found so far."""
        self._stopping.set()

    def run(self) -> None:
        """Searches until it is done, stopped or failed; raises nothing."""
        phase: Phase = "failed"
        try:
            with open_source(self.path) as source:
                phase = self._run(source)
        except WorkspacedError as error:
            self.failure = error
        except OSError as error:
            self.failure = LogUnreadable(f"{self.path.name} cannot be read: {error.strerror}.")
        finally:
            self.phase = phase

    def _run(self, source: Source) -> Phase:
        with suppress(_Stop):
            self.found = self._find(source)
            self.phase = "shrinking"
            shrinking = self._shrinking(source)
            try:
                shrinking.run(self._shrank)
                phase: Phase = "done"
            except _Stop:
                phase = "stopped"
            self._keep(source, shrinking.events)
            return phase
        return "stopped"

    def _check(self) -> None:
        if self._stopping.is_set() or time.monotonic() > self._ends:
            raise _Stop

    def _find(self, source: Source) -> Found:
        """Raises ALREADY_TRUE, NeverTrue, InvalidArgument: there is no such event."""
        found, last = follow(source, self._expression, self._passed)
        if found is None:
            raise never_true(self._expression, last)
        return found

    def _passed(self, _event: Event) -> None:
        self.read += 1
        self._check()

    def _shrinking(self, source: Source) -> Shrinking:
        """
        Raises:
            InvalidArgument: the log is too long for a page, or does not show it when it is published anew.
        """
        self.given = self.left = self.read
        if self.given > _INSPECTOR_SHRINK_EVENTS_MAX:
            raise InvalidArgument(
                f"The event is number {self.given}; a page shrinks at most {_INSPECTOR_SHRINK_EVENTS_MAX} events.",
                hint="`workspaced log shrink` has no limit.",
            )
        return Shrinking(source, self._expression)

    def _shrank(self, left: int, asked: int) -> None:
        self.left, self.asked = left, asked

    def _keep(self, source: Source, events: list[Event]) -> None:
        self.origins = _origins(source, {event.id for event in events})
        self.left = len(events)
        self.shrunk = part_of(events, source)


def _origins(source: Source, ids: set[str]) -> dict[str, int]:
    found: dict[str, int] = {}

    def look(events: list[Event]) -> None:
        found.update((event.id, event.seq) for event in events if event.id in ids)
        if len(found) == len(ids):
            raise _Past

    with suppress(_Past):
        source.feed(look)
    return found


class Searches:
    """The searches of an inspector: one at a time, and what the last one found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread: threading.Thread | None = None
        self.last: Search | None = None

    def start(self, text: str, vault: str | None) -> Search:
        """Begins a search.

        Raises:
            Busy: another one runs.
            InvalidArgument: the expression is none.
        """
        if self.last is not None and self.last.is_running:
            raise Busy("A search is running.", hint="Stop it first, or wait for its end.")
        self.last = Search(self._path, text, vault)
        self._thread = threading.Thread(target=self.last.run, name="search", daemon=True)
        self._thread.start()
        return self.last

    def close(self) -> None:
        """Stops the running search."""
        if self.last is not None and self._thread is not None:
            self.last.stop()
            self._thread.join(5.0)
