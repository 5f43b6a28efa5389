"""The command line, as a user types it: exit codes, JSON, streams, and never a traceback."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support import process

from workspaced.cli import COMMANDS, run


@pytest.fixture(scope="module")
def told(shared: Any) -> Any:
    """The shared daemon, with something to show."""
    with shared.connect() as client:
        client.publish(
            [
                {"type": "active_note_set", "data": {"note": "a.md"}},
                {"type": "note_pinned", "data": {"note": "b.md"}},
                {"type": "temporary_tab_opened", "data": {"note": "c.md", "source": "search"}},
            ]
        )
    return shared


@pytest.fixture
def here(told: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command in this very process: much faster where a process of its own proves nothing more."""
    for name, value in told.env.items():
        monkeypatch.setenv(name, value)
    for name in set(os.environ) - set(told.env) - {"PYTEST_CURRENT_TEST"}:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WORKSPACED_SOCKET", str(told.socket))

    def command(*arguments: str) -> tuple[int, str, str]:
        code = run(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return command


def state(running: Any) -> Any:
    return json.loads(running.cli("state", "--json").stdout)


# -- the group --


def test_help_lists_every_command_and_each_has_help(shared: Any) -> None:
    listed = shared.cli("--help")
    assert listed.returncode == 0
    for name in COMMANDS:
        assert name in listed.stdout


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_has_help(here: Any, name: str) -> None:
    code, out, _err = here(name, "--help")
    assert code == 0 and "Usage: workspaced" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["--colour"],
        ["state", "--colour"],
        ["state", "--at", "x"],
        ["state", "--at", "-1"],
        ["publish"],
        ["publish", "active_note_set", "--stdin"],
        ["publish", "active_note_set", "note"],
        ["publish", "active_note_set", "=x"],
        ["publish", "active_note_set", "colour=red"],
        ["publish", "active_note_set", "note=../x.md"],
        ["publish", "active_note_set"],
        ["publish", "note_exploded", "note=a.md"],
        ["publish", "note_pinned", "note=a.md", "index=first"],
        ["publish", "note_pinned", "note=a.md", "--to-vault", "nowhere"],
        ["publish", "note_pinned", "note=a.md", "--source", "x" * 65],
        ["call"],
        ["call", "rm_rf"],
        ["call", "get_current_note", "colour=red"],
        ["call", "get_current_note", "maxContentLength"],
        ["call", "get_current_note", "--args", "[1]"],
        ["call", "get_current_note", "--args", "{"],
        ["call", "get_note_by_reference"],
        ["call", "get_note_by_reference", "reference=../../etc/passwd.md"],
        ["watch", "--since", "yesterday"],
        ["state", "--of-vault", "nowhere"],
        ["log"],
        ["log", "fly"],
        ["log", "show", "0"],
        ["log", "show", "99999999"],
        ["log", "verify", "--data-dir", "/nonexistent"],
        ["log", "export", "--data-dir", "/nonexistent"],
        ["replay", "/nonexistent"],
        ["replay"],
        ["schema", "nothing"],
        ["schema", "--check", "--dir", "/nonexistent"],
        ["serve", "--log-level", "loud"],
        ["state", "--workspace", "../x"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_meant_is_usage_and_says_why(here: Any, arguments: list[str]) -> None:
    code, out, err = here(*arguments)
    assert code == 2, (code, out, err)
    assert err.strip() or "error" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["stop"],
        ["state", "--json"],
        ["watch"],
        ["tools"],
        ["call", "get_current_note"],
        ["publish", "active_note_cleared"],
        ["log", "export"],
        ["log", "show", "1"],
    ],
    ids=" ".join,
)
def test_without_a_daemon_the_code_is_three(
    here: Any, told: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("WORKSPACED_SOCKET", str(told.root / "none"))
    code, out, err = here(*arguments)
    assert code == 3 and "[NO_DAEMON]" in err and "workspaced start DIR" in err
    assert out == "" or "--json" in arguments


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


@pytest.mark.parametrize(
    "value", ["2024.md", "true.md", "null.md", "[x].md", "{y}.md", "a=b.md", "ünï 🎉.md", "1e5.md"]
)
def test_a_value_is_text_where_the_field_is_text(told: Any, value: str) -> None:
    done = told.cli("publish", "active_note_set", f"note={value}")
    assert done.returncode == 0, done.stderr
    assert state(told)["activeNote"]["id"] == value


def test_publish_reads_lines_from_standard_input(told: Any) -> None:
    lines = [json.dumps({"type": "note_archived", "data": {"note": f"s{number}.md"}}) for number in range(1_500)]
    done = told.cli("publish", "--stdin", "--json", stdin="\n".join(["", *lines]).encode())
    receipts = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(receipts) == 1_500
    assert state(told)["archived"][-1] == "s1499.md"


@pytest.mark.parametrize(
    "bad", [b"garbage", b"[]", b'"x"', b'{"type":', b"\xff\xfe", b'{"type":"\xff"}'], ids=repr
)
def test_a_bad_line_of_standard_input_is_named(told: Any, bad: bytes) -> None:
    good = b'{"type":"active_note_cleared"}\n'
    done = told.cli("publish", "--stdin", stdin=good + bad + b"\n" + good)
    assert done.returncode == 2 and "Line 2" in done.stderr


def test_a_bad_action_on_standard_input_names_its_index(told: Any) -> None:
    before = state(told)
    good, bad = b'{"type":"active_note_cleared"}\n', b'{"type":"nothing"}\n'
    done = told.cli("publish", "--stdin", stdin=good + bad)
    assert done.returncode == 2 and "(action 1)" in done.stderr
    assert state(told) == before


def test_a_request_that_is_too_large_is_usage_and_not_a_lost_daemon(told: Any) -> None:
    line = json.dumps({"type": "selection_changed", "data": {"note": "a.md", "text": "x" * 1_100_000}})
    done = told.cli("publish", "--stdin", stdin=line.encode())
    assert done.returncode == 2 and "[LINE_TOO_LARGE]" in done.stderr


# -- reading --


def test_state_of_now_of_then_and_for_people(told: Any) -> None:
    told.cli("publish", "active_note_set", "note=a.md")
    assert state(told)["activeNote"]["id"] == "a.md"
    then = told.cli("state", "--at", "0", "--json")
    assert json.loads(then.stdout)["activeNote"] is None
    shown = told.cli("state")
    assert "a.md" in shown.stdout and "\x1b" not in shown.stdout
    assert told.cli("state", "--of-vault", "vault").returncode == 0


def test_status_for_people_and_programs(told: Any) -> None:
    shown = told.cli("status")
    assert shown.returncode == 0 and str(told.pid) in shown.stdout
    assert json.loads(told.cli("status", "--json").stdout)["pid"] == told.pid


def test_tools_and_calls(told: Any) -> None:
    listed = json.loads(told.cli("tools", "--json").stdout)
    shown = told.cli("tools").stdout
    assert all(tool["name"] in shown for tool in listed)
    done = told.cli("call", "get_workspace_context", "includeContent=true", "maxContentLength=500", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["success"] is True
    done = told.cli("call", "get_note_by_reference", "reference=b.md")
    assert done.returncode == 0 and "Beta" in done.stdout
    done = told.cli("call", "get_note_by_reference", "--args", '{"reference": "no such note"}', "--json")
    assert done.returncode == 1 and json.loads(done.stdout)["success"] is False


def test_schema_prints_what_it_lists(told: Any) -> None:
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


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_watch_streams_until_interrupted(told: Any, number: int) -> None:
    process = watching(told, "--since", "0", "--json")
    assert process.stdout is not None
    assert [json.loads(process.stdout.readline())["seq"] for _ in range(5)] == [1, 2, 3, 4, 5]
    process.send_signal(number)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"Traceback" not in err


def test_watch_selects_types_and_follows(told: Any) -> None:
    process = watching(told, "--since", "0", "--type", "daemon_started", "--type", "note_unarchived")
    assert process.stdout is not None
    assert b"daemon_started" in process.stdout.readline()
    told.cli("publish", "note_unarchived", "note=w.md")
    assert b"note_unarchived" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_watch_ends_with_three_when_the_daemon_does(daemon: Any) -> None:
    running = daemon()
    process = watching(running, "--since", "0")
    assert process.stdout is not None and process.stdout.readline()
    running.stop()
    _out, err = process.communicate(timeout=60)
    assert process.returncode == 3 and b"Traceback" not in err


@pytest.mark.parametrize(
    "command",
    [
        ["log", "export"],
        ["log", "export", "--data-dir", "DATA"],
        ["replay", "DATA", "--json"],
        ["replay", "DATA"],
        ["state", "--json"],
        ["tools"],
        ["schema"],
        ["watch", "--since", "0"],
        ["--help"],
    ],
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


def test_every_source_of_a_replay_leads_to_the_daemons_state(told: Any) -> None:
    export = told.root / "export.jsonl"
    assert told.cli("log", "export", "-o", str(export)).returncode == 0
    live = told.cli("state", "--json").stdout
    lines = export.read_bytes()
    from_disk = told.cli("log", "export", "--data-dir", str(told.data)).stdout
    assert from_disk.encode().startswith(lines)
    sources = {
        "data": told.cli("replay", str(told.data), "--json"),
        "log": told.cli("replay", str(told.data / "log"), "--json"),
        "export": told.cli("replay", str(export), "--json"),
        "stdin": told.cli("replay", "-", "--json", stdin=lines),
    }
    for name, done in sources.items():
        assert done.returncode == 0 and json.loads(done.stdout) == json.loads(live), name
        assert done.stdout == live, name
    header, *events = [json.loads(line) for line in lines.splitlines()]
    assert header["workspaced"] == "log" and header["version"] == 1 and "type" not in header
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))


def test_until_folds_a_part(told: Any) -> None:
    for until in ("0", "2", "4"):
        folded = told.cli("replay", str(told.data), "--json", "--until", until)
        assert folded.stdout == told.cli("state", "--json", "--at", until).stdout
    assert told.cli("replay", str(told.data), "--until", "99999999").returncode == 2


def test_an_import_makes_a_log_a_daemon_goes_on_with(told: Any, daemon: Any) -> None:
    export = told.cli("log", "export").stdout.encode()
    other = daemon(start=False)
    done = other.cli("log", "import", "-", "--data-dir", str(other.data), stdin=export)
    assert done.returncode == 0, done.stderr
    assert other.cli("replay", str(other.data), "--json").stdout == other.cli(
        "replay", "-", "--json", stdin=export
    ).stdout  # fmt: skip
    again = other.cli("log", "import", "-", "--data-dir", str(other.data), stdin=export)
    assert again.returncode == 2
    assert other.cli("log", "verify", "--data-dir", str(other.data)).returncode == 0
    other.vault = told.vault
    assert other.start().connect().state()["pinnedNotes"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", 2),
        (b"garbage\n", 2),
        (b'{"workspaced":"log","version":99}\n', 2),
        (b'{"workspaced":"log","version":1}\ngarbage\n', 4),
        (b'{"workspaced":"log","version":1}\n\xff\n', 4),
        (b'{"workspaced":"log","version":1}\n{"seq":1}\n', 4),
    ],
    ids=repr,
)
def test_what_is_no_export_is_refused(told: Any, text: bytes, code: int) -> None:
    assert told.cli("replay", "-", stdin=text).returncode == code


