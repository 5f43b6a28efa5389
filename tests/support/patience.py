"""How long a test waits for what comes at once: far longer than anything takes, so a busy machine fails no test.

Where a fault is planted, many a wait is in vain, so `make mutants` waits less.
"""

import os

PATIENCE_S = float(os.environ.get("TEST_PATIENCE_S", "60"))
