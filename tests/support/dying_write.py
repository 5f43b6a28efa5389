"""The command line in a process that dies within a write to the memory folder.

    python dying_write.py STEP -- PYTHON -m workspaced ARGUMENTS

STEP is `before` (the event is durable, the file untouched), `half` (a new file has its name and its temporary one,
a moved one both of its names) or `after` (the file is changed, the write has no end yet).
"""

import os
import signal
import sys
from typing import Any

from workspaced_tools.memory import folder


def _die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    step, rest = sys.argv[1], sys.argv[sys.argv.index("--") + 1 :]
    apply, link = folder.MemoryFolder.apply, folder.link
    if step == "before":
        folder.MemoryFolder.apply = _die  # type: ignore[method-assign]
    elif step == "half":
        folder.link = lambda *given: _die(link(*given))
    else:
        assert step == "after", step
        folder.MemoryFolder.apply = lambda *given: _die(apply(*given))  # type: ignore[method-assign]
    from workspaced.__main__ import main

    sys.argv = ["workspaced", *rest[3:]]
    main()
