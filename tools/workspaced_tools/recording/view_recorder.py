"""Records what one call reads through its `View`, so that the call can be replayed.

The unit is a question to the View and its answer. A `ViewRecorder` collects both while a tool runs, which costs
almost nothing; `recorded` encodes them as a `Recording` later, on another thread.

A recording holds only what the log and the tool do not have. For the state and the visits it holds the positions
of the entries that the share policy left out; for a note it holds the hash of the text, which is a separate blob.
Therefore equal calls of one client have equal recordings, which are stored once.

Withheld notes never pass through a View, so no recording holds them.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from workspaced_events.projections.workspace_state import VaultState, WorkspaceState

from ..notes.name_only import NameOnly
from ..notes.note import Note, NoteFailure
from ..ports.asking import VaultPort
from ..ports.peers import LinkedMachines
from ..ports.questions import Images, Question, R, Read, VersionOf, Visits
from ..ports.vault import ImageFailure, NoteImage, NoteImages, Resolution
from ..ports.view import View
from ..sharing.gate import SharedVault
from .format import (
    VAULT_LISTS,
    VAULT_SINGLES,
    VERSION,
    Exchange,
    Raised,
    RecordedImage,
    RecordedImages,
    RecordedName,
    RecordedNote,
    RecordedVersion,
    Recording,
    positions_left_out,
    question_json,
    raised,
)

Keep = Callable[[bytes, str], object]
"""Stores a text or an image under its sha256."""

Exchanged = tuple[Question[Any], Any]
"""A question and its answer."""
Exchanges = list[Exchanged]
"""The questions of one call and their answers, in order. An error is a `Raised`. The answer to `Visits` is a pair:
all visits, and the visits that the tool got."""


_COMPARED: Final = frozenset({int, str, LinkedMachines, Resolution})
"""The types of answers that are compared by their values."""

# -- while the tool runs --


class RecordingVault:
    """Implements `VaultPort` over another vault, and records every question with its answer.

    It holds the exchanges instead of the `ViewRecorder`, and a `Raised` without traceback instead of an error.
    Otherwise every call would leave a reference cycle that keeps its notes in memory until garbage collection.
    """

    def __init__(self, vault: VaultPort, exchanges: Exchanges, read: Sequence[Exchanged]) -> None:
        self._vault = vault
        self._exchanges = exchanges
        self._read = read

    def ask(self, question: Question[R]) -> R:
        try:
            known: Any = next((answer for asked, answer in self._read if asked == question), None)
            answer = known or self._vault.ask(question)
        except Exception as error:
            self._exchanges.append((question, raised(error)))
            raise
        to_record: Any = self._visits(answer) if type(question) is Visits else answer
        self._exchanges.append((question, to_record))
        return answer

    def _visits(self, shared: Any) -> tuple[Any, Any]:
        """All visits, and the shared ones. The recording names withheld visits by their positions among all."""
        history = self._vault.history if isinstance(self._vault, SharedVault) else None
        return (history.last_answer if history is not None else None) or (shared, shared)


class ViewRecorder:
    """Collects the questions and answers of one call. The tool gets `view`."""

    def __init__(self, view: View, full: WorkspaceState, read: Sequence[Exchanged] = ()) -> None:
        """
        Args:
            full: the state before the gate left out what the client may not see.
            read: what this call has asked already; its notes are not read again.
        """
        self.exchanges: Exchanges = []
        self.full = full
        known = [each for each in read if type(each[0]) is Read and type(each[1]) is list]
        self.view = replace(view, vault=RecordingVault(view.vault, self.exchanges, known))

    def repeats(self, other: "ViewRecorder") -> bool:
        """Whether this call read the same as `other`, so that their recordings are equal.

        A quick check: False may also mean that the comparison would be expensive.
        """
        if len(self.exchanges) != len(other.exchanges):
            return False
        if self._state() != other._state() or self.view.sharing != other.view.sharing:
            return False
        pairs = zip(self.exchanges, other.exchanges, strict=True)
        return all(one[0] == another[0] and is_same(*one, another[1]) for one, another in pairs)

    def texts_bytes(self, *, new: bool = False) -> int:
        """The size of the texts and images that the call read, in bytes.

        Args:
            new: count only notes that no recorder has counted as new before.
        """
        found = 0
        for question, answer in self.exchanges:
            for note in answer if type(question) is Read and isinstance(answer, list) else ():
                if isinstance(note, Note) and not (new and vars(note).get("counted")):
                    found += len(note.source)
                    if new:
                        vars(note)["counted"] = True
            if isinstance(answer, NoteImages):
                found += sum(len(each.content) for each in answer.images if isinstance(each, NoteImage))
        return found

    def _state(self) -> tuple[int, int, int, tuple[int, ...]]:
        full, view = self.full, self.view
        return id(full.of(full.current)), id(view.vault_state), view.withheld, view.also_at


def is_same(question: Question[Any], answer: Any, other: Any) -> bool:
    """Whether two answers to one question are the same, so that a tool cannot tell them apart.

    False also where only a long comparison could tell, or where equal values may differ in what a note keeps
    beside its fields.
    """
    if type(question) is Read:
        # The content cache returns the same object for the same version; comparing texts costs more than a hash.
        return type(answer) is type(other) is list and all(map(operator.is_, answer, other))
    return type(answer) in _COMPARED and answer == other


# -- after the call --


def recorded(recorder: ViewRecorder, caller: str, keep: Keep) -> bytes:
    """The JSON of the `Recording` of a call by `caller`. Passes the texts and images to `keep`.

    Raises:
        OSError: from `keep`.
        UnicodeEncodeError: a question or an answer has no UTF-8 form.
    """
    view = recorder.view
    full, shown = recorder.full.of(recorder.full.current), view.vault_state
    return msgspec.json.encode(
        Recording(
            version=VERSION,
            caller=caller,
            level=view.sharing,
            served=view.served,
            withheld=view.withheld,
            left_out=_left_out(full, shown),
            last_updated=shown.last_updated if shown.last_updated != full.last_updated else msgspec.UNSET,
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
            encoded = b"[" + b",".join(_recorded_read(each, keep) for each in answer) + b"]"
        case VersionOf():
            note = msgspec.Raw(_recorded_read(answer.note, keep))
            encoded = msgspec.json.encode(RecordedVersion(answer.seq, answer.at, note))
        case Visits():
            every, shared = answer
            notes, seen = dict.fromkeys(visit.note for visit in every), {visit.note for visit in shared}
            encoded = msgspec.json.encode(positions_left_out(notes, seen) if shared is not every else ())
        case Images():
            images: list[RecordedImage | ImageFailure] = []
            for each in answer.images:
                if isinstance(each, NoteImage):
                    keep(each.content, each.sha256)
                    size = each.width, each.height
                    images.append(RecordedImage(each.path, each.media_type, each.sha256, *size, each.scaled))
                else:
                    images.append(each)
            encoded = msgspec.json.encode(RecordedImages(tuple(images), answer.total))
        case _:
            encoded = msgspec.json.encode(answer)
    return Exchange(name, asked, msgspec.Raw(encoded))


def _recorded_read(found: Note | NoteFailure, keep: Keep) -> bytes:
    """The JSON of a `RecordedRead`, and the note's text to `keep`.

    The JSON is cached in the note as `recorded`, which the content cache drops when the file's stat changes.
    """
    if isinstance(found, NoteFailure):
        return msgspec.json.encode(found)
    if isinstance(found, NameOnly):
        return msgspec.json.encode(RecordedName(found.id, found.title))
    cached: tuple[str, bytes] | None = vars(found).get("recorded")
    if cached is None:
        text = found.source_sha256
        file = found.id, found.stat, found.birth_ns, found.sha256
        note = RecordedNote(*file, text, found.warnings, found.pages)
        cached = vars(found)["recorded"] = (text, msgspec.json.encode(note))
    keep(found.source, cached[0])
    return cached[1]


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
