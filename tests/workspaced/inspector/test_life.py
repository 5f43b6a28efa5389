"""How an inspector starts and ends, and what it says of a log that it cannot read."""

import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.inspector import RECORDED, Inspector


def refused(*arguments: str | Path) -> "subprocess.CompletedProcess[bytes]":
    return process.run("inspect", *arguments, "--no-browser")


def test_ctrl_c_ends_it(inspect: Callable[..., Inspector]) -> None:
    inspector = inspect(RECORDED)
    inspector.get("/api/about")
    inspector.process.send_signal(signal.SIGINT)
    assert inspector.wait() == 130
    assert inspector.stderr == []


def test_the_token_is_printed_once_and_is_in_no_other_place(
    inspect: Callable[..., Inspector], tmp_path: Path
) -> None:
    inspector = inspect(RECORDED)
    inspector.get("/api/about")
    inspector.process.terminate()
    assert inspector.wait() == 0
    assert inspector.stderr == []
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert not [each for each in files if inspector.token.encode() in each.read_bytes()]


def test_a_moment_to_show_first_stands_in_the_address(inspect: Callable[..., Inspector]) -> None:
    assert inspect(RECORDED, "--at", "20").url.endswith("&at=20")


@pytest.mark.parametrize("name", ["missing.wsb", "-"])
def test_a_log_that_is_not_there_is_named(name: str) -> None:
    done = refused(name)
    assert done.returncode == 2
    assert name.encode() in done.stderr


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("no log")
    done = refused(tmp_path / "a.txt")
    assert done.returncode == 2
    assert b"a.txt" in done.stderr and b"Traceback" not in done.stderr


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    done = refused(tmp_path)
    assert done.returncode == 2
    assert b"holds no log" in done.stderr


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = refused(RECORDED, "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert b"--port" in done.stderr


def test_a_moment_that_is_none_is_refused() -> None:
    done = refused(RECORDED, "--at", "yesterday")
    assert done.returncode == 2
    assert b"yesterday" in done.stderr


def test_without_an_argument_it_opens_the_running_daemon_s_log(
    daemon: Callable[..., Any], inspect: Callable[..., Inspector]
) -> None:
    running = daemon(notes={"a.md": "# A\n"})
    with running.connect("editor") as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    inspector = inspect("--socket", running.socket, env=running.env)
    found = inspector.get("/api/state")
    assert inspector.get("/api/about")["kind"] == "daemon"
    assert found["state"]["activeNote"]["id"] == "a.md"


def test_a_folder_that_is_served_stands_for_its_daemon_s_log(
    daemon: Callable[..., Any], inspect: Callable[..., Inspector]
) -> None:
    running = daemon(notes={"log/a.md": "# A\n"})
    about = inspect(running.vault / "log", env=running.env).get("/api/about")
    assert (about["kind"], about["name"]) == ("daemon", str(running.data))


# -- bad requests --


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/state?at=99999", "INVALID_ARGUMENT"),
        ("/api/state?at=-1", "INVALID_ARGUMENT"),
        ("/api/state?at=soon", "INVALID_ARGUMENT"),
        ("/api/state?moment=5", "INVALID_ARGUMENT"),
        ("/api/timeline?bins=0", "INVALID_ARGUMENT"),
        ("/api/timeline?bins=100000", "INVALID_ARGUMENT"),
        ("/api/timeline?bins=many", "INVALID_ARGUMENT"),
        ("/api/timeline?beginUs=5&endUs=4", "INVALID_ARGUMENT"),
    ],
)
def test_bad_parameters_are_named(recorded: Inspector, path: str, code: str) -> None:
    assert recorded.error(path) == (400, code)


@pytest.mark.parametrize(("method", "status"), [("GET", 404), ("POST", 405), ("DELETE", 405)])
def test_what_is_not_there_says_which_paths_are(recorded: Inspector, method: str, status: int) -> None:
    answer = recorded.request(method, "/api/stat" if method == "GET" else "/api/about")
    assert answer.status_code == status
    assert "/api/about" in answer.json()["error"]["hint"]
