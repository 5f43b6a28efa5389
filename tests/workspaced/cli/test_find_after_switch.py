"""`workspaced log find` over a log in which the user switches vaults."""

import json
from pathlib import Path

import pytest
from support import random_log as logs

from workspaced.cli import run
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.schema import catalogue as c

V, W = VaultId("v"), VaultId("w")
EVENTS = logs.recorded(
    *logs.opened(V, W),
    (c.NotePinned(NoteId("a.md")), W),
    c.VaultSwitched(W),
    c.NoteArchived(NoteId("b.md")),
)


def test_a_switch_of_the_vault_is_the_event_if_the_other_vault_shows_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(export_lines("log-1", EVENTS)))
    assert run(["log", "find", str(log), "--when", "pinnedNotes", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["seq"], found["event"]["type"]) == (4, "vault_switched")
