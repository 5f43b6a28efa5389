"""`workspaced log find` and `workspaced log shrink`, as a person or a program runs them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import random_log as logs
from support.stored_logs import as_export

from workspaced.cli import run
from workspaced.finding.command import bundle_of
from workspaced_events.finding.shrink import ReducedLog
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.replay.log_slice import cut
from workspaced_events.replay.open import open_source
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
            (["--when", "archived"], 1, "NEVER_TRUE"),
            (["--when", "!archived"], 1, "ALREADY_TRUE"),
            ([], 2, "Usage"),
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


class TestShrink:
    def test_writes_a_bundle_that_shows_the_same_and_says_how_small_it_is(self, cli: Cli, tmp_path: Path) -> None:
        log, small = as_export(tmp_path / "log.jsonl", PINS), tmp_path / "small.wsb"
        done = cli("shrink", log, "--when", "pinnedNotes[?id == '30.md']", "-o", small)
        assert (done.code, done.out) == (0, "")
        assert "32 events -> 2" in done.err
        assert list(replay(small).state.of(V).pins) == ["30.md"]
        assert json.loads(cli("find", small, "--when", "pinnedNotes[?id == '30.md']", "--json").out)["seq"] == 2

    def test_of_a_bundle_begins_with_its_first_state(self, cli: Cli, tmp_path: Path) -> None:
        part, small = tmp_path / "part.wsb", tmp_path / "small.wsb"
        with open_source(as_export(tmp_path / "log.jsonl", PINS)) as source:
            part.write_bytes(bundle_of(cut(source, since=20)))
        done = cli("shrink", part, "--when", "pinnedNotes[?id == '250.md']", "-o", small, "--json")
        assert json.loads(done.out) == {"from": 233, "to": 1, "asked": 20, "smallest": True}
        assert len(replay(small).state.of(V).pins) == 19
        before = part.read_bytes()
        done = cli("shrink", part, "--when", "pinnedNotes[?id == '250.md']", "-o", part)
        assert done.code == 2 and "is the log itself" in done.err and part.read_bytes() == before

    @pytest.mark.parametrize(
        ("arguments", "code", "error"),
        [
            (["--when", "archived", "-o", "small.wsb"], 1, "NEVER_TRUE"),
            (["--when", "!archived", "-o", "small.wsb"], 1, "ALREADY_TRUE"),
            (["--when", "pinned", "-o", "small.wsb"], 2, "INVALID_ARGUMENT"),
            (["--when", "pinnedNotes", "-o", "log.jsonl"], 2, "INVALID_ARGUMENT"),
            (["--when", "pinnedNotes", "-o", "none/small.wsb"], 2, "INVALID_ARGUMENT"),
            (["--when", "pinnedNotes", "-o", "."], 2, "Usage"),
            (["--when", "pinnedNotes"], 2, "Usage"),
            ([], 2, "Usage"),
        ],
    )
    def test_says_what_is_wrong_and_writes_nothing(
        self, cli: Cli, log: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, error: str
    ) -> None:
        monkeypatch.chdir(log.parent)
        before = log.read_bytes()
        done = cli("shrink", log, *arguments)
        assert done.code == code and done.out == ""
        assert error in done.err
        assert [path.name for path in log.parent.iterdir()] == ["log.jsonl"]
        assert log.read_bytes() == before

    def test_interrupted_leaves_the_smallest_so_far(
        self, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log, small = as_export(tmp_path / "log.jsonl", PINS), tmp_path / "small.wsb"
        without, cuts = ReducedLog.without, []

        def interrupted(reduced: ReducedLog, start: int, stop: int) -> bool:
            cuts.append(start)
            if len(cuts) > 5:
                raise KeyboardInterrupt
            return without(reduced, start, stop)

        monkeypatch.setattr(ReducedLog, "without", interrupted)
        done = cli("shrink", log, "--when", "pinnedNotes[?id == '30.md']", "-o", small)
        assert done.code == 130 and "stopped early" in done.err
        left = replay(small)
        assert "30.md" in left.state.of(V).pins
        assert 2 < left.events < 32
