"""Checks the visibility of a served vault's notes in the background, and records the findings.

Rules and notes that are perhaps being written must be read twice before they make a note visible; missing notes
must be searched for (`vault.files` of floor 2). Each note that the log names is checked once, so that the finding
is recorded and outlasts the note.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import Context, copy_context
from typing import Final

import anyio
from anyio import to_thread

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.limits import BATCH_ACTIONS_MAX
from workspaced_events.schema import catalogue as c
from workspaced_tools.vault.index.changes import Changes
from workspaced_tools.vault.vault import Vault

_PAUSE_S: Final = 0.05
_PAUSE_MAX_S: Final = 30.0
"""Longest pause between two checks of notes that do not settle, such as notes in an unreadable folder."""
_SHOWN_DELAY_S: Final = 30.0
"""A finding that a note may be shown is recorded after this delay, together with others: if a crash loses it, the
note is withheld once its file is gone. A finding that a note is withheld is recorded at once."""
_NAMED_MAX: Final = 10_000
"""Bound of the queue of notes to check. Notes beyond it are checked when a call reads them."""


class VisibilityChecker:
    """One for each served vault."""

    def __init__(self, vault_id: VaultId, vault: Vault, record: Callable[[list[Action]], object]) -> None:
        """`record` queues actions for the log; on any thread."""
        self._id = vault_id
        self._vault = vault
        self._record = record
        self._found: deque[tuple[NoteId, bool]] = deque()
        self._named: dict[NoteId, bool] = {}
        """Notes to check, with whether agents may have guessed the name."""
        self._unsettled: dict[NoteId, bool] = {}
        """Notes to check again once they have settled; as `_named`."""
        self._flush_at_s = math.inf
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context: Context | None = None
        vault.levels.on_finding = self._take
        vault.levels.on_unsettled = self._wake
        vault.policy.on_unsettled = self._wake

    async def run(self, changed: Callable[[Changes], Awaitable[None]]) -> None:
        """Runs all checks when they are due, until cancelled; calls `changed` with the changes that they found."""
        self._loop, self._context = asyncio.get_running_loop(), copy_context()
        pause_s = _PAUSE_S
        while True:
            self._woken.clear()
            if self._named:
                names, self._named = self._named, {}
                self._unsettled = await to_thread.run_sync(self._look_at, names, abandon_on_cancel=True)
            now_s, due_s = time.monotonic(), self._vault.due_s()
            if self._flush_at_s <= now_s:
                self.flush()
            look_in_s = math.inf if due_s is None else max(due_s - now_s, pause_s)
            with anyio.move_on_after(min(look_in_s, max(self._flush_at_s - now_s, 0))):
                await self._woken.wait()
                continue
            if look_in_s < math.inf:
                await changed(await to_thread.run_sync(self._vault.settle, abandon_on_cancel=True))
                self._name(self._unsettled)
                due_s = self._vault.due_s()
                has_settled = due_s is None or due_s > time.monotonic()
                pause_s = _PAUSE_S if has_settled else min(2 * pause_s, _PAUSE_MAX_S)

    def named(self, notes: Iterable[NoteId], *, guessed: bool = False) -> None:
        """Queues a check of those of the notes that have no finding yet. On the loop's thread.

        `guessed`: as in `Vault.look_at`.
        """
        finding = self._vault.levels.finding
        new = {note: guessed for note in notes if finding(note) is None}
        if new and len(self._named) < _NAMED_MAX:
            self._name(new)
            self._woken.set()

    def _name(self, notes: Mapping[NoteId, bool]) -> None:
        for note, guessed in notes.items():
            self._named[note] = guessed and self._named.get(note, True)

    def flush(self) -> None:
        """Records all findings so far. On any thread.

        That a note is shown is not recorded where a rule withholds it by now, unless a later finding withholds it,
        too: that it was shown before then counts.
        """
        self._flush_at_s = math.inf
        found: list[tuple[NoteId, bool]] = []
        with suppress(IndexError):
            while True:
                found.append(self._found.popleft())
        withheld = {note for note, shown in found if not shown}
        denies = self._vault.policy.denies
        actions = [
            Action(c.NoteShown(note) if shown else c.NoteWithheld(note), vault=self._id)
            for note, shown in found
            if not shown or note in withheld or not denies(note)
        ]
        for start in range(0, len(actions), BATCH_ACTIONS_MAX):
            self._record(actions[start : start + BATCH_ACTIONS_MAX])

    def _look_at(self, notes: Mapping[NoteId, bool]) -> dict[NoteId, bool]:
        """Checks the notes; returns those that have not settled, so have no finding yet."""
        for note, guessed in notes.items():
            self._vault.look_at(note, guessed=guessed)
        unsettled = set(self._vault.levels.unsettled)
        return {note: guessed for note, guessed in notes.items() if note in unsettled}

    def _take(self, note: NoteId, shown: bool) -> None:
        self._found.append((note, shown))
        delay_s = _SHOWN_DELAY_S if shown else 0.0
        self._flush_at_s = min(self._flush_at_s, time.monotonic() + delay_s)
        self._wake()

    def _wake(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._woken.set, context=self._context)
