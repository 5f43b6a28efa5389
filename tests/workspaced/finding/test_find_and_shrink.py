"""`workspaced log find` and `workspaced log shrink`, as a person or a program runs them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import random_log as logs
from support.stored_logs import as_export

from workspaced.cli import run
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c

V, W, A, B = VaultId("v"), VaultId("w"), NoteId("a.md"), NoteId("b.md")
EVENTS = logs.recorded(
    *logs.opened(V, W),
    c.NotePinned(A),
    c.ActiveNoteSet(B),
    (c.NotePinned(B), W),
    c.NotePinned(NoteId("esc\x1b.md")),
    c.NoteUnpinned(A),
)
PINS = logs.recorded(*logs.opened(V), *(c.NotePinned(NoteId(f"{number}.md")) for number in range(300)))
TWO_PINS = "length(pinnedNotes) > `1`"
HAS_30 = """grep -q '"30.md"'"""

Cli = Callable[..., Any]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return as_export(tmp_path / "log.jsonl", EVENTS)


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs `workspaced log ...`: its exit code and what it printed."""

    def ran(*arguments: str | Path) -> Any:
        code = run(["log", *map(str, arguments)])
        sys.stdout.flush()
        said = capfdbinary.readouterr()
        return SimpleNamespace(code=code, out=said.out.decode(), err=said.err.decode())

    return ran


class TestFind:
    def test_prints_the_event_and_what_it_changed(self, cli: Cli, log: Path) -> None:
        done = cli("find", log, "--when", TWO_PINS, "--utc")
        assert done.code == 0
        assert (
            "6 note_pinned" in done.out and EVENTS[5].time.replace("T", " ") in done.out and "pinned +" in done.out
        )
        assert "\x1b" not in done.out and "esc\\x1b.md" in done.out

    @pytest.mark.parametrize(
        ("arguments", "code", "error"),
        [
            (["--when", "pinned["], 2, "INVALID_ARGUMENT"),
            (["--when", "pinned"], 2, "INVALID_ARGUMENT"),
            (["--when", "length(seq"], 2, "INVALID_ARGUMENT"),
            (["--when", "activeNote", "--of-vault", "x"], 2, "INVALID_ARGUMENT"),
            (["--when", "seq", "--between", "4", "2"], 2, "INVALID_ARGUMENT"),
            (["--when", "seq", "--between", "4", "soon"], 2, "INVALID_ARGUMENT"),
            (["--when", "archived"], 1, "NEVER_TRUE"),
            (["--when", "!archived"], 1, "ALREADY_TRUE"),
            (["--when", "pinnedNotes", "--between", "0", "2"], 1, "NEVER_TRUE"),
            (["--run", "false"], 1, "NEVER_TRUE"),
            (["--run", "true"], 1, "ALREADY_TRUE"),
            (["--run", "exit 125"], 1, "CANNOT_TELL"),
            (["--run", "exit 3"], 1, "PREDICATE_FAILED"),
            (["--run", "read x; sleep 600", "--timeout", "1"], 1, "PREDICATE_FAILED"),
            ([], 2, "Usage"),
            (["--when", "seq", "--run", "true"], 2, "Usage"),
            (["--run", "true", "--timeout", "0"], 2, "Usage"),
        ],
    )
    def test_says_what_is_wrong(self, cli: Cli, log: Path, arguments: list[str], code: int, error: str) -> None:
        done = cli("find", log, *arguments)
        assert (done.code, done.out) == (code, "")
        assert error in done.err

    def test_a_switch_of_the_vault_is_the_event_if_the_other_vault_shows_it(
        self, cli: Cli, tmp_path: Path
    ) -> None:
        switched = c.VaultSwitched(W), c.NoteArchived(B)
        log = as_export(tmp_path / "log.jsonl", logs.recorded(*logs.opened(V, W), (c.NotePinned(A), W), *switched))
        found = json.loads(cli("find", log, "--when", "pinnedNotes", "--json").out)
        assert (found["seq"], found["event"]["type"]) == (4, "vault_switched")


