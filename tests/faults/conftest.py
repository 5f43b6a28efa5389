"""Faults made to order: a preloaded shim, strace attached to a running daemon, a small disk, a crowd of clients.

What a machine does not let us do (no strace, no permission to trace or mount) skips the test, saying so.

Every test in this folder is `thorough`: each waits for a disk, a kill or a deadline, together half of the
suite's time.
"""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import call_faults
from support.daemon import Factory

FAULTS = Path(__file__).parent
ATTACH_S = 60.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == FAULTS:
            item.add_marker(pytest.mark.thorough)


@pytest.fixture
def daemon() -> Iterator[Factory]:
    """Starts daemons that have indexed their vaults: a selection's text is recorded of notes that are known."""
    made = Factory(indexed=True)
    yield made
    made.tear_down()


class Injection:
    """strace attached to a process; what it injects begins with the next call and ends with `detach`."""

    def __init__(self, pid: int, faults: tuple[str, ...], path: Path | None) -> None:
        calls = ",".join(fault.partition(":")[0] for fault in faults)
        command = ["strace", "-f", "-p", str(pid), "-o", "/dev/null", "-e", f"trace={calls}", "-e", "signal=none"]
        if path is not None:
            command += ["-P", str(path)]
        command += [f"--inject={fault}" for fault in faults]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self._said: list[str] = []
        self._attached = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._attached.wait(ATTACH_S)
        if not any("attached" in line for line in self._said):
            self.detach()
            pytest.skip(f"strace cannot attach to a process here: {' '.join(self._said)}")

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr:
            for line in self._process.stderr:
                self._said.append(line.decode(errors="replace").strip())
                self._attached.set()
        self._attached.set()

    def detach(self) -> None:
        """Leaves the process alone."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait(ATTACH_S)
        self._reader.join()


@pytest.fixture
def inject(daemon: Any) -> Iterator[Callable[..., Injection]]:
    """`inject(running, "fdatasync:error=EIO:when=1", path=...)`: the daemon's next calls meet these faults.

    With `path` only calls on that file do.
    """
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    made: list[Injection] = []

    def attach(running: Any, *faults: str, path: Path | None = None) -> Injection:
        made.append(Injection(running.pid, faults, path))
        return made[-1]

    yield attach
    for each in made:
        each.detach()


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets calls fail (shim.c)."""
    try:
        library: Path = call_faults.build(tmp_path_factory.mktemp("shim"))
    except call_faults.CannotBuild as error:
        pytest.skip(str(error))
    return library


@pytest.fixture
def faults_of(shim: Path) -> Callable[[Any], Any]:
    """`faults_of(running)`, before it starts: the plan of faults that its lives meet, empty at first."""

    def prepare(running: Any) -> Any:
        plan = call_faults.Plan(running.root / "plan")
        running.env |= call_faults.environment(shim, plan)
        return plan

    return prepare


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """`small_disk("size=128k")`: a fresh file system of that size. A test names it before `daemon`."""
    if os.getuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"this machine lets nobody mount a tmpfs: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)
