"""`ServedVault`: a vault that the daemon serves; watches its folder, reconciles its index, records changed notes.

watchfiles gives hints only: they update the index and cause `note_created` and `note_changed`. It may lose events,
fail (a file name that is not UTF-8, the system's limit on watches) or go silent (the folder was replaced). So a
reconcile follows every start of the watcher and every burst of hints, and runs every `reconcile_s` seconds.
Answers of tools do not depend on hints: they use a fresh stat.

Each folder is watched by itself, because watchfiles' recursion follows symlinks out of the vault. So the watcher
restarts when a folder is added or removed.

Calls are kept off the event loop for a while when answers there made everybody wait: a stat may hang on a network
file system. Most stalls are the machine's, so the first pause is short, and grows only while stalls recur.
"""

import logging
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeVar

import anyio
import watchfiles
from anyio import to_thread

from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.limits import BATCH_ACTIONS_MAX
from workspaced_events.projections.workspace_state import VaultState, WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF, Event
from workspaced_tools.errors import ReadFailed
from workspaced_tools.limits import SETTLE_EMPTY_S
from workspaced_tools.notes.formats.kinds import is_image_name
from workspaced_tools.notes.note import Level
from workspaced_tools.ports.asking import check_may_wait
from workspaced_tools.prompts.model.note_names import NOTE_KINDS, notes_of
from workspaced_tools.sharing.verdicts import KnownLists, Verdicts
from workspaced_tools.vault.files.gitignore import GITIGNORE
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE
from workspaced_tools.vault.files.walk import folders as folders_of
from workspaced_tools.vault.index.changes import Changes
from workspaced_tools.vault.vault import Vault

from ..limits import NONBLOCKING_CALL_S, NONBLOCKING_PAUSE_S
from .visibility_checks import VisibilityChecker

_VAULT_ANSWER_S: Final = 1.0
"""So long the log waits for a vault's folder to say whether a selection's text may be recorded."""


class TimelyAnswers:
    """Questions that touch a vault's folder, for a thread that must not wait for the folder; asked by one at a
    time.

    The writer asks whether a selection's text may be recorded. A folder on a dead mount never answers, and the log
    must go on: so the question is asked on a thread of its own, and given up in time. The thread may then never
    end.
    """

    def __init__(self, timeout_s: float = _VAULT_ANSWER_S) -> None:
        self._timeout_s: Final = timeout_s
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self._latest: _Asked | None = None
        self._thread: threading.Thread | None = None

    def ask(self, question: Callable[[], bool]) -> bool:
        """The answer; False if it does not come in time, or if the question before has no answer yet."""
        if self._latest is not None and not self._latest.done.is_set():
            return False
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="workspaced-levels", daemon=True)
            self._thread.start()
        self._latest = asked = _Asked(question)
        self._asked.put(asked)
        return asked.done.wait(self._timeout_s) and asked.answer

    def close(self) -> None:
        """Ends the thread, once it has answered."""
        self._asked.put(None)

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            try:
                asked.answer = asked.question()
            except Exception:
                logger.exception("a vault's folder gave no answer")
            finally:
                asked.done.set()


class _Asked:
    def __init__(self, question: Callable[[], bool]) -> None:
        self.question: Final = question
        self.answer = False
        self.done: Final = threading.Event()


logger = logging.getLogger(__name__)

Record = Callable[[list[Action]], Awaitable[None]]
Hint = tuple[watchfiles.Change, str]
R = TypeVar("R")

ATTEMPTS_MAX: Final = 4
"""Attempts at one answer while each attempt reveals more withheld notes; then the call fails."""
RETRY_WATCH_S: Final = 1.0
RETRY_WATCH_MAX_S: Final = 30.0
WATCH_CHECK_MS: Final = 1_000
"""How often an idle watcher checks whether its folder was replaced, for which the system sends no event."""
RENAMES_RECORDED_MAX: Final = 200
"""Of notes renamed at once, all that the log names are recorded, and others up to this total: former paths serve
references that an agent holds, they are not a history of the vault."""
_FILE_NAME_BYTES_MAX: Final = 200
OTHERS_HINTED_MAX: Final = 200
"""More files that are no notes than this, made or deleted at once, wait for the next reconcile."""
HINTS_MAX: Final = 1_000
"""More hints than this at once cause a reconcile of the whole vault."""
FACTOR: Final = 8
"""A pause is this many times as long as the stall, and as the pause before it if the stall recurs. So stalls of
one vault take at most one part in FACTOR + 1 of the loop's time; more only if they outlast NONBLOCKING_PAUSE_S /
FACTOR."""


