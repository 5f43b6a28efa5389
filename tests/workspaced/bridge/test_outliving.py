"""A bridge under which daemons end: what it takes up again, what it never takes, and what it says meanwhile.

Cases that users have reported are files in tests/world/bridge.
"""

import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.bridge import END_S, INITIALIZE, Agent, eventually, greet, kill, state_of
from support.daemon import Daemon, write_vault

from workspaced.discovery.records import remember_stop

SHORT = ["BRIDGE_RESTART_S=0"]
CALL = {"method": "tools/call", "params": {"name": "get_workspace_context"}}


def begun(made: Agent, name: str = "test") -> Agent:
    """The agent, once its session has begun."""
    params = {**INITIALIZE["params"], "clientInfo": {"name": name, "version": "1"}}  # type: ignore[dict-item]
    made.send({**INITIALIZE, "params": params})
    assert made.hear()["result"]
    made.send({"method": "notifications/initialized"})
    return made


def records(running: Daemon) -> list[dict[str, Any]]:
    """What the daemons say of themselves that run with this one's home."""
    return [json.loads(each.read_text()) for each in (running.root / "home").glob("**/daemons/*.json")]


def killed(made: Agent, running: Daemon) -> None:
    """Kills a daemon that a bridge has started, once the bridge has read what its agent wrote."""
    eventually(made.is_read)
    (record,) = records(running)
    kill(record)


@pytest.fixture
def on_demand(daemon: Any, agent: Any) -> Iterator[Callable[..., Agent]]:
    """Agents whose bridges start their daemon, which ends with the test."""
    running = daemon(start=False)

    def begin(*arguments: str, **options: Any) -> Agent:
        made: Agent = agent(running, "--vault", str(running.vault), *arguments, **options)
        made.running = running  # type: ignore[attr-defined]
        return made

    yield begin
    for record in records(running):
        running.cli("stop", env={"WORKSPACED_SOCKET": record["socket"]})


# -- what a session keeps --


def test_the_next_daemon_knows_the_client_by_its_name_and_shows_it_no_more(daemon: Any, agent: Any) -> None:
    running = daemon()
    running.call("workspaced/share", {"client": "Ann's agent", "level": "none"})
    made = begun(agent(running), "Ann's agent")
    call = {"id": 1, **CALL}
    made.send(call)
    before = made.hear()["result"]["structuredContent"]
    assert before["code"] == "SHARING_OFF"
    running.kill()
    made.send(call)
    running.start()
    after = made.hear()["result"]["structuredContent"]
    assert after["code"] == "SHARING_OFF"


@pytest.mark.parametrize("chosen", ["flag", "notification", "greeting"])
def test_the_next_daemon_shows_the_tools_that_were_chosen(daemon: Any, agent: Any, chosen: str) -> None:
    running = daemon()
    made = begun(agent(running, *(["--tools", "core"] if chosen == "flag" else [])))
    if chosen == "notification":
        made.send({"method": "notifications/workspaced/tools", "params": {"tools": "core"}})
    elif chosen == "greeting":
        made.ask("workspaced/hello", {"tools": "core"})
    assert len(made.ask("tools/list")["tools"]) == 4
    running.kill()
    running.start()
    assert len(made.ask("tools/list")["tools"]) == 4


# -- what a session is never shown --


@pytest.fixture
def other_folder(daemon: Any) -> Callable[[Daemon], Daemon]:
    """`other_folder(running)`: a daemon of the same name, socket and data for another folder, not started."""

    def make(running: Daemon) -> Daemon:
        made: Daemon = daemon.beside(running)
        made.vault = write_vault(running.root / "diary", {"secret.md": "# Not for this agent\n"})
        return made

    return make


@pytest.mark.parametrize("more", [False, True], ids=["another folder", "one more folder"])
def test_a_daemon_that_serves_something_else_is_not_taken(
    daemon: Any, agent: Any, other_folder: Any, more: bool
) -> None:
    running = daemon()
    made = begun(agent(running, limits=SHORT))
    running.stop()
    other = other_folder(running)
    other.flags = ("--vault", str(running.vault)) if more else ()
    other.start()
    for request_id in (1, 2):
        made.send({"id": request_id, **CALL})
        line = made.line().decode()
        assert '"isError":true' in line and "serves other folders" in line and '\\"retryable\\": false' in line
        assert "diary" not in line and "secret" not in line
    assert other.call("workspaced/status")["queues"]["connections"] == 1
    other.stop()
    running.start()
    assert made.ask("tools/call", CALL["params"])["isError"] is False
    assert made.end()[0] == 0


