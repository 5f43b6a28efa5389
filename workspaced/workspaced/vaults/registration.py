"""Registers the folders that the daemon serves: checks their paths, and gives them ids in the log."""

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c

from ..errors import SettingsInvalid


def usable_folder(path: Path) -> Path:
    """The real path of a vault's folder.

    Raises:
        SettingsInvalid: the path does not exist, is not a directory, or cannot be read.
    """
    try:
        real = path.expanduser().resolve(strict=True)
    except OSError as error:
        raise SettingsInvalid(
            f"The vault {path} cannot be opened: {error.strerror or error}.", hint="Give an existing folder."
        ) from None
    try:
        str(real).encode()
    except UnicodeEncodeError:
        raise SettingsInvalid(f"The vault's path {str(real)!r} is not UTF-8.", hint="Rename the folder.") from None
    if not real.is_dir():
        raise SettingsInvalid(f"The vault {path} is no directory.", hint="Give the folder that holds the notes.")
    if not os.access(real, os.R_OK | os.X_OK):
        raise SettingsInvalid(f"The vault {path} cannot be read.", hint="Check its permissions.")
    return real


def check_apart(folders: Iterable[Path], data: Path, socket: Path, cache: Path) -> None:
    """Checks that the daemon's own files lie outside all vaults, since it never writes into a vault.

    Raises:
        SettingsInvalid: the data directory, the socket or the cache directory would lie in a vault.
    """
    places = (
        ("data directory", data, "--data-dir", "WORKSPACED_DATA_DIR"),
        ("socket", socket, "--socket", "WORKSPACED_SOCKET"),
        ("cache directory", cache, "--cache-dir", "WORKSPACED_CACHE_DIR"),
    )
    for folder in folders:
        for what, path, flag, variable in places:
            if path.expanduser().resolve().is_relative_to(folder):
                raise SettingsInvalid(
                    f"The {what} {path} lies in the vault {folder}; nothing is ever written into a vault.",
                    hint=f"Serve a folder below it, or give another place by {flag} or {variable}.",
                )


def registrations(
    state: WorkspaceState, folders: Iterable[Path], files: tuple[str, ...] = ()
) -> tuple[dict[VaultId, Path], list[Action]]:
    """The ids of the folders to serve, and the actions that register them in the log.

    A path that the log knows keeps its id. If the current vault is not served, the first served vault becomes
    current, because a user who names a folder wants to work in it.

    Args:
        files: the globs of the files that are notes beside Markdown.
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
        if vault is None or not vault.open or vault.files != files:
            actions.append(Action(c.VaultOpened(vault_id, folder.name or path, path, files)))
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
