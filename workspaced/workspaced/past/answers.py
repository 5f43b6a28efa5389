"""Answers of a daemon over the past: the stored ones first, then what the log's own functions tell of the moment.

What neither holds is `NOT_RECORDED`, which lists what was asked in the log. Nothing is read from a present vault.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from workspaced_events.clock import Clock
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import VaultId
from workspaced_events.projections.visits import VisitLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.log_cursor import LogMoments, Moment
from workspaced_events.schema.catalogue import Sharing
from workspaced_tools.errors import NoActiveNote, NotRecorded, ReadOnly
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import WouldBlock
from workspaced_tools.ports.questions import Images
from workspaced_tools.ports.vault import NoteImage
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import manifest_at
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.format import RecordedImages, Recording
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
from .policy import RecordedPolicy
from .recorded_calls import RecordedCalls
from .recorded_log import RecordedLog

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
