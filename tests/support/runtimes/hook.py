"""A hook for tests: a command that records what it was told, and answers what the test set for the event."""

import json
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
HANG_S: Final = 30
"""A hook that hangs ends after this time, if nobody ended it before."""
SCRIPT: Final = f"""
import json, signal, sys
from pathlib import Path

folder = Path(sys.argv[1])
told = json.load(sys.stdin)
with (folder / "told.jsonl").open("a") as file:
    file.write(json.dumps(told) + "\\n")
answer = json.loads((folder / "answers.json").read_text()).get(told["hook_event_name"], {{}})
if answer.get("hangs"):
    signal.alarm({HANG_S})
    signal.pause()
sys.stdout.write(answer.get("stdout", ""))
sys.stderr.write(answer.get("stderr", ""))
sys.exit(answer.get("exit_code", 0))
"""


@dataclass(frozen=True)
class Answer:
    """What a hook does when it is run."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    hangs: bool = False


class RecordingHook:
    """The command of a hook and what it was told; without an answer for an event it prints nothing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        (folder / "hook.py").write_text(SCRIPT)
        self.answers()

    @property
    def command(self) -> str:
        """For a shell."""
        return shlex.join([sys.executable, "-S", str(self.folder / "hook.py"), str(self.folder)])

    def answers(self, **by_event: Answer) -> None:
        """Sets what it answers from now on, by the name of the event."""
        given = {event: asdict(answer) for event, answer in by_event.items()}
        (self.folder / "answers.json").write_text(json.dumps(given))

    def told(self) -> list[Json]:
        """What it read since it was made, run by run."""
        file = self.folder / "told.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
