"""The vaults a daemon serves: registering their folders in the log, watching them, noting what changed.

watchfiles is a hint: it makes the index fresh and feeds `note_created` and `note_changed`. It may lose events,
die, or go silent, so a reconcile scan follows at start, whenever the watcher had to be restarted, and every
`reconcile_s`. What a tool answers rests on a fresh stat in any case.
"""

import logging
import os
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import anyio
import watchfiles
from anyio import to_thread

from workspaced_events import catalogue as c
from workspaced_events.actions import Action
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.limits import BATCH_ACTIONS_MAX
from workspaced_events.state import VaultState, WorkspaceState
from workspaced_tools.errors import ReadFailed
from workspaced_tools.vault.upkeep import Changes, FileVersion
from workspaced_tools.vault.vault import Vault
from workspaced_tools.vault.warm import WarmVault

from .errors import VaultUnusable

logger = logging.getLogger(__name__)

Record = Callable[[list[Action]], Awaitable[None]]


class ServedVault:
    """One vault's folder and how it is watched."""

    def __init__(self, vault_id: VaultId, path: Path, *, cache_bytes: int) -> None:
        self.id = vault_id
        self.path = path
        self.vault = Vault(path, cache_bytes_max=cache_bytes)
        self.warm = WarmVault(self.vault)
        self.not_warm_until_ns = 0
        """Until when calls are not tried on the event loop (see Service)."""
        self.watcher = "off"
        """`watching`, `reconciling only` (the watcher failed and is tried again) or `off`."""

    async def watch(self, state: Callable[[], WorkspaceState], record: Record, stopping: anyio.Event) -> None:
        """Follows the folder until `stopping`; a watcher that fails is started again after a reconcile."""
        while not stopping.is_set():
            try:
                self.watcher = "watching"
                # The watcher's thread notices `stopping` within a step; a mere cancellation it would sit out.
                async for hints in watchfiles.awatch(
                    self.path, watch_filter=_is_note, step=50, debounce=400, stop_event=stopping
                ):
                    paths = [path for _kind, path in hints]
                    await self._note(state, record, await to_thread.run_sync(self.vault.changed, paths))
            except (OSError, RuntimeError, UnicodeError) as error:
                # RuntimeError is how the Rust side reports, among others, an exhausted watch limit.
                logger.warning("watching vault %s failed, reconciling instead: %s", self.id, error)
            if stopping.is_set():
                return
            self.watcher = "reconciling only"
            await self.reconcile(state, record)
            await anyio.sleep(RETRY_WATCH_S)

    async def reconcile(self, state: Callable[[], WorkspaceState], record: Record) -> None:
        """Compares the folder with what is known of it, and records what differs."""
        try:
            changes = await to_thread.run_sync(self.vault.reconcile, abandon_on_cancel=True)
        except ReadFailed as error:
            logger.warning("vault %s: %s", self.id, error)
            return
        await self._note(state, record, changes)

    async def _note(self, state: Callable[[], WorkspaceState], record: Record, changes: Changes) -> None:
        """Records what happened to the files of notes that are in the workspace; of others nothing."""
        members = members_of(state().of(self.id))
        actions = [
            Action(_file_event(kind, version), vault=self.id)
            for kind, versions in ((c.NoteCreated, changes.created), (c.NoteChanged, changes.changed))
            for version in versions
            if version.id in members
        ]
        for start in range(0, len(actions), BATCH_ACTIONS_MAX):
            await record(actions[start : start + BATCH_ACTIONS_MAX])


RETRY_WATCH_S = 5.0


def _is_note(_change: watchfiles.Change, path: str) -> bool:
    return path.lower().endswith(".md") and "/." not in path


def _file_event(kind: type[c.NoteFile], version: FileVersion) -> c.NoteFile:
    return kind(version.id, version.stat.size, str(version.stat.mtime_ns), version.sha256)


def members_of(state: VaultState) -> set[NoteId]:
    """The notes of a workspace: active, pinned, tabbed, recent."""
    active = {state.active.id} if state.active else set()
    return {*active, *state.pins, *state.tabs, *state.recents}


def usable_folder(path: Path) -> Path:
    """The real path of a vault's folder.

    Raises:
        VaultUnusable: it does not exist, is no directory or cannot be read.
    """
    try:
        real = path.expanduser().resolve(strict=True)
    except OSError as error:
        raise VaultUnusable(
            f"The vault {path} cannot be opened: {error.strerror or error}.",
            hint="Give an existing folder with --vault.",
        ) from None
    try:
        str(real).encode()
    except UnicodeEncodeError:
        raise VaultUnusable(f"The vault's path {str(real)!r} is not UTF-8.", hint="Rename the folder.") from None
    if not real.is_dir():
        raise VaultUnusable(f"The vault {path} is no directory.", hint="Give the folder that holds the notes.")
    if not os.access(real, os.R_OK | os.X_OK):
        raise VaultUnusable(f"The vault {path} cannot be read.", hint="Check its permissions.")
    return real


def registrations(state: WorkspaceState, folders: Iterable[Path]) -> tuple[dict[VaultId, Path], list[Action]]:
    """The ids of the folders to serve, and the events that make the log know them.

    A path the log knows keeps its id. When the current vault is not among the served ones, the first served one
    becomes current: a user who names a folder means to work in it.
    """
    served: dict[VaultId, Path] = {}
    actions = []
    known = {vault.path: vault for vault in state.vaults.values()}
    taken = {*state.vaults}
    for folder in folders:
        path = str(folder)
        vault = known.get(path)
        vault_id = vault.id if vault else _free_id(folder.name, taken)
        if vault_id in served:
            continue
        taken.add(vault_id)
        served[vault_id] = folder
        if vault is None or not vault.open:
            actions.append(Action(c.VaultOpened(vault_id, folder.name or path, path)))
    if served and state.current is not None and state.current not in served:
        actions.append(Action(c.VaultSwitched(next(iter(served)))))
    return served, actions


def _free_id(name: str, taken: set[VaultId]) -> VaultId:
    plain = unicodedata.normalize("NFKD", name).casefold()
    slug = (
        re.sub(r"[^\w]+", "-", "".join(ch for ch in plain if not unicodedata.combining(ch))).strip("-") or "vault"
    )
    number = 1
    while (candidate := VaultId(slug if number == 1 else f"{slug}-{number}")) in taken:
        number += 1
    return candidate
