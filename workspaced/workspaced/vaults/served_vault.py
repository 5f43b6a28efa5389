"""The vaults a daemon serves: registering their folders in the log, watching them, noting what changed.

watchfiles is a hint: it makes the index fresh and feeds `note_created` and `note_changed`. It may lose events, die
(of a file name that is not UTF-8, of the system's limit on watches) or go silent (when the folder is replaced), so
a reconcile scan follows every start of the watcher, every burst of hints, and every `reconcile_s`. What a tool
answers rests on a fresh stat in any case.

Folders are watched one by one, as a scan finds them: watchfiles' own recursion follows symlinks out of the vault.
So a folder that comes or goes makes the watcher start anew.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Final

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
from workspaced_tools.prompts.model.note_names import NOTE_KINDS, notes_of
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE
from workspaced_tools.vault.files.walk import folders as folders_of
from workspaced_tools.vault.index.changes import Changes, FileVersion
from workspaced_tools.vault.nonblocking import NonBlockingVault
from workspaced_tools.vault.vault import Vault

from .visibility_checks import Settler

logger = logging.getLogger(__name__)

Record = Callable[[list[Action]], Awaitable[None]]
Hint = tuple[watchfiles.Change, str]

RETRY_WATCH_S: Final = 1.0
RETRY_WATCH_MAX_S: Final = 30.0
WATCH_CHECK_MS: Final = 1_000
"""How often a quiet watcher looks whether its folder was replaced: of that it hears nothing."""
RENAMES_RECORDED_MAX: Final = 200
"""Of notes renamed at once, those that the log names are recorded, and others up to this many in all: former paths
are for references an agent was given, not a history of the vault."""
_FILE_NAME_BYTES_MAX: Final = 200
HINTS_MAX: Final = 1_000
"""After more hints than this at once the whole vault is compared."""


class ServedVault:
    """One vault's folder and how it is watched."""

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
        self.settler = Settler(vault_id, vault, record)
        self.nonblocking = NonBlockingVault(self.vault)
        self.blocking_until_ns = 0
        """Until when calls are not tried on the event loop (see Service)."""
        self.watcher = "off"
        """`watching` (or about to), `reconciling only` (the watcher failed and is tried again) or `off`."""
        self.watch_error: str | None = None
        """Why it is `reconciling only`."""
        self.on_changes: Callable[[], object] = lambda: None
        """Called on the loop when notes came, went or changed, be they in the workspace or not."""

    def problems(self) -> list[str]:
        """What makes this vault less than it should be, for people; names no path."""
        found = []
        if self.vault.error is not None:
            found.append(f"Vault {self.id}: {self.vault.error} The last known names are kept.")
        elif self.watcher == "reconciling only":
            found.append(f"Vault {self.id} is reconciling only: {self.watch_error}.")
        return found

    async def watch(self, state: Callable[[], WorkspaceState], record: Record, stopping: anyio.Event) -> None:
        """Follows the folder until `stopping`, whatever ends a watcher on the way."""
        pause_s = RETRY_WATCH_S
        self.watcher = "watching"
        while not stopping.is_set():
            try:
                await self._follow(state, record, stopping)
                continue
            except Exception as error:
                # Whatever it is, the vault is served on: reconciling alone keeps it true.
                why = _reason(error)
            if self.watcher == "watching" or self.vault.error is not None:
                pause_s = RETRY_WATCH_S
            if why != self.watch_error:
                logger.warning("watching vault %s failed, reconciling instead: %s", self.id, why)
            self.watcher, self.watch_error = "reconciling only", why
            await self.reconcile(state, record)
            with anyio.move_on_after(pause_s):
                await stopping.wait()
            pause_s = min(2 * pause_s, RETRY_WATCH_MAX_S)

    async def _follow(self, state: Callable[[], WorkspaceState], record: Record, stopping: anyio.Event) -> None:
        """Watches the folders there are now; returns when those are others, or at `stopping`."""
        identity, folders = await to_thread.run_sync(self._folders, abandon_on_cancel=True)
        # Run by hand in threads: adding thousands of watches takes longer than the event loop may wait. The thread
        # notices `stopping` within a step; a mere cancellation it would sit out.
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
                    await self.reconcile(state, record)  # what happened before there was a watch
                if await to_thread.run_sync(self._is_other, identity, folders, found):
                    return
                await self._hinted(state, record, [path for _kind, path in found if self._is_note(path)])
        finally:
            hints.close()

    def _folders(self) -> tuple[tuple[int, int], frozenset[str]]:
        """What identifies the root, and the paths of all folders to watch.

        Raises:
            ReadFailed: the root is absent or cannot be opened.
        """
        root = self.vault.root
        identity = root.directory().identity
        return identity, frozenset(str(root.path / path) for path in folders_of(root))

    def _is_other(self, identity: tuple[int, int], folders: frozenset[str], hints: Iterable[Hint]) -> bool:
        """Whether the root was replaced, or a folder came or went."""
        root = self.vault.root
        if root.identity() != identity:
            return True
        return any(
            path in folders or (kind == watchfiles.Change.added and root.is_folder(self._relative(path)))
            for kind, path in hints
        )

    async def _hinted(self, state: Callable[[], WorkspaceState], record: Record, paths: list[str]) -> None:
        if len(paths) > HINTS_MAX or str(self.path / IGNORE_FILE) in paths:
            # The system's queue of events may have run over, which watchfiles does not tell; or other notes are
            # withheld now.
            await self.reconcile(state, record)
        elif paths:
            await self._note(state, record, await to_thread.run_sync(self.vault.changed, paths))

    def _relative(self, path: str) -> str:
        return path.removeprefix(f"{self.vault.root.path}/")

    def _is_note(self, path: str) -> bool:
        if self._relative(path) == IGNORE_FILE:
            return True
        return path.lower().endswith(".md") and "/." not in f"/{self._relative(path)}"

    async def settle(self, state: Callable[[], WorkspaceState], record: Record) -> None:
        """Looks again at whatever has to be seen twice, as long as the daemon runs."""

        async def changed(changes: Changes) -> None:
            await self._note(state, record, changes)

        await self.settler.run(changed)

    async def settled(self, state: Callable[[], WorkspaceState], record: Record) -> None:
        """Waits until all that was seen has settled; what does not settle in time is not waited for."""
        with anyio.move_on_after(2 * SETTLE_EMPTY_S):
            while (due_s := self.vault.due_s()) is not None:
                await anyio.sleep(max(due_s - time.monotonic(), 0))
                await self._note(state, record, await to_thread.run_sync(self.vault.settle))

    async def reconcile(self, state: Callable[[], WorkspaceState], record: Record) -> None:
        """Compares the folder with what is known of it, and records what differs."""
        try:
            changes = await to_thread.run_sync(self.vault.reconcile, abandon_on_cancel=True)
        except ReadFailed as error:
            logger.warning("vault %s: %s", self.id, error)
            return
        await self._note(state, record, changes)

    async def _note(self, state: Callable[[], WorkspaceState], record: Record, changes: Changes) -> None:
        """Records what happened to the files of notes that are in the workspace; of others, some renames."""
        members = members_of(state().of(self.id))
        known = self.vault.visibility.finding
        is_listed = {former: former in members or known(former) is not None for former, _now in changes.renamed}
        renamed = sorted(changes.renamed, key=lambda pair: not is_listed[pair[0]])
        listed = sum(is_listed.values())
        actions = [
            Action(c.NoteRenamed(former, now), vault=self.id)
            for former, now in renamed[: max(listed, RENAMES_RECORDED_MAX)]
        ]
        actions += [
            Action(_file_event(kind, version), vault=self.id)
            for kind, versions in ((c.NoteCreated, changes.created), (c.NoteChanged, changes.changed))
            for version in versions
            if version.id in members
        ]
        for start in range(0, len(actions), BATCH_ACTIONS_MAX):
            await record(actions[start : start + BATCH_ACTIONS_MAX])
        if changes != Changes():
            self.on_changes()


