"""The golden log in tests/data/logs: the program reads, folds, continues, exports and salvages what it wrote."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import DATA
from support.golden_log import EVENTS, EXPORT
from support.journals import record
from support.simulated_disk import SimDisk

from workspaced_events.ids import NoteId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal, read_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.line_format import PREFIX_BYTES, parse_header
from workspaced_events.log.salvage import AFTER_DAMAGE, salvage
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState, to_json
from workspaced_events.replay.json_lines import export_lines, import_events
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, CATALOGUE_VERSION, Event, UnknownEvent
from workspaced_events.schema.codec import decode_event

GOLDEN = DATA / "logs"
STATE: dict[str, Any] = json.loads((GOLDEN / f"v{CATALOGUE_VERSION}.state.json").read_text())
NOW = "2026-06-01T00:00:00.000000Z"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A copy of the data directory."""
    return Path(shutil.copytree(GOLDEN / f"v{CATALOGUE_VERSION}", tmp_path / "data"))


def kept_in(directory: Path) -> list[Event]:
    events: list[Event] = []
    scan = read_journal(directory, events.extend)
    assert scan.damage is None
    assert scan.torn is None
    assert scan.warnings == []
    return events


def opened(directory: Path) -> Journal:
    return open_journal(RealDisk(directory), version="t", clock=lambda: NOW)


def assert_is_golden(state: WorkspaceState) -> None:
    assert json.loads(msgspec.json.encode(state)) == STATE["state"]
    for vault_id, expected in STATE["vaults"].items():
        assert msgspec.to_builtins(to_json(state, vault_id)) == expected


def test_its_headers_name_the_version(directory: Path) -> None:
    headers = [
        parse_header(path.read_bytes().partition(b"\n")[0][PREFIX_BYTES:])
        for path in (directory / "log").glob("*.wlog")
    ]
    assert len(headers) > 1 and {header.catalogue for header in headers if header} == {CATALOGUE_VERSION}
    assert json.loads(EXPORT.read_text().partition("\n")[0])["catalogue"] == CATALOGUE_VERSION


@pytest.mark.fault(row=14)
def test_it_folds_to_the_state_that_was_kept_with_it(directory: Path) -> None:
    assert_is_golden(fold_all(kept_in(directory), EMPTY))
    assert_is_golden(replay(EXPORT).state)


def test_it_holds_every_type_and_nothing_unknown(directory: Path) -> None:
    events = kept_in(directory)
    assert not [event for event in events if type(event) is UnknownEvent]
    assert {event.type for event in events} == {*CATALOGUE}
    assert events == EVENTS


def test_it_is_opened_and_continued(directory: Path) -> None:
    before = kept_in(directory)
    journal = opened(directory)
    assert journal.warnings == []
    assert_is_golden(journal.writer.state)
    record(journal, Action(c.NotePinned(NoteId("new.md"))))
    assert journal.log.read(1, 1_000)[:-1] == before
    journal.writer.close()
    again = opened(directory)  # from the snapshot that the closing took
    record(again, Action(c.NotePinned(NoteId("newer.md"))))
    assert again.log.read(1, 1_000)[:-2] == before
    again.writer.close()
    assert kept_in(directory)[:-2] == before


def test_its_export_is_the_one_that_was_kept_with_it_and_is_imported(directory: Path) -> None:
    events = kept_in(directory)
    lines = list(export_lines("log", events, visibility=True))
    assert lines[1:] == EXPORT.read_bytes().splitlines(keepends=True)[1:]
    disk = SimDisk()
    import_events(disk, EVENTS, version="t", now=NOW)
    assert open_journal(disk, version="t", clock=lambda: NOW).log.read(1, 1_000) == events


def test_behind_damage_it_is_salvaged(directory: Path, tmp_path: Path) -> None:
    whole = kept_in(directory)
    first = sorted((directory / "log").glob("*.wlog"))[0]
    lines = first.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"seq", b"sEq")
    first.write_bytes(b"".join(lines))
    salvage(RealDisk(directory), RealDisk(tmp_path / "new"), version="t", now=NOW)
    found = [decode_event(line) for line in (tmp_path / "new" / AFTER_DAMAGE).read_bytes().splitlines()[1:]]
    assert found == [event for event in whole if event.seq >= found[0].seq]
    assert "tool_called" in {event.type for event in found}
