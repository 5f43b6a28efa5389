"""An agent's own pipes in the daemon's hands: who holds them, who ends, and what it refuses to take."""

import asyncio
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from support import short_limits
from support.bridge import END_S, Agent

from workspaced.ipc.handover import ENDED, OFFER, READY, REFUSED
from workspaced.limits import BRIDGE_LINGER_S, CONNECTIONS_MAX, UNREAD_BYTES_MAX
from workspaced.server.connection import Connection
from workspaced.server.pipes import PipesTransport, open_ends

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the bridge copies bytes")
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n'
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def initialize() -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}).encode() + b"\n"


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether it holds in time."""
    end = time.monotonic() + END_S
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def connections(running: Any) -> int:
    with running.connect() as client:
        count: int = client.call("workspaced/status")["queues"]["connections"]
    return count - 1


# -- who holds them --


def test_while_the_bridge_is_stopped_the_daemon_answers_nevertheless(shared: Any, agent: Any) -> None:
    made: Agent = agent(shared)
    made.ask("initialize", INITIALIZE)
    made.process.send_signal(signal.SIGSTOP)
    try:
        assert made.ask("ping") == {}
    finally:
        made.process.send_signal(signal.SIGCONT)
    assert made.end() == (0, b"", "")


def bridged(running: Any, stdin: Any, stdout: Any) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", "-m", "workspaced", "mcp"]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, env=running.env)


def exit_of(process: "subprocess.Popen[bytes]") -> tuple[int, bytes]:
    _, err = process.communicate(timeout=END_S)
    return process.returncode, err


def lines_of(connection: socket.socket, count: int) -> list[Any]:
    connection.settimeout(END_S)
    with connection.makefile("rb") as stream:
        return [json.loads(stream.readline()) for _ in range(count)]


@pytest.mark.parametrize("end", ["close", "half-close"])
def test_pairs_of_sockets_are_handed_over_as_some_runtimes_give_them(shared: Any, end: str) -> None:
    to, stdin = socket.socketpair()
    of, stdout = socket.socketpair()
    with to, of:
        process = bridged(shared, stdin, stdout)
        stdin.close()
        stdout.close()
        to.sendall(initialize())
        assert lines_of(of, 1)[0]["result"]["protocolVersion"] == "2025-11-25"
        process.send_signal(signal.SIGSTOP)
        to.sendall(PING)
        assert lines_of(of, 1) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
        process.send_signal(signal.SIGCONT)
        to.close() if end == "close" else to.shutdown(socket.SHUT_WR)
        assert of.recv(100) == b""
        assert exit_of(process) == (0, b"")


def test_one_socket_for_both_is_copied(shared: Any) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        process = bridged(shared, theirs, theirs)
        theirs.close()
        ours.sendall(initialize() + PING)
        assert [each["id"] for each in lines_of(ours, 2)] == [0, 1]
        ours.shutdown(socket.SHUT_WR)
        assert exit_of(process) == (0, b"")


def test_files_are_copied(shared: Any, tmp_path: Path) -> None:
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_bytes(initialize() + PING)
    with asked.open("rb") as stdin, answered.open("wb") as stdout:
        process = bridged(shared, stdin, stdout)
        assert exit_of(process) == (0, b"")
    assert [json.loads(line)["id"] for line in answered.read_bytes().splitlines()] == [0, 1]


def test_a_pipe_with_a_name_whose_writer_has_gone_ends_like_any_other(shared: Any, tmp_path: Path) -> None:
    """Opened anew it would never tell its end."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with path.open("wb", buffering=0) as to:
        to.write(initialize() + PING)
    before = time.monotonic()
    process = bridged(shared, reading, subprocess.PIPE)
    os.close(reading)
    out, err = process.communicate(timeout=END_S)
    assert (process.returncode, err) == (0, b"")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]
    assert time.monotonic() - before < BRIDGE_LINGER_S, "it waited for an end that nobody told"


