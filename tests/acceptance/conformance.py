"""The official conformance suite, on a daemon behind a relay: the suite speaks HTTP alone.

What fails must be in `conformance.yml` with a reason, and what is there must fail.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from programs import node_programs
from relay import Relay

HERE = Path(__file__).parent
BASELINE = HERE / "conformance.yml"
REVISIONS = ("2025-11-25", "2026-07-28")
SUITE_S = 300


def start(factory: Any) -> Any:
    """A daemon that has the suite's fixtures."""
    daemon = factory(start=False)
    daemon.wrapper = (sys.executable, str(HERE / "fixtures.py"))
    return daemon.start()


def drive(daemon: Any, revision: str, record: Path) -> None:
    """Runs all that the suite has for a revision of MCP; its own account goes beside `record`.

    Raises:
        Unreachable: the suite cannot be installed.
        CalledProcessError: what fails is not what the baseline says.
    """
    unexplained = without_reason(BASELINE.read_text())
    assert not unexplained, f"no reason is given for {unexplained}"
    place, environment = node_programs()
    suite = [str(place / "node_modules" / ".bin" / "conformance"), "server", "--suite", "all"]
    suite += ["--spec-version", revision, "--expected-failures", str(BASELINE)]
    bridge = [sys.executable, "-m", "workspaced", "mcp", "--socket", str(daemon.socket)]
    with Relay(bridge) as relay:
        done = subprocess.run(
            [*suite, "--url", relay.url],
            env=environment,
            cwd=record.parent,
            capture_output=True,
            text=True,
            timeout=SUITE_S,
        )
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    if done.returncode:
        sys.stderr.write(said + done.stderr)
        done.check_returncode()
    for total in re.findall(r"^Total: (.*)$", said, re.MULTILINE):
        sys.stdout.write(f"conformance {revision}: checks: {total}; the baseline knows of those that fail\n")


def without_reason(baseline: str) -> list[str]:
    """Entries that no comment on their own line or above their group explains."""
    found, explained = [], False
    for line in map(str.strip, baseline.splitlines()):
        if line.startswith("#"):
            explained = True
        elif not line:
            explained = False  # a group ends
        elif line.startswith("- ") and not explained and " # " not in line:
            found.append(line[2:])
    return found
