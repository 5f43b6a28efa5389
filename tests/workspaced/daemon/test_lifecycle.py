"""The daemon's life: who may start, where it listens, how it ends."""

import os
import queue
import signal
import socket
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from workspaced.discovery import records
from workspaced.errors import NoDaemon, RemoteError
from workspaced_events.replay.replay import replay


def failed(running: Any) -> tuple[int, str]:
    """Starts a daemon that cannot start; its exit code and what it said."""
    running.spawn()
    code = running.wait(60)
    return code, "\n".join(running.stderr)


# -- one daemon --


@pytest.mark.parametrize(("same", "error"), [("data", "ALREADY_RUNNING"), ("socket", "SOCKET_UNUSABLE")])
def test_what_another_daemon_has_is_refused_with_the_way_to_a_second_vault(
    shared: Any, daemon: Any, same: str, error: str
) -> None:
    second = daemon(start=False)
    setattr(second, same, getattr(shared, same))
    code, said = failed(second)
    assert code == 3 and f"[{error}]" in said and (str(shared.pid) in said or same == "socket")
    assert "`workspaced serve --workspace NAME --vault DIR`" in said
    assert shared.connect().state()


@pytest.mark.fault(row=20)
def test_of_twenty_started_at_once_exactly_one_runs(daemon: Any) -> None:
    first = daemon(start=False)
    everyone = [first, *(daemon.beside(first) for _ in range(19))]
    for each in everyone:
        each.spawn()
    ended: queue.Queue[tuple[Any, int]] = queue.Queue()
    watching = [threading.Thread(target=lambda of=each: ended.put((of, of.wait(60)))) for each in everyone]
    for thread in watching:
        thread.start()
    losers = dict(ended.get(timeout=60) for _ in range(19))
    (winner,) = [each for each in everyone if each not in losers]
    assert set(losers.values()) == {3}
    assert all(f"pid {winner.pid}" in "\n".join(each.stderr) for each in losers)
    assert winner.connect().call("workspaced/status")["pid"] == winner.pid
    assert winner.stop() == 0
    for thread in watching:
        thread.join()


# -- where it listens --


@pytest.mark.parametrize(
    "place",
    ["long", "file", "symlink", "link/s", "other/s", *(f"{mode:o}/s" for mode in (0o777, 0o770, 0o720, 0o702))],
)
def test_a_place_that_is_no_good_for_a_socket_is_refused_and_left_alone(daemon: Any, place: str) -> None:
    running = daemon(start=False)
    root = running.root
    running.socket = root / ("x" * 120 if place == "long" else place)
    (root / "file").write_text("mine")
    (root / "symlink").symlink_to(root / "elsewhere")
    (root / "real").mkdir(mode=0o700)
    (root / "link").symlink_to(root / "real")
    if place[0].isdigit():
        running.socket.parent.mkdir()
        running.socket.parent.chmod(int(place[:3], 8))
    elif place == "other/s":
        if os.getuid() != 0:
            pytest.skip("needs root to give files away")
        (root / "other").mkdir(mode=0o700)
        os.chown(root / "other", 12_345, 12_345)
    before = {path: path.lstat().st_ino for path in root.rglob("*")}
    code, said = failed(running)
    says = "107" if place == "long" else "chmod" if place[0].isdigit() else ""
    assert code == 3 and "[SOCKET_UNUSABLE]" in said and says in said
    assert before.items() <= {path: path.lstat().st_ino for path in root.rglob("*")}.items()
    assert not running.socket.exists() or running.socket.read_text() == "mine"


@pytest.mark.thorough
def test_the_default_is_the_runtime_directory(daemon: Any) -> None:
    running = daemon(start=False)
    running.env["XDG_RUNTIME_DIR"] = str(running.root)
    running.env["XDG_DATA_HOME"] = str(running.root / "share")
    done = running.cli(
        "call", "get_workspace_context", "--vault", str(running.vault), "--workspace", "w1", "--json"
    )
    assert done.returncode == 0, done.stderr
    path = running.root / "workspaced" / "w1.sock"
    assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.lstat(path.parent).st_mode) == 0o700
    data = running.root / "share" / "workspaced" / "w1"
    assert (data / "log").is_dir() and stat.S_IMODE(os.lstat(data).st_mode) == 0o700
    assert running.cli("stop", "--workspace", "w1").returncode == 0
    assert not path.exists()


