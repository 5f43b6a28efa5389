"""Where the memory folder is: in each vault, or beside them, as the setting says."""

import unicodedata
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Final, NamedTuple

from workspaced_events.ids import VaultId
from workspaced_events.schema.catalogue import BESIDE_VAULTS
from workspaced_tools.errors import MemoryOff, NoActiveVault
from workspaced_tools.memory.folder import MemoryFolder
from workspaced_tools.memory.paths import is_memory_name
from workspaced_tools.memory.shared_folder import BesideVaults, InVault, SharedFolder
from workspaced_tools.ports.memory import MEMORY_ROOT
from workspaced_tools.vault.files.safe_open import VaultRoot

from ..errors import SettingsInvalid
from ..vaults.served_vault import ServedVault

_BESIDE_PREFIX: Final = f"{MEMORY_ROOT}/"
assert _BESIDE_PREFIX.startswith(BESIDE_VAULTS), "so that no note of a vault has such a path"


class Place(NamedTuple):
    """One memory folder."""

    folder: SharedFolder
    withholding: InVault | BesideVaults


def checked_place(setting: Path, vaults: list[Path], own: list[Path], roles: str | None = None) -> Path:
    """The setting `memory`, checked: relative to each vault, or absolute.

    Args:
        vaults: the real paths of the vaults' folders.
        own: the daemon's own directories.
        roles: the folder of each vault whose notes are roles.

    Raises:
        SettingsInvalid: it has no name that a folder in a vault may have, lies in a vault under an absolute path,
            or overlaps with the folder of roles, with another vault or with a directory of the daemon's own.
    """
    path = setting.expanduser()
    if path.is_absolute():
        return _checked_beside(path, vaults, own)
    if not setting.parts or not all(map(is_memory_name, setting.parts)):
        raise SettingsInvalid(
            f"Setting 'memory': {str(setting)!r} is no folder in a vault.",
            hint='Give a name such as "Memory/", without dots, or an absolute path beside the vaults.',
        )
    for vault, other in product(vaults, vaults):
        memory = vault / setting
        if roles is not None and _overlap(_folded(memory), _folded(other / roles)):
            raise SettingsInvalid(
                f"Settings 'memory' and 'agents_folder': {memory} and {other / roles} overlap.",
                hint="Give two folders, none in the other: agents could write roles.",
            )
        # A vault around this one is no danger: its rules do not count for what this one serves anyway.
        if other != vault and other.is_relative_to(vault) and _overlap(memory, other):
            raise SettingsInvalid(
                f"Setting 'memory': {memory} overlaps with the vault {other}.",
                hint="Give another folder: agents could read and write there what that vault hides.",
            )
    return setting


def _checked_beside(path: Path, vaults: list[Path], own: list[Path]) -> Path:
    real = path.parent.resolve() / path.name
    if any(_overlap(real, vault) for vault in vaults):
        raise SettingsInvalid(
            f"Setting 'memory': {path} overlaps with a vault.", hint='Name it relative to the vault: "Memory/".'
        )
    if any(_overlap(real, each.resolve()) for each in own):
        raise SettingsInvalid(
            f"Setting 'memory': {path} overlaps with the daemon's own files.", hint="Give another folder."
        )
    return real


def _overlap(one: Path, other: Path) -> bool:
    return one.is_relative_to(other) or other.is_relative_to(one)


def _folded(path: Path) -> Path:
    """The path as a file system sees it that takes no account of case."""
    return Path(unicodedata.normalize("NFC", str(path)).casefold())


class Places:
    """The memory folders of one daemon. Safe from any thread."""

    def __init__(self, setting: Path | None, served: Mapping[VaultId, ServedVault]) -> None:
        """`setting`: as `checked_place` returns it; None: there is no memory folder."""
        self._setting = setting
        self.is_set: Final = setting is not None
        self._served = served
        self._known: dict[VaultId | None, Place] = {}

    def of(self, vault: VaultId | None) -> Place:
        """The memory folder of a vault.

        Raises:
            MemoryOff: none is set.
            NoActiveVault: it lies in the vaults, and this one is not served.
        """
        if self._setting is None:
            raise MemoryOff("There is no memory folder.", hint="Set `memory` to a folder's name, and start again.")
        if self._setting.is_absolute():
            return self._once(None, lambda setting: _beside(setting))
        served = self._served.get(vault) if vault is not None else None
        if served is None:
            raise NoActiveVault("No vault is open", hint="Ask the user to open a vault.")
        return self._once(served.id, lambda setting: _in_vault(setting, served))

    def every(self) -> list[Place]:
        """The memory folders of all vaults, or the one beside them."""
        if self._setting is None:
            return []
        return [self.of(None)] if self._setting.is_absolute() else [self.of(vault) for vault in self._served]

    def _once(self, key: VaultId | None, make: Callable[[Path], Place]) -> Place:
        assert self._setting is not None
        if key not in self._known:
            self._known[key] = make(self._setting)
        return self._known[key]


def _beside(path: Path) -> Place:
    withholding = BesideVaults()
    folder = MemoryFolder(VaultRoot(path.parent), (path.name,))
    return Place(SharedFolder(folder, _BESIDE_PREFIX, withholding), withholding)


def _in_vault(path: Path, served: ServedVault) -> Place:
    withholding = InVault(served.vault)
    folder = MemoryFolder(served.vault.root, path.parts)
    return Place(SharedFolder(folder, "/".join(path.parts) + "/", withholding), withholding)
