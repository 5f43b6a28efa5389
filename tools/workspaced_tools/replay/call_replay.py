"""Replays a recorded call from the log's state and its `Recording` alone.

The same tool runs over a `View` that returns the recorded answers. A tool that asks a question that is not in the
recording gets `NOT_RECORDED`, and its answer differs; verification of a log finds such differences.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, get_args

import msgspec
from msgspec.structs import replace
from typing_extensions import get_original_bases

import workspaced_events.errors
from workspaced_events.blobs.latest_used import LatestUsed
from workspaced_events.errors import LogDamaged, WorkspacedError
from workspaced_events.ids import VaultId
from workspaced_events.projections.peers import NO_PEERS
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema.catalogue import ToolCalled

from .. import errors
from ..errors import NotKept, NotRecorded, ToolError
from ..notes.name_only import name_known
from ..notes.note import Note, NoteFailure
from ..ports.history import VersionAt
from ..ports.questions import Images, Question, R, Read, SharedBy, VersionOf, Visits
from ..ports.vault import ImageFailure, NoteImage, NoteImages
from ..ports.view import View
from ..recording.format import (
    SWEPT,
    Blob,
    Exchange,
    Raised,
    RecordedImage,
    RecordedImages,
    RecordedName,
    RecordedNote,
    RecordedRead,
    RecordedVersion,
    Recording,
    question_json,
    shown_of,
)
from ..sharing.gate import refusal
from ..tools.linked_tools import LINKED
from ..tools.registry import EVERY_TOOL
from ..tools.tool import payload_of, run_call
from ..volunteering.editor import HIDDEN

VisitsOf = Callable[[VaultId], Sequence[Visit]]
"""All visits of a vault at the moment of the call."""
_NOTES_BYTES_MAX: Final = 4 * 1024 * 1024
_NOTE_OVERHEAD_BYTES: Final = 2_048


class Notes:
    """A bounded cache of note versions, built from the blobs of one source. Safe from any thread."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        # A note that is larger than all may be is kept alone.
        self._known = LatestUsed[RecordedNote, Note](
            _NOTES_BYTES_MAX, lambda note: min(len(note.source) + _NOTE_OVERHEAD_BYTES, _NOTES_BYTES_MAX)
        )

    def note(self, kept: RecordedNote) -> Note:
        """The recorded version of a note.

        Raises:
            NotRecorded: its text is no longer kept.
        """
        if (known := self._known.get(kept)) is not None:
            return known
        text = self._blob(kept.text)
        if text is None:
            raise NotKept(f"The text of {kept.id} as it was read is not kept", hint=SWEPT)
        file = kept.id, kept.stat, kept.birth_ns, kept.sha256
        return self._known.put(kept, Note(*file, text, kept.warnings, pages=kept.pages))

    def images(self, kept: RecordedImages) -> NoteImages:
        """The recorded images of a note, read from their blobs.

        Raises:
            NotRecorded: an image is no longer kept.
        """
        return NoteImages(tuple(map(self._image, kept.images)), kept.total)

    def _image(self, kept: RecordedImage | ImageFailure) -> NoteImage | ImageFailure:
        if not isinstance(kept, RecordedImage):
            return kept
        content = self._blob(kept.sha256)
        if content is None:
            raise NotKept(f"The image {kept.path} as it was read is not kept", hint=SWEPT)
        size = kept.width, kept.height
        return NoteImage(kept.path, kept.media_type, content, kept.sha256, *size, kept.scaled)


def replay_answer(
    answers: "Answers", called: ToolCalled, recording: Recording, state: WorkspaceState, visits: VisitsOf
) -> bytes:
    """The answer of the present tool to a recorded call, as JSON.

    Args:
        answers: what the tool's View returns.
        state: the fold of the log at the call's `asOfSeq`.
        visits: the visits at the call's `tailSeq`.

    Raises:
        NotRecorded: this version has no such tool.
    """
    if recording.refused is not None:
        error = error_of(recording.refused)
        if not isinstance(error, ToolError):
            raise NotRecorded(
                f"This version does not know {recording.refused.type}", hint="Use a newer workspaced."
            )
        return payload_of(refusal(error, called.as_of_seq))
    tool = HIDDEN.get(called.tool) or EVERY_TOOL.get(called.tool)
    # A refused call asked nothing; whether its tool had `of` is then told by the log, which knows of the link.
    of_linked = state.peers.own is not None and called.arguments.get("of") is not None
    if called.tool in LINKED and (answers.has(SharedBy()) or of_linked):
        tool = LINKED[called.tool]
    if tool is None:
        raise NotRecorded(f"This version has no tool {called.tool!r}", hint="Use the version that recorded it.")
    view = View(
        state=_shared(state, recording),
        now=called.now,
        vault=RecordedVault(answers, _visits(recording, state, visits)),
        served=recording.served,
        sharing=recording.level,
        withheld=recording.withheld,
        also_at=recording.also_at,
    )
    return payload_of(run_call(tool, view, called.arguments).result)


