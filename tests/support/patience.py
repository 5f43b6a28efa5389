"""How long a test waits for what comes at once: far longer than anything takes, so a busy machine fails no test.

Where a fault is planted, many a wait is in vain, so `make mutants` waits less.
"""

import os
import time

from workspaced_tools.vault.vault import Vault

PATIENCE_S = float(os.environ.get("TEST_PATIENCE_S", "60"))


def is_indexed(vault: Vault, part: str = "text") -> bool:
    """Waits until the vault says that its index has all texts, or with `state` all names and links."""
    deadline = time.monotonic() + PATIENCE_S
    while getattr(vault.statistics().index, part) != "ready" and time.monotonic() < deadline:
        time.sleep(0.002)
    return bool(getattr(vault.statistics().index, part) == "ready")
