"""A hook for tests: a command that records what it was told, and says nothing."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
SCRIPT: Final = """
import json, sys

with open(sys.argv[1], "a") as file:
    file.write(json.dumps(json.load(sys.stdin)) + "\\n")
"""


class RecordingHook:
    """The command of a hook, and what it was told."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._script, self._file = folder / "hook.py", folder / "told.jsonl"
        self._script.write_text(SCRIPT)

    @property
    def command(self) -> str:
        """For a shell."""
        return shlex.join([sys.executable, "-S", str(self._script), str(self._file)])

    def told(self) -> list[Json]:
        """What it read since it was made, run by run."""
        return [json.loads(line) for line in self._file.read_text().splitlines()] if self._file.exists() else []
