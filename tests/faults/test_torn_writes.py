"""Row 2 of the table of faults: death after every possible byte of a batch of three events.

A preloaded library lets through the first K bytes written to a segment and kills the process there: a torn line to
the byte, which SIGKILL alone never gives. Run as a script this file is the host, which imports everything once and
forks a writer for each line it reads.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from workspaced_events import catalogue as c
from workspaced_events.actions import Action
from workspaced_events.errors import WorkspacedError
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal import open_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.scan import scan_log
from workspaced_events.recorder import Outcome, Receipt

ROUNDS_EACH = 40

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/types.h>

static long left = -1;

void kill_after(long bytes) { left = bytes; }

static int is_segment(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 5 && memcmp(path + length - 5, ".wlog", 5) == 0;
}

typedef ssize_t writer(int, const void *, size_t, off_t);

static ssize_t counted(const char *name, int descriptor, const void *data, size_t size, off_t offset) {
    writer *real = (writer *)dlsym(RTLD_NEXT, name);
    if (left < 0 || !is_segment(descriptor)) return real(descriptor, data, size, offset);
    if (size < (size_t)left) { left -= size; return real(descriptor, data, size, offset); }
    if (left > 0) real(descriptor, data, left, offset);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

ssize_t pwrite(int d, const void *b, size_t n, off_t o) { return counted("pwrite", d, b, n, o); }
ssize_t pwrite64(int d, const void *b, size_t n, off_t o) { return counted("pwrite64", d, b, n, o); }
"""


# -- in the forked writer --


def write_and_die(root: Path, number: int, kill_after: int) -> int:
    """Publishes one event, then dies `kill_after` bytes into a batch of three; the sequence before the batch."""
    journal = open_journal(RealDisk(root), version="t")
    recorder = journal.recorder
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
        ctypes.CDLL(None).kill_after(ctypes.c_long(kill_after))
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
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path, int, int], int]]:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler and Linux's LD_PRELOAD")
    place = tmp_path_factory.mktemp("shim")
    (place / "shim.c").write_text(SHIM)
    command = [compiler, "-shared", "-fPIC", "-o", str(place / "shim.so"), str(place / "shim.c"), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"the C compiler makes no shared library: {done.stderr.strip()[:200]}")
    path = os.pathsep.join(each for each in sys.path if each)
    environment = {**os.environ, "PYTHONPATH": path, "LD_PRELOAD": str(place / "shim.so")}
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
        assert process.wait(30) == 0


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
        journal.recorder.submit([Action(journal.recovered)], "workspaced", lambda _outcome: None)
    journal.recorder.close()
    events = []
    assert scan_log(RealDisk(root), events.extend).damage is None
    recorded = [event.data for event in events if event.type == "log_recovered"]
    assert [each.bytes for each in recorded] == torn_bytes
    assert [(root / each.quarantined).stat().st_size for each in recorded] == torn_bytes


if __name__ == "__main__":
    host()
