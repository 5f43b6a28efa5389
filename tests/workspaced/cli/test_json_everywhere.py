"""`--json`: every command has it, and errors come on standard output with the documented exit code."""

import json
from typing import Any

import pytest
from support.commands import COMMANDS

from workspaced.errors import CODES


def failed(done: Any) -> dict[str, str]:
    (line,) = done.stdout.splitlines()
    wrapped = json.loads(line)
    assert wrapped.keys() == {"error"} and wrapped["error"].keys() == {"code", "message", "hint"}
    error: dict[str, str] = wrapped["error"]
    assert CODES[error["code"]].exit == done.returncode or error["code"] == "INTERNAL" or "hook" in done.args
    return error


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_a_usage_error_of_a_command_is_json(shared: Any, path: tuple[str, ...]) -> None:
    done = shared.cli(*path, "--json", "--no-such-option")
    assert done.returncode == (1 if path == ("hook",) else 2)  # 2 would block an agent's prompt
    error = failed(done)
    assert error["code"] == "INVALID_ARGUMENT" and error["hint"] == f"See `workspaced {' '.join(path)} --help`."


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["publish", "fly"], "UNKNOWN_ACTION"),
        (["state", "--socket", "/tmp/none/s"], "NO_DAEMON"),
        (["call", "fly"], "UNKNOWN_TOOL"),
        (["replay", "/tmp/none"], "INVALID_ARGUMENT"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else words,
)
def test_an_error_is_json_with_the_documented_exit_code(shared: Any, arguments: list[str], code: str) -> None:
    assert failed(shared.cli(*arguments, "--json"))["code"] == code


def test_what_has_no_other_output_reports_in_json(daemon: Any) -> None:
    running = daemon()
    out = running.root / "e.jsonl"
    assert json.loads(running.cli("log", "export", "-o", str(out), "--json").stdout)["events"] == 2
    made = json.loads(running.cli("bundle", "-o", str(running.root / "b.wsb"), "--json").stdout)
    assert (made["first"], made["last"]) == (1, 2)
    assert "actions/note_pinned" in json.loads(running.cli("schema", "--json").stdout)
    assert running.cli("context", "--json").stdout == ""
    stopped = json.loads(running.cli("stop", "--json").stdout)
    assert stopped == {"workspace": "default", "pid": running.pid, "stopped": True}
