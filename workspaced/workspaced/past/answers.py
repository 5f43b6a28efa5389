"""Answers of a daemon over the past: the stored ones first, then what the log's own functions tell of the moment.

What neither holds is `NOT_RECORDED`, which lists what was asked in the log. Nothing is read from a present vault.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar, cast

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import Clock
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.note_visibility import Visibility, VisibilityFold
from workspaced_events.projections.visits import VisitLog
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.replay.backward_scan import LATE_EVENTS_MAX
from workspaced_events.replay.log_cursor import LogMoments, Moment
from workspaced_events.schema.catalogue import Event, NoteRenamed, NoteShown, NoteWithheld, Sharing, ToolCalled
from workspaced_tools.errors import NoActiveNote, NotRecorded, ReadOnly
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.ports.questions import Images
from workspaced_tools.ports.vault import NoteImage
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import manifest_at
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.format import VAULT_LISTS, VAULT_SINGLES, RecordedImages, Recording, read_recording
from workspaced_tools.recording.shown_notes import texts_of
from workspaced_tools.replay.bundling import blobs_read
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault, PastVersions
from workspaced_tools.replay.verify import recorded_visits
from workspaced_tools.sharing.gate import shared_view
from workspaced_tools.sharing.verdicts import Verdicts
from workspaced_tools.tools.tool import Tool

from ..calls.answers import Answers, Present, Seen
from ..calls.past_calls import PastCalls
from ..memory.writing import Memory
from ..recording.call_recorder import ToolAnswer, refused
from ..vaults.served_vault import ServedVault
from .recorded_calls import RecordedCalls
from .recorded_log import RecordedLog

_ANSWERS_MAX: Final = 200
"""The latest answers that are searched for names; of all others the recordings are, which take longer."""


class RecordedPolicy:
    """Which notes of a vault are withheld at the moment of a log, by what the log says.

    It stands in for the rules of a vault, which are not there: the log holds findings about notes, but no rules.
    So a note is shown if an agent was told of it up to the moment, unless the last finding until then withholds
    it, or the last call until then left it out. For whoever holds the log's lock.
    """

    def __init__(self, log: RecordedLog, vault: VaultId) -> None:
        findings = VisibilityFold()
        findings.feed(log.events_of(NoteShown, NoteWithheld, NoteRenamed, until=log.here.seq))
        found = {note for note, finding in findings.of(vault).items() if finding is not Visibility.SHOWN}
        self.withheld_notes: frozenset[str] = frozenset(found).union(_left_out(log, vault))
        """The notes that are known to be withheld."""
        self._past = Past(log, log.recordings, vault, log.here)
        self._former = log.state_at(log.here.seq).of(vault).former
        self._told = _told(log, vault)
        self._known: dict[NoteId, bool] = {}
        """Whether an agent was told of a note."""

    def verdicts(self) -> Verdicts:
        """Those of one call."""
        return Verdicts(self.withheld, withdrew=self._withdrew)

    def withheld(self, name: NoteId) -> bool:
        """Whether the note is withheld, by its path or a former one."""
        names = {name, self._former.get(name, name)}
        return not names.isdisjoint(self.withheld_notes) or not any(map(self.is_known, names))

    def is_known(self, note: NoteId) -> bool:
        """Whether an agent was told of the note up to the moment."""
        if note in self._told:
            return True
        if note not in self._known:
            try:
                self._past.title(note)
                self._known[note] = True
            except NotRecorded:
                self._known[note] = False
        return self._known[note]

    def _withdrew(self, name: NoteId) -> bool:
        """Withheld, and saying so does not reveal the note: an agent was told of it before."""
        return self.withheld(name) and self.is_known(name)


def _calls(log: RecordedLog, vault: VaultId) -> Iterator[Event]:
    """The calls that were made up to the moment, the latest first. Their records may come later."""
    here = log.here
    for event in reversed(log.events_of(ToolCalled, until=here.seq + LATE_EVENTS_MAX)):
        called: ToolCalled = event.data
        if event.vault != vault or called.tail > here.seq:
            continue
        if called.tail < here.seq or here.lasts or called.now <= here.time:
            yield event


def _left_out(log: RecordedLog, vault: VaultId) -> list[NoteId]:
    """The notes of the state that the last call was not shown."""
    found = (_left_out_of(log, event, vault) for event in _calls(log, vault))
    return next((left for left in found if left is not None), [])


def _told(log: RecordedLog, vault: VaultId) -> set[str]:
    """All texts of the latest answers up to the moment, the names of notes among them."""
    texts: set[str] = set()
    # Also of the calls after the moment that saw its state: they were told what was open then.
    latest = reversed(log.events_of(ToolCalled, until=log.here.seq + LATE_EVENTS_MAX))
    seen = (each for each in latest if each.vault == vault and each.data.as_of_seq <= log.start.state.seq)
    for event in islice(seen, _ANSWERS_MAX):
        with suppress(LogDamaged, msgspec.MsgspecError):
            texts.update(texts_of(msgspec.json.decode(log.blob(event.data.result_sha256) or b"null")))
    return texts


def _left_out_of(log: RecordedLog, event: Event, vault: VaultId) -> list[NoteId] | None:
    """None: it is not recorded what the call was not shown."""
    called: ToolCalled = event.data
    try:
        content = log.blob(called.inputs_sha256) if called.inputs_sha256 is not None else None
        recording = read_recording(content, called.inputs_sha256 or "") if content is not None else None
    except (LogDamaged, NotRecorded):
        return None
    if recording is None or recording.refused is not None or not recording.served or recording.level != "all":
        return None
    state = log.state_at(called.as_of_seq).of(vault)
    left = [
        note
        for name in VAULT_LISTS
        for at, note in enumerate(getattr(state, name))
        if at in recording.left_out.get(name, ())
    ]
    return left + [note for name in VAULT_SINGLES if name in recording.left_out for note in _single(state, name)]


def _single(state: VaultState, name: str) -> list[NoteId]:
    if name == "active":
        return [state.active.id] if state.active is not None else []
    return [state.selection.note] if state.selection is not None else []


R = TypeVar("R")


class _Failure(msgspec.Struct):
    code: str | None = None
    error: str = ""


class Recorded:
    """What a log holds for the answers of one daemon. Safe from any thread."""

    def __init__(
        self, log: RecordedLog, calls: RecordedCalls, texts: Texts, keep: Callable[[bytes], object]
    ) -> None:
        """
        Args:
            texts: those that the log names.
            keep: stores a text or an image beside the answers that are given.
        """
        self.log = log
        self.calls = calls
        self._texts = texts
        self._keep = keep
        self._policies: dict[VaultId, RecordedPolicy] = {}

    def view(self, state: WorkspaceState, moment: Moment, level: Sharing) -> Seen:
        """What a client sees at a moment. For whoever holds the log's lock."""
        log, vault = self.log, state.current
        prompts = partial(manifest_at, state.conversations, vault, self._texts)
        if vault is None:
            nothing = Verdicts(lambda _name: True)
            view = shared_view(state, moment.time, None, prompts=prompts, level=level, withheld=nothing)
            return Seen(view, nothing)
        policy = self.policy(vault)
        verdicts = policy.verdicts()
        view = shared_view(
            state,
            moment.time,
            PastVault(
                Past(log, log.recordings, vault, moment),
                verdicts,
                withheld_image=lambda _path: False,
                some_withheld=bool(policy.withheld_notes),
            ),
            partial(recorded_visits, log.visits_at, moment.seq, vault),
            PastVersions(log, log.recordings, vault, moment, verdicts).version,
            prompts,
            level=level,
            withheld=verdicts,
        )
        also = tuple(log.state_at(seq).seq for seq in moment.also)
        return Seen(replace(view, also_at=also), verdicts)

    def policy(self, vault: VaultId) -> RecordedPolicy:
        """The policy of a vault. For whoever holds the log's lock."""
        if vault not in self._policies:
            self._policies[vault] = RecordedPolicy(self.log, vault)
        return self._policies[vault]

    def answer(
        self,
        tool: Tool[Any],
        arguments: dict[str, Any],
        caller: str,
        present: WorkspaceState,
        seq: int,
        make: Callable[[], ToolAnswer],
    ) -> ToolAnswer:
        """The stored answer, or what `make` gives.

        Args:
            present: the state at the moment.
            seq: the last sequence of the log that records the answer.
        """
        with self.log.lock:
            level = present.sharing_of(caller)
            if level != "none" and (stored := self._stored(tool, arguments, caller, present, seq)) is not None:
                return stored
            if level != "none" and tool.writes:
                return refused(read_only(), present, seq, self.log.here.time)
            made = make()
            return made if level == "none" else self._or_not_recorded(tool, arguments, caller, present, made, seq)

    def _stored(
        self, tool: Tool[Any], arguments: dict[str, Any], caller: str, present: WorkspaceState, seq: int
    ) -> ToolAnswer | None:
        found = self.calls.stored(tool.name, arguments, caller, present.sharing_of(caller))
        if found is None or self._names_withheld(found.payload, present):
            return None
        images = self._copy(found.recording)
        return ToolAnswer(found.payload, found.ok, present.seq, seq, self.log.here.time, found.recording, images)

    def _names_withheld(self, payload: bytes, present: WorkspaceState) -> bool:
        """Whether the answer, which may be of a later moment, names a note that is withheld at this one."""
        if present.current is None:
            return False
        withheld = self.policy(present.current).withheld_notes
        return bool(withheld) and not withheld.isdisjoint(texts_of(msgspec.json.decode(payload)))

    def _copy(self, recording: Recording) -> list[NoteImage]:
        """Keeps what the call read beside the answer, and returns the images that went with it."""
        for name in blobs_read(recording):
            try:
                content = self.log.blob(name)
            except LogDamaged:
                continue
            if content is not None:
                self._keep(content)
        images: list[NoteImage] = []
        for exchange in recording.asked:
            if exchange.ask == Images.name and exchange.raised is None:
                found = self.log.recordings.notes.images(msgspec.json.decode(exchange.answer, type=RecordedImages))
                images += [each for each in found.images if isinstance(each, NoteImage)]
        return images

    def _or_not_recorded(
        self,
        tool: Tool[Any],
        arguments: dict[str, Any],
        caller: str,
        present: WorkspaceState,
        made: ToolAnswer,
        seq: int,
    ) -> ToolAnswer:
        """With the list of what was asked, where the answer is that nothing is recorded."""
        failure = msgspec.json.decode(made.payload, type=_Failure)
        is_about_open_note = "reference" not in arguments and (made.ok or failure.code == NoActiveNote.code)
        if is_about_open_note and self._is_unknown(self._asked_about(arguments, present)):
            message = "Which note was open at that moment was told to no agent"
        elif failure.code == NotRecorded.code:
            message = failure.error
        else:
            return made
        withheld = self.policy(present.current).withheld_notes if present.current is not None else ()
        asked = self.calls.listed(tool.name, withheld, caller, present.sharing_of(caller))
        hint = f"{asked} Ask one of these, or go on without it."
        return refused(NotRecorded(message, hint=hint), present, seq, self.log.here.time)

    def _asked_about(self, arguments: dict[str, Any], present: WorkspaceState) -> WorkspaceState:
        at = arguments.get("at")
        return present if at is None else self.log.state_at(self.log.moment(at).seq)

    def _is_unknown(self, state: WorkspaceState) -> bool:
        """Whether no agent was told of the open note, and nothing says that it is withheld."""
        active, vault = state.of(state.current).active, state.current
        if active is None or vault is None:
            return False
        policy = self.policy(vault)
        return active.id not in policy.withheld_notes and not policy.is_known(active.id)


