"""A disk that loses unsynced data: for tests of everything that must survive a power cut.

Between syncs every written sector, every size change and every name change may or may not have reached the
platter; `crash` decides from a seed. A failed sync is as bad as on Linux: the pages count as clean, so programs
still read the bytes, and a later sync succeeds without them. `faults` raises an error at any operation, and
`crash_at` stops the program at one, so that a test can stop at every I/O call.
"""

import errno
import random
from collections.abc import Callable
from typing import Final

SECTOR_BYTES: Final = 512


class PowerCut(BaseException):
    """The simulated machine lost power. Not an Exception, so that no handler catches it."""


class _Inode:
    """A file's bytes as programs see them, and the sectors and sizes that may be on the platter."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.durable = b""
        self.unsynced: list[tuple[int, bytes]] = []
        self.dropped: list[tuple[int, bytes]] = []
        """Sectors whose sync failed: no later sync writes them, yet they may have reached the platter."""
        self.sizes: list[int] = []

    def sync(self) -> None:
        self.durable = _patched(self.durable, self.unsynced, len(self.data))
        self.unsynced.clear()
        self.dropped.clear()
        self.sizes.clear()

    def fail_sync(self) -> None:
        self.dropped.extend(self.unsynced)
        self.unsynced.clear()

    def settle(self) -> None:
        """Puts everything that programs see on the platter."""
        self.unsynced = [(0, bytes(self.data))]
        self.sync()

    def survive(self, chance: random.Random) -> bytes:
        """The bytes on the platter after a power cut: some of the unsynced sectors, one of the sizes."""
        size = chance.choice([len(self.durable), *self.sizes])
        return _patched(
            self.durable, [each for each in self.dropped + self.unsynced if chance.random() < 0.5], size
        )


def _patched(content: bytes, sectors: list[tuple[int, bytes]], size: int) -> bytes:
    patched = bytearray(content)
    for offset, sector in sectors:
        patched.extend(bytes(max(0, offset + len(sector) - len(patched))))
        patched[offset : offset + len(sector)] = sector
    patched.extend(bytes(max(0, size - len(patched))))
    return bytes(patched[:size])


class SimDisk:
    """A `Disk` in memory. A crash removes names that are not on the platter."""

    def __init__(self) -> None:
        self._live: dict[str, _Inode] = {}
        self._durable: dict[str, _Inode] = {}
        self.operations = 0
        self.crash_at: int | None = None
        self.faults: Callable[[str, str], OSError | None] = lambda _operation, _name: None
        """Called with the operation's and the file's name before every operation; returns an error to raise."""
        self.free_bytes: int | None = None

    # -- the port --

    def names(self, directory: str) -> list[str]:
        prefix = f"{directory}/"
        return sorted({name[len(prefix) :].partition("/")[0] for name in self._live if name.startswith(prefix)})

    def read(self, name: str, offset: int = 0, size: int = -1) -> bytes:
        data = self._inode(name).data
        return bytes(data[offset:] if size < 0 else data[offset : offset + size])

    def size(self, name: str) -> int:
        return len(self._inode(name).data)

    def reserve(self, descriptors: int) -> None:
        """A simulated disk has no descriptors to run out of."""

    def open(self, name: str, *, create: bool = False) -> "SimFile":
        self._step("open", name)
        if create and name not in self._live:
            self._live[name] = _Inode()
        return SimFile(self, name, self._inode(name))

    def make_directory(self, directory: str) -> None:
        self._step("make_directory", directory)

    def rename(self, old: str, new: str) -> None:
        self._step("rename", old)
        self._live[new] = self._inode(old)
        del self._live[old]

    def remove(self, name: str) -> None:
        self._step("remove", name)
        self._inode(name)
        del self._live[name]

    def sync_directory(self, directory: str) -> None:
        self._step("sync_directory", directory)
        for name in {*self._live, *self._durable}:
            if name.rpartition("/")[0] == directory:
                self._settle(name)

    # -- for tests --

    def crash(self, seed: int) -> "SimDisk":
        """The disk after a power cut: the synced data, and a part of the unsynced data chosen by `seed`."""
        chance = random.Random(seed)
        for name in sorted({*self._live, *self._durable}):
            if chance.random() < 0.5:
                self._settle(name)
        survivor = SimDisk()
        for name, inode in self._durable.items():
            copy = _Inode()
            copy.data = bytearray(inode.survive(chance))
            copy.settle()
            survivor._live[name] = survivor._durable[name] = copy
        return survivor

    def overwrite(self, name: str, data: bytes) -> None:
        """Replaces a file's bytes durably behind the program's back."""
        inode = self._live.setdefault(name, _Inode())
        inode.data = bytearray(data)
        inode.settle()
        self._durable[name] = inode

    def discard(self, name: str) -> None:
        """Removes a file durably behind the program's back."""
        self._live.pop(name, None)
        self._durable.pop(name, None)

    # -- internals --

    def _step(self, operation: str, name: str) -> None:
        self.operations += 1
        if self.crash_at is not None and self.operations >= self.crash_at:
            raise PowerCut(f"power cut at operation {self.operations}: {operation} {name}")
        if (error := self.faults(operation, name)) is not None:
            raise error

    def _settle(self, name: str) -> None:
        if name in self._live:
            self._durable[name] = self._live[name]
        else:
            self._durable.pop(name, None)

    def _inode(self, name: str) -> _Inode:
        try:
            return self._live[name]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", name) from None


class SimFile:
    """A file of the simulated disk."""

    def __init__(self, disk: SimDisk, name: str, inode: _Inode) -> None:
        self._disk = disk
        self._name = name
        self._inode = inode

    def write_at(self, offset: int, data: bytes) -> int:
        try:
            self._disk._step("write", self._name)
        except PowerCut:
            self._put(offset, data)  # the bytes may have reached the platter in part
            raise
        growth = max(0, offset + len(data) - len(self._inode.data))
        free = self._disk.free_bytes
        if free is not None:
            data = data[: len(data) - max(0, growth - free)]
            self._disk.free_bytes = free - min(growth, free)
            if not data:
                raise OSError(errno.ENOSPC, "No space left on device")
        self._put(offset, data)
        return len(data)

    def sync(self) -> None:
        try:
            self._disk._step("sync", self._name)
        except OSError:
            self._inode.fail_sync()
            raise
        self._inode.sync()

    def truncate(self, size: int) -> None:
        self._disk._step("truncate", self._name)
        if self._disk.free_bytes is not None:
            self._disk.free_bytes += max(0, len(self._inode.data) - size)
        self._put(len(self._inode.data), bytes(max(0, size - len(self._inode.data))))
        del self._inode.data[size:]
        self._inode.sizes.append(size)

    def trouble(self, size: int) -> str | None:
        named = self._disk._live.get(self._name)
        if named is None:
            return "was removed"
        if named is not self._inode:
            return "was replaced by another file"
        size_now = len(self._inode.data)
        return None if size_now == size else f"has {size_now} bytes instead of {size}"

    def close(self) -> None:
        """Does nothing: a simulated file has no descriptor."""

    def _put(self, offset: int, data: bytes) -> None:
        inode = self._inode
        if (gap := offset - len(inode.data)) > 0:
            offset, data = offset - gap, bytes(gap) + data
        inode.data[offset : offset + len(data)] = data
        inode.sizes.append(len(inode.data))
        position = offset
        while position < offset + len(data):
            stop = min(offset + len(data), (position // SECTOR_BYTES + 1) * SECTOR_BYTES)
            inode.unsynced.append((position, data[position - offset : stop - offset]))
            position = stop
