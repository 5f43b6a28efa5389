"""Which notes are withheld from agents, as a daemon answers, and the names that stand for them on the page.

The page must not show what the person keeps from agents: others may look at the screen. So a note is hidden unless
the daemon says that it may be shown unasked. What is not known is hidden, and while the daemon is away nothing is
known: a note may turn private meanwhile, and a view opened then would show more of it than was shown before.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, Literal

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import NoteId, VaultId, note_id
from workspaced_tools.prompts.model.note_names import NoteNames

from ...limits import WITHHELD_ASKED_MAX

Standing = Literal["shown", "withheld", "unknown"]
"""`unknown`: there is no such note, and nothing is known of one."""
Ask = Callable[[VaultId, Collection[NoteId]], Mapping[NoteId, Standing]]
"""Answers for at most WITHHELD_ASKED_MAX notes of a vault. A note that it leaves out is `unknown`. Raises a
`WorkspacedError` if nobody answers."""

FRESH_S: Final = 2.0
"""Answers older than this are asked for again: ignore rules change without an event."""
_ASKED_CHARS_MAX: Final = 80_000
"""Characters of paths in one question: at most 12 bytes each in JSON, so it stays below REQUEST_BYTES_MAX."""
_PSEUDONYM_CHARS: Final = frozenset("(withheld 0123456789)")
_KNOWN_MAX: Final = 100_000
"""Answers held at once. Beyond it all are forgotten, and asked for again."""


def asking(call: Callable[[str, dict[str, Any]], Any]) -> Ask:
    """Asks a daemon through a client's `call`, which may raise what it raises."""

    def ask(vault: VaultId, notes: Collection[NoteId]) -> dict[NoteId, Standing]:
        answer = call("workspaced/withheld", {"vault": vault, "notes": list(filter(_is_path, notes))})
        return {NoteId(each["path"]): _standing(each) for each in answer["notes"]}

    return ask


def _is_path(note: NoteId) -> bool:
    """Whether the daemon takes the path: an older log may hold others."""
    try:
        note_id(note)
    except WorkspacedError:
        return False
    return True


def _standing(answered: Mapping[str, Any]) -> Standing:
    if answered["level"] == "volunteer":
        return "shown"
    return "withheld" if answered["known"] else "unknown"


def _questions(notes: list[NoteId]) -> Iterator[list[NoteId]]:
    """The notes in parts, each fit for one question."""
    part: list[NoteId] = []
    size = 0
    for note in notes:
        if part and (len(part) == WITHHELD_ASKED_MAX or size + len(note) > _ASKED_CHARS_MAX):
            yield part
            part, size = [], 0
        part.append(note)
        size += len(note)
    if part:
        yield part


class WithheldNotes:
    """Asks for each note once in FRESH_S seconds, and names the withheld ones. Safe from any thread.

    Of a note that nobody answered for, an answer of FRESH_S ago does not count any more.
    """

    def __init__(self, ask: Ask, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`clock_s`: a clock that only goes forward."""
        self._ask = ask
        self._clock_s = clock_s
        self._lock = threading.RLock()
        self._known: dict[tuple[VaultId, NoteId], tuple[Standing, float]] = {}
        self._numbers: dict[tuple[VaultId | None, NoteId], int] = {}

    def learn(self, vault: VaultId | None, notes: Iterable[NoteId]) -> None:
        """Asks for those of the notes that have no fresh answer, in as few questions as possible."""
        if vault is None:
            return
        with self._lock:
            old_s = self._clock_s() - FRESH_S
            asked = list(dict.fromkeys(notes))
            wanted = [note for note in asked if not self._is_fresh(vault, note, old_s)]
            if len(self._known) + len(wanted) > _KNOWN_MAX:
                self._known.clear()
                wanted = asked
            for note in wanted:
                self._known.pop((vault, note), None)
            with suppress(WorkspacedError):
                for part in _questions(wanted):
                    asked_s, answers = self._clock_s(), self._ask(vault, part)
                    self._known |= {(vault, note): (answers.get(note, "unknown"), asked_s) for note in part}

    def _is_fresh(self, vault: VaultId, note: NoteId, old_s: float) -> bool:
        known = self._known.get((vault, note))
        return known is not None and known[1] >= old_s

    def forget(self, vault: VaultId | None = None, notes: Iterable[NoteId] | None = None) -> None:
        """Takes that the notes may stand otherwise now: these, or all of the vault, or all."""
        gone = None if notes is None else set(notes)
        with self._lock:
            self._known = {
                key: answer
                for key, answer in self._known.items()
                if (vault is not None and key[0] != vault) or (gone is not None and key[1] not in gone)
            }

    def hidden(self, vault: VaultId | None, names: NoteNames) -> frozenset[NoteId]:
        """The notes among `names` that must not show.

        A note that is named for certain is hidden unless it may be shown; a possible one if it is withheld,
        because most of what might be a path names no note. Without an answer both are hidden.
        """
        if vault is None:
            return names.notes
        with self._lock:
            self.learn(vault, names.every)
            standings = {note: self._known.get((vault, note)) for note in names.every}
        return frozenset(
            note
            for note, known in standings.items()
            if known is None or known[0] == "withheld" or (known[0] == "unknown" and note in names.notes)
        )

    def are_answered(self, vault: VaultId | None, notes: Iterable[NoteId]) -> bool:
        """Whether the daemon answered for all of the notes when it was asked last."""
        with self._lock:
            return vault is None or all((vault, note) in self._known for note in notes)

    def pseudonym(self, vault: VaultId | None, note: NoteId) -> str:
        """What stands for a hidden note: the same for as long as this object lives, and nothing of its name."""
        with self._lock:
            number = self._numbers.setdefault((vault, note), len(self._numbers) + 1)
        return f"(withheld {number})"


def may_be_in_pseudonym(text: str) -> bool:
    """Whether a pseudonym may hold the text."""
    return set(text) <= _PSEUDONYM_CHARS
