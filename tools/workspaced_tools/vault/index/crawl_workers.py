"""Worker processes that crawl: `python -m workspaced_tools.vault.index.crawl_workers` reads a job, writes batches.

A worker only reads the vault, runs at low priority, and ends when the reader of its output is gone. A frame is a
length (4 bytes, big-endian) and MessagePack.
"""

import fcntl
import logging
import os
import selectors
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

import msgspec

from workspaced_events.interpreter import own_module

from ...errors import ReadFailed
from ..files.ignore_rules import Globs, Policy
from ..files.safe_open import VaultRoot
from ..files.selected_files import ALL_DEFAULT, FileChoice, SelectedFiles
from .crawl import Batch, Crawl
from .index import known_in

_log = logging.getLogger(__name__)

CRAWL_WORKERS_MAX: Final = 3
"""More workers parse faster than the one writer can write."""
PIPE_BYTES: Final = 1024 * 1024
_NICENESS: Final = 10
_END: Final = b"\0\0\0\0"


class Job(msgspec.Struct, frozen=True):
    """The task of one worker."""

    root: str
    globs: Globs
    index: str
    """The path of the index's file."""
    part: tuple[int, int]
    files: FileChoice = ALL_DEFAULT


_JOB: Final = msgspec.msgpack.Decoder(Job)
_BATCH: Final = msgspec.msgpack.Decoder(Batch)


class SurveyFailed(Exception):
    """A worker ended before its crawl was complete."""


class CrawlWorkers:
    """Merges the batches of several workers. Must be closed, which stops the workers."""

    def __init__(self, root: VaultRoot, globs: Globs, index: Path, count: int) -> None:
        """Starts `count` workers. `globs`: those of the policy. Raises OSError if one cannot be started."""
        files = root.selected.choice
        self._workers: list[subprocess.Popen[bytes]] = []
        try:
            for part in range(count):
                job = Job(os.fspath(root.path), globs, os.fspath(index), (part, count), files)
                self._workers.append(_start(job))
        except OSError:
            self.close()
            raise

    def batches(self) -> Iterator[tuple[int, Batch]]:
        """Yields (worker, batch) until all workers are done.

        Raises:
            SurveyFailed: a worker ended early, or wrote an invalid batch.
        """
        with selectors.DefaultSelector() as ready:
            for number, worker in enumerate(self._workers):
                assert worker.stdout is not None
                ready.register(worker.stdout, selectors.EVENT_READ, number)
            while ready.get_map():
                for key, _ in ready.select():
                    pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
                    frame = _frame(pipe)
                    if frame is None:
                        ready.unregister(pipe)
                        continue
                    try:
                        batch = _BATCH.decode(frame)
                    except (msgspec.DecodeError, UnicodeDecodeError):
                        raise SurveyFailed("A surveying process gave what is no batch.") from None
                    yield key.data, batch

    def stop(self) -> None:
        """Ends the workers, from any thread; `batches` then fails."""
        for worker in self._workers:
            worker.kill()

    def close(self) -> None:
        """Stops the workers and waits for their end. Idempotent."""
        self.stop()
        for worker in self._workers:
            worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()
        self._workers = []


def _start(job: Job) -> subprocess.Popen[bytes]:
    worker = subprocess.Popen(  # noqa: S603
        own_module(__spec__.name), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert worker.stdin is not None and worker.stdout is not None
    with suppress(OSError, AttributeError):  # Only on Linux: a worker can continue while a group is written.
        fcntl.fcntl(worker.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with suppress(BrokenPipeError), worker.stdin as stdin:
        stdin.write(msgspec.msgpack.encode(job))
    return worker


def _frame(pipe: IO[bytes]) -> bytes | None:
    """The next frame; None at the end.

    Raises:
        SurveyFailed: the stream ends within a frame or without an end mark.
    """
    size = int.from_bytes(_exactly(pipe, 4))
    return _exactly(pipe, size) if size else None


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = pipe.read(size - len(data))
        if not part:
            raise SurveyFailed("A surveying process ended early.")
        data += part
    return bytes(data)


def main() -> None:
    """Runs one worker."""
    with suppress(OSError):
        os.nice(_NICENESS)
    job = _JOB.decode(sys.stdin.buffer.read())
    root = VaultRoot(job.root, SelectedFiles(job.files))
    policy = Policy(root, *job.globs)
    policy.refresh()
    known = known_in(Path(job.index))
    encoder = msgspec.msgpack.Encoder()
    with TemporaryFile(dir=Path(job.index).parent) as spool:
        for batch in Crawl(root, policy, known, part=job.part).batches(spool):
            frame = encoder.encode(batch)
            _write(len(frame).to_bytes(4) + frame)
    _write(_END)


def _write(data: bytes) -> None:
    """Writes all of `data` to standard output, without Python's buffering.

    The buffering garbles a large write that a signal interrupts (a process stopped and continued; seen with
    3.11.7).
    """
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    # The reader is gone (the daemon stopped), the worker was interrupted, or folder, disk or index failed: the
    # reader sees that the end mark is missing, crawls by itself, and reports the failure.
    with suppress(OSError, KeyboardInterrupt, ReadFailed, sqlite3.Error):
        main()