async def _not_recorded(_actions: list[Action]) -> None:
    """Before a daemon serves the vault."""


class ReconcileFirst(Exception):
    """The vault must be reconciled with its files first: its ignore rules changed since the last reconcile, or a
    note that was shown is missing and may have moved to a withheld path."""


class WithheldDuringRead(Exception):
    """The result names a note that is withheld at present."""


class ServedVault:
    """One vault's folder, how it is watched, and whether it may answer."""

    def __init__(
        self,
        vault_id: VaultId,
        path: Path,
        vault: Vault,
        record: Callable[[list[Action]], object] = lambda _actions: None,
    ) -> None:
        """`record` queues actions for the log; on any thread."""
        self.id = vault_id
        self.path = path
        self.vault = vault
        self.visibility_checker = VisibilityChecker(vault_id, vault, record)
        self.state: Callable[[], WorkspaceState] = WorkspaceState
        """The present state of the daemon that serves it."""
        self.record: Record = _not_recorded
        """Appends what happened to notes to the daemon's log."""
        self.lists: Final = {
            least: KnownLists(lambda: vault.levels.state_version) for least in (Level.VOLUNTEER, Level.ON_REQUEST)
        }
        """Of each audience."""
        self.loop_pause = LoopPause()
        """When calls are not tried on the event loop, by `time.perf_counter_ns` (see `Calls`)."""
        self.watcher = "off"
        """`watching` (or starting to), `reconciling only` (the watcher failed and is retried) or `off`."""
        self.watch_error: str | None = None
        """Why the watcher is `reconciling only`."""
        self.on_changes: Callable[[], object] = lambda: None
        """Called on the loop when any notes of the vault were added, removed or changed."""
        self._enforced: str | None = None
        """Digest of the rules that the index was reconciled with."""
        self._was_searched = True
        """Whether the last reconcile could search for missing notes."""

    # -- whether it may answer --

    def policy_enforced(self, digest: str, *, searched: bool = True) -> None:
        """Remembers the digest of the rules that the index was, or is about to be, reconciled with. Must be called
        once before the vault answers.

        `searched`: whether missing notes were searched for; if not, they stay withheld until the next reconcile.
        """
        self._enforced, self._was_searched = digest, searched

    def check_rules(self) -> None:
        """
        Raises:
            ReconcileFirst: the rules changed since the index was reconciled: counts and scores would still reveal
                notes that the new rules withhold.
        """
        self.vault.policy.refresh()
        if self._enforced != self.vault.policy.digest:
            check_may_wait()
            raise ReconcileFirst

    def check_missing(self) -> None:
        """
        Raises:
            ReconcileFirst: a note that was shown is not at its path, and no reconcile has searched for it yet.
        """
        if self.vault.levels.wants_search and self._was_searched:
            check_may_wait()
            raise ReconcileFirst

    # -- watching --

    def problems(self) -> list[str]:
        """The vault's problems, as sentences for people. They contain no path."""
        found = []
        if self.vault.error is not None:
            found.append(f"Vault {self.id}: {self.vault.error} The last known names are kept.")
        elif self.watcher == "reconciling only":
            found.append(f"Vault {self.id} is reconciling only: {self.watch_error}.")
        return found

    async def watch(self, stopping: anyio.Event) -> None:
        """Follows the folder until `stopping`, and restarts the watcher when it fails."""
        pause_s = RETRY_WATCH_S
        self.watcher = "watching"
        while not stopping.is_set():
            try:
                await self._follow(stopping)
                continue
            except Exception as error:
                # Any failure: the vault stays served, and reconciling alone keeps its index true.
                why = _reason(error)
            if self.watcher == "watching" or self.vault.error is not None:
                pause_s = RETRY_WATCH_S
            if why != self.watch_error:
                logger.warning("watching vault %s failed, reconciling instead: %s", self.id, why)
            self.watcher, self.watch_error = "reconciling only", why
            await self.reconcile()
            with anyio.move_on_after(pause_s):
                await stopping.wait()
            pause_s = min(2 * pause_s, RETRY_WATCH_MAX_S)

    async def _follow(self, stopping: anyio.Event) -> None:
        """Watches the present folders. Returns when the set of folders changed, or at `stopping`."""
        identity, folders = await to_thread.run_sync(self._folders, abandon_on_cancel=True)
        # Runs in threads: adding thousands of watches takes longer than the event loop may wait. The thread checks
        # `stopping` at each step; it does not notice a cancellation.
        hints = watchfiles.watch(
            *folders,
            watch_filter=None,
            recursive=False,
            step=50,
            debounce=400,
            stop_event=stopping,
            rust_timeout=WATCH_CHECK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=False,  # True would swallow the watch limit too
        )
        started = False
        try:
            while (found := await to_thread.run_sync(next, hints, None)) is not None:
                if not started:
                    started = True
                    self.watcher, self.watch_error = "watching", None
                    await self.reconcile()  # for changes made before the watch existed
                if await to_thread.run_sync(self._is_other, identity, folders, found):
                    return
                await self._hinted(found)
        finally:
            hints.close()

    def _folders(self) -> tuple[tuple[int, int], frozenset[str]]:
        """The identity of the root directory, and the paths of all folders to watch.

        Raises:
            ReadFailed: the root does not exist or cannot be opened.
        """
        root = self.vault.root
        identity = root.directory().identity
        return identity, frozenset(str(root.path / path) for path in folders_of(root))

    def _is_other(self, identity: tuple[int, int], folders: frozenset[str], hints: Iterable[Hint]) -> bool:
        """Whether the root was replaced, or a folder was added or removed."""
        root = self.vault.root
        if root.identity() != identity:
            return True
        return any(
            path in folders or (kind == watchfiles.Change.added and root.is_folder(self._relative(path)))
            for kind, path in hints
        )

    async def _hinted(self, hints: Collection[Hint]) -> None:
        shown = [(kind, path) for kind, path in hints if "/." not in f"/{self._relative(path)}"]
        paths = [path for _kind, path in shown if self._is_ours(path)]
        paths += [path for _kind, path in hints if self._is_of_rules(self._relative(path))]
        # Of other files only the names are known. Builds make and delete thousands, which the reconcile notices.
        moved = [path for kind, path in shown if kind != watchfiles.Change.modified and not self._is_ours(path)]
        others = moved if len(moved) <= OTHERS_HINTED_MAX else []
        if len(paths) > HINTS_MAX or any(self._is_of_rules(self._relative(path)) for path in paths):
            # The system's queue of events may have overflowed, which watchfiles does not report; or the rules
            # changed, so other notes may be withheld.
            await self.reconcile()
        elif paths or others:
            await self._note(await to_thread.run_sync(self.vault.changed, paths, others))

    def _relative(self, path: str) -> str:
        return path.removeprefix(f"{self.vault.root.path}/")

    def _is_ours(self, path: str) -> bool:
        """Whether the path can be that of a note or of an image."""
        return self.vault.root.selected.holds(self._relative(path)) or is_image_name(path)

    def _is_of_rules(self, path: str) -> bool:
        """Whether a change of the file at `path` may change which notes there are, or are shown."""
        heeds_gitignore = self.vault.root.selected.choice.gitignore
        return path == IGNORE_FILE or (heeds_gitignore and path.rpartition("/")[2] == GITIGNORE)

    async def settle(self) -> None:
        """Checks unsettled rules and notes again, until cancelled."""
        await self.visibility_checker.run(self._note)

    async def settled(self) -> None:
        """Waits until all rules and notes have settled, at most 2 * SETTLE_EMPTY_S seconds."""
        with anyio.move_on_after(2 * SETTLE_EMPTY_S):
            due_s: float | None = 0.0
            while due_s is not None:
                due_s = self.vault.due_s()
                await anyio.sleep(max((due_s or 0) - time.monotonic(), 0))
                # Also where nothing is due: another thread may be checking, which this waits for.
                await self._note(await to_thread.run_sync(self.vault.settle))

    async def reconcile(self) -> None:
        """Reconciles the index with the folder, and records what changed."""
        try:
            changes = await to_thread.run_sync(self.vault.reconcile, abandon_on_cancel=True)
        except ReadFailed as error:
            logger.warning("vault %s: %s", self.id, error)
            return
        await self._note(changes)

    async def _note(self, changes: Changes) -> None:
        """Records changes to the files of the workspace's notes, and some renames of other notes."""
        members = members_of(self.state().of(self.id))
        known = self.vault.levels.finding
        is_listed = {former: former in members or known(former) is not None for former, _now in changes.renamed}
        renamed = sorted(changes.renamed, key=lambda pair: not is_listed[pair[0]])
        listed = sum(is_listed.values())
        actions = [
            Action(c.NoteRenamed(former, now), vault=self.id)
            for former, now in renamed[: max(listed, RENAMES_RECORDED_MAX)]
        ]
        actions += [
            Action(kind(version.id, version.stat.size, str(version.stat.mtime_ns), version.sha256), vault=self.id)
            for kind, versions in ((c.NoteCreated, changes.created), (c.NoteChanged, changes.changed))
            for version in versions
            if version.id in members
        ]
        for start in range(0, len(actions), BATCH_ACTIONS_MAX):
            await self.record(actions[start : start + BATCH_ACTIONS_MAX])
        if changes != Changes():
            self.on_changes()


