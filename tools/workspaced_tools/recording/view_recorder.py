"""Recording: what one call read through its `View`, as a value that the same call can be made again from.

The unit is a question to the View and its answer. A `ViewRecorder` notes both while a tool runs, which costs next
to nothing; `recorded` makes the bytes of a `Recording` of them later, on another thread. A recording holds only
what neither log nor tool tells: of the state and the visits no more than the positions of what the share policy
left out, of a note the name of its text, which is a blob of its own. So equal calls make equal recordings, which
are kept once.

What is withheld never passes through a View, and so is in no recording.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState

from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..ports.asking import VaultPort
from ..ports.questions import Question, R, Read, VersionOf, Visits
from ..ports.view import View
from ..sharing.gate import SharedVault
from .format import (
    VAULT_LISTS,
    VAULT_SINGLES,
    VERSION,
    Exchange,
    Raised,
    RecordedFailure,
    RecordedName,
    RecordedNote,
    RecordedVersion,
    Recording,
    positions_left_out,
    question_json,
    raised,
)

Keep = Callable[[bytes, str], object]
"""Keeps a text under its sha256."""

Exchanges = list[tuple[Question[Any], Any]]
"""The questions of one call and their answers, in order. Of `Visits` the answer is the pair of all visits and of
those that were given; of an error it is a `Raised`."""


# -- while the tool runs --


class RecordingVault:
    """Implements `VaultPort` over another one: notes every question with its answer.

    It holds the exchanges and not the `ViewRecorder`, and of an error only a `Raised`, which has no traceback:
    else every call would leave a cycle that keeps the notes it read in memory until the garbage collector comes.
    """

    def __init__(self, vault: VaultPort, exchanges: Exchanges) -> None:
        self._vault = vault
        self._exchanges = exchanges

    def ask(self, question: Question[R]) -> R:
        try:
            answer = self._vault.ask(question)
        except Exception as error:
            self._exchanges.append((question, raised(error)))
            raise
        noted: Any = self._visits(answer) if type(question) is Visits else answer
        self._exchanges.append((question, noted))
        return answer

    def _visits(self, shared: Any) -> tuple[Any, Any]:
        """All visits and the given ones: the recording names the withheld ones by their positions among all."""
        history = self._vault.history if isinstance(self._vault, SharedVault) else None
        return (history.given if history is not None else None) or (shared, shared)


class ViewRecorder:
    """What a call asked and was answered. `view` is what the tool is to see."""

    def __init__(self, view: View, full: WorkspaceState) -> None:
        """`full` is the state that the view's was made of."""
        self.exchanges: Exchanges = []
        self.full = full
        self.view = replace(view, vault=RecordingVault(view.vault, self.exchanges))

    def repeats(self, other: "ViewRecorder") -> bool:
        """Whether it read the very same as `other`, so that their recordings are equal. False where that would
        take a closer look."""
        if len(self.exchanges) != len(other.exchanges):
            return False
        if self._state() != other._state() or self.view.sharing != other.view.sharing:
            return False
        return all(map(_repeats, self.exchanges, other.exchanges))

    def texts_bytes(self, *, new: bool = False) -> int:
        """How many bytes of text the call read; `new`: only of notes that no other recorder counted as new before:
        those are in memory anyway."""
        found = 0
        for question, answer in self.exchanges:
            for note in answer if type(question) is Read and isinstance(answer, list) else ():
                if isinstance(note, Note) and not (new and vars(note).get("counted")):
                    found += len(note.source)
                    if new:
                        vars(note)["counted"] = True
        return found

    def _state(self) -> tuple[int, int, int, tuple[int, ...]]:
        full, view = self.full, self.view
        return id(full.of(full.current)), id(view.vault_state), view.withheld, view.also_at


def _repeats(one: tuple[Question[Any], Any], other: tuple[Question[Any], Any]) -> bool:
    question, answer = one
    if question != other[0]:
        return False
    if type(question) is Read and not isinstance(answer, Raised):
        # The content cache gives the same object for the same version; comparing texts costs more than a hash.
        return isinstance(other[1], list) and all(map(operator.is_, answer, other[1]))
    return type(answer) in (int, str) and answer == other[1]


# -- afterwards --


def recorded(recorder: ViewRecorder, keep: Keep) -> bytes:
    """The JSON of a call's `Recording`; texts go to `keep`.

    Raises:
        OSError: of `keep`.
        UnicodeEncodeError: something asked or answered has no UTF-8 form.
    """
    view = recorder.view
    return msgspec.json.encode(
        Recording(
            version=VERSION,
            level=view.sharing,
            served=view.served,
            withheld=view.withheld,
            left_out=_left_out(recorder.full.of(recorder.full.current), view.vault_state),
            asked=tuple(_exchange(question, answer, keep) for question, answer in recorder.exchanges),
            also_at=view.also_at,
        )
    )


def _exchange(question: Question[Any], answer: Any, keep: Keep) -> Exchange:
    name, asked = question.name, msgspec.Raw(question_json(question))
    if isinstance(answer, Raised):
        return Exchange(name, asked, raised=answer)
    match question:
        case Read():
            kept = b"[" + b",".join(_kept(each, keep) for each in answer) + b"]"
        case VersionOf():
            note = msgspec.Raw(_kept(answer.note, keep))
            kept = msgspec.json.encode(RecordedVersion(answer.seq, answer.at, note))
        case Visits():
            every, shared = answer
            kept = msgspec.json.encode(_visits_left_out(every, shared))
        case _:
            kept = msgspec.json.encode(answer)
    return Exchange(name, asked, msgspec.Raw(kept))


def _visits_left_out(every: Sequence[Visit], shared: Sequence[Visit]) -> tuple[int, ...]:
    """The positions of the notes whose visits are withheld, among all visited notes."""
    if shared is every:
        return ()
    return positions_left_out({visit.note: None for visit in every}, {visit.note for visit in shared})


def _kept(found: Note | NoteFailure, keep: Keep) -> bytes:
    if isinstance(found, NoteFailure):
        return msgspec.json.encode(RecordedFailure(found.id, found.code, found.message))
    if isinstance(found, NameOnly):
        return msgspec.json.encode(RecordedName(found.id, found.title))
    known: tuple[str, bytes] | None = vars(found).get("kept")
    if known is None:
        text = found.source_sha256
        note = RecordedNote(found.id, found.stat, found.birth_ns, found.sha256, text, found.warnings)
        known = vars(found)["kept"] = (text, msgspec.json.encode(note))
    keep(found.source, known[0])
    return known[1]


def _left_out(full: VaultState, shared: VaultState) -> dict[str, tuple[int, ...]]:
    if shared is full:
        return {}
    gone = {
        name: positions_left_out(getattr(full, name), getattr(shared, name))
        for name in VAULT_LISTS
        if getattr(full, name) is not getattr(shared, name)
    }
    gone |= {
        name: (0,) for name in VAULT_SINGLES if getattr(full, name) is not None and getattr(shared, name) is None
    }
    return gone