def test_answers_that_the_agent_has_not_read_outlive_the_daemon(daemon: Any, agent: Any) -> None:
    running = daemon()
    made: Agent = agent(running)
    made.ask("initialize", INITIALIZE)
    listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
    made.to.write(listing)
    made.to.flush()
    size = len(made.of.readline())
    count = 128 * 1024 // size
    made.to.write(listing * count)
    made.to.flush()
    assert eventually(lambda: pending(made) == count * size)
    running.stop()
    assert [json.loads(line)["id"] for line in made.of.read().splitlines()] == [1] * count
    assert made.process.wait(END_S) == 3


def pending(made: Agent) -> int:
    """How many bytes wait in the agent's pipe."""
    return struct.unpack("i", fcntl.ioctl(made.of, termios.FIONREAD, b"\0" * 4))[0]  # type: ignore[no-any-return]


def test_what_stands_before_the_agents_first_byte_comes_first(shared: Any, agent: Any) -> None:
    made: Agent = agent(shared, "--tools", "core")
    made.ask("initialize", INITIALIZE)
    assert len(made.ask("tools/list")["tools"]) == 4


def test_a_long_request_and_a_long_answer_pass_whole(shared: Any, agent: Any) -> None:
    made: Agent = agent(shared)
    actions = [{"type": "active_note_set", "data": {"note": f"{'long' * 10}/{each}.md"}} for each in range(1_000)]
    assert len(json.dumps(actions)) > 80_000, "more than a pipe holds"
    receipts = made.ask("workspaced/publish", {"actions": actions})["events"]
    assert len(receipts) == len(actions)
    events = made.ask("workspaced/log", {"from": receipts[0]["seq"], "limit": 10_000})["events"]
    assert [event["seq"] for event in events] == [each["seq"] for each in receipts]


# -- ends --


def test_when_the_bridge_is_killed_the_daemon_lets_the_pipes_go(daemon: Any, agent: Any) -> None:
    running = daemon()
    made: Agent = agent(running)
    made.ask("initialize", INITIALIZE)
    assert connections(running) == 1
    held = descriptors(running.pid)
    made.process.kill()
    assert made.of.read() == b""
    assert eventually(lambda: connections(running) == 0)
    assert eventually(lambda: descriptors(running.pid) <= held - 3)


@pytest.mark.thorough
def test_a_daemon_that_hangs_keeps_no_bridge_whose_agent_has_gone(daemon: Any, agent: Any) -> None:
    running = daemon()
    made: Agent = agent(running)
    made.ask("initialize", INITIALIZE)
    running.send_signal(signal.SIGSTOP)
    try:
        before = time.monotonic()
        made.to.close()
        assert made.process.wait(END_S) == 0
        assert time.monotonic() - before > BRIDGE_LINGER_S - 1
    finally:
        running.send_signal(signal.SIGCONT)


def test_many_that_come_and_go_leave_nothing_behind(daemon: Any, agent: Any) -> None:
    running = daemon()
    agent(running).ask("initialize", INITIALIZE)
    before = descriptors(running.pid)
    for _ in range(5):
        made: Agent = agent(running)
        made.ask("initialize", INITIALIZE)
        assert made.end() == (0, b"", "")
    assert eventually(lambda: descriptors(running.pid) <= before)


# -- offers, as any client may make them --


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


class Offer:
    """A bridge of the test's own."""

    def __init__(self, running: Any, stack: ExitStack) -> None:
        self.bridge = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        self.bridge.settimeout(END_S)
        self.bridge.connect(str(running.socket))
        self.bridge.sendall(OFFER)
        assert self.bridge.recv(100) == READY

    def give(self, *ends: Any, first: bytes = b"\n") -> None:
        socket.send_fds(self.bridge, [first], [each if isinstance(each, int) else each.fileno() for each in ends])


def pipe(stack: ExitStack) -> tuple[Any, Any]:
    reading, writing = os.pipe()
    return stack.enter_context(os.fdopen(reading, "rb", 0)), stack.enter_context(os.fdopen(writing, "wb", 0))


