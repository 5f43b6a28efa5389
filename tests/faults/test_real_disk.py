"""A real file system that fails under a real daemon: an ext4 on a loop device that fills up, loses its backing, or
is cut off while it is written to. Needs root and loop devices; `make faults` runs it."""

import fcntl
import os
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.crowd import look, publish, selected, verified

from workspaced.errors import NoDaemon, RemoteError

MEGABYTE = 1024 * 1024
EXT4_SHUTDOWN = 0x8004587D
WITHOUT_FLUSH = 2
"""Neither the journal nor any page reaches the device from then on."""
ROUNDS = int(os.environ.get("WORKSPACED_FAULT_ROUNDS", "0"))
pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="mounting a file system needs root"),
    pytest.mark.skipif(ROUNDS == 0, reason="mounts file systems: `make faults` runs it"),
]


class LoopDisk:
    """An ext4 in a file that lies on a tmpfs of its own."""

    def __init__(self, root: Path, size: int, backing: int) -> None:
        self._under, self.place = root / "under", root / "disk"
        self._image = self._under / "image"
        for each in (self._under, self.place):
            each.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={backing}", "tmpfs", str(self._under))
        with self._image.open("wb") as file:
            file.truncate(size)
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0", str(self._image))
        self.mount()

    def mount(self) -> None:
        run("mount", "-o", "loop", str(self._image), str(self.place))

    def mend(self, backing: int = 64 * MEGABYTE) -> None:
        """After a cut, or once the backing is gone: repaired as a machine does it at its next start."""
        run("umount", str(self.place))
        run("mount", "-o", f"remount,size={backing}", str(self._under))
        subprocess.run(["fsck.ext4", "-p", str(self._image)], capture_output=True)
        self.mount()

    def cut(self) -> None:
        """From now on nothing reaches the device, and every call fails."""
        descriptor = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, EXT4_SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        finally:
            os.close(descriptor)

    def fill(self, leave: int = 0) -> Path:
        """Takes all the space there is, up to `leave` bytes."""
        ballast = self.place / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(65_536))
        os.truncate(ballast, max(0, ballast.stat().st_size - leave))
        os.sync()
        return ballast

    def tear_down(self) -> None:
        for place in (self.place, self._under):
            subprocess.run(["umount", "-l", str(place)], capture_output=True)


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(done.returncode, f"{' '.join(command)}: {done.stderr.strip()}")


@pytest.fixture
def loop_disk(tmp_path: Path) -> Iterator[Callable[..., LoopDisk]]:
    """`loop_disk(size, backing)`: a fresh file system. A test names it before `daemon`."""
    made: list[LoopDisk] = []
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not installed")

    def make(size: int = 32 * MEGABYTE, backing: int = 64 * MEGABYTE) -> LoopDisk:
        try:
            made.append(LoopDisk(tmp_path, size, backing))
        except OSError as error:
            pytest.skip(f"this machine gives no loop device: {error.strerror}")
        return made[-1]

    yield make
    for each in made:
        each.tear_down()


@pytest.fixture
def on_it(loop_disk: Any, daemon: Any, tmp_path: Path) -> Callable[..., tuple[LoopDisk, Any]]:
    """A disk, and a daemon on it that is not started yet."""

    def make(**sizes: int) -> tuple[LoopDisk, Any]:
        disk = loop_disk(**sizes)
        running = daemon("--no-watch", "--cache-dir", str(tmp_path / "cache"), start=False)
        running.data = disk.place / "data"
        return disk, running

    return make


def long(name: str) -> dict[str, Any]:
    """A selection with a text that is a blob of its own."""
    return selected(f"{name} {os.urandom(8_000).hex()}", name)


def test_a_device_that_loses_its_backing_poisons_and_a_restart_on_a_mended_one_recovers(on_it: Any) -> None:
    """The file system believes in space that its device has not: what it was given fails at the sync."""
    disk, running = on_it(size=64 * MEGABYTE, backing=12 * MEGABYTE)
    running.start()
    client = running.connect()
    acknowledged: dict[str, int] = {}
    for number in range(5_000):
        name = f"e{number}"
        try:
            acknowledged[name] = publish(client, long(name) if number % 2 else look("a.md", name))
        except RemoteError as error:
            assert error.code in ("LOG_FAILED", "BLOB_FAILED", "DISK_FULL") and error.hint, error
            if error.code == "LOG_FAILED":
                break
    else:
        raise AssertionError("the device did not fail")
    assert client.state()["seq"] >= max(acknowledged.values())
    running.send_signal(9)
    running.wait()
    disk.mend()
    running.start()
    acknowledged["after"] = publish(running.connect(), look("b.md", "after"))
    verified(running, acknowledged)


@pytest.mark.fault(row=61)
def test_a_file_system_cut_off_under_load_keeps_all_that_was_acknowledged(on_it: Any) -> None:
    disk, running = on_it()
    acknowledged: dict[str, int] = {}
    for turn in range(ROUNDS):
        running.start()
        enough = threading.Event()
        publishers = [
            threading.Thread(target=publish_until_it_fails, args=(running, f"{turn}-{each}", acknowledged, enough))
            for each in range(3)
        ]
        for each in publishers:
            each.start()
        assert enough.wait(60)
        disk.cut()
        for each in publishers:
            each.join(60)
            assert not each.is_alive(), "a publisher hangs"
        running.send_signal(9)
        running.wait()
        disk.mend()
    running.start()
    verified(running, acknowledged)


def publish_until_it_fails(running: Any, stem: str, acknowledged: dict[str, int], enough: threading.Event) -> None:
    """Events and texts, one after the other; `enough` is set after the thirtieth."""
    client = running.connect()
    for number in range(10_000):
        name = f"{stem}-{number}"
        action = {"type": "active_note_set", "data": {"note": "a.md"}, "id": name} if number % 3 else long(name)
        try:
            acknowledged[name] = publish(client, action)
        except (RemoteError, NoDaemon) as error:
            assert error.code in ("LOG_FAILED", "BLOB_FAILED", "NO_DAEMON"), error
            if error.code != "BLOB_FAILED":
                return
        if number == 30:
            enough.set()
