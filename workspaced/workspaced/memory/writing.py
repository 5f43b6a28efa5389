"""`Memory`: carries out the commands of agents on the memory folder, and undoes them.

A write has three steps: `memory_written` with both texts, synced; the change of the file; `memory_write_ended`.
The log is the truth at each of them: after a crash it says which write has no end, and `end_interrupted` looks at
the file to give it one.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Final

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.ids import VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.submissions import Receipt
from workspaced_events.projections.pending_writes import PendingWrite
from workspaced_events.projections.workspace_state import WorkspaceState
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import BESIDE_VAULTS, Event
from workspaced_tools.errors import (
    MemoryChanged,
    MemoryFull,
    MemoryOff,
    MemoryWriteFailed,
    NoActiveVault,
    NotRecorded,
    ToolError,
)
from workspaced_tools.memory.commands import listing, plan
from workspaced_tools.memory.folder import Change, MemoryFolder
from workspaced_tools.memory.paths import Parts, is_memory_name
from workspaced_tools.memory.shared_folder import SharedFolder
from workspaced_tools.ports.memory import MEMORY_ROOT, MemoryAnswer, MemoryFile
from workspaced_tools.ports.questions import UseMemory
from workspaced_tools.sharing.gate import sharing_off
from workspaced_tools.vault.files.safe_open import VaultRoot

from ..errors import SettingsInvalid
from ..journal.publishing import Publishing
from ..limits import MEMORY_LOGGED_BYTES_PER_HOUR
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


_MEMORY_CHANGES_PER_BATCH: Final = 64
"""Files of a moved or deleted folder that are recorded together: with the longest paths they fit a batch."""
logger = logging.getLogger(__name__)
_HOUR_S: Final = 3600
Blob = Callable[[str], bytes | None]
"""A text of the log by its hash; None: it is not kept."""


def recorded_change(data: c.MemoryWritten, shared: SharedFolder, blob: Blob) -> Change:
    """The change that an event tells of.

    Raises:
        InvalidArgument: it is of another folder than the present one.
        NotRecorded: a text is not kept.
    """
    path = shared.parts(data.note)
    source = shared.parts(data.from_) if data.from_ is not None else None
    if path is None or (data.from_ is not None and source is None):
        raise InvalidArgument(
            f"{data.note} is not in the memory folder.", hint="The setting `memory` named another folder then."
        )
    return Change(path, _text(data.former_sha256, blob), _text(data.text_sha256, blob), source)


def is_made(folder: MemoryFolder, change: Change) -> bool:
    """Whether the folder is as it is after the change."""
    return _holds(folder, change.path, change.text) and (
        change.source is None or _holds(folder, change.source, None)
    )


def finish(data: c.MemoryWritten, shared: SharedFolder, state: WorkspaceState, blob: Blob) -> c.MemoryOutcome:
    """Completes the write if the file is as it was before; returns what became of it.

    If the user has withdrawn the permission meanwhile, takes back what is half done. `state`: the present one.

    Raises:
        MemoryWriteFailed: the folder is not there, or the disk refused.
        WorkspacedError: as `recorded_change`.
    """
    change = recorded_change(data, shared, blob)
    folder = shared.folder
    if change.former is not None and not folder.exists():
        raise MemoryWriteFailed("The memory folder is not there.", hint="Bring it back, and start again.")
    is_permitted = _is_permitted(data, shared, state)
    if change.source is not None:
        gone, kept = (change.source, change.path) if is_permitted else (change.path, change.source)
        if folder.remove_second_name(gone, kept):
            return "done" if is_permitted else "failed"
    if is_made(folder, change):
        return "done"
    if not is_permitted:
        return "failed" if _holds(folder, change.source or change.path, change.former) else "unknown"
    try:
        folder.apply(change)
    except (MemoryChanged, MemoryFull):
        return "unknown"
    return "done"


def _is_permitted(data: c.MemoryWritten, shared: SharedFolder, state: WorkspaceState) -> bool:
    """Whether the client could make the write now. An undoing is the user's own."""
    if any(shared.denies(note) for note in (data.note, data.from_) if note is not None):
        return False
    return data.command == "undo" or state.sharing_of(data.client) == "all"