def read_only() -> ReadOnly:
    """The error for whoever wants to change the past."""
    return ReadOnly(
        "This daemon stands at a moment of the past, where nothing can be changed",
        hint="Connect to the daemon that serves the vault now.",
        retryable=False,
    )


class MomentAnswers(Answers):
    """Answers about the moment. All of them may wait."""

    def __init__(
        self,
        recorded: Recorded,
        visits: VisitLog,
        texts: Texts,
        past: "EarlierAnswers",
        memory: Memory,
        clock: Clock,
    ) -> None:
        super().__init__(visits, texts, past, memory, clock)
        self._recorded = recorded

    def answer(
        self, tool: Tool[Any], arguments: dict[str, Any], caller: str, present: Present, *, nonblocking: bool
    ) -> ToolAnswer:
        if nonblocking:
            raise WouldBlock
        make = partial(super().answer, tool, arguments, caller, present, nonblocking=False)
        return self._recorded.answer(tool, arguments, caller, present.state, present.seq, make)

    def with_views(self, make: Callable[[Seen, Seen], R], caller: str, present: Present) -> R:
        with self._recorded.log.lock:
            return super().with_views(make, caller, present)

    def _seen(
        self,
        present: Present,
        now: str,  # noqa: ARG002 (the clock stands)
        caller: str,
        least: Level = Level.VOLUNTEER,  # noqa: ARG002 (the log tells of no levels between)
        unasked: Verdicts | None = None,  # noqa: ARG002 (one policy decides both)
    ) -> Seen:
        level = present.state.sharing_of(caller)
        return self._recorded.view(present.state, self._recorded.log.here, level)


