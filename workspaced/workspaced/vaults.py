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
from workspaced_tools.vault.vault import Change, Vault

from workspaced_events import catalogue as c
from workspaced_events.actions import Action
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.state import VaultState, WorkspaceState

from .errors import VaultUnusable

logger = logging.getLogger(__name__)

Record = Callable[[list[Action]], Awaitable[None]]


class ServedVault:
    """One vault's folder and how it is watched."""

    def __init__(self, vault_id: VaultId, path: Path, *, cache_bytes: int) -> None:
        self.id = vault_id
        self.path = path
        self.vault = Vault(path, cache_bytes=cache_bytes)
        self.watcher = "off"
        """`watching`, `polling only` (the watcher failed; reconciling goes on) or `off`."""

    async def watch(self, state: Callable[[], WorkspaceState], record: Record) -> None:
        """Follows the folder until cancelled."""
        while True:
            try:
                self.watcher = "watching"
                async for changes in watchfiles.awatch(self.path, watch_filter=_is_note, step=50, debounce=400):
                    paths = [os.fsencode(path) for _kind, path in changes]
                    await self._note(state, record, await to_thread.run_sync(self._changed, paths))
            except (OSError, RuntimeError, UnicodeError) as error:
                # RuntimeError is how the Rust side reports, among others, an exhausted watch limit.
                logger.warning("watching %s failed, reconciling instead: %s", self.path, error)
            self.watcher = "polling only"
            await self.reconcile(state, record)
            await anyio.sleep(RETRY_WATCH_S)

    async def reconcile(self, state: Callable[[], WorkspaceState], record: Record) -> None:
        """Compares the folder with what is known of it, and records what differs."""
        await self._note(state, record, await to_thread.run_sync(self.vault.reconcile))

    async def _note(self, state: Callable[[], WorkspaceState], record: Record, changes: Iterable[Change]) -> None:
        members = members_of(state().of(self.id))
        actions = [
            Action(_event_data(each), vault=self.id) for each in changes if each.id in members and each.stat
        ]
        if actions:
            await record(actions)

    def _changed(self, paths: list[bytes]) -> list[Change]:
        root = os.fsencode(self.path) + b"/"
        relative = [os.fsdecode(path[len(root) :]) for path in paths if path.startswith(root)]
        return self.vault.changed(relative)


RETRY_WATCH_S = 5.0


def _is_note(_change: watchfiles.Change, path: str) -> bool:
    return path.lower().endswith(".md") and "/." not in path


def _event_data(change: Change) -> c.Data:
    make = c.NoteCreated if change.kind == "created" else c.NoteChanged
    assert change.stat is not None
    return make(change.id, change.stat.size, str(change.stat.mtime_ns), change.sha256)


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
