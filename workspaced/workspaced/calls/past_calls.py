"""Calls about a moment of the past: answers only from the log and its recordings."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from workspaced_events.clock import Clock
from workspaced_events.errors import InvalidArgument
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.visits import Visit, VisitLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.replay.log_cursor import LogMoments, Moment
from workspaced_tools.errors import ArgumentInvalid
from workspaced_tools.notes.note import Level, Note
from workspaced_tools.ports.asking import Audience, check_may_wait
from workspaced_tools.ports.history import ChangedLines, VersionAt
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.audit.manifests import manifest_at
from workspaced_tools.prompts.model.types import Texts
from workspaced_tools.recording.view_recorder import ViewRecorder
from workspaced_tools.replay.past_facts import Past
from workspaced_tools.replay.past_vault import PastVault, PastVersions
from workspaced_tools.replay.recorded_reads import Recordings
from workspaced_tools.sharing.gate import policy_kept_changing, shared_view, sharing_off
from workspaced_tools.sharing.verdicts import Verdicts, WithheldNames
from workspaced_tools.tools.line_changes import changed_lines
from workspaced_tools.tools.tool import Tool, run_call

from ..recording.call_recorder import ToolAnswer, answered, refused
from ..vaults.served_vault import ServedVault, steady

AT_HINT: Final = "Give a sequence such as an asOfSeq you were given, or a time such as 2026-03-01T12:00:00Z."


def visits_until(log: VisitLog, vault: VaultId, seq: int) -> Sequence[Visit]:
    """The visits of a vault up to a sequence. Reads the log if memory lacks them."""
    if (found := log.visits_nonblocking(vault, seq)) is not None:
        return found
    check_may_wait()
    return log.visits(vault, seq)


class PastCalls:
    """One for each daemon. All methods block."""

    def __init__(
        self,
        moments: LogMoments,
        recordings: Recordings,
        visits: VisitLog,
        texts: Texts,
        clock: Clock,
        wait_until_recorded: Callable[[], None],
    ) -> None:
        """
        Args:
            texts: the texts that the log names.
            clock: the present time, on the log's timeline.
            wait_until_recorded: waits until the log holds every answered call, so that the past includes them.
        """
        self._moments = moments
        self._recordings = recordings
        self._visits = visits
        self._texts = texts
        self._clock = clock
        self._wait_until_recorded = wait_until_recorded

    def vault_at(self, at: Any) -> VaultId | None:
        """The current vault at a moment; None if there was none, or `at` is not a moment of the log."""
        try:
            return self._moments.state_at(self._moment(at).seq).current
        except ArgumentInvalid:
            return None

    def answer(
        self,
        tool: Tool[Any],
        arguments: dict[str, Any],
        caller: str,
        present: WorkspaceState,
        served: ServedVault | None,
    ) -> ToolAnswer:
        """The answer of one call about the moment that its argument `at` names.

        The present policy decides: a note that is withheld at present is withheld in past answers too.

        Args:
            served: the vault that was current at that moment.

        Raises:
            ReconcileFirst: the vault must be reconciled first.
        """
        now = self._clock()
        if present.sharing_of(caller) == "none":
            return refused(sharing_off(caller), present, present.seq, now)
        self._wait_until_recorded()
        try:
            tool.check(arguments)
            moment = self._moment(arguments["at"])
        except ArgumentInvalid as error:
            return refused(error, present, present.seq, now)
        state = self._moments.state_at(moment.seq)
        least = Level.ON_REQUEST if tool.answers_on_request else Level.VOLUNTEER

        def make() -> tuple[ToolAnswer, Sequence[Verdicts]]:
            view, verdicts = self._view(moment, state, caller, present, served, least)
            recorder = ViewRecorder(view, state)
            return answered(run_call(tool, recorder.view, arguments), recorder, moment.seq), verdicts

        answer = steady(served, make)
        return answer if answer is not None else refused(policy_kept_changing(), present, present.seq, now)

    def _view(
        self,
        moment: Moment,
        state: WorkspaceState,
        caller: str,
        present: WorkspaceState,
        served: ServedVault | None,
        least: Level,
    ) -> tuple[View, Sequence[Verdicts]]:
        level = present.sharing_of(caller)
        prompts = partial(manifest_at, state.conversations, state.current, self._texts)
        # Sequences of states, not of events: event sequences would reveal the number of events that tools omit.
        also = tuple(self._moments.state_at(seq).seq for seq in moment.also)
        if served is None:
            view = shared_view(state, moment.time, None, prompts=prompts, level=level, withheld=lambda _name: True)
            return replace(view, also_at=also), ()
        withheld = _at_present(served, present, least)
        others = withheld if least is Level.VOLUNTEER else _at_present(served, present)
        past = Past(self._moments, self._recordings, served.id, moment)
        view = shared_view(
            state,
            moment.time,
            PastVault(
                past,
                withheld,
                others=others,
                withheld_image=lambda path: served.vault.files.withholds(path, least),
                some_withheld=served.vault.withholds_some,
            ),
            partial(visits_until, self._visits, served.id, moment.seq),
            self._versions(served, present, moment).version,
            prompts,
            level=level,
            withheld=withheld,
        )
        return replace(view, also_at=also), (withheld, others)

    def _moment(self, at: Any) -> Moment:
        """
        Raises:
            ArgumentInvalid: `at` is not a moment of the log.
        """
        if type(at) not in (int, str):  # the tool's schema is checked later
            raise ArgumentInvalid("Argument 'at': expected a sequence or an ISO 8601 time.", hint=AT_HINT)
        try:
            return self._moments.moment(at)
        except InvalidArgument as error:
            raise ArgumentInvalid(f"Argument 'at': {error.message}", hint=error.hint or AT_HINT) from None

    def version(
        self, served: ServedVault, present: WorkspaceState, note: NoteId, since: int | str | None, current: str
    ) -> VersionAt:
        """An earlier version of a note for a call about the present, as `VersionOf`.

        The past ends at the moment of the call.
        """
        self._wait_until_recorded()
        until = Moment(self._moments.tail, self._clock(), lasts=True)
        return self._versions(served, present, until).version(note, since, current)

    def lines_changed(self, served: ServedVault, note: NoteId, before_sha256: str) -> ChangedLines | None:
        """What an edit changed since a text that an earlier call read, as `LinesChanged`."""
        check_may_wait()
        before, [present] = self._recordings.text(before_sha256), served.vault.notes.read([note])
        if before is None or not isinstance(present, Note):
            return None
        return changed_lines(before, present.text)

    def _versions(self, served: ServedVault, present: WorkspaceState, until: Moment) -> PastVersions:
        withheld = _at_present(served, present)
        return PastVersions(self._moments, self._recordings, served.id, until, withheld)


def _at_present(served: ServedVault, present: WorkspaceState, least: Level = Level.VOLUNTEER) -> Verdicts:
    return Verdicts(_WithheldAtPresent(served, present, least))


class _WithheldAtPresent(WithheldNames):
    """Whether a note of the past is withheld at present. Reads the note's file first, because no other step of a
    past call reads it."""

    def __init__(self, served: ServedVault, present: WorkspaceState, least: Level = Level.VOLUNTEER) -> None:
        self._read = partial(served.vault.notes.read, audience=Audience(least))
        self._now = present.of(served.id).former
        super().__init__(served.vault, self._now, least=least)

    def __call__(self, name: NoteId) -> bool:
        self._read(list({name, self._now.get(name, name)}))
        return super().__call__(name)
