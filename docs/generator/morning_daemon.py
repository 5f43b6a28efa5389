"""A daemon of the demo's morning: its log begins at a time of ours, and moves on when the story says so.

    python morning_daemon.py FILE START ARGUMENTS...     runs `workspaced ARGUMENTS` in this process

FILE holds the seconds that the story is ahead of its start; START is the first moment in seconds since 1970.
Files get their change times from the system, which nobody can set; so they are moved to the story's start, too.
Else a replay would take every note for one that was written after the story.
"""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from workspaced.__main__ import main
from workspaced_events import clock
from workspaced_tools.notes.note import StatKey
from workspaced_tools.vault.files import content_cache, walk

SECOND_NS = 1_000_000_000


def set_clocks(file: Path, start_s: int) -> None:
    """Sets the wall clock and the uptime of the log; both move on alike, so nobody set a clock."""
    behind_ns = time.time_ns() - start_s * SECOND_NS

    def ahead_ns() -> int:
        return int(file.read_text()) * SECOND_NS

    clock.time = SimpleNamespace(  # type: ignore[assignment,attr-defined]
        **{
            **vars(time),
            "time_ns": lambda: time.time_ns() - behind_ns + ahead_ns(),
            "clock_gettime_ns": lambda which: time.clock_gettime_ns(which) + ahead_ns(),
        }
    )

    def key(device: int, inode: int, size: int, mtime_ns: int, ctime_ns: int) -> StatKey:
        return StatKey(device, inode, size, mtime_ns, ctime_ns - behind_ns)

    for module in (content_cache, walk):
        module.StatKey = key  # type: ignore[attr-defined]


if __name__ == "__main__":
    os.umask(0o077)
    set_clocks(Path(sys.argv[1]), int(sys.argv[2]))
    sys.argv = ["workspaced", *sys.argv[3:]]
    main()