def _holds(folder: MemoryFolder, path: Parts, content: bytes | None) -> bool:
    try:
        return folder.read(path) == content
    except ToolError:
        return False


def _text(name: str | None, blob: Blob) -> bytes | None:
    content = blob(name) if name is not None else None
    if name is not None and content is None:
        raise NotRecorded(
            "A text of the write is not kept", hint="Restore it from a backup of the data directory."
        )
    return content


class Memory:
    """One for each daemon. All methods block, and may be called on any thread but the loop's."""

    def __init__(
        self, places: Places, publishing: Publishing, blob: Blob, check_running: Callable[[], None]
    ) -> None:
        """
        Args:
            blob: the log's texts by their hashes.
            check_running: raises Busy if the daemon is ending.
        """
        self._places = places
        self.is_set = places.is_set
        """Whether there is a memory folder, and so the tool."""
        self._publishing = publishing
        self._blob = blob
        self._check_running = check_running
        self._budget = TextBudget()
        self._lock = threading.Lock()
        """Held from the first look at the folder until the file is changed: writes come one after the other."""
        self.interrupted: int = 0
        """The number of writes of an earlier run that could not be ended, because their folder is not there."""

    def use(self, command: UseMemory, client: str, vault: VaultId | None) -> MemoryAnswer:
        """Carries out an agent's command on the memory folder of a vault.

        Raises:
            WorkspacedError: as `UseMemory`.
        """
        shared = self._places.of(vault)
        with self._lock:
            # Again, because the call has waited for others: the user may have withdrawn the permission meanwhile.
            if self._publishing.writer.state.sharing_of(client) != "all":
                raise sharing_off(client)
            planned = plan(command, shared)
            self._budget.take(sum(map(_size, planned.changes)))
            if command.command != "view":
                self._write(planned.changes, command.command, client, vault, shared)
            return planned.answer

    def files(self, vault: VaultId | None) -> tuple[MemoryFile, ...]:
        """The files that agents may see, by name; none if there is no folder.

        Raises:
            ToolError: the folder cannot be read.
        """
        if not self.is_set:
            return ()
        shared = self._places.of(vault)
        with self._lock:
            return listing(shared)

    def undo(self, event: Event | None, seq: int, client: str) -> int:
        """Undoes the write at `seq`, whose event is `event`; returns the sequence of the new write.

        Raises:
            InvalidArgument: the event is no write, or one to another folder.
            MemoryChanged: the file is not as the write left it.
            NotRecorded: the former text is not kept.
            WorkspacedError: as `UseMemory`.
        """
        if event is None or type(event.data) is not c.MemoryWritten:
            raise InvalidArgument(
                f"Event {seq} is no write to the memory.", hint="`workspaced memory list` shows the writes."
            )
        shared = self._places.of(event.vault)
        with self._lock:
            change = self._reverse(event.data, shared, seq)
            [written] = self._write((change,), "undo", client, event.vault, shared, undoes=seq)
            return written

    def end_interrupted(self, pending: dict[int, PendingWrite]) -> None:
        """Ends the writes of earlier runs that have no end: makes the change if the file is as it was before,
        and says so in the log. To be called once, before the first command."""
        with self._lock:
            for shared in self._places.every():  # First: a temporary name makes the file one with two names.
                shared.folder.remove_temporaries()
            for seq, write in pending.items():
                try:
                    shared = self._places.of(write.vault)
                    outcome = finish(write.data, shared, self._publishing.writer.state, self._blob)
                except (WorkspacedError, OSError) as error:
                    self.interrupted += 1
                    logger.warning("the write %d to the memory was interrupted, and stays so: %s", seq, error)
                else:
                    logger.warning("the write %d to the memory was interrupted; it is %s now", seq, outcome)
                    self._end([seq], outcome)

    # -- writing --

    def _write(
        self,
        changes: Sequence[Change],
        command: c.MemoryCommand,
        client: str,
        vault: VaultId | None,
        shared: SharedFolder,
        undoes: int | None = None,
    ) -> list[int]:
        """Records the changes, makes them, and returns their sequences. A few at a time: a folder may hold more
        than one batch of the log."""
        seqs: list[int] = []
        for at in range(0, len(changes), _MEMORY_CHANGES_PER_BATCH):
            some = changes[at : at + _MEMORY_CHANGES_PER_BATCH]
            actions = [
                Action(_event(each, command, client, shared, undoes), vault=vault, blobs=_texts(each))
                for each in some
            ]
            receipts = self._publishing.record_and_wait(
                actions, self._check_running, self._revoke, size_bytes=sum(map(_size, some))
            )
            recorded = [receipt.seq for receipt in receipts]
            self._make(some, recorded, shared)
            seqs += recorded
        return seqs

    def _make(self, changes: Sequence[Change], seqs: Sequence[int], shared: SharedFolder) -> None:
        """Makes the changes that were recorded at `seqs`, and records what became of them."""
        for at, change in enumerate(changes):
            try:
                shared.folder.apply(change)
            except ToolError:
                # The disk may have refused only the last sync, so the folder itself is asked.
                if is_made(shared.folder, change):
                    self._end(seqs[: at + 1], "done")
                    self._end(seqs[at + 1 :], "failed")
                else:
                    self._end(seqs[:at], "done")
                    self._end(seqs[at:], "failed")
                raise
            shared.wrote(change.path, change.text)
            if change.source is not None:
                shared.wrote(change.source, None)
        self._end(seqs, "done")

    def _revoke(self, receipts: Sequence[Receipt]) -> None:
        """Ends writes that the log took after their agent had been told that nothing changed."""
        self._end([receipt.seq for receipt in receipts], "failed")

    def _end(self, seqs: Sequence[int], outcome: c.MemoryOutcome) -> None:
        if seqs:
            self._publishing.record_end([Action(c.MemoryWriteEnded(seq, outcome)) for seq in seqs])

    # -- undoing --

    def _reverse(self, data: c.MemoryWritten, shared: SharedFolder, seq: int) -> Change:
        change = recorded_change(data, shared, self._blob)
        folder = shared.folder
        if not is_made(folder, change):
            raise MemoryChanged(
                f"{data.note} is not as write {seq} left it.",
                hint="It was changed, moved or undone since. `workspaced memory list` shows the later writes.",
            )
        if change.source is not None:
            return Change(change.source, change.text, change.text, change.path)
        return Change(change.path, change.text, change.former)


