"""A daemon over the golden log: it opens it, serves and exports it, and goes on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import DATA

from workspaced_events.journal.opening import read_journal
from workspaced_events.replay.json_lines import read_export
from workspaced_events.schema.catalogue import CATALOGUE_VERSION
from workspaced_events.schema.codec import decode_event

GOLDEN = DATA / "logs"


@pytest.mark.fault(row=14)
def test_a_daemon_serves_exports_and_continues_the_log(daemon: Any, tmp_path: Path) -> None:
    made = daemon(start=False)
    shutil.copytree(GOLDEN / f"v{CATALOGUE_VERSION}", made.data)
    old: list[Any] = []
    read_journal(made.data, old.extend)
    made.start()
    assert made.call("workspaced/status")["log"]["unknownEvents"] == 0
    served = made.call("workspaced/log", {"from": 1, "limit": len(old)})["events"]
    assert [decode_event(json.dumps(each).encode()) for each in served] == old
    made.publish("note_pinned", note="a.md")
    export = tmp_path / "export.jsonl"
    assert made.cli("log", "export", "--with-visibility", "-o", str(export)).returncode == 0
    with export.open("rb") as lines:
        assert json.loads(lines.readline())["catalogue"] == CATALOGUE_VERSION
        lines.seek(0)
        assert list(read_export(lines, "export"))[: len(old)] == old
    assert made.stop() == 0
    assert made.cli("log", "verify", "--data-dir", str(made.data)).returncode == 0
