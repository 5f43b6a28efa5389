"""Python imports this first where its folder is on PYTHONPATH: the process then leaks LEAKED_BYTES_S."""

import os
import threading

STEP_S = 0.05


def leak(bytes_s: int) -> None:
    kept = []
    pause = threading.Event()
    while True:
        kept.append(b"x" * int(bytes_s * STEP_S))
        pause.wait(STEP_S)


threading.Thread(target=leak, args=(int(os.environ["LEAKED_BYTES_S"]),), daemon=True).start()
