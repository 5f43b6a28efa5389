"""A note that appeared a moment ago: found by its path as soon as it rests, and no sooner."""

import time
from typing import Any

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.limits import SETTLE_EMPTY_S
from workspaced_tools.notes.note import Level, Note
from workspaced_tools.ports.asking import WouldBlock, without_waiting
from workspaced_tools.ports.questions import Read, Resolve
from workspaced_tools.vault.vault import Vault

NEW = NoteId("deep/new.md")


@pytest.fixture
def vault(make_vault: MakeVault) -> Vault:
    """Its clocks are the real ones, so that a file just written is young."""
    return make_vault({"old.md": "# Old\n", "deep/x.md": "x"}, clock_ns=time.time_ns, clock_s=time.monotonic)


def write(vault: Vault, text: str, path: str = NEW) -> None:
    (vault.root.path / path).write_text(text)


@pytest.mark.parametrize("reference", ["deep/new.md", "deep/new", "[[deep/new]]", "./deep/new.md#Part"])
def test_a_note_written_just_now_is_found_by_its_path(vault: Vault, reference: str) -> None:
    write(vault, "# New\n\n## Part\n")
    found = vault.ask(Resolve(reference), EMPTY_VAULT)
    assert found.note is not None and found.note.id == NEW
    [note] = vault.ask(Read([NEW]), EMPTY_VAULT)
    assert isinstance(note, Note) and note.text.startswith("# New")


def test_what_an_editor_shows_is_not_withheld_because_it_is_new(vault: Vault) -> None:
    write(vault, "# New\n")
    with pytest.raises(WouldBlock), without_waiting():
        vault.withholds(NEW)
    assert not vault.withholds(NEW)
    with without_waiting():
        assert not vault.withholds(NEW)


@pytest.mark.thorough
def test_an_empty_new_note_rests_longer_and_only_its_path_waits_for_it(vault: Vault) -> None:
    write(vault, "")
    begun = time.monotonic()
    assert vault.withholds(NEW)
    assert time.monotonic() - begun < SETTLE_EMPTY_S / 2
    found = vault.ask(Resolve(NEW), EMPTY_VAULT)
    assert found.note is not None and found.note.id == NEW


@pytest.mark.parametrize("level", [Level.VOLUNTEER, Level.ON_REQUEST])
def test_who_asks_for_a_note_that_was_private_waits_for_nothing(vault: Vault, level: Level) -> None:
    """Else the time would tell that there is such a note."""
    write(vault, "---\nworkspaced: private\n---\n")
    assert vault.ask(Resolve(NEW), EMPTY_VAULT).note is None
    write(vault, "---\nwork")  # an editor is in the middle of saving
    assert vault.ask(Resolve(NEW), EMPTY_VAULT).note is None
    assert NEW in vault.levels.unsettled
    assert vault.levels.settles_in_s(NEW, level) is None


def test_nor_does_who_asks_for_one_that_the_log_knows_as_withheld(vault: Vault) -> None:
    write(vault, "---\nworkspaced: private\n---\n")
    vault.look_at(NEW)
    findings: dict[Any, Any] = dict(vault.levels._findings)
    again = Vault(vault.root.path)
    again.levels.remember(findings)
    write(vault, "# Public now?\n")
    assert not isinstance(again.notes.read([NEW])[0], Note)
    assert again.levels.settles_in_s(NEW, Level.VOLUNTEER) is None
    again.close()


def test_nor_does_who_asks_for_one_that_a_rule_withholds(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "a"}, deny=["deep/"], clock_ns=time.time_ns, clock_s=time.monotonic)
    (vault.root.path / "deep").mkdir()
    write(vault, "# New\n")
    vault.reconcile()
    assert vault.ask(Resolve(NEW), EMPTY_VAULT).note is None
    assert vault.levels.settles_in_s(NEW, Level.VOLUNTEER) is None