def test_import_into_a_running_daemons_data_is_refused(told: Any) -> None:
    export = told.cli("log", "export").stdout.encode()
    done = told.cli("log", "import", "-", "--data-dir", str(told.data), stdin=export)
    assert done.returncode == 3 and str(told.pid) in done.stderr


def test_verify_and_show(told: Any) -> None:
    done = told.cli("log", "verify", "--data-dir", str(told.data), "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said["ok"] is True and said["damage"] is None
    assert ": verified." in told.cli("log", "verify", "--data-dir", str(told.data)).stdout
    shown = told.cli("log", "show", "1")
    assert json.loads(shown.stdout)["seq"] == 1
    assert told.cli("log", "show", "1", "--data-dir", str(told.data)).stdout == shown.stdout


# -- starting and stopping --


def test_call_starts_a_daemon_on_demand_and_stop_ends_it(daemon: Any) -> None:
    running = daemon(start=False)
    running.env["XDG_DATA_HOME"] = str(running.root)
    vault = ["--vault", str(running.vault)]
    done = running.cli("call", "get_note_by_reference", "reference=a.md", *vault, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["success"] is True, done.stderr
    assert running.cli("publish", "active_note_set", "note=a.md", *vault).returncode == 0
    assert running.cli("stop").returncode == 0
    assert not running.socket.exists()
    assert running.cli("status").returncode == 3


def test_several_that_start_a_daemon_on_demand_at_once_share_it(daemon: Any) -> None:
    running = daemon(start=False)
    running.env["XDG_DATA_HOME"] = str(running.root)
    codes: list[int] = []

    def call() -> None:
        done = running.cli("publish", "active_note_set", "note=a.md", "--vault", str(running.vault))
        codes.append(done.returncode)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert running.cli("stop").returncode == 0
    assert codes == [0, 0, 0, 0]


def test_a_daemon_that_cannot_be_started_says_why(daemon: Any) -> None:
    running = daemon(start=False)
    done = running.cli("call", "get_current_note", "--vault", str(running.root / "missing"))
    assert done.returncode == 3 and "missing" in done.stderr


def test_status_starts_fast(told: Any) -> None:
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "workspaced", "status"],
        capture_output=True,
        env={**told.env, "WORKSPACED_SOCKET": str(told.socket)},
    ).stderr.decode()
    for heavy in ("pydantic", "anyio", "watchfiles", "jsonschema", "asyncio", "rich"):
        assert not any(line.split("|")[-1].strip() == heavy for line in loaded.splitlines()), heavy


