"""`workspaced mcp`: bytes between an agent's pipes and a daemon's socket, as an agent's runtime starts it."""

import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.bridge import END_S, Agent, greet

HELD_BYTES_MAX = 4 * 1024 * 1024
"""More than pipe, socket and one chunk hold together."""


@pytest.fixture
def peer(daemon: Any, agent: Any) -> Iterator[tuple[Agent, socket.socket]]:
    """A bridge: the test holds the other end of its socket."""
    running = daemon(start=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(running.socket))
        listening.listen()
        made = agent(running, "--socket", str(running.socket))
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(END_S)
            greet(connection)
            yield made, connection


# -- bytes --


def test_what_was_asked_before_the_agent_closed_its_end_is_answered(shared: Any, agent: Any) -> None:
    made = agent(shared)
    requests = [{"jsonrpc": "2.0", "id": each, "method": "workspaced/status", "params": {}} for each in range(20)]
    made.to.write(b"\n".join(json.dumps(each).encode() for each in requests))
    code, out, said = made.end()
    assert (code, said) == (0, "")
    assert [json.loads(line)["id"] for line in out.splitlines()] == list(range(20))


def many_lines(count: int) -> bytes:
    """Lines of any bytes and lengths that a daemon takes, empty ones left out."""
    lengths = itertools.cycle([1, 100, 65_535, 65_536, 4_096, 1_000_000])
    return b"".join(os.urandom(each).replace(b"\n", b"-") + b"\n" for each in itertools.islice(lengths, count))


def test_any_lines_pass_unchanged_both_ways_at_once(peer: Any) -> None:
    made, connection = peer
    there, back = many_lines(48), many_lines(60)
    got: list[bytes] = []

    def far_end() -> None:
        got.append(connection.makefile("rb").read())

    def ask() -> None:
        made.to.write(there)
        made.to.close()

    threads = [threading.Thread(target=each) for each in (far_end, ask, lambda: connection.sendall(back))]
    for each in threads:
        each.start()
    assert made.of.read(len(back)) == back
    for each in threads:
        each.join(END_S)
    assert got == [there]
    connection.close()
    assert made.process.wait(END_S) == 0


def fill(write: Callable[[bytes], int], descriptor: int) -> int:
    """How many bytes it takes before it takes no more for a while."""
    taken = 0
    while select.select([], [descriptor], [], 0.3)[1] and taken < 4 * HELD_BYTES_MAX:
        with suppress(BlockingIOError):
            taken += write(b"x" * 65_535 + b"\n")
    return taken


def test_an_agent_that_does_not_read_is_not_written_to_without_end(peer: Any) -> None:
    _made, connection = peer
    connection.setblocking(False)
    assert fill(connection.send, connection.fileno()) < HELD_BYTES_MAX


def test_a_daemon_that_does_not_read_is_not_written_to_and_may_still_write(peer: Any) -> None:
    made, connection = peer
    os.set_blocking(made.to.fileno(), False)
    taken = fill(lambda data: os.write(made.to.fileno(), data), made.to.fileno())
    assert taken < HELD_BYTES_MAX
    connection.sendall(b"not held up\n")
    assert made.of.readline() == b"not held up\n"
    received = 0
    while received < taken:
        received += len(connection.recv(1 << 20))
    assert received == taken