def test_the_lines_that_come_with_the_pipes_are_answered_on_them(shared: Any, stack: ExitStack) -> None:
    stdin, to = pipe(stack)
    of, stdout = pipe(stack)
    offer = Offer(shared, stack)
    offer.give(stdin, stdout, first=initialize())
    to.write(PING)
    assert [json.loads(of.readline())["id"] for _ in range(2)] == [0, 1]
    stdin.close()
    to.close()
    assert offer.bridge.recv(100) == ENDED
    assert offer.bridge.recv(100) == b""


def file(stack: ExitStack, path: Path) -> Any:
    return stack.enter_context((path / "file").open("wb"))


def folder(stack: ExitStack, path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY)
    stack.callback(os.close, descriptor)
    return descriptor


def terminal(stack: ExitStack, _path: Path) -> int:
    ends = os.openpty()
    for each in ends:
        stack.callback(os.close, each)
    return ends[1]


def network(stack: ExitStack, _path: Path) -> socket.socket:
    server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    return stack.enter_context(socket.create_connection(server.getsockname()))


def datagrams(stack: ExitStack, _path: Path) -> socket.socket:
    return stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))


def reading_end(stack: ExitStack, _path: Path) -> Any:
    return pipe(stack)[0]


def named_pipe(stack: ExitStack, path: Path) -> Any:
    os.mkfifo(path / "pipe")
    return stack.enter_context((path / "pipe").open("r+b", buffering=0))


def connection_by_name(stack: ExitStack, path: Path) -> socket.socket:
    """A connection to this daemon itself would be one."""
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(str(path / "s"))
    server.listen()
    client = stack.enter_context(socket.socket(socket.AF_UNIX))
    client.connect(str(path / "s"))
    return client


NO_PIPES = [file, folder, terminal, network, datagrams, reading_end, named_pipe, connection_by_name]


@pytest.mark.parametrize("output", NO_PIPES)
def test_an_output_that_is_no_pipe_is_refused_and_costs_nothing(
    shared: Any, stack: ExitStack, tmp_path: Path, output: Callable[[ExitStack, Path], Any]
) -> None:
    assert_refused(shared, stack, pipe(stack)[0], output(stack, tmp_path))


@pytest.mark.parametrize(
    "order", [[], [0], [1, 0], [0, 0], [0, 1]], ids=["none", "one", "turned", "twice", "looped"]
)
def test_what_is_no_pair_of_pipes_is_refused_and_costs_nothing(
    shared: Any, stack: ExitStack, order: list[int]
) -> None:
    ends = pipe(stack)
    assert_refused(shared, stack, *(ends[each] for each in order))


def assert_refused(running: Any, stack: ExitStack, *ends: Any) -> None:
    before = descriptors(running.pid)
    offer = Offer(running, stack)
    offer.give(*ends)
    assert offer.bridge.recv(100) == REFUSED
    assert offer.bridge.recv(100) == b""
    assert eventually(lambda: descriptors(running.pid) <= before)


def test_pipes_that_nobody_reads_end_with_the_first_answer(shared: Any, stack: ExitStack) -> None:
    before = descriptors(shared.pid)
    of, stdout = pipe(stack)
    of.close()
    offer = Offer(shared, stack)
    offer.give(pipe(stack)[0], stdout, first=initialize())
    assert offer.bridge.recv(100) == ENDED
    assert eventually(lambda: descriptors(shared.pid) <= before)


def test_an_offer_that_is_taken_back_costs_nothing(shared: Any, stack: ExitStack) -> None:
    before = descriptors(shared.pid)
    Offer(shared, stack).bridge.close()
    assert eventually(lambda: descriptors(shared.pid) <= before)


def test_a_word_that_only_begins_like_an_offer_is_a_line(shared: Any) -> None:
    with shared.wire() as wire:
        wire.send(OFFER[:3])
        assert wire.refused(b"S" + OFFER[3:]) == "INVALID_JSON"
        assert wire.ask("workspaced/hello")["result"]


