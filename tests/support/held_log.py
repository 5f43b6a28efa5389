"""The command line with a log that takes nothing while a file exists, and a memory that waits a second for it.

python held_log.py FILE -- PYTHON -m workspaced ARGUMENTS
"""

import sys
import time
from pathlib import Path
from typing import Any

from workspaced import limits
from workspaced_events.journal import writer

if __name__ == "__main__":
    hold, rest = Path(sys.argv[1]), sys.argv[sys.argv.index("--") + 1 :]
    limits.RECORD_WAIT_S = 1.0  # type: ignore[misc]
    commit = writer.LogWriter._commit_group

    def held(*given: Any, **more: Any) -> Any:
        while hold.exists():
            time.sleep(0.01)
        return commit(*given, **more)

    writer.LogWriter._commit_group = held  # type: ignore[method-assign]
    from workspaced.__main__ import main

    sys.argv = ["workspaced", *rest[3:]]
    main()