class EarlierAnswers(PastCalls):
    """Answers about moments before the one at which the daemon stands."""

    def __init__(
        self,
        recorded: Recorded,
        visits: VisitLog,
        texts: Texts,
        clock: Clock,
        wait_until_recorded: Callable[[], None],
    ) -> None:
        # It finds no moment after its own, of which the log may hold more.
        moments = cast(LogMoments, recorded.log)
        super().__init__(moments, recorded.log.recordings, visits, texts, clock, wait_until_recorded)
        self._recorded = recorded

    def answer(
        self,
        tool: Tool[Any],
        arguments: dict[str, Any],
        caller: str,
        present: WorkspaceState,
        served: ServedVault | None,
    ) -> ToolAnswer:
        make = partial(super().answer, tool, arguments, caller, present, served)
        return self._recorded.answer(tool, arguments, caller, present, present.seq, make)

    def _view(
        self,
        moment: Moment,
        state: WorkspaceState,
        caller: str,
        present: WorkspaceState,
        served: ServedVault | None,  # noqa: ARG002 (no folder is)
        least: Level,  # noqa: ARG002 (the log tells of no levels between)
    ) -> tuple[View, Sequence[Verdicts]]:
        view, verdicts = self._recorded.view(state, moment, present.sharing_of(caller))
        return view, (verdicts,)