def test_an_agent_that_does_not_read_holds_nobody_up_even_if_its_pipe_may_block(
    shared: Any, stack: ExitStack
) -> None:
    stdin, to = pipe(stack)
    of, stdout = pipe(stack)
    Offer(shared, stack).give(stdin, stdout, first=initialize())
    assert json.loads(of.readline())["id"] == 0
    for each in (stdin, stdout):
        os.set_blocking(each.fileno(), True)  # as another holder of the same pipe may do at any time
    listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
    os.set_blocking(to.fileno(), False)
    asked = 0
    while select.select([], [to], [], 0.3)[1] and asked < UNREAD_BYTES_MAX:
        with suppress(BlockingIOError):
            asked += to.write(listing) // len(listing)
        with shared.wire() as other:
            other.socket.settimeout(END_S / 3)
            assert other.ask("ping")["result"] == {}
    assert 0 < asked < UNREAD_BYTES_MAX // 10, "it was read without end"
    assert [json.loads(of.readline())["id"] for _ in range(asked)] == [1] * asked


# -- time, and room --


@pytest.fixture(scope="module")
def hurried(module_daemon: Any) -> Any:
    """A daemon that waits half a second for what others get ten for."""
    running = module_daemon(start=False)
    running.wrapper = (sys.executable, short_limits.__file__, "PARTIAL_LINE_S=0.5", "UNREAD_S=0.5", "--")
    return running.start()


def test_an_offer_without_pipes_ends_in_time(hurried: Any, stack: ExitStack) -> None:
    assert Offer(hurried, stack).bridge.recv(100) == b""


def test_an_agent_that_never_reads_is_let_go(hurried: Any, stack: ExitStack) -> None:
    to, stdin = socket.socketpair()
    of, stdout = socket.socketpair()
    offer = Offer(hurried, stack)
    for each in (to, stdin, of, stdout):
        stack.enter_context(each)
    offer.give(stdin, stdout, first=initialize())
    stdin.close()
    stdout.close()
    listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n'
    with suppress(BrokenPipeError, ConnectionResetError):
        while True:
            to.sendall(listing * 100)
    assert offer.bridge.recv(100) == b""


class Writer(Connection):
    """A connection of which only its end and its pauses are looked at."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.lost_at_last = asyncio.Event()

    def pause_writing(self) -> None:
        self.told.append("pause")

    def resume_writing(self) -> None:
        self.told.append("resume")

    def connection_lost(self, _error: Exception | None) -> None:
        self.told.append("lost")
        self.lost_at_last.set()


async def test_an_agent_that_reads_the_last_answers_after_its_end_is_not_taken_for_one_that_does_not(
    stack: ExitStack,
) -> None:
    """The time of one that does not read must stop although the connection is closing."""
    loop = asyncio.get_running_loop()
    _to, stdin = (stack.enter_context(each) for each in socket.socketpair())
    of, stdout = (stack.enter_context(each) for each in socket.socketpair())
    bridge, daemon = (stack.enter_context(each) for each in socket.socketpair())
    of.setblocking(False)
    writer = Writer()
    ends = open_ends([os.dup(stdin.fileno()), os.dup(stdout.fileno())])
    transport = PipesTransport(loop, daemon, *ends, writer)
    size = 3 * UNREAD_BYTES_MAX
    transport.write(b"x" * size)
    transport.close()
    while size:
        size -= len(await loop.sock_recv(of, 65_536))
    await asyncio.wait_for(writer.lost_at_last.wait(), END_S)
    assert writer.told == ["pause", "resume", "lost"]
    assert bridge.recv(100) == b"", "the daemon ended it, not the agent"


def test_where_descriptors_are_short_the_bytes_are_copied(daemon: Any, agent: Any) -> None:
    running = daemon("--no-watch", start=False)
    running.wrapper = ("sh", "-c", 'ulimit -n 64; exec "$@"', "sh")
    running.start()
    agents: list[Agent] = []
    for _ in range(8):
        agents.append(agent(running))
        agents[-1].ask("initialize", INITIALIZE)
    held = [len(list(Path(f"/proc/{made.process.pid}/task").iterdir())) for made in agents]
    # Half of 24 descriptors are for pipes, of three each; a bridge that looks for the daemon may take one too.
    assert 3 <= held.count(1) <= 4 and held.count(1) + held.count(2) == len(agents)
    assert connections(running) == len(agents) < CONNECTIONS_MAX
    for made in agents:
        assert made.end() == (0, b"", "")
