"""A note is decided once in a call, and what was decided is handed on with each question, while it still holds."""

from collections.abc import Callable
from typing import Any

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.notes.note import Note
from workspaced_tools.ports.questions import Names, Read
from workspaced_tools.sharing.verdicts import Verdicts, WithheldNames
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE
from workspaced_tools.vault.files.note_levels import NoteLevels
from workspaced_tools.vault.vault import Vault

NOTE = NoteId("a.md")


def _flag(vault: Vault) -> None:
    (vault.root.path / NOTE).write_text("---\nworkspaced: private\n---\nnew")


def _flag_for_requests(vault: Vault) -> None:
    (vault.root.path / NOTE).write_text("---\nworkspaced: on-request\n---\nnew")


def _rule(vault: Vault) -> None:
    (vault.root.path / IGNORE_FILE).write_text("a.md\n")
    vault.policy.refresh()


def _found_by_another_call(vault: Vault) -> None:
    _flag(vault)
    vault.notes.read([NOTE])
    (vault.root.path / NOTE).write_text("an editor writes it back")


@pytest.fixture
def vault(make_vault: MakeVault) -> Any:
    vault = make_vault({NOTE: "# A\n"})
    assert not vault.withholds(NOTE), "which records the finding"
    return vault


def asked(vault: Vault, call: Verdicts) -> tuple[bool, bool]:
    """Whether the call is told the note's text, and its name."""
    [note], [ref] = vault.ask(Read([NOTE]), EMPTY_VAULT, call), vault.ask(Names([NOTE]), EMPTY_VAULT, call)
    return isinstance(note, Note), ref is not None


@pytest.mark.parametrize("happens", [_flag, _flag_for_requests, _rule, _found_by_another_call])
def test_what_happens_after_the_decision_counts(vault: Vault, happens: Callable[[Vault], None]) -> None:
    call = Verdicts(WithheldNames(vault, {}))
    assert not call(NOTE)
    assert asked(vault, call) == (True, True)
    happens(vault)
    assert asked(vault, call) == (False, False)


def test_what_was_decided_is_not_decided_again(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Verdicts(WithheldNames(vault, {}))
    assert not call(NOTE)
    monkeypatch.setattr(NoteLevels, "judge", lambda *_a, **_k: pytest.fail("it is decided again"))
    monkeypatch.setattr(NoteLevels, "is_withheld", lambda *_: pytest.fail("it is decided again"))
    assert asked(vault, call) == (True, True)
    (vault.root.path / NOTE).write_text("# Another version\n")
    [note] = vault.ask(Read([NOTE]), EMPTY_VAULT, call)
    assert isinstance(note, Note) and note.title == "Another version"


def test_who_decides_on_request_hands_on_what_is_shown_unasked(vault: Vault) -> None:
    unasked = Verdicts(WithheldNames(vault, {}))
    requested = Verdicts(WithheldNames(vault, {}), unasked=unasked)
    assert not requested(NOTE)
    assert requested.stands(NOTE, vault.levels.state_version)