def steady(served: ServedVault | None, make: Callable[[], tuple[R, Sequence[Verdicts]]]) -> R | None:
    """What `make` returns beside the verdicts that it rests on, made again if any note's level changed meanwhile.

    A read may reveal that a note is withheld. So what was made while levels changed is not returned, unless they
    changed during each of ATTEMPTS_MAX attempts and the verdicts of the last one still hold. None: they do not.

    Raises:
        ReconcileFirst: the vault must be reconciled first.
        WouldBlock: it must be made again or be reconciled, and this thread may not wait.
    """
    if served is None:
        return make()[0]
    for attempt in range(1, ATTEMPTS_MAX + 1):
        served.check_rules()
        version = served.vault.levels.state_version
        with suppress(WithheldDuringRead):
            made, verdicts = make()
            served.check_missing()
            is_last = attempt == ATTEMPTS_MAX
            if served.vault.levels.state_version == version or (is_last and all(each.hold() for each in verdicts)):
                return made
        served.check_missing()
        check_may_wait()
    return None


def _reason(error: Exception) -> str:
    """Why a watcher failed, without paths of the host."""
    if isinstance(error, ReadFailed):
        return error.message.rstrip(".")
    text = str(error)
    if "watch limit" in text:
        return "the system's limit on watched folders is reached; raise fs.inotify.max_user_watches"
    if "os error 24" in text:
        return "the system's limit on watchers is reached; raise fs.inotify.max_user_instances"
    if "Unable to decode" in text:
        return "a file's name is not UTF-8"
    if isinstance(error, FileNotFoundError):
        return "a folder went away while it was added"
    return f"the watcher failed ({type(error).__name__})"


