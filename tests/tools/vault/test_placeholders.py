"""Files whose bytes are elsewhere: what the system says of them, and what that comes to."""

import errno
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_events.projections.workspace_state import EMPTY_VAULT
from workspaced_tools.errors import NotDownloaded
from workspaced_tools.notes.note import NoteFailure
from workspaced_tools.ports.questions import Resolve
from workspaced_tools.vault.files import safe_open
from workspaced_tools.vault.files.placeholders import is_dataless
from workspaced_tools.vault.files.safe_open import failed

A = NoteId("a.md")


def test_a_dataless_file_of_macos_is_known_by_its_flag(tmp_path: Any) -> None:
    (tmp_path / "a.md").write_text("a")
    assert not is_dataless((tmp_path / "a.md").stat())
    assert not is_dataless(cast(os.stat_result, SimpleNamespace(st_flags=0x20)))  # compressed
    assert is_dataless(cast(os.stat_result, SimpleNamespace(st_flags=0x4000_0020)))


def test_a_read_that_macos_gives_up_means_that_the_file_is_elsewhere() -> None:
    assert failed("a.md", OSError(errno.EDEADLK, "Resource deadlock avoided")).code == NotDownloaded.code
    assert failed("a.md", OSError(errno.EIO, "")).code == "READ_ERROR"


@pytest.fixture
def dataless(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every file dataless from now on: this system has no such files."""
    return lambda: monkeypatch.setattr(safe_open, "is_dataless", lambda _status: True)


def test_a_dataless_note_that_was_shown_is_named(make_vault: MakeVault, dataless: Callable[[], None]) -> None:
    vault = make_vault({A: "# Title\n"})
    assert not vault.look_at(A)
    dataless()
    (vault.root.path / A).touch()
    vault.reconcile()
    assert vault.ask(Resolve("Title"), EMPTY_VAULT).note is not None
    [found] = vault.notes.read([A])
    assert isinstance(found, NoteFailure) and found.code == NotDownloaded.code


def test_one_that_was_never_read_is_missing(make_vault: MakeVault, dataless: Callable[[], None]) -> None:
    dataless()
    vault = make_vault({A: "# Title\n"})
    [found] = vault.notes.read([A])
    assert isinstance(found, NoteFailure) and found.code == "NOTE_NOT_FOUND"
    assert vault.ask(Resolve("a"), EMPTY_VAULT).note is None
