"""That the real Claude Code, run in the past, reads the very bytes that it got then."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.past import recorded_in
from support.runtimes.bed import Bed
from support.runtimes.programs import ClaudeCode

from workspaced.demo.morning import INSTALLED

pytestmark = pytest.mark.by_hand
TOOL = "mcp__workspaced__get_note_by_reference"


def test_claude_code_reads_what_it_read_then(start: Callable[..., Bed], tmp_path: Path) -> None:
    bed = start(ClaudeCode)
    asked = next(each for each in recorded_in(INSTALLED) if each.tool == "get_note_by_reference")
    server = {
        "command": sys.executable,
        "args": ["-P", "-m", "workspaced", "mcp", "--replay", str(INSTALLED), "--at", str(asked.seq)],
        "env": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")},
    }
    settings = tmp_path / "then.json"
    settings.write_text(json.dumps({"mcpServers": {"workspaced": server}}))
    bed.model.calls["What does it say?"] = (TOOL, asked.arguments)
    bed.program.ask(
        "What does it say?", "--strict-mcp-config", "--mcp-config", str(settings), "--allowedTools", TOOL
    )
    assert json.dumps(asked.answer.decode()) in json.dumps(bed.model.bodies[-1])
