"""Replaying: a recorded call made again, from the log's state and its `Recording` alone.

The very same tool runs over a `View` that answers what was answered then. A tool that asks something else than it
did gets `NOT_RECORDED`, and its answer will differ: that is what verifying a log finds.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import Any, Final

import msgspec
from msgspec.structs import replace

import workspaced_events.errors
from workspaced_events.errors import LogDamaged, WorkspacedError
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import Visit
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema.catalogue import ToolCalled

from .. import errors
from ..errors import NotRecorded, ToolError
from ..notes.name_only import name_known
from ..notes.note import Note, NoteFailure
from ..ports.history import HistoryPort, NoHistory, VersionAt
from ..ports.prompts import ShownManifest
from ..ports.vault import (
    Found,
    Incoming,
    LinkName,
    LinkTarget,
    Members,
    NoteRef,
    Overview,
    Resolution,
    SimilarNote,
    TaggedNote,
)
from ..ports.view import View
from ..recording.format import (
    VERSION_AT,
    VISITS,
    Exchange,
    Kept,
    Raised,
    RecordedName,
    RecordedNote,
    RecordedVersion,
    Recording,
    question_json,
    without,
)
from ..recording.reading import SWEPT, Blob
from ..sharing.gate import refusal
from ..tools.registry import TOOLS
from ..tools.tool import payload_of, run

Visits = Callable[[VaultId], Sequence[Visit]]
"""All visits of a vault at the moment of the call."""
_NOTES_BYTES_MAX: Final = 4 * 1024 * 1024
_NOTE_OVERHEAD_BYTES: Final = 2_048


class Notes:
    """Versions of notes made of their texts, as long as the source of the blobs stays the same. Bounded; safe from
    any thread."""

    def __init__(self, blob: Blob) -> None:
        self._blob = blob
        self._known: OrderedDict[RecordedNote, Note] = OrderedDict()
        """Those used last come last."""
        self._bytes = 0
        self._lock = Lock()

    def note(self, kept: RecordedNote) -> Note:
        """The version that was read.

        Raises:
            NotRecorded: its text is not kept any more.
        """
        with self._lock:
            note = self._known.get(kept)
            if note is not None:
                self._known.move_to_end(kept)
                return note
        text = self._blob(kept.text)
        if text is None:
            raise NotRecorded(f"The text of {kept.id} as it was read is not kept", hint=SWEPT)
        note = Note(kept.id, kept.stat, kept.birth_ns, kept.sha256, text, kept.warnings)
        with self._lock:
            if kept not in self._known:
                self._known[kept] = note
                self._bytes += len(text) + _NOTE_OVERHEAD_BYTES
            while self._bytes > _NOTES_BYTES_MAX and len(self._known) > 1:
                _kept, oldest = self._known.popitem(last=False)
                self._bytes -= len(oldest.source) + _NOTE_OVERHEAD_BYTES
        return note


def answer_again(
    called: ToolCalled, recording: Recording, state: WorkspaceState, visits: Visits, notes: Notes
) -> bytes:
    """The JSON that the tool of a recorded call answers now.

    Args:
        state: the fold of the log at the call's `asOfSeq`.
        visits: as they were at the call's `tailSeq`.

    Raises:
        NotRecorded: this version has no such tool, or a text is not kept.
        LogDamaged: the recording holds what no View answers.
    """
    return answer_from(Answers(recording.asked, notes), called, recording, state, visits)


def answer_from(
    answers: "Answers", called: ToolCalled, recording: Recording, state: WorkspaceState, visits: Visits
) -> bytes:
    """As `answer_again`, where the View answers what `answers` has."""
    if recording.refused is not None:
        error = error_of(recording.refused)
        if not isinstance(error, ToolError):
            raise NotRecorded(
                f"This version does not know {recording.refused.type}", hint="Use a newer workspaced."
            )
        return payload_of(refusal(error, called.as_of_seq))
    tool = TOOLS.get(called.tool)
    if tool is None:
        raise NotRecorded(f"This version has no tool {called.tool!r}", hint="Use the version that recorded it.")
    view = View(
        state=_shared(state, recording),
        now=called.now,
        vault=RecordedVault(answers) if recording.served else None,
        history=_history(recording, answers, state, visits),
        past=RecordedPast(answers),
        prompts=RecordedPrompts(answers),
        sharing=recording.level,
        withheld=recording.withheld,
        also_at=recording.also_at,
    )
    return payload_of(run(tool, view, called.arguments))


def _shared(state: WorkspaceState, recording: Recording) -> WorkspaceState:
    current = state.current
    if current is None:
        return state
    return replace(state, by_vault={current: without(state.of(current), recording.left_out)}, sharing={})


def _history(recording: Recording, answers: "Answers", state: WorkspaceState, visits: Visits) -> HistoryPort:
    if state.current is None or not recording.served:
        return NoHistory()
    asked = any(each.ask == VISITS for each in recording.asked)
    return RecordedHistory(answers, visits(state.current) if asked else ())


class Answers:
    """What a View answered then. The same question asked again gets its next answer, at last the same again."""

    def __init__(self, asked: Sequence[Exchange], notes: Notes) -> None:
        """
        Raises:
            NotRecorded: a text is not kept.
        """
        self._left: dict[tuple[str, bytes], list[Any]] = {}
        for exchange in asked:
            answer = answer_of(exchange, notes)
            self._left.setdefault((exchange.ask, bytes(exchange.question)), []).append(answer)

    def has(self, name: str, *question: Any) -> bool:
        """Whether that was asked."""
        return (name, question_json(question)) in self._left

    def to(self, name: str, *question: Any) -> Any:
        """The answer.

        Raises:
            NotRecorded: nobody asked that.
            Exception: what was raised then.
        """
        left = self._left.get((name, question_json(question)))
        if left is None:
            raise NotRecorded(
                f"The call did not ask for {name} {question_json(question).decode()[:200]}",
                hint="The tool reads something else now than when the call was recorded.",
            )
        return raise_or_give(left.pop(0) if len(left) > 1 else left[0])


def raise_or_give(answer: Any) -> Any:
    """What was answered; or raises what was raised."""
    if isinstance(answer, Exception):
        raise answer
    return answer


ANSWER_TYPES: Final[dict[str, Any]] = {
    "read": list[Kept],
    "resolve": Resolution,
    "link_targets": list[LinkTarget],
    "incoming": Incoming,
    "names": list[NoteRef | None],
    "search": Found,
    "members": Members,
    "similar": list[SimilarNote],
    "sharing_tags": list[TaggedNote],
    "overview": Overview,
    "note_count": int | None,
    "index_state": str,
    "manifest": ShownManifest,
    VISITS: tuple[int, ...],
    VERSION_AT: RecordedVersion,
}


def answer_of(exchange: Exchange, notes: Notes) -> Any:
    """What was answered, as the port gives it; what was raised, as an exception.

    Raises:
        NotRecorded: a text is not kept, or only a newer version knows the question.
        LogDamaged: this is no answer to it.
    """
    if exchange.raised is not None:
        return error_of(exchange.raised)
    if exchange.ask not in ANSWER_TYPES:
        raise NotRecorded(f"This version does not know {exchange.ask!r}", hint="Use a newer workspaced.")
    try:
        answer = msgspec.json.decode(exchange.answer, type=ANSWER_TYPES[exchange.ask])
        version = msgspec.json.decode(answer.note, type=Kept) if exchange.ask == VERSION_AT else None
    except msgspec.MsgspecError as error:
        raise LogDamaged(f"A recording holds no answer of {exchange.ask!r}: {error}.") from None
    if exchange.ask == "read":
        return [read_of(each, notes) for each in answer]
    if version is not None:
        return VersionAt(answer.seq, answer.at, read_of(version, notes))
    return answer


def read_of(kept: Kept, notes: Notes) -> Note | NoteFailure:
    """What reading the note gave.

    Raises:
        NotRecorded: its text is not kept.
    """
    if isinstance(kept, RecordedNote):
        return notes.note(kept)
    if isinstance(kept, RecordedName):
        return name_known(kept.id, kept.title)
    return NoteFailure(kept.id, kept.code, kept.message)


def error_of(raised: Raised) -> WorkspacedError | Exception:
    """What was raised, as an exception."""
    for module in (errors, workspaced_events.errors):
        kind = getattr(module, raised.type, None)
        if isinstance(kind, type) and issubclass(kind, WorkspacedError):
            error = kind(raised.message, hint=raised.hint)
            error.details.update(raised.details)
            return error
    return Exception(raised.message)


class RecordedVault:
    """Implements `VaultPort`: answers what was answered."""

    def __init__(self, answers: Answers) -> None:
        self._to = answers.to
        self.read = partial(self._to, "read")
        self.names = partial(self._to, "names")
        self.search = partial(self._to, "search")
        self.members = partial(self._to, "members")
        self.similar = partial(self._to, "similar")
        self.sharing_tags = partial(self._to, "sharing_tags")
        self.overview = partial(self._to, "overview")
        self.note_count = partial(self._to, "note_count")
        self.index_state = partial(self._to, "index_state")

    def resolve(self, reference: str, state: VaultState) -> Resolution:  # noqa: ARG002
        found: Resolution = self._to("resolve", reference)
        return found

    def incoming(self, note: NoteId, limit: int, state: VaultState) -> Incoming:  # noqa: ARG002
        found: Incoming = self._to("incoming", note, limit)
        return found

    def link_targets(self, source: NoteId, links: Sequence[LinkName], state: VaultState) -> list[LinkTarget]:  # noqa: ARG002
        found: list[LinkTarget] = self._to("link_targets", source, links)
        return found


class RecordedPast:
    """Implements `PastPort`: answers what was answered."""

    def __init__(self, answers: Answers) -> None:
        self._to = answers.to

    def version(self, note: NoteId, since: int | str | None, current: str) -> VersionAt:
        found: VersionAt = self._to(VERSION_AT, note, since, current)
        return found


class RecordedPrompts:
    """Implements `PromptsPort`: answers what was answered."""

    def __init__(self, answers: Answers) -> None:
        self._to = answers.to

    def manifest(self, conversation: str | None, message: str | None) -> ShownManifest:
        found: ShownManifest = self._to("manifest", conversation, message)
        return found


class RecordedHistory:
    """Implements `HistoryPort`: the log's visits without those that were withheld."""

    def __init__(self, answers: Answers, visits: Sequence[Visit]) -> None:
        self._answers = answers
        self._visits = visits

    def visits(self) -> Sequence[Visit]:
        left_out = set(self._answers.to(VISITS))
        notes = dict.fromkeys(visit.note for visit in self._visits)
        gone = {note for at, note in enumerate(notes) if at in left_out}
        return [visit for visit in self._visits if visit.note not in gone] if gone else self._visits
