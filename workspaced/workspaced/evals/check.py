"""A check of answers by a shell command of the user's."""

import os
import signal
import subprocess
import tempfile
from contextlib import suppress

from workspaced_events.errors import InvalidArgument, WorkspacedError
from workspaced_events.interrupts import interrupts_held_back

RIGHT, WRONG, CANNOT_TELL = 0, 1, 125
"""Exit codes, as for `git bisect run`."""


class Check:
    """A shell command that gets an answer on its standard input; its exit code says whether it is right.

    After the time limit, or if the caller is interrupted, the command is killed with all its child processes.
    """

    def __init__(self, command: str, timeout_s: float) -> None:
        """
        Raises:
            InvalidArgument: the command is empty, so the shell would say that all is as it should be.
        """
        if not command.strip():
            raise InvalidArgument("The command is empty.", hint="Give one whose exit code tells, see --help.")
        self._command = command
        self._timeout_s = timeout_s

    def __call__(self, text: str) -> bool | None:
        """What the command says of `text`; None: it cannot tell.

        Raises:
            WorkspacedError: it ended with another exit code, was killed, or took too long.
        """
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(text.encode() + b"\n")
            given.seek(0)
            code = self._exit_code(given.fileno(), errors.fileno())
            if code in (RIGHT, WRONG, CANNOT_TELL):
                return None if code == CANNOT_TELL else code == RIGHT
            errors.seek(0, os.SEEK_END)
            errors.seek(max(0, errors.tell() - 500))
            stderr = errors.read().decode(errors="replace").strip()
        ended = f"ended with exit code {code}" if code > 0 else f"was killed by signal {-code}"
        raise WorkspacedError(
            f"The command {ended} for the answer{': ' + stderr if stderr else '.'}",
            hint="Expected 0 (right), 1 (wrong) or 125 (cannot tell).",
        )

    def _exit_code(self, given: int, errors: int) -> int:
        process: subprocess.Popen[bytes] | None = None
        try:
            with interrupts_held_back():  # until we know which process to kill
                process = subprocess.Popen(  # noqa: S603 (the user's own command)
                    ["/bin/sh", "-c", self._command],
                    stdin=given,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,  # so that child processes are killed too
                )
            process.wait(self._timeout_s)
        except BaseException as error:
            if process is None:
                raise
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise WorkspacedError(
                f"The command took longer than {self._timeout_s:g} s.", hint="Give it more with --timeout."
            ) from None
        return process.returncode