# -- daemons of the test's own --


class Listener:
    """A socket where the test is the daemon."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(END_S)
        self._socket.bind(str(path))
        self._socket.listen()

    @contextmanager
    def daemon(self) -> Iterator[socket.socket]:
        """The bridge's next connection."""
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(END_S)
            yield connection

    def close(self) -> None:
        self._socket.close()


def lines(connection: socket.socket, count: int) -> list[Any]:
    """What the bridge sends next."""
    data = b""
    while data.count(b"\n") < count:
        more = connection.recv(1 << 16)
        assert more, data
        data += more
    assert data.endswith(b"\n") and data.count(b"\n") == count
    return [json.loads(line) for line in data.splitlines()]


def answer(connection: socket.socket, request_id: Any, result: Any) -> None:
    message = {"id": request_id, "result": result, "jsonrpc": "2.0"}
    connection.sendall(json.dumps(message, separators=(",", ":")).encode() + b"\n")


def agreed(version: str, server: str = "1.0") -> dict[str, Any]:
    return {"protocolVersion": version, "serverInfo": {"name": "workspaced", "version": server}}


@pytest.fixture
def bare(daemon: Any, agent: Any) -> Iterator[Callable[..., tuple[Agent, Listener]]]:
    """`bare(limits=...)`: an agent, and where its bridge finds what it takes for a daemon."""
    made: list[Listener] = []

    def begin(**options: Any) -> tuple[Agent, Listener]:
        running = daemon(start=False)
        made.append(Listener(running.socket))
        return agent(running, "--socket", str(running.socket), **options), made[-1]

    yield begin
    for each in made:
        each.close()


def begin(made: Agent, connection: socket.socket, version: str = "2025-11-25") -> None:
    """The test's part of the first handshake."""
    greet(connection)
    made.send(INITIALIZE)
    assert lines(connection, 1)[0]["method"] == "initialize"
    answer(connection, 0, agreed(version))
    assert made.hear()["id"] == 0


def test_a_daemon_of_another_version_of_mcp_is_a_typed_failure(bare: Any) -> None:
    made, listener = bare(limits=SHORT)
    with listener.daemon() as first:
        begin(made, first)
    for request_id in (1, 2):
        made.send({"id": request_id, "method": "tools/list"})
        with listener.daemon() as second:
            greet(second)
            assert [each["method"] for each in lines(second, 1)] == ["initialize"], "and nothing of the agent's"
            eventually(made.is_read)
            answer(second, 0, agreed("2026-01-01"))
            refused = made.hear()
        assert refused["id"] == request_id and refused["error"]["code"] == -32022
        data = refused["error"]["data"]
        assert data["code"] == "UNSUPPORTED_VERSION" and data["retryable"] is False
        assert (data["supported"], data["requested"]) == (["2026-01-01"], "2025-11-25")
    made.send({"id": 3, "method": "tools/list"})
    with listener.daemon() as third:
        greet(third)
        lines(third, 1)
        answer(third, 0, agreed("2025-11-25"))
        assert lines(third, 1)[0]["id"] == 3
        answer(third, 3, {"tools": []})
        assert made.hear()["result"] == {"tools": []}


def test_no_half_line_of_a_daemon_reaches_the_agent_and_one_that_never_ends_a_line_is_left(bare: Any) -> None:
    made, listener = bare()
    with listener.daemon() as first:
        begin(made, first)
        made.send({"id": 1, "method": "tools/list"})
        made.send({"id": 2, "method": "prompts/list"})
        lines(first, 2)
        answer(first, 2, {"prompts": []})
        first.sendall(b'{"id":1,"result":{"tools":["' + b"x" * 100_000)
    assert made.hear() == {"id": 2, "result": {"prompts": []}, "jsonrpc": "2.0"}
    lost = made.hear()
    assert lost["id"] == 1 and lost["error"]["data"]["code"] == "NO_DAEMON"
    with listener.daemon() as second:
        greet(second)
        lines(second, 1)
        answer(second, 0, agreed("2025-11-25"))
        made.send({"id": 3, "method": "tools/list"})
        lines(second, 1)
        answer(second, 3, {"tools": []})
        assert made.hear() == {"id": 3, "result": {"tools": []}, "jsonrpc": "2.0"}
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            while True:
                second.sendall(b"x" * 65_536)
    with listener.daemon() as third:
        greet(third)
    assert made.end()[:2] == (0, b"")


