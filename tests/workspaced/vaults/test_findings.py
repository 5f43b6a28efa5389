"""Findings that a note is shown wait for others; meanwhile a rule, or the note itself, may withhold it."""

import time
from pathlib import Path

from workspaced.vaults.served_vault import ServedVault
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.schema.catalogue import NoteShown, NoteWithheld
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE
from workspaced_tools.vault.vault import Vault


def test_what_a_rule_withholds_by_now_is_not_recorded_as_shown(tmp_path: Path) -> None:
    names = [NoteId(each) for each in ("open.md", "ruled.md", "flagged.md", "both.md")]
    for name in names:
        (tmp_path / name).write_text("text")
    actions: list[Action] = []
    vault = Vault(tmp_path, clock_ns=lambda: time.time_ns() + 10_000_000_000)  # nothing is being saved any more
    served = ServedVault(VaultId("v"), tmp_path, vault, actions.extend)
    for name in names:
        vault.look_at(name)
    for name in ("flagged.md", "both.md"):
        (tmp_path / name).write_text("---\nworkspaced: private\n---\n")
        vault.notes.read([NoteId(name)])
    (tmp_path / IGNORE_FILE).write_text("ruled.md\nboth.md\n")
    vault.policy.refresh()
    served.visibility_checker.flush()
    vault.close()
    shown = {each.data.note for each in actions if isinstance(each.data, NoteShown)}
    withheld = [each.data.note for each in actions if isinstance(each.data, NoteWithheld)]
    assert shown == {"open.md", "flagged.md", "both.md"}
    assert withheld == ["flagged.md", "both.md"]
