"""Faults of system calls in a process: builds shim.c and writes the plan that it follows.

`build(place)` makes the library; a process that starts with `environment(library, plan)` meets the faults of
`Plan(path)`, which may be changed while it runs.
"""

import mmap
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "shim.c"
SLOT = struct.Struct("=iiqqqq16s256s")
SLOTS = 16
CALLS = frozenset(
    {"open", "read", "pwrite", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "mkdir", "lstat"}
)
_SKIP_AT = struct.calcsize("=ii")
_MET_AT = struct.calcsize("=iiqqq")


class CannotBuild(Exception):
    """This machine makes no library to preload."""


def build(place: Path) -> Path:
    """Makes the library in `place`.

    Raises:
        CannotBuild: no compiler, or no Linux.
    """
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        raise CannotBuild("needs a C compiler and Linux's LD_PRELOAD")
    library = place / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotBuild(f"the C compiler makes no shared library: {done.stderr.strip()[:200]}")
    return library


def environment(library: Path, plan: "Plan") -> dict[str, str]:
    """What a process needs in its environment to meet the plan's faults."""
    return {"LD_PRELOAD": str(library), "CALL_FAULTS_PLAN": str(plan.path)}


class Plan:
    """The faults of one process, in a file that it maps."""

    def __init__(self, path: Path) -> None:
        """Opens the plan; makes an empty one where there is none."""
        self.path = path
        if not path.exists():
            path.write_bytes(bytes(SLOT.size * SLOTS))
        descriptor = os.open(path, os.O_RDWR)
        try:
            self._map = mmap.mmap(descriptor, SLOT.size * SLOTS)
        finally:
            os.close(descriptor)
        self._taken = 0

    def add(
        self, call: str, path: str, error: int = 0, *, skip: int = 0, times: int = -1, after_bytes: int = -1
    ) -> int:
        """Lets a call fail; returns the fault's number.

        Args:
            call: one of CALLS; of `rename` the new name counts.
            path: a part of the path.
            error: what it fails with.
            skip: so many such calls go well first.
            times: how many fail then; negative for all.
            after_bytes: of `pwrite`: so many bytes get through before, the last of them as a short write.
        """
        assert call in CALLS and self._taken < SLOTS
        number, self._taken = self._taken, self._taken + 1
        slot = SLOT.pack(0, error, skip, times, after_bytes, 0, call.encode(), path.encode())
        at = number * SLOT.size
        self._map[at : at + SLOT.size] = slot
        self._map[at : at + 4] = struct.pack("=i", 1)
        return number

    def met(self, number: int) -> int:
        """How often a fault was met so far."""
        met: int = struct.unpack_from("=q", self._map, number * SLOT.size + _MET_AT)[0]
        return met

    def left_to_skip(self, number: int) -> int:
        """How many calls go well before the fault's first one."""
        left: int = struct.unpack_from("=q", self._map, number * SLOT.size + _SKIP_AT)[0]
        return left

    def clear(self) -> None:
        """No more faults."""
        self._map[:] = bytes(len(self._map))
        self._taken = 0
