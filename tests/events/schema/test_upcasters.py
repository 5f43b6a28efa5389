"""Logs of every version of the catalogue: the golden ones in tests/data/logs, and upcasting of single events."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import DATA
from support.profiles import examples

from workspaced_events.ids import NoteId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import Journal, open_journal, read_journal
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.line_format import PREFIX_BYTES, parse_header
from workspaced_events.log.salvage import AFTER_DAMAGE, salvage
from workspaced_events.log.simulated_disk import SimDisk
from workspaced_events.projections.conversations import CONVERSATION_TYPES
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState, to_json
from workspaced_events.replay.json_lines import export_lines, import_events, read_export
from workspaced_events.replay.replay import replay
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE, CATALOGUE_VERSION, ENTRY_OF, Event, UnknownEvent
from workspaced_events.schema.codec import decode_batch, decode_event, encode_event

GOLDEN = DATA / "logs"
VERSIONS = range(1, CATALOGUE_VERSION + 1)
NOW = "2026-06-01T00:00:00.000000Z"
CALL = {
    "tool": "get_current_note",
    "caller": "agent",
    "arguments": {"text": "é\u2028", "n": [1, 2.5, None]},
    "asOfSeq": 3,
    "resultSha256": "0" * 64,
    "bytes": 1,
    "durationUs": 1,
    "ok": True,
}


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def directory(version: int, tmp_path: Path) -> Path:
    """A copy of a golden data directory, as its users have it."""
    return Path(shutil.copytree(GOLDEN / f"v{version}", tmp_path / "data"))


def golden_state(version: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"v{version}.state.json").read_text())
    return found


def exported(version: int) -> list[Event]:
    with (GOLDEN / f"v{version}.jsonl").open("rb") as lines:
        return list(read_export(lines, "golden"))


def kept_in(directory: Path) -> list[Event]:
    events: list[Event] = []
    scan = read_journal(directory, events.extend)
    assert scan.damage is None
    assert scan.torn is None
    assert scan.warnings == []
    return events


def opened(directory: Path) -> Journal:
    return open_journal(RealDisk(directory), version="t", clock=lambda: NOW)


def append(journal: Journal, data: c.Data) -> None:
    journal.writer.submit([Action(data)], "ui", lambda _outcome: None)
    journal.writer.commit()


def catalogues(directory: Path) -> list[int]:
    """The versions that the segments' headers name."""
    headers = [
        parse_header(path.read_bytes().partition(b"\n")[0][PREFIX_BYTES:])
        for path in sorted((directory / "log").glob("*.wlog"))
    ]
    return [header.catalogue for header in headers if header]


def assert_is(state: WorkspaceState, golden: dict[str, Any]) -> None:
    whole = json.loads(msgspec.json.encode(state))
    for name, vault in golden["state"]["by_vault"].items():
        if vault["active"] is not None and "publisher" not in vault["active"]:  # nor this
            del whole["by_vault"][name]["active"]["publisher"]
        for note, tab in vault["tabs"].items():
            if "accessedSeq" not in tab:  # the program that wrote it did not keep that
                del whole["by_vault"][name]["tabs"][note]["accessedSeq"]
    assert golden["state"] == {key: whole[key] for key in golden["state"]}
    for vault_id, expected in golden["vaults"].items():
        assert msgspec.to_builtins(to_json(state, vault_id)) == expected