# -- ends --


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_daemon_that_ends_under_it_ends_it_with_a_word_and_code_three(daemon: Any, agent: Any, end: str) -> None:
    running = daemon()
    made = agent(running)
    made.ask("workspaced/hello")
    getattr(running, end)()
    assert made.process.wait(END_S) == 3
    code, out, said = made.end()
    assert (code, out) == (3, b"") and said.count("[NO_DAEMON]") == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_a_signal_ends_it_quietly(shared: Any, agent: Any, number: int, code: int) -> None:
    made = agent(shared)
    made.ask("workspaced/hello")
    made.process.send_signal(number)
    assert made.process.wait(END_S) == code
    assert made.end() == (code, b"", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_standard_input_or_output_it_refuses(shared: Any, closed: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -P -m workspaced mcp {closed}', sys.executable],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=shared.env,
        timeout=END_S,
    )
    assert done.returncode == 2 and done.stdout == b"" and b"Traceback" not in done.stderr


# -- finding the daemon --


def workspace_of(made: Agent) -> str:
    name: str = made.ask("workspaced/hello")["workspace"]
    return name


def test_of_several_daemons_the_one_that_is_named_answers_or_that_of_the_directory_and_no_other(
    two: Any, agent: Any
) -> None:
    first, second = two
    assert workspace_of(agent(first, "--workspace", "second")) == "second"
    assert workspace_of(agent(first, "--vault", str(second.vault))) == "second"
    assert workspace_of(agent(first, "--vault", f"{first.vault}/../vault/work")) == "first"
    assert workspace_of(agent(first, "--vault", ".", cwd=second.vault)) == "second"
    env = {**first.env, "WORKSPACED_WORKSPACE": "second"}
    assert workspace_of(agent(first, env=env)) == "second"
    assert workspace_of(agent(first, cwd=second.vault / "work")) == "second", "the current directory decides"
    code, out, said = agent(first, cwd=Path("/")).end()
    assert (code, out) == (3, b"")
    assert "--workspace first" in said and "--workspace second" in said and str(second.vault) in said
    code, out, said = agent(first, "--workspace", "first", "--vault", str(second.vault)).end()
    assert (code, out) == (3, b"") and str(first.vault) in said and str(second.vault) in said, "never another one"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_socket_is_not_talked_to(daemon: Any, agent: Any) -> None:
    running = daemon(start=False)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(running.socket))
        listening.listen()
        os.chown(running.socket, 12_345, -1)
        code, out, said = agent(running, "--socket", str(running.socket)).end()
    assert (code, out) == (3, b"") and "another user" in said


# -- starting one --


def test_with_nothing_to_reach_it_says_what_to_do(daemon: Any, agent: Any) -> None:
    running = daemon(start=False)
    for arguments in ([], ["--workspace", "none"], ["--socket", str(running.root / "none")]):
        code, out, said = agent(running, *arguments).end()
        assert (code, out) == (3, b"") and "workspaced start DIR" in said
        assert said.count("[NO_DAEMON]") == 1
    assert not running.data.exists()


@pytest.mark.thorough
def test_twenty_at_once_end_with_one_daemon(daemon: Any, agent: Any) -> None:
    running = daemon(start=False)
    agents = [agent(running, "--vault", str(running.vault)) for _ in range(20)]
    hellos = [made.ask("workspaced/hello") for made in agents]
    assert len({hello["instance"] for hello in hellos}) == 1
    records = list((running.root / "home").glob("**/daemons/*.json"))
    assert len(records) == 1
    pid = json.loads(records[0].read_text())["pid"]
    assert os.getsid(pid) == pid, "it does not end with the terminal of who happened to start it"
    env = {**running.env, "WORKSPACED_SOCKET": json.loads(records[0].read_text())["socket"]}
    for made in agents[1:]:
        assert made.end() == (0, b"", "")
    assert agents[0].ask("workspaced/status")["queues"]["connections"] >= 1
    assert running.cli("stop", env=env).returncode == 0
    assert agents[0].process.wait(END_S) == 3
    assert not records[0].exists()


def test_a_daemon_that_cannot_be_started_says_why_on_stderr(daemon: Any, agent: Any) -> None:
    running = daemon(start=False)
    code, out, said = agent(running, "--vault", str(running.root / "missing")).end()
    assert (code, out) == (3, b"") and "missing" in said and said.count("[NO_DAEMON]") == 1


@pytest.mark.thorough
def test_a_second_folder_has_a_workspace_of_its_own_and_keeps_it(daemon: Any, agent: Any) -> None:
    running = daemon(start=False)
    other = running.root / "Other notes"
    other.mkdir()
    first = agent(running, "--vault", str(running.vault))
    assert first.ask("workspaced/hello")["workspace"] == "default"
    second = agent(running, "--vault", str(other))
    name = second.ask("workspaced/hello")["workspace"]
    assert name.startswith("other-notes-")
    for each in (first, second):
        each.ask("workspaced/shutdown")
        assert each.process.wait(END_S) == 3
    alone = agent(running, "--vault", str(other))
    assert alone.ask("workspaced/hello")["workspace"] == name
    alone.ask("workspaced/shutdown")
    assert alone.process.wait(END_S) == 3


# -- what it costs --


def test_it_loads_nothing_but_a_little_of_the_standard_library(shared: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "workspaced", "mcp"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=shared.env,
        timeout=END_S,
    )
    loaded = {line.split("|")[-1].strip() for line in done.stderr.decode().splitlines()}
    assert done.returncode == 0 and "workspaced.bridge.stdio" in loaded
    for heavy in ("click", "pydantic", "msgspec", "asyncio", "subprocess", "pathlib", "threading", "platformdirs"):
        assert heavy not in loaded