def _shared(state: WorkspaceState, recording: Recording) -> WorkspaceState:
    current = state.current
    if current is None:
        return state
    by_vault = {current: shown_of(state.of(current), recording)}
    return replace(state, by_vault=by_vault, sharing={}, volunteering={}, peers=NO_PEERS)


def _visits(recording: Recording, state: WorkspaceState, visits: VisitsOf) -> Sequence[Visit]:
    """All visits if the call asked for visits, otherwise none."""
    asked = any(each.ask == Visits.name for each in recording.asked)
    return visits(state.current) if asked and state.current is not None else ()


Key = tuple[str, bytes]
"""Identifies a question in a recording: its name and its fields as JSON."""


def key_of(question: Question[Any]) -> Key:
    """Equal questions have equal keys."""
    return question.name, question_json(question)


class Answers:
    """The recorded answers of one call.

    If the call asked a question several times, each repetition gets the next answer; after the last one, the last
    answer again.
    """

    def __init__(self, asked: Sequence[Exchange], notes: Notes) -> None:
        """
        Raises:
            NotRecorded: a text is not kept.
            LogDamaged: the recording holds a value that no View returns.
        """
        self._left: dict[Key, list[Any]] = {}
        for exchange in asked:
            answer = answer_of(exchange, notes)
            self._left.setdefault((exchange.ask, bytes(exchange.question)), []).append(answer)

    def has(self, question: Question[Any]) -> bool:
        """Whether the call asked the question."""
        return key_of(question) in self._left

    def to(self, question: Question[Any]) -> Any:
        """The recorded answer, in the form of `answer_of`.

        Raises:
            NotRecorded: the call did not ask the question.
            Exception: the recorded error.
        """
        name, asked = key_of(question)
        left = self._left.get((name, asked))
        if left is None:
            raise NotRecorded(
                f"The call did not ask for {name} {asked.decode()[:200]}",
                hint="The tool reads something else now than when the call was recorded.",
            )
        return raise_or_return(left.pop(0) if len(left) > 1 else left[0])


def raise_or_return(answer: Any) -> Any:
    """Returns an answer; raises it if it is an exception."""
    if isinstance(answer, Exception):
        raise answer
    return answer


ANSWER_TYPES: Final[dict[str, Any]] = {
    **{each.name: get_args(get_original_bases(each)[0])[0] for each in Question.__subclasses__()},
    Read.name: list[RecordedRead],
    Images.name: RecordedImages,
    Visits.name: tuple[int, ...],
    VersionOf.name: RecordedVersion,
}
"""The type of the recorded answers to each question."""


def answer_of(exchange: Exchange, notes: Notes) -> Any:
    """The recorded answer as the port returns it; a recorded error as an exception.

    The answer to `Visits` is the positions of the notes that were left out.

    Raises:
        NotRecorded: a text is not kept, or only a newer version knows the question.
        LogDamaged: the recorded value is no answer to the question.
    """
    if exchange.raised is not None:
        return error_of(exchange.raised)
    if exchange.ask not in ANSWER_TYPES:
        raise NotRecorded(f"This version does not know {exchange.ask!r}", hint="Use a newer workspaced.")
    try:
        answer = msgspec.json.decode(exchange.answer, type=ANSWER_TYPES[exchange.ask])
        version = msgspec.json.decode(answer.note, type=RecordedRead) if exchange.ask == VersionOf.name else None
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"A recording holds no answer of {exchange.ask!r}: {error}.") from None
    if exchange.ask == Read.name:
        return [read_of(each, notes) for each in answer]
    if exchange.ask == Images.name:
        return notes.images(answer)
    if version is not None:
        return VersionAt(answer.seq, answer.at, read_of(version, notes))
    return answer


def read_of(kept: RecordedRead, notes: Notes) -> Note | NoteFailure:
    """The note or failure of a recorded read.

    Raises:
        NotRecorded: the note's text is not kept.
    """
    if isinstance(kept, RecordedNote):
        return notes.note(kept)
    return name_known(kept.id, kept.title) if isinstance(kept, RecordedName) else kept


def error_of(raised: Raised) -> WorkspacedError | Exception:
    """The recorded error as an exception. So the class names in errors.py are part of the recording's format."""
    for module in (errors, workspaced_events.errors):
        kind = getattr(module, raised.type, None)
        if isinstance(kind, type) and issubclass(kind, WorkspacedError):
            error = kind(raised.message, hint=raised.hint)
            error.details.update(raised.details)
            return error
    return Exception(raised.message)


class RecordedVault:
    """Implements `VaultPort` with recorded answers."""

    def __init__(self, answers: Answers, visits: Sequence[Visit] = ()) -> None:
        """`visits`: all visits at the moment of the call, including withheld ones."""
        self._answers = answers
        self._visits = visits

    def ask(self, question: Question[R]) -> R:
        answer: Any = self._answers.to(question)
        if type(question) is Visits:
            left_out = set(answer)  # positions among all visited notes
            notes = dict.fromkeys(visit.note for visit in self._visits)
            gone = {note for at, note in enumerate(notes) if at in left_out}
            answer = [visit for visit in self._visits if visit.note not in gone] if gone else self._visits
        result: R = answer
        return result