class TestAGoldenLog:
    def test_is_there_for_every_version_and_is_of_that_version(self, directory: Path, version: int) -> None:
        assert set(catalogues(directory)) == {version}
        header = json.loads((GOLDEN / f"v{version}.jsonl").read_text().partition("\n")[0])
        assert header["catalogue"] == version

    def test_folds_to_the_state_that_its_own_version_computed(self, directory: Path, version: int) -> None:
        assert_is(fold_all(kept_in(directory), EMPTY), golden_state(version))
        assert_is(replay(GOLDEN / f"v{version}.jsonl").state, golden_state(version))

    def test_holds_nothing_unknown_and_every_type_that_it_could(self, directory: Path, version: int) -> None:
        events = kept_in(directory)
        assert not [event for event in events if type(event) is UnknownEvent]
        later = {"sharing_set": 2, "event_forgotten": 3, "record_forgotten": 3}
        later |= dict.fromkeys(("note_shown", "note_withheld", "clock_stepped"), 6)
        later |= {ENTRY_OF[data].name: 4 for data in (*CONVERSATION_TYPES, c.ArtifactRecorded)}
        later["context_folded"] = 7
        later |= dict.fromkeys(("memory_written", "memory_write_ended", "conversation_branched"), 9)
        new = (
            "context_volunteered",
            "volunteering_set",
            "pause_started",
            "pause_ended",
            "view_opened",
            "view_closed",
        )
        later |= dict.fromkeys(new, 10)
        later |= dict.fromkeys(("link_changed", "remote_events_applied"), 12)
        later |= dict.fromkeys(("context_inserted", "context_withdrawn", "prompt_overlaid", "prompt_answered"), 13)
        assert {event.type for event in events} == {name for name in CATALOGUE if later.get(name, 1) <= version}

    def test_reads_the_same_as_its_export(self, directory: Path, version: int) -> None:
        assert exported(version) == kept_in(directory)

    def test_is_opened_and_appended_to_in_a_segment_of_the_present_version(
        self, directory: Path, version: int
    ) -> None:
        before = kept_in(directory)
        journal = opened(directory)
        assert journal.warnings == []
        assert_is(journal.writer.state, golden_state(version))
        append(journal, c.NotePinned(NoteId("new.md")))
        assert journal.log.read(1, 1_000)[:-1] == before
        journal.writer.close()
        assert catalogues(directory)[-1] == CATALOGUE_VERSION
        again = opened(directory)  # from the snapshot that the closing took
        append(again, c.NotePinned(NoteId("newer.md")))
        assert again.log.read(1, 1_000)[:-2] == before
        again.writer.close()
        assert kept_in(directory)[:-2] == before

    def test_is_exported_in_the_present_version(self, directory: Path) -> None:
        events = kept_in(directory)
        lines = list(export_lines("log", events, visibility=True))
        assert json.loads(lines[0])["catalogue"] == CATALOGUE_VERSION
        # As the header says: nothing in it needs to be upcast.
        assert [decode_event(line, CATALOGUE_VERSION) for line in lines[1:]] == events

    def test_is_imported_and_reads_the_same(self, directory: Path, version: int) -> None:
        disk = SimDisk()
        import_events(disk, exported(version), version="t", now=NOW)
        journal = open_journal(disk, version="t", clock=lambda: NOW)
        assert journal.log.read(1, 1_000) == kept_in(directory)

    def test_is_salvaged_in_the_present_version(self, directory: Path, tmp_path: Path, version: int) -> None:
        whole = kept_in(directory)
        first = sorted((directory / "log").glob("*.wlog"))[0]
        lines = first.read_bytes().splitlines(keepends=True)
        lines[3] = lines[3].replace(b"seq", b"sEq")
        first.write_bytes(b"".join(lines))
        salvage(RealDisk(directory), RealDisk(tmp_path / "new"), version="t", now=NOW)
        after = (tmp_path / "new" / AFTER_DAMAGE).read_bytes().splitlines()
        assert json.loads(after[0])["catalogue"] == CATALOGUE_VERSION
        found = [decode_event(line, CATALOGUE_VERSION) for line in after[1:]]
        assert found == [event for event in whole if event.seq >= found[0].seq]
        assert "tool_called" in {event.type for event in found}


OLD = {"seq": 9, "id": "x", "time": "2026-03-01T12:00:00.000007Z", "source": "s", "vault": "v", "data": CALL}


class TestACallWithoutItsClock:
    def decoded(self, version: int, **changed: Any) -> Event:
        return decode_event(msgspec.json.encode({"type": "tool_called", **OLD, **changed}), version)

    @pytest.mark.parametrize("version", range(-1, 3))
    def test_gets_the_time_of_its_record(self, version: int) -> None:
        event = self.decoded(version)
        assert type(event.data) is c.ToolCalled
        assert event.data.now == event.time
        assert event.data.arguments == CALL["arguments"]

    def test_keeps_a_clock_that_it_has(self) -> None:
        event = self.decoded(2, data={**CALL, "now": NOW})
        assert event.data.now == NOW

    def test_of_the_present_version_is_kept_as_unknown(self) -> None:
        assert type(self.decoded(CATALOGUE_VERSION)) is UnknownEvent

    def test_of_a_newer_version_is_not_touched(self) -> None:
        assert type(self.decoded(CATALOGUE_VERSION + 1)) is UnknownEvent

    @pytest.mark.parametrize("data", [None, [], "text", {}, {"now": 3}, {**CALL, "ok": "yes"}])
    def test_with_data_that_no_version_wrote_is_kept_as_unknown(self, data: Any) -> None:
        event = self.decoded(2, data=data)
        assert type(event) is UnknownEvent
        assert event.kind == "tool_called"

    def test_leaves_its_neighbours_on_the_line_as_they_were(self) -> None:
        unknown = (
            b'{"type":"note_starred","seq":10,"id":"y","time":"t","source":"s","vault":null,"data":{"n": [1.50]}}'
        )
        said = {"type": "note_pinned", **OLD, "seq": 11, "data": {"note": 'say "tool_called".md'}}
        call = msgspec.json.encode({"type": "tool_called", **OLD})
        batch = decode_batch(b"[" + b",".join([call, unknown, msgspec.json.encode(said)]) + b"]", 2)
        assert [type(each.data) for each in batch] == [c.ToolCalled, msgspec.Raw, c.NotePinned]
        assert bytes(batch[1].data) == b'{"n": [1.50]}'
        assert batch[2].data.note == 'say "tool_called".md'


@settings(max_examples=examples(200))
@given(st.integers(0, CATALOGUE_VERSION + 1), st.lists(st.sampled_from(range(40)), max_size=8))
def test_what_is_of_the_present_version_reads_the_same_whatever_version_its_header_names(
    version: int, picked: list[int]
) -> None:
    known = exported(CATALOGUE_VERSION)
    events = [known[index] for index in picked]
    payload = b"[" + b",".join(map(encode_event, events)) + b"]"
    assert decode_batch(payload, version) == events


@settings(max_examples=examples(200))
@given(
    st.binary(max_size=60) | st.sampled_from([b'["tool_called"]', b'[{"type":"tool_called"}]', b'"tool_called"'])
)
def test_a_line_that_is_no_batch_is_refused_as_in_the_present_version(payload: bytes) -> None:
    outcomes = []
    for version in (1, CATALOGUE_VERSION):
        try:
            outcomes.append(decode_batch(payload, version))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            outcomes.append(None)
    assert outcomes[0] == outcomes[1]