def _reason(error: Exception) -> str:
    """Why a watcher failed, without paths of the host."""
    if isinstance(error, ReadFailed):
        return error.message.rstrip(".")
    said = str(error)
    if "watch limit" in said:
        return "the system's limit on watched folders is reached; raise fs.inotify.max_user_watches"
    if "os error 24" in said:
        return "the system's limit on watchers is reached; raise fs.inotify.max_user_instances"
    if "Unable to decode" in said:
        return "a file's name is not UTF-8"
    if isinstance(error, FileNotFoundError):
        return "a folder went away while it was added"
    return f"the watcher failed ({type(error).__name__})"


def _file_event(kind: type[c.NoteFile], version: FileVersion) -> c.NoteFile:
    return kind(version.id, version.stat.size, str(version.stat.mtime_ns), version.sha256)


def members_of(state: VaultState) -> set[NoteId]:
    """The notes of a workspace: active, pinned, tabbed, recent."""
    active = {state.active.id} if state.active else set()
    return {*active, *state.pins, *state.tabs, *state.recents}


def rules_file(data: Path, vault: VaultId) -> Path:
    """Where the ignore rules last in force in a vault are kept."""
    name = vault if len(vault.encode()) <= _FILE_NAME_BYTES_MAX else sha256(vault.encode()).hexdigest()
    return data / "policy" / name


def notes_published(state: WorkspaceState, vault: VaultId) -> set[NoteId]:
    """The notes that user interfaces named: in the workspace, archived, moved."""
    sub = state.of(vault)
    return {*members_of(sub), *sub.archived, *sub.former.values()}


def notes_attached(state: WorkspaceState, vault: VaultId) -> set[NoteId]:
    """The notes that conversations name."""
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
    """The notes that a runtime's message names."""
    data = event.data
    attachments = data.attachments if isinstance(data, c.MessageData) else ()
    return (note for each in attachments for note in notes_of(each.kind, each.id).notes)


def notes_published_in(event: Event) -> Iterable[NoteId]:
    """The notes that an event of a user interface names."""
    data = event.data
    if isinstance(data, c.NoteRenamed):
        return (data.to,)
    note = getattr(data, "note", None)
    return (note,) if note is not None and ENTRY_OF[type(data)].by_ui else ()