def test_a_daemon_that_hangs_at_the_handshake_keeps_no_request_waiting(bare: Any) -> None:
    made, listener = bare(limits=[*SHORT, "BRIDGE_GREETING_S=0.2"])
    with listener.daemon() as first:
        begin(made, first)
    with listener.daemon():
        made.send({"id": 1, "method": "tools/list"})
        refused = made.hear()["error"]["data"]
        assert (refused["code"], refused["retryable"]) == ("NO_DAEMON", True)
        made.send({"id": 2, "method": "ping"})
        assert made.hear() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert made.end()[0] == 0


def test_requests_that_wait_are_bounded(bare: Any) -> None:
    made, listener = bare()
    with listener.daemon() as first:
        begin(made, first)
    listener.close()
    long = {"method": "tools/call", "params": {"name": "x" * 900_000}}
    made.send({"id": 1, **long})
    made.send({"id": 2, **long})
    refused = made.hear()
    assert refused["id"] == 2 and "Too many" in refused["result"]["content"][0]["text"]
    made.to.close()
    assert made.hear()["id"] == 1
    assert made.process.wait(END_S) == 0


# -- ends --


def test_what_a_daemon_that_hangs_does_not_answer_is_answered_before_the_end(daemon: Any, agent: Any) -> None:
    running = daemon()
    made = begun(agent(running, limits=["BRIDGE_LINGER_S=0.2"]))
    running.send_signal(signal.SIGSTOP)
    eventually(lambda: state_of(running.pid) == "T")
    made.send({"id": 1, **CALL})
    eventually(made.is_read)
    made.to.close()
    try:
        assert "NO_DAEMON" in made.hear()["result"]["content"][0]["text"]
        assert made.process.wait(END_S) == 0
    finally:
        running.send_signal(signal.SIGCONT)


# -- starting one --


def test_a_request_that_the_bridge_reads_with_the_end_of_its_daemon_starts_the_next(on_demand: Any) -> None:
    made = begun(on_demand())
    eventually(made.is_read)
    made.process.send_signal(signal.SIGSTOP)
    eventually(lambda: state_of(made.process.pid) == "T")
    killed(made, made.running)
    made.send({"id": 1, **CALL})
    made.process.send_signal(signal.SIGCONT)
    assert made.hear()["result"]["isError"] is False


def test_one_that_somebody_ran_is_not_replaced_by_one_without_its_options(daemon: Any, agent: Any) -> None:
    """It may have hidden notes by --deny; a bridge that names the folder would start one that shows them."""
    running = daemon("--deny", "secret/**")
    made = begun(agent(running, "--vault", str(running.vault), limits=SHORT))
    running.kill()
    made.send({"id": 1, **CALL})
    assert made.hear()["result"]["isError"]
    assert [record["pid"] for record in records(running)] == [running.pid]
    running.start()
    assert made.ask("tools/call", CALL["params"])["isError"] is False


def test_a_daemon_that_cannot_be_started_any_more_is_said_at_once(on_demand: Any) -> None:
    made = begun(on_demand())
    killed(made, made.running)
    made.running.vault.rename(made.running.root / "gone")
    made.send({"id": 1, **CALL})
    text = made.hear()["result"]["content"][0]["text"]
    assert "could not be started" in text and str(made.running.root) not in text
    (made.running.root / "gone").rename(made.running.vault)
    assert made.ask("tools/call", CALL["params"])["isError"] is False
    assert b"gone" not in text.encode()


def test_the_next_daemon_forgets_that_one_was_stopped(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    running = daemon(start=False)
    monkeypatch.setenv("HOME", running.env["HOME"])
    remember_stop("default")
    marks = running.root / "home"
    assert list(marks.glob("**/*.stopped"))
    running.start()
    assert not list(marks.glob("**/*.stopped"))
    assert running.stop() == 0
    assert not list(marks.glob("**/*.stopped")), "only its user stops it for good"
    running.start()
    assert running.cli("stop").returncode == 0
    assert list(marks.glob("**/*.stopped"))