def test_an_inherited_socket_is_used_and_never_unlinked(daemon: Any) -> None:
    running = daemon(start=False)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(running.socket))
    listening.listen()
    child = os.fork()
    if child == 0:  # pragma: no cover
        os.dup2(listening.fileno(), 3, inheritable=True)
        environment = {**running.env, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
        quiet = os.open(os.devnull, os.O_RDWR)
        os.dup2(quiet, 2)
        command = ["-m", "workspaced", "serve", "--vault", str(running.vault), "--data-dir", str(running.data)]
        import sys

        os.execve(sys.executable, [sys.executable, *command], environment)
    try:
        client = running.connect()
        assert client.call("workspaced/status")["pid"] == child
    finally:
        os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
        listening.close()
    assert os.waitstatus_to_exitcode(status) == 0
    assert running.socket.exists()


# -- bad settings --


@pytest.mark.parametrize("name", ["missing", "a.md", "a.md/x", os.fsdecode(b"v\xff")], ids=ascii)
def test_a_vault_that_is_no_directory_with_a_name_in_utf_8_is_refused(daemon: Any, name: str) -> None:
    running = daemon(start=False)
    running.vault = running.vault / name
    if not name.isprintable():
        running.vault.mkdir()
    code, said = failed(running)
    assert code == 2 and "[INVALID_ARGUMENT]" in said
    assert (name if name.isprintable() else "UTF-8") in said and not running.data.exists()


@pytest.mark.parametrize("place", ["data", "socket"])
def test_nothing_of_ours_may_lie_in_a_vault(daemon: Any, place: str) -> None:
    running = daemon(start=False, notes={})
    setattr(running, place, running.vault / "inside")
    code, said = failed(running)
    assert code == 2 and "INVALID_ARGUMENT" in said and list(running.vault.iterdir()) == []


@pytest.mark.parametrize(
    ("env", "toml", "names"),
    [
        ({"WORKSPACED_CACHE_BYTES": "many"}, "", "cache_bytes"),
        ({"WORKSPACED_WORKSPACE": "../x"}, "", "workspace"),
        ({"WORKSPACED_COLOUR": "red"}, "", "colour"),
        ({}, "colour = 'red'", "colour"),
        ({}, "vaults = [", "TOML"),
    ],
    ids=repr,
)
def test_a_wrong_setting_is_named(daemon: Any, env: dict[str, str], toml: str, names: str) -> None:
    running = daemon(start=False, env=env)
    config = running.root / "config.toml"
    config.write_text(toml)
    running.env["WORKSPACED_CONFIG"] = str(config)
    code, said = failed(running)
    assert code == 2 and names in said.replace("COLOUR", "colour") and "[INVALID_ARGUMENT]" in said


def test_settings_come_from_the_environment_and_the_file(daemon: Any) -> None:
    running = daemon(start=False, env={"WORKSPACED_WATCH": "false"})
    config = running.root / "config.toml"
    config.write_text(f'workspace = "from-file"\nwatch = true\nvaults = ["{running.root}"]\n')
    running.env["WORKSPACED_CONFIG"] = str(config)
    running.flags = ("--vault", f"{running.vault}/../{running.vault.name}")  # the same folder twice is one vault
    client = running.start().connect()
    status = client.call("workspaced/status")
    assert status["workspace"] == "from-file"
    assert [vault["path"] for vault in status["vaults"]] == [str(running.vault)], "a flag beats the file"
    assert status["vaults"][0]["watcher"] == "off", "the environment beats the file"


# -- the end --


@pytest.mark.fault(row=21)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda each: each.name)
def test_a_signal_under_load_ends_it_in_good_order(daemon: Any, number: int) -> None:
    running = daemon()
    acknowledged: list[str] = []
    deaf = running.wire()
    deaf.request("workspaced/subscribe", {"since": 0})
    started = threading.Barrier(4)

    def load(client: Any) -> None:
        started.wait()
        with client, suppress(NoDaemon, RemoteError):
            while True:
                batch = [{"type": "active_note_set", "data": {"note": f"n{each}.md"}} for each in range(20)]
                events = client.call("workspaced/publish", {"actions": batch})["events"]
                acknowledged.extend(receipt["id"] for receipt in events)
                client.tool("get_workspace_context")

    threads = [threading.Thread(target=load, args=(running.connect(),)) for _ in range(3)]
    for each in threads:
        each.start()
    started.wait()
    while len(acknowledged) < 200:
        assert running.process.poll() is None
    running.send_signal(number)
    assert running.stop(number) == 0  # twice: the second changes nothing
    for each in threads:
        each.join()
    events: list[Any] = []
    replay(running.data, each=events.extend)
    assert set(acknowledged) <= {event.id for event in events}
    assert events[-1].type == "daemon_stopped" and events[-1].data.reason == signal.Signals(number).name


def test_a_signal_while_it_starts_leaves_nothing_half_done(daemon: Any) -> None:
    running = daemon(start=False)
    running.spawn()
    while not (running.data / "lock").exists():
        assert running.process.poll() is None
    running.send_signal(signal.SIGTERM)
    assert running.wait() == 0 and not running.socket.exists()


@pytest.mark.thorough
def test_without_clients_it_ends_after_the_idle_time(daemon: Any) -> None:
    running = daemon("--idle-exit-minutes", "0.05")  # three seconds, in which the first client comes
    with running.connect() as client:
        client.state()
    assert running.wait() == 0 and not running.socket.exists()
    events: list[Any] = []
    replay(running.data, each=events.extend)
    assert events[-1].data.reason == "idle"


@pytest.mark.thorough
def test_a_connected_client_keeps_it_from_ending(daemon: Any) -> None:
    running = daemon("--idle-exit-minutes", "0.05")
    wire = running.wire()
    for _ in range(2):  # for four seconds
        assert wire.ask("workspaced/state", {"minSeq": 10**9})["error"]["data"]["code"] == "TIMEOUT"
    assert wire.ask("workspaced/status")["result"]
    wire.close()
    assert running.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_daemon_whose_stderr_is_on_a_full_disk_serves_and_ends_in_good_order(daemon: Any) -> None:
    running = daemon("--log-level", "debug", start=False)
    running.wrapper = ("sh", "-c", 'exec "$@" 2>/dev/full', "sh")
    running.spawn()
    until = time.monotonic() + 60
    while records.is_listening(str(running.socket)) is False and running.process.poll() is None:
        assert time.monotonic() < until
        time.sleep(0.02)
    with running.connect() as client:
        assert client.tool("get_workspace_context")["success"]
    assert running.stop() == 0
