"""What the programs tell their hooks, as recorded in tests/data/runtimes/NAME/EVENT.json.

After `make .venv/.runtimes`, `python -m support.runtimes.recordings` in `tests/` records it anew.
"""

import json
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from support.runtimes.hook import RecordingHook
from support.runtimes.model import ScriptedModel
from support.runtimes.programs import PROGRAMS, ClaudeCode, Program

Json = dict[str, Any]
DATA: Final = Path(__file__).parents[2] / "data" / "runtimes"
TASK: Final = "<task-notification>"
"""How a prompt begins that Claude Code makes of a subagent's result."""
TIMES: Final = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "2026-01-02T03:04:05.678Z"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d(-\d\d)?"), "2026-01-02T03-04"),
    (re.compile(r"sessions/\d{4}/\d\d/\d\d"), "sessions/2026/01/02"),
)
UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SHORT_ID: Final = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{16,17}\b|(?<=-)[0-9a-f]{8}(?=\.jsonl)")


def whole_session(program: Program, model: ScriptedModel) -> None:
    """A prompt, a compaction where it can be had, a second prompt, and one that runs a tool or a subagent.

    That is the last, as Codex goes on with what ran last, be it a subagent.
    """
    program.ask("What next?")
    if type(program).compact is not Program.compact:
        program.compact()
    program.ask("Anything else?")
    program.ask_for_tool(model)
    if isinstance(program, ClaudeCode):
        program.clear()


def by_name(told: Iterable[Json]) -> dict[str, Json]:
    """The first of each kind, by its event and what sets it apart: a source, a trigger, a subagent, a task."""
    found: dict[str, Json] = {}
    for each in told:
        marks = [each.get("source"), each.get("trigger"), "subagent" if "agent_id" in each else None]
        if str(each.get("prompt", "")).startswith(TASK):
            marks.append("task")
        name = "-".join([each["hook_event_name"], *(mark for mark in marks if mark)])
        found.setdefault(name, each)
    return found


def scrubbed(told: dict[str, Json], root: Path, program: Program) -> dict[str, Json]:
    """Without this machine: its folders are /home/u and below, ids are counted, times stand still."""
    text = json.dumps(told)
    folders = {program.vault: "/home/u/notes", program.home: "/home/u", root: "/tmp"}
    for folder, other in folders.items():
        text = text.replace(str(folder), other).replace(_slug(folder), _slug(Path(other)))
    for pattern, other in TIMES:
        text = pattern.sub(other, text)
    ids: dict[str, str] = {}

    def counted(found: re.Match[str]) -> str:
        made = f"00000000-0000-4000-8000-{len(ids) + 1:012}"
        return ids.setdefault(found[0], made if "-" in found[0] else f"{len(ids) + 1:0{len(found[0])}}")

    text = SHORT_ID.sub(counted, UUID.sub(counted, text))
    return json.loads(re.sub(r'"duration_ms": \d+', '"duration_ms": 1', text))


def _slug(path: Path) -> str:
    """As Claude Code names a project's folder."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(path))


def recorded(name: str) -> dict[str, Json]:
    """What the program told, by event."""
    return {file.stem: json.loads(file.read_text()) for file in sorted((DATA / name).glob("*.json"))}


def record(kind: type[Program]) -> None:
    """Writes the files of a program anew."""
    with tempfile.TemporaryDirectory() as folder:
        root, model = Path(folder), ScriptedModel()
        hook = RecordingHook(root / "hook")
        with model as url:
            program = kind(root / kind.name, url, hook.command, kind.events)
            whole_session(program, model)
        found = scrubbed(by_name(hook.told()), root, program)
    place = DATA / kind.name
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("*.json"):
        old.unlink()
    for name, told in found.items():
        (place / f"{name}.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for each in PROGRAMS:
        print(each.missing() or f"{each.package} {each.version()}")  # noqa: T201
        if not each.missing():
            record(each)
