"""What it costs to ask for a withheld note: no more work than asking for one that is not there."""

import os
from typing import Any

import pytest
from support.tool_fixtures import MakeVault

from workspaced_events.ids import NoteId
from workspaced_tools.vault.files.ignore_rules import IGNORE_FILE

LARGE = "words " * 700_000
HEAD_BYTES_MAX = 64 * 1024
PRIVATE = f"---\nworkspaced: private\n---\n{LARGE}"
NOTES = {"open.md": "# Open\n", "keep/denied.md": LARGE, "private.md": PRIVATE, IGNORE_FILE: "keep/\n"}


class Reads:
    """Counts what is opened and read of notes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened: list[str] = []
        self.bytes = 0
        opening, reading = os.open, os.read

        def opened(path: Any, *rest: Any, **named: Any) -> int:
            if isinstance(path, str) and path.endswith(".md"):
                self.opened.append(path)
            return opening(path, *rest, **named)

        def read(descriptor: int, size: int) -> bytes:
            data = reading(descriptor, size)
            self.bytes += len(data)
            return data

        monkeypatch.setattr(os, "open", opened)
        monkeypatch.setattr(os, "read", read)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.mark.fault(row=63)
@pytest.mark.parametrize("indexed", [True, False])
def test_a_denied_note_is_not_opened(make_vault: MakeVault, reads: Reads, indexed: bool) -> None:
    vault = make_vault(NOTES, indexed=indexed)
    reads.opened.clear()
    [failure] = vault.notes.read([NoteId("keep/denied.md")])
    assert failure.code == "NOTE_NOT_FOUND"
    assert reads.opened == []


@pytest.mark.fault(row=63)
@pytest.mark.parametrize("indexed", [True, False])
def test_of_a_private_note_a_bounded_head_is_read(make_vault: MakeVault, reads: Reads, indexed: bool) -> None:
    vault = make_vault(NOTES, indexed=indexed)
    for _ in range(3):
        reads.bytes = 0
        [failure] = vault.notes.read([NoteId("private.md")])
        assert failure.code == "NOTE_NOT_FOUND"
        assert reads.bytes <= HEAD_BYTES_MAX
