"""A check of answers: what its command gets, and that nothing of it is left."""

import fcntl
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from workspaced.evals.fork_command import Check
from workspaced_events.errors import WorkspacedError


def test_gets_the_answer_on_its_standard_input_and_need_not_read_it(tmp_path: Path) -> None:
    assert Check(f"cat > {tmp_path / 'answer'}", 60)("29 June") is True
    assert (tmp_path / "answer").read_text() == "29 June\n"
    assert Check("exit 0", 60)("x" * 200_000) is True


def test_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.fcntl(reading, fcntl.F_SETFL, 0)
        begun = b""
        while not begun:  # a busy machine has not begun by then
            with pytest.raises(WorkspacedError):
                Check(f"sleep 600 > {pipe} & echo begun > {pipe}; wait", 0.5)("")
            assert select.select([reading], [], [], 60)[0], "something still holds the pipe"
            begun = os.read(reading, 100)
        assert begun == b"begun\n"
        assert select.select([reading], [], [], 60)[0], "something still holds the pipe"
        assert os.read(reading, 100) == b""
    finally:
        os.close(reading)


def test_that_is_interrupted_as_it_starts_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class InterruptedPopen(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", InterruptedPopen)
    with pytest.raises(KeyboardInterrupt):
        Check("sleep 600", 60)("")
    (process,) = started
    assert process.returncode == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
