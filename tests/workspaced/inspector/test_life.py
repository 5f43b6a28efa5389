"""How an inspector starts and ends, and what it says of a log that it cannot read and of what is asked wrongly."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.inspector import RECORDED, Inspector


def refused(*arguments: str | Path) -> "subprocess.CompletedProcess[bytes]":
    return process.run("inspect", *arguments, "--no-browser")


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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.wsb"], "missing.wsb"),
        (["-"], "-"),
        (["a.txt"], "a.txt"),
        (["."], "holds no log"),
        ([RECORDED, "--at", "yesterday"], "yesterday"),
    ],
)
def test_what_is_no_log_or_no_moment_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[Any], said: str
) -> None:
    (tmp_path / "a.txt").write_text("no log")
    monkeypatch.chdir(tmp_path)
    done = refused(*arguments)
    assert done.returncode == 2
    assert said.encode() in done.stderr and b"Traceback" not in done.stderr


def test_without_an_argument_it_opens_the_running_daemon_s_log(
    daemon: Callable[..., Any], inspect: Callable[..., Inspector]
) -> None:
    running = daemon(notes={"a.md": "# A\n"})
    running.publish("active_note_set", note="a.md")
    inspector = inspect("--socket", running.socket, env=running.env)
    found = inspector.get("/api/state")
    assert inspector.get("/api/about")["kind"] == "daemon"
    assert found["state"]["activeNote"]["id"] == "a.md"


# -- bad requests --

HUGE = "9" * 5_000
"""More digits than Python makes a number of."""
WRONG = [
    *(f"state?at={at}" for at in ("99999", "-1", "soon", "81", "2999-01-01", HUGE)),
    *("state?moment=5", f"agents?at={HUGE}", "agents?at=%D9%A3"),  # a digit, but not of ours
    *(f"timeline?{given}" for given in ("bins=0", "bins=2001", "bins=many", "beginUs=5&endUs=4")),
    *(f"events?{given}" for given in ("limit=0", "limit=501", "lanes=none", "from=1&before=2", "from=soon")),
    *(f"texts{given}" for given in ("", "?text=", "?text=%20%20", "?text=" + "a" * 201)),
    *("texts?text=a&lanes=x", "texts?text=a&limit=0"),
    *("calls?limit=0", "calls?limit=201"),
    *(
        f"calls/{at}"
        for at in ("1", "9999", HUGE, "31/asked/3", "31/asked/-1", "1/badge", "1/answer", "31/with/1")
    ),
    *(f"prompts/{HUGE}{part}" for part in ("", "/body", "/diff")),
    f"prompts/1/layers/L0_TOOLS/blocks/{HUGE}",
    "overlaid/unknown",
]


def test_what_is_asked_wrongly_is_the_askers_fault(recorded: Inspector) -> None:
    assert [path for path in WRONG if recorded.error(f"/api/{path}") != (400, "INVALID_ARGUMENT")] == []


@pytest.mark.parametrize(("method", "status"), [("GET", 404), ("POST", 405), ("DELETE", 405)])
def test_what_is_not_there_says_which_paths_are(recorded: Inspector, method: str, status: int) -> None:
    answer = recorded.request(method, "/api/stat" if method == "GET" else "/api/about")
    assert answer.status_code == status
    assert "/api/about" in answer.json()["error"]["hint"]