def _event(
    change: Change, command: c.MemoryCommand, client: str, shared: SharedFolder, undoes: int | None
) -> c.MemoryWritten:
    return c.MemoryWritten(
        note=shared.note(change.path),
        command=command,
        client=client,
        former_sha256=_digest(change.former),
        text_sha256=_digest(change.text),
        from_=shared.note(change.source) if change.source is not None else None,
        undoes=undoes,
    )


def _texts(change: Change) -> tuple[bytes, ...]:
    return tuple(text for text in (change.former, change.text) if text is not None)


def _size(change: Change) -> int:
    return sum(map(len, _texts(change)))


def _digest(content: bytes | None) -> str | None:
    return sha256(content).hexdigest() if content is not None else None


class TextBudget:
    """Of all agents together, since a client chooses its name. For one thread at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: in seconds."""
        self._clock = clock
        self._since = clock()
        self._spent = 0

    def take(self, size_bytes: int) -> None:
        """Takes the room that texts need.

        Raises:
            MemoryFull: there is not as much left of this hour's; nothing is taken.
        """
        if self._clock() - self._since >= _HOUR_S:
            self._since, self._spent = self._clock(), 0
        if self._spent + size_bytes > MEMORY_LOGGED_BYTES_PER_HOUR:
            raise MemoryFull(
                f"Agents have written {self._spent} bytes into the memory within an hour; "
                f"at most {MEMORY_LOGGED_BYTES_PER_HOUR} are kept.",
                hint="Nothing changed. Write less often, and wait.",
            )
        self._spent += size_bytes