def members_of(state: VaultState) -> set[NoteId]:
    """The notes of a workspace: active, pinned, in tabs, recent."""
    active = {state.active.id} if state.active else set()
    return {*active, *state.pins, *state.tabs, *state.recents}


def rules_file(data: Path, vault: VaultId) -> Path:
    """The file that stores the ignore rules last in force in a vault."""
    name = vault if len(vault.encode()) <= _FILE_NAME_BYTES_MAX else sha256(vault.encode()).hexdigest()
    return data / "policy" / name


def notes_published(state: WorkspaceState, vault: VaultId) -> set[NoteId]:
    """The notes that user interfaces have published: in the workspace, archived, renamed."""
    sub = state.of(vault)
    return {*members_of(sub), *sub.archived, *sub.former.values()}


def notes_attached(state: WorkspaceState, vault: VaultId) -> set[NoteId]:
    """The notes that conversations name: in libraries, pins and attachments."""
    found: set[NoteId] = set()
    for conversation in state.conversations.by_id.values():
        if conversation.vault == vault:
            found.update(NoteId(entry.id) for entry in conversation.library if entry.kind in NOTE_KINDS)
            found.update(pin.path for pin in conversation.pins.values() if pin.path is not None)
            for message in conversation.messages.values():
                for each in message.attachments:
                    found |= notes_of(each.kind, each.id).notes
    return found


def notes_attached_in(event: Event) -> Iterable[NoteId]:
    """The notes that the attachments of a runtime's message name."""
    data = event.data
    attachments = data.attachments if isinstance(data, c.MessageData) else ()
    return (note for each in attachments for note in notes_of(each.kind, each.id).notes)


def notes_published_in(event: Event) -> Iterable[NoteId]:
    """The notes that an event names, if user interfaces publish events of its type."""
    data = event.data
    if isinstance(data, c.NoteRenamed):
        return (data.to,)
    note = getattr(data, "note", None)
    return (note,) if note is not None and ENTRY_OF[type(data)].by_ui else ()


class LoopPause:
    """The pause of one vault. Times are in nanoseconds of a clock that never goes back."""

    def __init__(self) -> None:
        self.until = 0
        """Before it, calls are kept off the loop."""
        self._length = 0

    def answered(self, started: int, ended: int) -> None:
        """Takes note of one answer on the loop, or one attempt at it.

        One that took longer than NONBLOCKING_CALL_S begins a pause. It recurs if it started after the last pause
        ended, by less than the longer pause that it then begins.
        """
        stall = ended - started
        if stall <= NONBLOCKING_CALL_S * 1e9:
            return
        longer = min(FACTOR * self._length, int(NONBLOCKING_PAUSE_S * 1e9))
        recurs = started - self.until < longer
        self._length = min(FACTOR * max(stall, self._length if recurs else 0), int(NONBLOCKING_PAUSE_S * 1e9))
        self.until = ended + self._length