def test_a_cursor_is_no_selection_in_the_state_for_people(daemon: Any) -> None:
    running = daemon()
    with running.connect("editor") as editor:
        editor.call("workspaced/reconcile")
        view = {"source": "editor", "active": "a.md", "pins": [], "tabs": []}
        for text, is_shown in (("# A", True), ("", False)):
            selection = {"startLine": 1, "endLine": 1, "text": text}
            editor.call("workspaced/snapshot", {**view, "selection": selection})
            assert ("lines 1 to 1" in running.cli("state").stdout) is is_shown


def test_an_import_takes_a_relative_directory(shared: Any, tmp_path: Path) -> None:
    exported = shared.cli("log", "export")
    (tmp_path / "session.jsonl").write_text(exported.stdout)
    done = process.run("log", "import", "session.jsonl", "--data-dir", "fresh", cwd=tmp_path, env=shared.env)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fresh" / "log").is_dir()
    assert not (tmp_path / "fresh" / "fresh").exists()


def test_an_argument_that_is_not_utf_8_is_refused_without_a_traceback(shared: Any) -> None:
    command = [sys.executable, "-m", "workspaced", "publish", "active_note_set", b"note=bad\xff.md"]
    env = {**shared.env, "WORKSPACED_SOCKET": str(shared.socket)}
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr and b"INVALID_ARGUMENT" in done.stderr


def test_null_on_the_command_line_is_no_note(shared: Any) -> None:
    assert shared.cli("publish", "active_note_set", "note=a.md").returncode == 0
    assert shared.cli("publish", "active_note_set", "note=null").returncode == 0
    assert json.loads(shared.cli("state", "--json").stdout)["activeNote"] is None


HEAVY = "jmespath pydantic jsonschema rich asyncio tempfile workspaced_events.log workspaced_events.journal"


HEAVY += " workspaced_tools.limits workspaced_tools.ports workspaced_tools.tools workspaced_tools.vault"


CATALOGUE = "workspaced_events.schema.catalogue"


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("status", f"{HEAVY} {CATALOGUE}"),
        ("state", f"{HEAVY} {CATALOGUE}"),
        ("tools", f"{HEAVY} {CATALOGUE}"),
        ("publish", HEAVY),
        ("share", HEAVY),
    ],
)
def test_commands_that_only_ask_the_daemon_load_neither_log_nor_tools(command: str, heavy: str) -> None:
    script = f"""
import sys
import workspaced.cli
workspaced.cli.run([{command!r}, "--help"])
print([name for name in {heavy.split()!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
