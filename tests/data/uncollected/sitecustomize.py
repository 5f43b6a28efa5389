"""Python imports this first where its folder is on PYTHONPATH: the process then never collects garbage by itself.

SIGUSR1 writes to the file that UNCOLLECTED_REPORT names how many objects of ours there are by type, and how many
unreachable ones the collector finds, which nothing else would have removed.
"""

import gc
import json
import os
import signal
from collections import Counter
from pathlib import Path
from types import FrameType


def report(_number: int, _frame: FrameType | None) -> None:
    alive = Counter(type(each).__name__ for each in gc.get_objects())
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    left = Counter(type(each).__name__ for each in gc.garbage)
    gc.set_debug(0)
    gc.garbage.clear()
    gc.collect()
    place = Path(os.environ["UNCOLLECTED_REPORT"])
    aside = place.with_suffix(".tmp")
    aside.write_text(json.dumps({"alive": alive, "left": left}))
    aside.replace(place)


gc.disable()
signal.signal(signal.SIGUSR1, report)
