"""Commands that give the same as a view of the page, over the same log."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import process
from support.daemon import clean_environment
from support.inspector import RECORDED, Inspector
from support.random_log import opened
from support.random_log import recorded as recorded_events

from workspaced.demo.morning import INSTALLED
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.schema import catalogue as c

WRONG = "release 1 comes on 22 june"

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a command to its end; what it wrote is text."""

    def ran(*arguments: object, code: int = 0) -> Any:
        done = process.run(*map(str, arguments), env=clean_environment(tmp_path))
        assert done.returncode == code, done.stderr.decode()
        return done

    return ran


class TestASearch:
    def test_gives_what_the_page_gives(self, recorded: Inspector, run: Run) -> None:
        page = recorded.get("/api/texts", text="note", lanes="calls")
        lines = run("log", "search", "--in", "calls", "--json", "note", RECORDED).stdout.splitlines()
        assert [json.loads(line) for line in lines] == page["hits"] != []

    def test_finds_the_wrong_answer_in_any_case(self, run: Run) -> None:
        done = run("log", "search", WRONG, INSTALLED)
        head, quote = done.stdout.decode().splitlines()
        assert head.startswith("169 message_added 2026-04-17") and head.endswith("writer: message")
        assert quote == "    Release 1 comes on 22 June."

    def test_reads_on_where_its_limit_ended(self, run: Run) -> None:
        whole = run("log", "search", "Kickoff", INSTALLED, "--json").stdout.splitlines()
        first = run("log", "search", "Kickoff", INSTALLED, "--json", "--limit", "3")
        following = first.stderr.decode().split("--from ")[1].strip()
        rest = run("log", "search", "Kickoff", INSTALLED, "--json", "--from", following).stdout.splitlines()
        assert first.stdout.splitlines() + rest == whole and len(whole) > 3

    def test_that_finds_nothing_exits_with_1(self, run: Run) -> None:
        done = run("log", "search", "stands nowhere", INSTALLED, code=1)
        assert (done.stdout, done.stderr) == (b"", b"it stands nowhere here\n")

    def test_of_a_damaged_log_gives_what_is_before_the_damage_and_fails(self, run: Run, tmp_path: Path) -> None:
        events = recorded_events(*opened(VaultId("v")), *(c.NotePinned(NoteId(f"{n}.md")) for n in range(3)))
        lines = list(export_lines("log-1", events))
        log = tmp_path / "log.jsonl"
        log.write_bytes(b"".join([*lines[:-1], b"no event\n"]))
        done = run("log", "search", ".md", log, code=4)
        assert [line.split()[0] for line in done.stdout.splitlines()[::2]] == [b"2", b"3"]
        assert b"LOG_DAMAGED" in done.stderr


def test_coverage_is_that_of_the_page(recorded: Inspector, run: Run) -> None:
    page = recorded.get("/api/coverage", **{"from": 5, "status": "unknown"})
    done = run("context", "coverage", RECORDED, "--from", 5, "--status", "unknown", "--json")
    assert json.loads(done.stdout) == page and page["notes"]
    rows = run("context", "coverage", RECORDED, "--from", 5, "--status", "unknown").stdout.decode().splitlines()
    assert [row.split("  ")[0] for row in rows[1:]] == [each["note"] for each in page["notes"]]
