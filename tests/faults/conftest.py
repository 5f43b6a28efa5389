"""Faults made to order: a preloaded shim, strace attached to a running daemon, a small disk, a crowd of clients.

What a machine does not let us do (no strace, no permission to trace or mount) skips the test, saying so.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ATTACH_S = 10.0

_SPEC = importlib.util.spec_from_file_location("call_faults", Path(__file__).parent / "call_faults.py")
assert _SPEC is not None and _SPEC.loader is not None
call_faults = importlib.util.module_from_spec(_SPEC)
sys.modules["call_faults"] = call_faults
_SPEC.loader.exec_module(call_faults)


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
        self._process.wait(10)
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


def looked_at(note: str, name: str | None = None) -> dict[str, Any]:
    """An action; `name` is its id."""
    return {"type": "active_note_set", "data": {"note": note}} | ({} if name is None else {"id": name})


def large_batch(name: str, number: int) -> list[dict[str, Any]]:
    """Some 150 KB: many events for the log, or a few texts that become blobs."""
    if number % 2:
        note = "/".join(["d" * 250] * 3)
        return [looked_at(f"{note}/{each}.md", f"{name}:{each}") for each in range(150)]
    text = f"{name} " * (36_000 // len(name))
    selection = {"note": "a.md", "startLine": 1, "endLine": 2}
    return [
        {"type": "selection_changed", "data": {**selection, "text": f"{each} {text}"}, "id": f"{name}:{each}"}
        for each in range(4)
    ]


class Crowd:
    """Many bare connections that publish without waiting for answers, then read them all.

    Attributes:
        acknowledged: the sequence of each acknowledged id.
        kept: the names of the acknowledged batches.
        refused: the error of each refused batch, by its name: an id, or what stands before the colon of its ids.
    """

    def __init__(self, running: Any, clients: int) -> None:
        self.wires = [running.wire() for _ in range(clients)]
        self.acknowledged: dict[str, int] = {}
        self.kept: set[str] = set()
        self.refused: dict[str, dict[str, Any]] = {}
        self.worst_s = 0.0
        self._sent: list[tuple[Any, int, str, float]] = []
        for wire in self.wires:
            wire.ask("workspaced/hello", {"client": {"name": "crowd"}})

    def publish(self, each: int, stem: str, large: int = 0) -> None:
        """`each` publishes on every connection, nothing read in between; the first `large` send large batches."""
        for number, wire in enumerate(self.wires):
            for turn in range(each):
                name = f"{stem}-{number}-{turn}"
                actions = large_batch(name, turn) if number < large else [looked_at(f"{name}.md", name)]
                sent = wire.request("workspaced/publish", {"actions": actions})
                self._sent.append((wire, sent, name, time.monotonic()))

    def collect(self) -> None:
        """Reads the answers to everything sent."""
        waiting = {(id(wire), sent): (name, at) for wire, sent, name, at in self._sent}
        counts: dict[int, int] = {}
        for wire, *_ in self._sent:
            counts[id(wire)] = counts.get(id(wire), 0) + 1
        self._sent.clear()
        for wire in self.wires:
            for _ in range(counts.get(id(wire), 0)):
                message = wire.line()
                assert message is not None, "the daemon closed the connection"
                name, at = waiting.pop((id(wire), message["id"]))
                if "error" in message:
                    self.refused[name] = message["error"]
                else:
                    self.worst_s = max(self.worst_s, time.monotonic() - at)
                    self.acknowledged |= {each["id"]: each["seq"] for each in message["result"]["events"]}
                    self.kept.add(name)
        assert not waiting

    def codes(self) -> set[str]:
        """The codes of all refusals."""
        return {error["data"]["code"] for error in self.refused.values()}

    def close(self) -> None:
        for wire in self.wires:
            wire.close()


@pytest.fixture
def crowd() -> Callable[..., Crowd]:
    return Crowd


@pytest.fixture
def look() -> Callable[..., dict[str, Any]]:
    return looked_at


@pytest.fixture
def verified() -> Callable[..., list[Any]]:
    """`verified(running, acknowledged)`: its events, once the log is whole, folds to the live state and holds all
    that was acknowledged (id to sequence)."""
    import json

    import msgspec

    from workspaced_events.projections.workspace_state import to_json
    from workspaced_events.replay.replay import replay

    def check(running: Any, acknowledged: dict[str, int]) -> list[Any]:
        events: list[Any] = []
        with running.connect() as client:
            for _ in range(100):  # the records of tool calls may still be on their way
                before = client.call("workspaced/status")["seq"]
                events.clear()
                result = replay(running.data, each=events.extend)
                live = client.state()
                if before == events[-1].seq == client.call("workspaced/status")["seq"]:
                    break
            else:
                raise AssertionError("the log does not come to rest")
        assert live == json.loads(msgspec.json.encode(to_json(result.state)))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        by_id = {event.id: event.seq for event in events}
        assert len(by_id) == len(events), "an id was recorded twice"
        assert {name: by_id.get(name) for name in acknowledged} == acknowledged
        return events

    return check
