"""A program in a terminal of its own, for programs that link to an editor only where a person types."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from support.runtimes.programs import RUN_S

SIZE: Final = (50, 120)
_CONTROL: Final = re.compile(rb"\x1b\[[0-9;?<>=]*[a-zA-Z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()=>78][A-Z0-9]?")


class Terminal:
    """`with` it the program runs. What it shows is text without spaces: programs jump with the cursor instead."""

    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._shown = b""
        self._read_from = 0
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(command[0], [*command], {**env, "TERM": "xterm-256color"})
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))

    @property
    def shown(self) -> str:
        """All that was shown since the last `enter`."""
        text = _CONTROL.sub(b"", self._shown[self._read_from :]).decode(errors="replace")
        return "".join(text.split())

    def enter(self, text: str) -> None:
        """Types it, as a person does."""
        self._read_from = len(self._shown)
        os.write(self._terminal, text.encode())

    def until(self, text: str) -> None:
        """Waits until the text is shown, spaces aside.

        Raises:
            AssertionError: it did not come within RUN_S, or the program ended.
        """
        wanted, end = "".join(text.split()), time.monotonic() + RUN_S
        while wanted not in self.shown:
            left = end - time.monotonic()
            assert left > 0, f"{wanted!r} was not shown, but {self.shown[-2_000:]}"
            if select.select([self._terminal], [], [], left)[0]:
                try:
                    self._shown += os.read(self._terminal, 65_536)
                except OSError:
                    raise AssertionError(f"the program ended: {self.shown[-2_000:]}") from None

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._terminal)
