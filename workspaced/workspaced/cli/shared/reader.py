"""Ends a command that waits when the reader of its output is gone, as in `workspaced watch | head`."""

import os
import select
import stat
import sys
import threading


def end_with_reader() -> None:
    """Has the process end with exit code 0 as soon as nobody reads the pipe or socket on standard output.

    Without this a command that waits for something to print would notice only at its next line.
    """
    try:
        descriptor = sys.stdout.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        threading.Thread(target=_wait, args=(descriptor,), daemon=True).start()


def _wait(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always reported
    if any(events & (select.POLLERR | select.POLLHUP) for _descriptor, events in poll.poll()):
        os._exit(0)
