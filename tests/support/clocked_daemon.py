"""A daemon whose clocks a test sets.

`clocked_daemon.py FILE PYTHON -m workspaced ARGUMENTS` runs `workspaced ARGUMENTS` in this process. FILE holds two
numbers of seconds: how far the wall clock and the uptime are ahead of the real ones.
"""

import sys
import time
from pathlib import Path
from types import SimpleNamespace

from workspaced.__main__ import main
from workspaced_events import clock


def _ahead_ns(file: Path, which: int) -> int:
    return int(file.read_text().split()[which]) * 1_000_000_000


if __name__ == "__main__":
    file = Path(sys.argv[1])
    clock.time = SimpleNamespace(  # type: ignore[attr-defined]
        **{
            **vars(time),
            "time_ns": lambda: time.time_ns() + _ahead_ns(file, 0),
            "clock_gettime_ns": lambda which: time.clock_gettime_ns(which) + _ahead_ns(file, 1),
        }
    )
    sys.argv = ["workspaced", *sys.argv[5:]]
    sys.exit(main())
