"""The command line, as a user types it: exit codes, JSON, streams, and never a traceback."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from workspaced.cli import COMMANDS


@pytest.fixture(scope="module")
def told(shared: Any) -> Any:
    """The shared daemon, with something to show."""
    shared.publish("active_note_set", note="a.md")
    shared.publish("note_pinned", note="b.md")
    shared.publish("temporary_tab_opened", note="c.md", source="search")
    return shared


def state(running: Any) -> Any:
    return json.loads(running.cli("state", "--json").stdout)


# -- the group --


def test_every_command_is_listed_and_has_help(told: Any) -> None:
    listed = told.cli("--help").stdout
    for name in COMMANDS:
        done = told.cli(name, "--help")
        assert name in listed and done.returncode == 0 and "Usage: workspaced" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["--colour"],
        ["state", "--at", "x"],
        ["state", "--of-vault", "nowhere"],
        ["state", "--workspace", "../x"],
        ["publish"],
        ["publish", "active_note_set", "--stdin"],
        ["publish", "active_note_set", "=x"],
        ["publish", "active_note_set", "colour=red"],
        ["publish", "note_pinned", "note=a.md", "--source", "x" * 65],
        ["call"],
        ["call", "rm_rf"],
        ["call", "get_current_note", "maxContentLength"],
        ["call", "get_note_by_reference", "reference=../../etc/passwd.md"],
        ["watch", "--since", "yesterday"],
        ["log", "fly"],
        ["log", "show", "0"],
        ["log", "verify", "--data-dir", "/nonexistent"],
        ["replay", "/nonexistent"],
        ["schema", "nothing"],
        ["schema", "--check", "--dir", "/nonexistent"],
        ["serve", "--log-level", "loud"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_usage_and_says_why(told: Any, arguments: list[str]) -> None:
    done = told.cli(*arguments)
    assert done.returncode == 2 and (done.stderr.strip() or "error" in done.stdout)


@pytest.mark.parametrize(
    "arguments",
    [["status"], ["state", "--json"], ["watch"], ["call", "get_current_note"], ["log", "export"]],
    ids=" ".join,
)
def test_without_a_daemon_the_code_is_three(told: Any, arguments: list[str]) -> None:
    done = told.cli(*arguments, env={"WORKSPACED_SOCKET": str(told.root / "none")})
    assert done.returncode == 3 and "[NO_DAEMON]" in done.stderr and "workspaced start DIR" in done.stderr
    assert done.stdout == "" or "--json" in arguments


@pytest.mark.thorough
def test_a_timeout_is_five(told: Any) -> None:
    done = told.cli("call", "get_current_note", "minSeq=999999999")
    assert done.returncode == 5 and "[TIMEOUT]" in done.stderr


# -- publish --


def test_publish_prints_the_sequence(told: Any) -> None:
    done = told.cli("publish", "note_pinned", "note=pinned here.md", "index=0", "--id", "cli-1", "--json")
    receipt = json.loads(done.stdout)
    assert done.returncode == 0 and receipt["id"] == "cli-1" and not receipt["duplicate"]
    again = told.cli("publish", "note_pinned", "note=pinned here.md", "index=0", "--id", "cli-1")
    assert again.returncode == 0 and again.stdout == f"{receipt['seq']} note_pinned (already there)\n"
    conflict = told.cli("publish", "note_pinned", "note=other.md", "--id", "cli-1")
    assert conflict.returncode == 1 and "[CONFLICT]" in conflict.stderr


def test_a_value_is_text_where_the_field_is_text_and_null_is_no_note(told: Any) -> None:
    for value in ("2024.md", "true.md", "[x].md", "{y}.md", "a=b.md", "ünï 🎉.md"):
        assert told.cli("publish", "active_note_set", f"note={value}").returncode == 0
        assert state(told)["activeNote"]["id"] == value
    assert told.cli("publish", "active_note_set", "note=null").returncode == 0
    assert state(told)["activeNote"] is None


GOOD = b'{"type":"active_note_cleared"}\n'


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (GOOD + b"garbage\n" + GOOD, "Line 2"),
        (GOOD + b'{"type":"\xff"}\n', "Line 2"),
        (b"[]\n", '"type": "note_pinned"'),
        (b'{"data":{}}\n', '"type": "note_pinned"'),
        (GOOD + b'{"type":"nothing"}\n', "(action 1)"),
        (b'{"type":"selection_changed","data":{"text":"' + b"x" * 1_100_000 + b'"}}', "[LINE_TOO_LARGE]"),
    ],
    ids=["no JSON", "no UTF-8", "a list", "no type", "no action", "too large"],
)
def test_what_is_wrong_on_standard_input_is_named(told: Any, lines: bytes, says: str) -> None:
    before = state(told)
    done = told.cli("publish", "--stdin", stdin=lines)
    assert done.returncode == 2 and says in done.stderr
    if says == "(action 1)":
        assert state(told) == before, "a batch is recorded as a whole or not at all"


# -- reading --


def test_state_of_now_of_then_and_for_people(told: Any) -> None:
    told.cli("publish", "active_note_set", "note=a.md")
    assert state(told)["activeNote"]["id"] == "a.md"
    then = told.cli("state", "--at", "0", "--json")
    assert json.loads(then.stdout)["activeNote"] is None
    shown = told.cli("state")
    assert "a.md" in shown.stdout and "\x1b" not in shown.stdout
    assert told.cli("state", "--of-vault", "vault").returncode == 0
    shown = told.cli("status")
    assert shown.returncode == 0 and str(told.pid) in shown.stdout
    assert json.loads(told.cli("status", "--json").stdout)["pid"] == told.pid
    with told.connect("editor") as editor:
        editor.call("workspaced/reconcile")
        view = {"source": "editor", "active": "a.md", "pins": [], "tabs": []}
        for text, is_shown in (("# A", True), ("", False)):  # a cursor is no selection
            selection = {"startLine": 1, "endLine": 1, "text": text}
            editor.call("workspaced/snapshot", {**view, "selection": selection})
            assert ("lines 1 to 1" in told.cli("state").stdout) is is_shown


def test_tools_and_calls(told: Any) -> None:
    listed = json.loads(told.cli("tools", "--json").stdout)
    shown = told.cli("tools").stdout
    assert all(tool["name"] in shown for tool in listed)
    done = told.cli("call", "get_workspace_context", "includeContent=true", "maxContentLength=500", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["success"] is True
    done = told.cli("call", "get_note_by_reference", "reference=b.md")
    assert done.returncode == 0 and "Beta" in done.stdout
    done = told.cli("call", "get_note_by_reference", "reference=no such note", "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["success"] is False
    names = told.cli("schema").stdout.split()
    assert "actions/note_pinned" in names and "state" in names
    assert json.loads(told.cli("schema", "actions/note_pinned").stdout)["title"] == "note_pinned"


# -- streams --


def watching(running: Any, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "workspaced", "watch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**running.env, "WORKSPACED_SOCKET": str(running.socket)},
    )


def test_watch_streams_until_interrupted(told: Any) -> None:
    process = watching(told, "--since", "0", "--json")
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["seq"] for _ in range(5)] == [1, 2, 3, 4, 5]
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err


@pytest.mark.parametrize(
    "command",
    [["log", "export"], ["replay", "DATA", "--json"], ["tools"], ["watch", "--since", "0"], ["--help"]],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_error(told: Any, command: list[str]) -> None:
    arguments = [str(told.data) if each == "DATA" else each for each in command]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "workspaced", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**told.env, "WORKSPACED_SOCKET": str(told.socket)},
            timeout=30,
        )
    finally:
        os.close(writing)
    assert done.stderr == b"" and done.returncode == 0


# -- logs --


# -- starting and stopping --


def test_an_argument_that_is_not_utf_8_is_refused_without_a_traceback(shared: Any) -> None:
    command = [sys.executable, "-m", "workspaced", "publish", "active_note_set", b"note=bad\xff.md"]
    env = {**shared.env, "WORKSPACED_SOCKET": str(shared.socket)}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr and b"INVALID_ARGUMENT" in done.stderr


HEAVY = "anyio asyncio jmespath jsonschema pydantic rich tempfile watchfiles workspaced_events.log"
HEAVY += " workspaced_events.journal"
HEAVY += " workspaced_tools.limits workspaced_tools.ports workspaced_tools.tools workspaced_tools.vault"
CATALOGUE = "workspaced_events.schema.catalogue"


@pytest.mark.parametrize(
    ("command", "heavy"), [("state", f"{HEAVY} {CATALOGUE}"), ("publish active_note_cleared", HEAVY)]
)
def test_commands_that_only_ask_the_daemon_load_neither_log_nor_tools(told: Any, command: str, heavy: str) -> None:
    script = f"""
import sys
import workspaced.cli
assert workspaced.cli.run({command.split()!r}) == 0
print([name for name in {heavy.split()!r} if name in sys.modules], file=sys.stderr)
"""
    env = {**told.env, "WORKSPACED_SOCKET": str(told.socket)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    assert done.stderr.splitlines()[-1] == "[]"
