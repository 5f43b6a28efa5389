"""A command of `workspaced` that serves until it is ended, such as `proxy`, in a process of its own."""

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support import process
from support.daemon import STOP_S


class Program:
    """`with` it runs, and has said in a line of JSON how it was `started`."""

    def __init__(
        self,
        *arguments: str | Path,
        env: Mapping[str, str],
        cwd: Path | None = None,
        program: Sequence[str] | None = None,
    ) -> None:
        """`program`: what is run in place of `workspaced`.

        Raises:
            AssertionError: it ended, with what it wrote.
        """
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if program is not None:
            self.process: process.Process = subprocess.Popen([*program, *arguments], env=env, cwd=cwd, **streams)
        else:
            self.process = process.spawn(*arguments, env=env, cwd=cwd, **streams)
        self.stderr: list[str] = []
        self._reader = threading.Thread(target=self._read_stderr)
        self._reader.start()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.wait()
            raise AssertionError(self.stderr)
        self.started: dict[str, Any] = json.loads(line)

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr:
            self.stderr.extend(line.decode(errors="replace").rstrip("\n") for line in self.process.stderr)

    def wait(self) -> int:
        """The exit code, once it has ended."""
        code = self.process.wait(STOP_S)
        self._reader.join(STOP_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
            raise
        if error is None:
            assert code in {0, 130}, (code, self.stderr)
            assert not [line for line in self.stderr if "Traceback" in line], self.stderr
