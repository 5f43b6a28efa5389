"""`Publishing`: submits actions to the log's writer, and hands receipts back.

While the workspace is paused, what publishers and watchers send is held instead (`PauseBuffer`). A plan decides
it, so at the place in the log where the action would stand: what was queued before `pause_started` is appended.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import anyio
from msgspec.structs import replace

from workspaced_events.errors import Busy, DiskFull, InvalidArgument, WorkspacedError
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action, Plan, Planned, parse_actions
from workspaced_events.journal.pause_buffer import PauseBuffer
from workspaced_events.journal.submissions import Done, Outcome, Receipt
from workspaced_events.journal.view_diff import ShownViews, Snapshot, SnapshotSelection, checked, vault_of
from workspaced_events.journal.writer import OWN_SOURCE, LogWriter
from workspaced_events.limits import ACTION_BYTES, SOURCE_CHARS_MAX
from workspaced_events.log.segments import SegmentLog
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c

from ..limits import MIN_SEQ_WAIT_S, RECORD_WAIT_S, STEP_S

_ROOM_CHECK_S: Final = 1.0
"""How often a daemon checks for room if the disk was full at its start."""
logger = logging.getLogger(__name__)


Published = Callable[[Outcome, bool], None]
"""Gets the receipts or the error, and whether the actions are only held, because the workspace is paused."""


class Publishing:
    """Submits the actions of clients and of the daemon itself."""

    def __init__(
        self,
        writer: LogWriter,
        log: SegmentLog,
        volunteers: Callable[[VaultId | None, NoteId], bool] = lambda _vault, _note: False,
    ) -> None:
        """
        Args:
            volunteers: whether a note of a vault (None: the current one) is known to be one that may be shown
                unasked. Called on the writer's thread, which waits for the answer.
        """
        self.writer = writer
        self.pause_buffer = PauseBuffer(writer.seen)
        """For plans only."""
        self._views = ShownViews()
        """For plans only."""
        self._log = log
        self._volunteers = volunteers

    # -- for clients --

    def publish(
        self, raw: Sequence[Any], source: str, done: Published, *, client: Hashable = None, line_bytes: int = 0
    ) -> None:
        """Checks and queues a batch; calls `done` on the loop with the receipts or the error. During a pause there
        are no receipts.

        The text of a selection is left out unless its note may be shown unasked: only its lines are recorded.

        Args:
            client: the client whose share of the queue the batch takes.
            line_bytes: the length of the batch's line.

        Raises:
            ActionError: the batch is invalid.
            Busy: the queue before the disk is full.
        """
        if not 1 <= len(source) <= SOURCE_CHARS_MAX:
            raise InvalidArgument(
                f"Expected a source of 1 to {SOURCE_CHARS_MAX} characters, got {len(source)}.",
                hint="Name the program that publishes, such as `my-editor`.",
            )
        actions = parse_actions(raw, keep_text=_sha256)
        size_bytes = line_bytes + ACTION_BYTES * len(actions)

        def plan(now: Planned) -> list[Action]:
            return self._without_texts(actions, now.state.current)

        self._submit(plan, source, done, client=client, size_bytes=size_bytes)

    def _without_texts(self, actions: list[Action], current: VaultId | None) -> list[Action]:
        """The actions, without the text of each selection whose note is not known to be volunteered."""
        kept = []
        known: dict[tuple[VaultId | None, NoteId], bool] = {}
        for action in actions:
            data = action.data
            if isinstance(data, c.VaultSwitched):
                current = data.vault_id
            elif isinstance(data, c.SelectionChanged) and not self._may_record(
                data, action.vault or current, known
            ):
                empty = "" if data.text == "" else None  # where the cursor is
                bare = replace(data, text=empty, text_sha256=None)
                action = replace(action, data=bare, blobs=())
            kept.append(action)
        return kept

    def _may_record(
        self, data: c.SelectionChanged, vault: VaultId | None, known: dict[tuple[VaultId | None, NoteId], bool]
    ) -> bool:
        """Whether the selection holds no text, or one that may be recorded. `known`: answers of the same batch."""
        if not data.text and data.text_sha256 is None:
            return True
        if (vault, data.note) not in known:
            known[vault, data.note] = self._volunteers(vault, data.note)
        return known[vault, data.note]

    def publish_snapshot(
        self, snapshot: Snapshot, done: Published, *, inferred: bool, client: Hashable, line_bytes: int
    ) -> None:
        """Queues the actions that make the state show `snapshot`; the writer derives them when it appends them.
        Otherwise like `publish`.

        Args:
            inferred: the source does not know what the user looks at (`view_diff.differences`).

        Raises:
            ActionError: a path cannot be that of a vault's file.
            Busy: the queue before the disk is full.
        """
        wanted = checked(snapshot)

        def plan(now: Planned) -> Sequence[Action]:
            return self._views.show(now, self._without_text(wanted, now.state), inferred=inferred)

        self._submit(plan, snapshot.source, done, client=client, size_bytes=line_bytes)

    def _without_text(self, snapshot: Snapshot, state: WorkspaceState) -> Snapshot:
        """The snapshot, without the selected text unless its note is known to be volunteered."""
        selection = snapshot.selection
        if not isinstance(selection, SnapshotSelection) or not selection.text or snapshot.active is None:
            return snapshot
        if self._volunteers(vault_of(state, snapshot), snapshot.active):
            return snapshot
        return replace(snapshot, selection=replace(selection, text=None))

    def close_view(self, source: str, done: Done) -> None:
        """Queues the actions that close the source's view of each vault.

        Raises:
            Busy: the queue before the disk is full.
        """
        self.writer.submit(
            partial(self._unless_paused, (lambda now: self._views.close(now, source)), source), source, done
        )

    def _submit(self, plan: Plan, source: str, done: Published, *, client: Hashable, size_bytes: int) -> None:
        is_held = False

        def unless_paused(now: Planned) -> Sequence[Action]:
            nonlocal is_held
            is_held = now.state.paused is not None
            return self._unless_paused(plan, source, now)

        def told(outcome: Outcome) -> None:
            done(outcome, is_held)

        self.writer.submit(unless_paused, source, told, client=client, size_bytes=size_bytes)

    def _unless_paused(self, plan: Plan, source: str, now: Planned) -> Sequence[Action]:
        """The plan's actions; during a pause holds those that are not recorded then, and returns the rest."""
        if now.state.paused is None:
            return plan(now)
        return self.pause_buffer.hold(now, plan(self.pause_buffer.shown(now)), source)

    # -- for the daemon --

    async def record(
        self,
        actions: list[Action] | Plan,
        source: str = OWN_SOURCE,
        *,
        size_bytes: int = 0,
        texts: Sequence[bytes] = (),
    ) -> list[Receipt]:
        """Appends actions, or the actions that a plan derives from the state, and waits until they are synced.

        Args:
            source: of the events; also the client whose share of the queue they take.
            size_bytes: memory that the actions occupy until they are written; 0: the daemon's own actions.
            texts: as `LogWriter.submit` takes them.

        Raises:
            WorkspacedError: the actions were refused, or the log failed.
        """
        submit = partial(self.writer.submit, client=source, size_bytes=size_bytes, texts=texts)
        return await self._recorded(submit, actions, source)

    async def _recorded(
        self, submit: Callable[..., None], actions: list[Action] | Plan, source: str
    ) -> list[Receipt]:
        finished = anyio.Event()
        outcomes: list[Outcome] = []

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            finished.set()

        submit(actions, source, done)
        await finished.wait()
        if isinstance(outcomes[0], WorkspacedError):
            raise outcomes[0]
        return outcomes[0]

    async def note(self, actions: list[Action]) -> None:
        """Appends the daemon's observations; they are held during a pause. A refusal is only logged: the daemon
        must go on serving."""
        try:
            await self.record(partial(self._unless_paused, lambda _now: actions, OWN_SOURCE))
        except WorkspacedError as error:
            logger.warning("not recorded: %s", error)

    async def begin(self, actions: list[Action]) -> bool:
        """Appends the actions of a start before all others. False if the disk has no room for them."""

        def plan(_now: Planned) -> list[Action]:
            recovered = self._log.recovered
            return [*([Action(recovered)] if recovered is not None else []), *actions]

        try:
            await self._recorded(self.writer.begin, plan, OWN_SOURCE)
        except DiskFull as error:
            logger.debug("not recorded yet: %s", error)
            return False
        except WorkspacedError as error:
            logger.warning("not recorded: %s", error)
        return True

    async def begin_once_there_is_room(self, actions: list[Action]) -> None:
        """Repeats `begin` until it succeeds."""
        logger.warning("the disk is full: nothing is recorded until there is room")
        begun = False
        while not begun:
            await anyio.sleep(_ROOM_CHECK_S)
            begun = await self.begin(actions)
        logger.warning("there is room again: what happens is recorded")

    # -- on any thread --

    def record_and_wait(
        self,
        actions: list[Action],
        check_running: Callable[[], None],
        revoke: Callable[[list[Receipt]], None],
        *,
        size_bytes: int = 0,
    ) -> list[Receipt]:
        """As `record`, but blocks. Not on the loop's thread.

        Args:
            check_running: raises Busy if the daemon is ending.
            revoke: called with the receipts, on the loop's thread, if the log had already begun with the actions
                when Busy was raised, and took them. To record that nothing came of them.

        Raises:
            WorkspacedError: the actions were refused, or the log failed.
            Busy: the log did not take them within RECORD_WAIT_S. What it has not begun with, it never takes.
        """
        recorded = threading.Event()
        outcomes: list[Outcome] = []
        given_up = False
        deciding = threading.Lock()
        """Held to say what comes first: the outcome or giving up."""

        def plan(_now: Planned) -> Sequence[Action]:
            return [] if given_up else actions

        def done(outcome: Outcome) -> None:
            with deciding:
                outcomes.append(outcome)
                recorded.set()
                is_late = given_up
            if is_late and not isinstance(outcome, WorkspacedError):
                revoke(outcome)

        texts = [text for action in actions for text in action.blobs]
        self.writer.submit(plan, OWN_SOURCE, done, client=OWN_SOURCE, size_bytes=size_bytes, texts=texts)
        until = time.monotonic() + RECORD_WAIT_S
        while not recorded.wait(STEP_S):
            try:
                check_running()
                if time.monotonic() > until:
                    raise Busy("The log did not take the write in time.", hint="Nothing changed. Try again later.")
            except Busy:
                with deciding:
                    given_up = not outcomes
                if given_up:
                    raise
        if isinstance(outcomes[0], WorkspacedError):
            raise outcomes[0]
        return outcomes[0]

    def record_end(self, actions: list[Action]) -> None:
        """Queues the ends of writes, without a sync of their own: a crash before it costs a look at the files."""
        self._queue(actions, "the end of %d writes is not recorded", len(actions), buffered=True)

    def record_findings(self, actions: list[Action]) -> None:
        """Queues findings about the visibility of notes. During a pause only those that withhold a note: no other
        name gets into the log."""

        def plan(now: Planned) -> list[Action]:
            return [each for each in actions if now.state.paused is None or type(each.data) is not c.NoteShown]

        self._queue(plan, "what was found of %d notes is not recorded", len(actions))

    def record_call(self, called: c.ToolCalled) -> None:
        """Queues a call of a tool, without a sync of its own."""
        self._queue([Action(called)], "call of %s not recorded", called.tool, buffered=True)

    def _queue(self, actions: list[Action] | Plan, failure: str, about: object, *, buffered: bool = False) -> None:
        """Fire and forget: a failed append is already reported by the log."""
        try:
            self.writer.submit(actions, OWN_SOURCE, lambda _outcome: None, buffered=buffered)
        except WorkspacedError as error:
            logger.warning(f"{failure}: %s", about, error)

    def wait_until_written(self) -> None:
        """Blocks until the log holds all that is queued. Returns at once if the log accepts nothing."""
        written = threading.Event()
        with suppress(WorkspacedError):  # The writer writes buffered actions before others.
            self.writer.submit([], OWN_SOURCE, lambda _outcome: written.set())
            written.wait(MIN_SEQ_WAIT_S)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
