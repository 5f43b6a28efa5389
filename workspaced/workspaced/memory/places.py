"""Where the memory folder is: in each vault, or beside them, as the setting says."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Final

from workspaced_events.ids import VaultId
from workspaced_events.schema.catalogue import BESIDE_VAULTS
from workspaced_tools.errors import MemoryOff, NoActiveVault
from workspaced_tools.memory.folder import MemoryFolder
from workspaced_tools.memory.paths import is_memory_name
from workspaced_tools.memory.shared_folder import SharedFolder
from workspaced_tools.ports.memory import MEMORY_ROOT
from workspaced_tools.vault.files.safe_open import VaultRoot

from ..errors import SettingsInvalid
from ..vaults.served_vault import ServedVault

_BESIDE_PREFIX: Final = f"{MEMORY_ROOT}/"
assert _BESIDE_PREFIX.startswith(BESIDE_VAULTS), "so that no note of a vault has such a path"


def checked_place(setting: Path, vaults: list[Path], own: list[Path]) -> Path:
    """The setting `memory`, checked: relative to each vault, or absolute.

    Args:
        vaults: the real paths of the vaults' folders.
        own: the daemon's own directories.

    Raises:
        SettingsInvalid: it has no name that a folder in a vault may have, lies in a vault under an absolute path,
            or overlaps with another vault or with a directory of the daemon's own.
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


class Places:
    """The memory folders of one daemon. Safe from any thread."""

    def __init__(self, setting: Path | None, served: Mapping[VaultId, ServedVault]) -> None:
        """`setting`: as `checked_place` returns it; None: there is no memory folder."""
        self._setting = setting
        self.is_set: Final = setting is not None
        self._served = served
        self._known: dict[VaultId | None, SharedFolder] = {}

    def of(self, vault: VaultId | None) -> SharedFolder:
        """The memory folder of a vault.

        Raises:
            MemoryOff: none is set.
            NoActiveVault: it lies in the vaults, and this one is not served.
        """
        if self._setting is None:
            raise MemoryOff("There is no memory folder.", hint="Set `memory` to a folder's name, and start again.")
        if self._setting.is_absolute():
            vault = None
        elif vault not in self._served:
            raise NoActiveVault("No vault is open", hint="Ask the user to open a vault.")
        if vault not in self._known:
            self._known[vault] = self._made(self._setting, vault)
        return self._known[vault]

    def every(self) -> list[SharedFolder]:
        """The memory folders of all vaults, or the one beside them."""
        if self._setting is None:
            return []
        return [self.of(None)] if self._setting.is_absolute() else [self.of(vault) for vault in self._served]

    def _made(self, path: Path, vault: VaultId | None) -> SharedFolder:
        if vault is None:
            return SharedFolder(MemoryFolder(VaultRoot(path.parent), (path.name,)), _BESIDE_PREFIX, None)
        served = self._served[vault].vault
        return SharedFolder(MemoryFolder(served.root, path.parts), "/".join(path.parts) + "/", served)
