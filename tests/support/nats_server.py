"""Real NATS servers on loopback ports of their own: one, or a cluster of three.

They come from the wheel that `make .venv/.nats` installs; without it the tests that need one are skipped.
"""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import nats
import nats.errors
import pytest

from workspaced.peers.carrying.server_config import stream_config

START_S = 60.0


def binary() -> str | None:
    """The server's program, if it is installed."""
    beside = Path(sys.executable).parent / "nats-server"
    return str(beside) if beside.exists() else shutil.which("nats-server")


needs_server = pytest.mark.skipif(binary() is None, reason="no nats-server: `make .venv/.nats` installs it")


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class NatsServer:
    """One server, with a folder for its store that outlives its restarts."""

    def __init__(self, folder: Path, *, more: str = "", port: int | None = None, name: str = "one") -> None:
        self.folder = folder
        self.store = folder / "store"
        self.port = port or free_ports(1)[0]
        self.name = name
        self.more = more
        """Lines of its configuration: authorization, tls, cluster."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def urls(self) -> tuple[str, ...]:
        return (self.url,)

    def launch(self) -> None:
        """Starts it, and does not wait."""
        assert self._process is None, "it runs"
        program = binary()
        assert program is not None
        self.folder.mkdir(exist_ok=True)
        configuration = self.folder / "nats.conf"
        configuration.write_text(
            f'server_name: {self.name}\nlisten: "127.0.0.1:{self.port}"\n'
            f"jetstream {{ store_dir: {json.dumps(str(self.store))} }}\n{self.more}\n"
        )
        log = (self.folder / "log").open("wb")
        with log:
            command = [program, "-c", str(configuration)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def start(self) -> None:
        """Starts it, and waits until it is ready."""
        self.launch()
        self.wait()

    def wait(self) -> None:
        assert self._process is not None
        until = time.monotonic() + START_S
        while b"Server is ready" not in (said := (self.folder / "log").read_bytes()):
            assert self._process.poll() is None and time.monotonic() < until, said.decode()
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it, by default in its own order."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def pause(self) -> None:
        """It keeps its connections, and says nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def keep_store(self, to: Path) -> None:
        """Copies what it has; it is stopped meanwhile."""
        self.stop()
        shutil.copytree(self.store, to)
        self.start()

    def restore_store(self, kept: Path) -> None:
        """Puts an older copy in place."""
        self.stop()
        shutil.rmtree(self.store)
        shutil.copytree(kept, self.store)
        self.start()

    def wipe(self) -> None:
        """It loses all it has, the stream too."""
        self.stop()
        shutil.rmtree(self.store)
        self.start()


async def make_stream(url: str, config: dict[str, Any] | None = None, **credentials: Any) -> None:
    """Makes the stream as the operator does; in a cluster as soon as it can."""
    config = config or stream_config()
    answer = await operate(url, f"STREAM.CREATE.{config['name']}", config, **credentials)
    assert "error" not in answer, answer


async def delete_stream(url: str, name: str = "WORKSPACED", **credentials: Any) -> None:
    answer = await operate(url, f"STREAM.DELETE.{name}", {}, **credentials)
    assert "error" not in answer, answer


async def operate(url: str, what: str, parameters: dict[str, Any], **credentials: Any) -> dict[str, Any]:
    """Asks JetStream's API; a cluster that has no leader yet is asked again."""
    until = time.monotonic() + START_S
    client = await nats.connect(url, **credentials)
    try:
        while True:
            answer: dict[str, Any] = {"error": "no answer"}
            with suppress(nats.errors.Error):
                message = await client.request(f"$JS.API.{what}", json.dumps(parameters).encode(), timeout=2)
                answer = json.loads(message.data)
            if "error" not in answer or time.monotonic() > until:
                return answer
            if answer["error"] != "no answer" and answer["error"].get("code") != 503:
                return answer
    finally:
        await client.close()


class Cluster:
    """Three servers, of which any two can go on."""

    def __init__(self, folder: Path) -> None:
        ports = free_ports(6)
        routes = ", ".join(json.dumps(f"nats://127.0.0.1:{port}") for port in ports[3:])
        folder.mkdir(exist_ok=True)
        self.servers = [
            NatsServer(
                folder / f"n{number}",
                port=ports[number],
                name=f"n{number}",
                more=f'cluster {{ name: c, listen: "127.0.0.1:{ports[3 + number]}", routes: [{routes}] }}',
            )
            for number in range(3)
        ]

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(each.url for each in self.servers)

    def start(self) -> None:
        for each in self.servers:
            each.launch()
        for each in self.servers:
            each.wait()

    def stop(self) -> None:
        for each in self.servers:
            each.stop()

    async def leader(self) -> NatsServer:
        """The server that leads the stream."""
        info = await operate(self._running().url, "STREAM.INFO.WORKSPACED", {})
        name = info["cluster"]["leader"]
        return next(each for each in self.servers if each.name == name)

    def _running(self) -> NatsServer:
        return next(each for each in self.servers if each._process is not None)


@contextmanager
def nats_server(folder: Path, *, more: str = "") -> Iterator[NatsServer]:
    """A running server, without a stream."""
    server = NatsServer(folder, more=more)
    server.start()
    try:
        yield server
    finally:
        with suppress(ProcessLookupError):
            server.kill()


@contextmanager
def nats_cluster(folder: Path) -> Iterator[Cluster]:
    """Three running servers, without a stream."""
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        for each in cluster.servers:
            each.kill()