def is_gone(pid: int) -> bool:
    """Whether the process has ended; it may wait for the system to take note of that."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class TestShrink:
    def test_writes_a_log_that_shows_the_same_and_says_how_small_it_is(self, cli: Cli, tmp_path: Path) -> None:
        log, small = as_export(tmp_path / "log.jsonl", PINS), tmp_path / "small.jsonl"
        done = cli("shrink", log, "--when", "pinnedNotes[?id == '30.md']", "-o", small)
        assert (done.code, done.out) == (0, "")
        assert "32 events -> 2" in done.err
        assert list(replay(small).state.of(V).pins) == ["30.md"]
        assert json.loads(cli("find", small, "--when", "pinnedNotes[?id == '30.md']", "--json").out)["seq"] == 2
        assert cli("import", small, "--data-dir", tmp_path / "data").code == 0
        assert json.loads(cli("find", tmp_path / "data", "--when", "pinnedNotes", "--json").out)["seq"] == 2

    def test_prints_the_log_where_no_file_is_named(self, cli: Cli, log: Path) -> None:
        done = cli("shrink", log, "--when", TWO_PINS)
        assert done.code == 0
        header, *events = map(json.loads, done.out.splitlines())
        assert header["workspaced"] == "log"
        assert [event["type"] for event in events] == ["vault_opened", "note_pinned", "note_pinned"]

    def test_warns_of_a_command_that_changes_its_mind(self, cli: Cli, tmp_path: Path) -> None:
        """It counts its questions, and says no from the last one on."""
        log, small = as_export(tmp_path / "log.jsonl", EVENTS), tmp_path / "small.jsonl"
        asked = tmp_path / "asked"
        command = (
            f"n=$(cat {asked} 2>/dev/null || echo 0); echo $((n+1)) > {asked}; grep -q esc && test $n -lt LIMIT"
        )
        steady = cli("shrink", log, "--run", command.replace("LIMIT", "9999"), "-o", small, "--until", "6")
        assert steady.code == 0
        count = int(asked.read_text())
        asked.unlink()
        moody = cli(
            "shrink", log, "--run", command.replace("LIMIT", str(count - 1)), "-o", small, "--json", "--until", "6"
        )
        assert moody.code == 1
        assert json.loads(moody.out)["shows"] is False
        assert "warning" in moody.err
        assert small.exists()

    def test_keeps_the_smallest_when_the_command_fails(self, cli: Cli, tmp_path: Path) -> None:
        log, small = as_export(tmp_path / "log.jsonl", PINS), tmp_path / "small.jsonl"
        done = cli("shrink", log, "--run", 'grep -q \'"pinnedAt".*"pinnedAt"\' || exit 3', "-o", small)
        assert done.code == 1 and "PREDICATE_FAILED" in done.err
        assert not small.exists()
        found = (
            "input=$(cat); case $input in *250.md*) case $input in *12.md*) exit 0;; esac; exit 77;; esac; exit 1"
        )
        done = cli("shrink", log, "--run", found, "-o", small)
        assert done.code == 1 and "PREDICATE_FAILED" in done.err
        assert 2 < len(small.read_text().splitlines()) < 302

    @pytest.mark.parametrize(
        ("arguments", "code", "error"),
        [
            (["--when", "archived", "-o", "small.jsonl"], 1, "NEVER_TRUE"),
            (["--when", "!archived", "-o", "small.jsonl"], 1, "ALREADY_TRUE"),
            (["--when", "pinned", "-o", "small.jsonl"], 2, "INVALID_ARGUMENT"),
            (["--when", "pinnedNotes", "-o", "log.jsonl"], 2, "INVALID_ARGUMENT"),
            (["--when", "pinnedNotes", "-o", "none/small.jsonl"], 2, "INVALID_ARGUMENT"),
            (["--when", "pinnedNotes", "-o", "."], 2, "Usage"),
            (["--when", "pinnedNotes", "--json"], 2, "Usage"),
            (["--when", "pinnedNotes", "--until", "4"], 2, "Usage"),
            (["--run", "true", "--until", "99"], 1, "ALREADY_TRUE"),
            (["--run", "grep -q a.md", "--until", "99"], 2, "INVALID_ARGUMENT"),
            ([], 2, "Usage"),
        ],
    )
    def test_says_what_is_wrong_and_writes_nothing(
        self, cli: Cli, log: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, error: str
    ) -> None:
        monkeypatch.chdir(log.parent)
        before = log.read_bytes()
        done = cli("shrink", log, *arguments)
        assert done.code == code and (done.out == "" or "--json" in arguments)
        assert error in done.err
        assert [path.name for path in log.parent.iterdir()] == ["log.jsonl"]
        assert log.read_bytes() == before

    def test_interrupted_leaves_the_smallest_so_far_and_no_process(self, tmp_path: Path) -> None:
        """Each question waits for us, so that it is known how many were answered."""
        log, small = as_export(tmp_path / "log.jsonl", PINS), tmp_path / "small.jsonl"
        asked, answers = tmp_path / "asked", tmp_path / "answers"
        for pipe in (asked, answers):
            os.mkfifo(pipe)
        command = f"echo $$ > {asked}; read answer < {answers}; {HAS_30}"
        process = subprocess.Popen(
            [sys.executable, "-m", "workspaced", "log", "shrink", str(log), "--run", command, "-o", str(small)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for _question in range(8):
            assert asked.read_text()
            answers.write_text("go on\n")
        asking = int(asked.read_text())
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert is_gone(asking)
        assert process.returncode == 130
        assert "Traceback" not in said and "stopped early" in said
        left = replay(small)
        assert "30.md" in left.state.of(V).pins
        assert 2 < left.events < 301
