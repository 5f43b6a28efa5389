"""A daemon as users run it, `workspaced serve` in a process of its own, and what the system says of it."""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from workspaced.client.sync_client import SyncClient, connect
from workspaced.client.wire import hello_params, request_line

from .bare import Wire
from .measure import Sizes, progress
from .vaults import make_vault

READY_S = 60.0
UNCERTAIN_S = 2.1
"""A note changed later than this ago is read anew at every call (the content cache's rule)."""


class Place:
    """Where a run keeps its files: vaults, logs and baselines on one file system, sockets under a short path."""

    def __init__(self, root: Path, sockets: Path, sizes: Sizes) -> None:
        self.root = root
        self.sockets = sockets
        self.sizes = sizes
        self._vault: Path | None = None
        self._number = 0

    def new(self, name: str) -> Path:
        """A path under which nothing is yet."""
        self._number += 1
        return self.root / f"{name}-{self._number}"

    @property
    def vault(self) -> Path:
        """A vault of `sizes.notes` notes, made when first asked for. Old enough to be cached."""
        if self._vault is None:
            progress(f"making a vault of {self.sizes.notes} notes")
            self._vault = self.new("vault")
            make_vault(self._vault, self.sizes.notes)
            time.sleep(UNCERTAIN_S)
        return self._vault


@contextlib.contextmanager
def place(directory: Path, sizes: Sizes) -> Iterator[Place]:
    """A place below `directory`; removed afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix=".bench-", dir=directory) as root,
        tempfile.TemporaryDirectory(prefix="wb-") as sockets,
    ):
        progress(
            f"files in {root} ({file_system(Path(root))}), {os.cpu_count()} CPUs, Python {sys.version.split()[0]}"
        )
        yield Place(Path(root), Path(sockets), sizes)


class Daemon:
    """A running daemon."""

    def __init__(self, process: "subprocess.Popen[bytes]", socket: Path, data: Path) -> None:
        self.pid = process.pid
        self.socket = socket
        self.data = data

    def wire(self) -> Wire:
        """A connection after its hello, as cheap for the measuring side as can be."""
        wire = Wire(self.socket)
        wire.ask(request_line(0, "workspaced/hello", hello_params("bench")))
        return wire

    def client(self) -> SyncClient:
        """The client that users have."""
        return connect(self.socket, name="bench", timeout_s=30.0)

    def status(self) -> dict[str, Any]:
        """What `workspaced/status` says."""
        with self.client() as client:
            status: dict[str, Any] = client.call("workspaced/status")
            return status

    def wait_for_index(self) -> None:
        """Returns when the index of the only vault is ready."""
        self._wait_for("state")

    def wait_for_text(self) -> None:
        """Returns when the index of the only vault has all texts."""
        self._wait_for("text")

    def _wait_for(self, part: str) -> None:
        deadline = time.monotonic() + READY_S
        while self.status()["vaults"][0]["index"][part] != "ready":
            if time.monotonic() > deadline:
                raise TimeoutError(f"the index was not ready within {READY_S} s")
            time.sleep(0.02)

    def log_bytes(self) -> int:
        """How large the log's segments are."""
        return sum(path.stat().st_size for path in (self.data / "log").glob("*.wlog"))

    def resident_mb(self) -> float:
        """As the function."""
        return resident_mb(self.pid)


def resident_mb(pid: int) -> float:
    """A process's resident memory, 2**20 bytes each."""
    done = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True, text=True)
    return int(done.stdout) / 1024


@contextlib.contextmanager
def daemon(
    at: Place,
    vault: Path,
    data: Path | None = None,
    *,
    name: str = "d",
    settings: Mapping[str, str] | None = None,
    module: str = "workspaced",
) -> Iterator[Daemon]:
    """A daemon on `vault` that accepts clients; stopped in good order afterwards.

    Args:
        at: where its files go.
        vault: its only vault.
        data: the data directory of an earlier one, to start again on its log.
        name: tells it from others that run at the same time.
        settings: in force besides, by their names in the environment.
        module: what is run as `python -m`.
    """
    data = data or at.new("data")
    socket, log = at.sockets / f"{name}.sock", at.new("stderr")
    command = [sys.executable, "-m", module, "serve", "--vault", str(vault), "--data-dir", str(data)]
    # A file and no pipe: a daemon that has much to say must not wait for us to read it.
    with open(log, "wb") as stderr:
        # With a home of its own, so that nobody who looks for running daemons finds this one.
        home = {**os.environ, **(settings or {}), "HOME": str(at.root)}
        process = subprocess.Popen([*command, "--socket", str(socket)], stderr=stderr, env=home)
    try:
        _wait_until_listening(process, log)
        yield Daemon(process, socket, data)
    finally:
        process.terminate()
        process.wait()
        *_, complaints = log.read_text(errors="replace").partition("listening on")
        if len(lines := complaints.splitlines()) > 1:
            progress("\n".join(f"  daemon: {line}" for line in lines[1:6]))


def _wait_until_listening(process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while b"listening on" not in log.read_bytes():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the daemon did not start: {log.read_text(errors='replace')}")
        time.sleep(0.001)


def call_line(tool: str, **arguments: Any) -> bytes:
    """The request that calls a tool."""
    return request_line(1, "tools/call", {"name": tool, "arguments": arguments})


def structured(answer: bytes) -> dict[str, Any]:
    """A tool's result out of the answer's line; it must be a success."""
    result = msgspec.json.decode(answer)["result"]["structuredContent"]
    if not result["success"]:
        raise RuntimeError(f"the tool failed: {result}")
    data: dict[str, Any] = result["data"]
    return data


def file_system(path: Path) -> str:
    """The kind of file system `path` is on; `unknown` where the system does not say."""
    best, kind = "", "unknown"
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _device, mount, type_, *_ = line.split()
            mount = re.sub(r"\\040", " ", mount)
            if path.is_relative_to(mount) and len(mount) >= len(best):
                best, kind = mount, type_
    return kind
