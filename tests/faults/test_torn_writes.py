"""Row 2 of the table of faults: death after every possible byte of a batch of three events.

The preloaded shim lets through the first K bytes written to a segment and kills the process there: a torn line to
the byte, which SIGKILL alone never gives. Run as a script this file is the host, which imports everything once and
forks a writer for each line it reads.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import call_faults

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.submissions import Outcome, Receipt
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.scan import scan_log
from workspaced_events.schema import catalogue as c

ROUNDS_EACH = 40


# -- in the forked writer --


def write_and_die(root: Path, number: int, kill_after: int) -> int:
    """Publishes one event, then dies `kill_after` bytes into a batch of three; the sequence before the batch."""
    plan = call_faults.Plan(Path(os.environ["CALL_FAULTS_PLAN"]))
    plan.clear()
    journal = open_journal(RealDisk(root), version="t")
    recorder = journal.writer
    outcomes: list[Outcome] = []

    def publish(*actions: Action) -> list[Receipt]:
        recorder.submit(actions, "ui", outcomes.append)
        for done, outcome in recorder.commit().outcomes:
            done(outcome)
        outcome = outcomes.pop()
        if isinstance(outcome, WorkspacedError):
            raise outcome
        return outcome

    if journal.recovered is not None:
        publish(Action(journal.recovered))
    if not recorder.state.vaults:
        publish(Action(c.VaultOpened(VaultId("v"), "v", "/v")))
    (acknowledged,) = publish(Action(c.ActiveNoteSet(NoteId("a.md")), EventId(f"{number}-before")))
    batch = [Action(c.NotePinned(NoteId(f"{each}.md")), EventId(f"{number}-{each}")) for each in "abc"]
    if kill_after >= 0:
        plan.add("pwrite", ".wlog", kills=True, after_bytes=kill_after)
    offset = journal.log.tail.offset
    publish(*batch)
    if kill_after >= 0:
        raise AssertionError("the writer outlived its batch")
    return journal.log.tail.offset - offset if number < 0 else acknowledged.seq


def host() -> None:
    for line in sys.stdin:
        root, number, kill_after = json.loads(line)
        pid = os.fork()
        if pid == 0:
            size = 0
            try:
                size = write_and_die(Path(root), number, kill_after)
                sys.stdout.write(f"{size}\n")
                sys.stdout.flush()
            finally:
                os._exit(0 if size else 1)
        _, status = os.waitpid(pid, 0)
        if kill_after >= 0:
            sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
            sys.stdout.flush()


# -- in the test --


@pytest.fixture(scope="module")
def writer(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path, int, int], int]]:
    plan = call_faults.Plan(tmp_path_factory.mktemp("plan") / "plan")
    path = os.pathsep.join(each for each in sys.path if each)
    environment = {**os.environ, "PYTHONPATH": path, **call_faults.environment(shim, plan)}
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def run(root: Path, number: int, kill_after: int) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([str(root), number, kill_after]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            assert answer, "the writer failed; see its error above"
            return int(answer)

        yield run
        process.stdin.close()
        assert process.wait(60) == 0


@pytest.mark.fault(row=2)
def test_row_02_death_after_any_byte_of_a_batch_keeps_all_or_nothing_of_it(writer: Any, tmp_path: Path) -> None:
    line_bytes = writer(tmp_path / "measure", -1, -1)
    assert 300 < line_bytes < 2_000
    cuts = range(line_bytes + 1)
    for start in range(0, len(cuts), ROUNDS_EACH):
        one_history(writer, tmp_path / f"from-{start}", start, cuts[start : start + ROUNDS_EACH])


def one_history(writer: Any, root: Path, start: int, cuts: range) -> None:
    """Deaths in a row over one log; after each it is looked at, and it goes on where it ended."""
    root.mkdir()
    expected: list[str] = []
    torn_bytes: list[int] = []
    line_bytes = 0
    for number, cut in enumerate(cuts, start + 1_000):
        assert writer(root, number, cut) == -signal.SIGKILL
        events: list[Any] = []
        scan = scan_log(RealDisk(root), events.extend)
        assert scan.damage is None, (cut, scan.damage)
        assert [event.seq for event in events] == list(range(1, len(events) + 1)), cut
        names = [
            event.id for event in events if event.source == "ui" and event.type.startswith(("active", "note"))
        ]
        batch = [f"{number}-{each}" for each in "abc"]
        expected.append(f"{number}-before")
        if names == [*expected, *batch]:
            assert scan.torn is None, cut
            assert line_bytes in (0, cut), "a line was whole before its last byte"
            expected, line_bytes = names, cut
        else:
            assert names == expected, cut
            assert (scan.torn.bytes if scan.torn else 0) == cut
            torn_bytes += [cut] * (cut > 0)
    # Once a writer that lives has opened it, all that was torn lies in quarantine and is recorded.
    journal = open_journal(RealDisk(root), version="t")
    if journal.recovered is not None:
        journal.writer.submit([Action(journal.recovered)], "workspaced", lambda _outcome: None)
    journal.writer.close()
    events = []
    assert scan_log(RealDisk(root), events.extend).damage is None
    recorded = [event.data for event in events if event.type == "log_recovered"]
    assert [each.bytes for each in recorded] == torn_bytes
    assert [(root / each.quarantined).stat().st_size for each in recorded] == torn_bytes


if __name__ == "__main__":
    host()
