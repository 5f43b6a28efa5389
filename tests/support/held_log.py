"""The command line with a log that takes nothing while a file exists, and a memory that waits a second for it.

python held_log.py FILE STEP -- PYTHON -m workspaced ARGUMENTS

STEP is `_commit_group` (before the log begins with what waits) or `_append` (when it has begun).
"""

import sys
import time
from pathlib import Path
from typing import Any

from workspaced import limits
from workspaced_events.journal import writer

if __name__ == "__main__":
    hold, step, rest = Path(sys.argv[1]), sys.argv[2], sys.argv[sys.argv.index("--") + 1 :]
    limits.RECORD_WAIT_S = 1.0  # type: ignore[misc]
    held_step = getattr(writer.LogWriter, step)

    def held(*given: Any, **more: Any) -> Any:
        while hold.exists():
            time.sleep(0.01)
        return held_step(*given, **more)

    setattr(writer.LogWriter, step, held)
    from workspaced.__main__ import main

    sys.argv = ["workspaced", *rest[3:]]
    main()
