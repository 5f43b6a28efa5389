"""SIGKILL against a writing process, many times, on one and the same data directory.

Run as a script this file is the writers' host: it imports everything once and forks a writer for each line it
reads, so that no round pays for the imports. A writer appends through the real recorder on the real disk and
prints the sequence and id of each event it acknowledged; the host kills it and passes on what it printed.
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.profiles import some_of

from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.journal.submissions import Outcome
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.scan import scan_log
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event

DIRECTORIES = 10
ROUNDS_EACH = 20
CLIENTS = 4
SEGMENT_BYTES_MAX = 20_000
FIRST_ACK_TIMEOUT_S = 60.0


def write_until_killed(root: Path, number: int, out: int) -> None:
    """Several clients publish, each waiting for its answer before it sends again."""
    journal = open_journal(RealDisk(root), version="t", segment_bytes_max=SEGMENT_BYTES_MAX)
    recorder = journal.writer
    recorder.start()
    if journal.log.damage is not None:
        raise journal.log.damage

    def publish(*actions: Action) -> None:
        answered = threading.Event()

        def done(outcome: Outcome) -> None:
            if isinstance(outcome, WorkspacedError):
                sys.stderr.write(f"{outcome}\n")
                os._exit(1)  # the host notices that it did not die by its hand
            os.write(out, b"".join(b"%d %s\n" % (receipt.seq, receipt.id.encode()) for receipt in outcome))
            answered.set()

        recorder.submit(actions, "ui", done)
        answered.wait()

    def client(name: int) -> None:
        for turn in range(1_000_000):
            stem = f"{number}-{name}-{turn}"
            note = NoteId(f"{turn % 30}.md")
            publish(
                Action(c.ActiveNoteSet(note), EventId(f"{stem}-a")),
                Action(c.NotePinned(note) if turn % 2 else c.NoteUnpinned(note), EventId(f"{stem}-b")),
            )

    if journal.recovered is not None:
        publish(Action(journal.recovered))
    if not recorder.state.vaults:
        publish(Action(c.VaultOpened(VaultId("v"), "v", "/v")))
    threads = [threading.Thread(target=client, args=(name,)) for name in range(CLIENTS)]
    for thread in threads:
        thread.start()


# -- in the host --


def run_round(root: Path, number: int, run_s: float) -> list[list[Any]]:
    """Forks a writer, kills it `run_s` after its first acknowledgement, returns all that it acknowledged."""
    inlet, outlet = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(inlet)
        try:
            write_until_killed(root, number, outlet)
            signal.pause()
        finally:
            os._exit(1)
    os.close(outlet)
    printed = b""
    readable, _, _ = select.select([inlet], [], [], FIRST_ACK_TIMEOUT_S)
    deadline = time.monotonic() + run_s
    while readable and (left := deadline - time.monotonic()) > 0:
        readable, _, _ = select.select([inlet], [], [], left)
        if readable:
            part = os.read(inlet, 65_536)
            printed += part
            if not part:
                break
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    while part := os.read(inlet, 65_536):
        printed += part
    os.close(inlet)
    if os.WTERMSIG(status) != signal.SIGKILL:
        raise RuntimeError(f"the writer ended by itself: status {status}")
    return [[int(seq), event_id.decode()] for seq, event_id in (line.split() for line in printed.splitlines())]


def host() -> None:
    for line in sys.stdin:
        root, number, run_s = json.loads(line)
        sys.stdout.write(json.dumps(run_round(Path(root), number, run_s)) + "\n")
        sys.stdout.flush()


# -- in the test --


@pytest.fixture(scope="module")
def writers() -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def check_log(root: Path, acked: dict[int, str], seed: object) -> list[Event]:
    events: list[Event] = []
    scan = scan_log(RealDisk(root), events.extend)
    assert scan.damage is None, (seed, scan.damage)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), seed
    for seq, event_id in acked.items():
        assert seq <= len(events), (seed, "acknowledged but lost", seq, event_id)
        assert events[seq - 1].id == event_id, (seed, seq)
    # What nobody was told of may be there too: it was synced, or in the page cache, when its writer died.
    assert len({event.id for event in events}) == len(events), seed
    return events


@pytest.mark.fault(row=1)
@pytest.mark.parametrize("directory", some_of(range(DIRECTORIES), 2))
def test_a_killed_writer_loses_nothing(directory: int, writers: "subprocess.Popen[str]", tmp_path: Path) -> None:
    assert writers.stdin is not None
    assert writers.stdout is not None
    chance = random.Random(directory)
    acked: dict[int, str] = {}
    for number in range(ROUNDS_EACH):
        run_s = chance.uniform(0.005, 0.04)
        writers.stdin.write(json.dumps([str(tmp_path), number, run_s]) + "\n")
        writers.stdin.flush()
        answer = writers.stdout.readline()
        assert answer, "the host died; see its error above"
        receipts = json.loads(answer)
        assert receipts, "the writer acknowledged nothing"
        assert not acked.keys() & {seq for seq, _id in receipts}, "a sequence was given twice"
        acked.update((seq, event_id) for seq, event_id in receipts)
        check_log(tmp_path, acked, (directory, number, run_s))
    journal = open_journal(RealDisk(tmp_path), version="t", segment_bytes_max=SEGMENT_BYTES_MAX)
    assert journal.log.damage is None
    journal.writer.close()
    events = check_log(tmp_path, acked, directory)
    assert len(events) == journal.log.tail.seq
    assert msgspec.json.encode(journal.writer.state) == msgspec.json.encode(fold_all(events, EMPTY))
    assert len(RealDisk(tmp_path).names("log")) > 3


if __name__ == "__main__":
    host()
