"""Exports, imports and replay: what the log led to, from any form of it."""

import io
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.journals import record
from support.simulated_disk import SimDisk

from workspaced_events.blobs.durable import blob_path
from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import EventId, NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.journal.opening import open_journal
from workspaced_events.limits import LINE_BYTES_MAX
from workspaced_events.log.data_directory import BLOBS, LOG
from workspaced_events.log.disk import RealDisk
from workspaced_events.log.scan import scan_log
from workspaced_events.log.segments import Batch
from workspaced_events.projections.workspace_fold import fold_all
from workspaced_events.projections.workspace_state import EMPTY, WorkspaceState
from workspaced_events.replay.json_lines import export_lines, import_events, read_export
from workspaced_events.replay.open import open_source
from workspaced_events.replay.replay import replay
from workspaced_events.replay.source import DirectorySource
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE_VERSION, ENTRY_OF, Event
from workspaced_events.schema.codec import encode_event

NOW = "2026-01-01T00:00:00.000000Z"
UNKNOWN = (
    b'{"type":"note_starred","seq":%d,"id":"newer","time":"2027-01-01T00:00:00.000000Z","source":"ui","vault":"v",'
    b'"data":{"stars": [1.50,  1e2], "text":"\\u00e9"}}'
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory: a few segments, the last event of a type that nobody knows."""
    root = tmp_path / "data"
    root.mkdir()
    journal = open_journal(RealDisk(root), version="t", segment_bytes_max=2_000)
    actions: list[c.Data] = [c.VaultOpened(VaultId("v"), "v", "/v")]
    for number in range(40):
        note = NoteId(f"{number % 7}.md")
        actions += [c.ActiveNoteSet(note, title="é\u2028\n"), c.NotePinned(note), c.NoteUnpinned(note)]
    for start in range(0, len(actions), 3):
        record(journal, *map(Action, actions[start : start + 3]))
    seq = journal.log.tail.seq
    journal.log.append(Batch(seq + 1, seq + 1, b"[" + UNKNOWN % (seq + 1) + b"]"), seq)
    journal.writer.close()
    return root


def events_in(root: Path) -> list[Event]:
    events: list[Event] = []
    scan = scan_log(RealDisk(root), events.extend)
    assert scan.damage is None
    return events


def as_bytes(state: WorkspaceState) -> bytes:
    return msgspec.json.encode(state)


class TestAnExport:
    def test_is_json_lines_with_a_header_first(self, directory: Path) -> None:
        events = events_in(directory)
        lines = list(export_lines("log-1", events))
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
        assert json.loads(lines[0]) == {
            "workspaced": "log",
            "version": 1,
            "log": "log-1",
            "catalogue": CATALOGUE_VERSION,
        }
        assert [json.loads(line)["seq"] for line in lines[1:]] == list(range(1, len(events) + 1))
        assert set(json.loads(lines[1])) == {"seq", "id", "time", "source", "vault", "type", "data"}

    def test_reads_back_as_it_was_from_anywhere_and_with_blank_lines(self, directory: Path) -> None:
        events = events_in(directory)
        again = list(read_export(export_lines("x", events), "x"))
        assert [encode_event(event) for event in again] == [encode_event(event) for event in events]
        events = events_in(directory)[5:9]
        lines = [line for each in export_lines("x", events) for line in (each, b"\n")]
        assert [event.seq for event in read_export(lines, "x")] == [6, 7, 8, 9]

    @pytest.mark.parametrize(
        "lines",
        [
            [],
            [b"\n"],
            [b"not json\n"],
            [b"\xff\xfe\n"],
            [b"[]\n"],
            [b'{"workspaced":"other","version":1}\n'],
            [b'{"workspaced":"log","version":2}\n'],
            [UNKNOWN % 1],
        ],
        ids=["empty", "blank", "text", "bytes", "array", "other", "newer", "headless"],
    )
    def test_is_refused_when_it_is_none(self, lines: list[bytes]) -> None:
        with pytest.raises(InvalidArgument) as caught:
            list(read_export(lines, "file.jsonl"))
        assert "file.jsonl" in caught.value.message
        assert caught.value.hint

    @pytest.mark.parametrize(
        "bad",
        [
            b"{\n",
            b"[1]\n",
            b"null\n",
            b'{"seq":3}\n',
            b'{"type":"x","seq":"3"}\n',
            b"\xff\n",
            (UNKNOWN % 3).replace(b"newer", b"\xff"),
            UNKNOWN % 4,
            UNKNOWN % 2,
        ],
    )
    def test_names_the_line_that_is_no_event_or_not_the_next(self, directory: Path, bad: bytes) -> None:
        lines = list(export_lines("x", events_in(directory)[:2]))
        read = read_export([*lines, bad], "x")
        assert [next(read).seq, next(read).seq] == [1, 2]
        with pytest.raises(LogDamaged) as caught:
            next(read)
        assert caught.value.details["line"] == 4


class TestAnImport:
    def test_makes_a_log_of_the_same_events_and_state(self, directory: Path) -> None:
        events = events_in(directory)
        lines = list(export_lines("x", events))
        disk = SimDisk()
        assert import_events(disk, read_export(lines, "x"), version="t", now=NOW) == len(events)
        imported: list[Event] = []
        scan = scan_log(disk, imported.extend)
        assert (scan.damage, scan.torn, scan.clean, scan.warnings) == (None, None, True, [])
        assert list(export_lines("x", imported)) == lines
        assert as_bytes(fold_all(imported, EMPTY)) == as_bytes(fold_all(events, EMPTY))

    def test_goes_on_recording_where_it_ends(self, directory: Path) -> None:
        disk = SimDisk()
        import_events(disk, events_in(directory), version="t", now=NOW)
        journal = open_journal(disk, version="t", clock=lambda: NOW)
        seq = journal.log.tail.seq
        journal.writer.submit([Action(c.NotePinned(NoteId("z.md")))], "ui", lambda _outcome: None)
        step, event = journal.writer.commit().events
        assert (step.data, step.seq) == (c.ClockStepped("2027-01-01T00:00:00.000001Z", NOW), seq + 1)
        assert (event.seq, event.time) == (seq + 2, NOW)

    def test_takes_events_of_any_size(self) -> None:
        """As many to a line as fit it, not a fixed number."""

        def selections() -> list[Event]:
            entry = ENTRY_OF[c.SelectionChanged]
            data = c.SelectionChanged(NoteId("a.md"), 1, 2, text="é" * 4_096)
            return [entry.event(n, EventId(f"{n}"), NOW, "ui", VaultId("v"), data) for n in range(1, 1_500)]

        disk = SimDisk()
        assert import_events(disk, selections(), version="t", now=NOW) == 1_499
        imported: list[Event] = []
        assert scan_log(disk, imported.extend).damage is None
        assert imported == selections()
        sizes = [len(line) for name in disk.names("log") for line in disk.read(f"log/{name}").split(b"\n")]
        assert LINE_BYTES_MAX // 2 < max(sizes) < LINE_BYTES_MAX

    def test_into_a_log_is_refused_and_changes_nothing(self, directory: Path) -> None:
        disk = SimDisk()
        import_events(disk, events_in(directory), version="t", now=NOW)
        before = {name: disk.read(f"log/{name}") for name in disk.names("log")}
        with pytest.raises(InvalidArgument):
            import_events(disk, events_in(directory), version="t", now=NOW)
        assert {name: disk.read(f"log/{name}") for name in disk.names("log")} == before

    @pytest.mark.parametrize("picked", [slice(1, None), slice(None, None, 2), slice(None, None, -1)])
    def test_of_a_part_is_refused(self, directory: Path, picked: slice) -> None:
        with pytest.raises(InvalidArgument):
            import_events(SimDisk(), events_in(directory)[picked], version="t", now=NOW)


class TestAReplay:
    def test_leads_to_the_same_state_from_every_form(self, directory: Path, tmp_path: Path) -> None:
        events = events_in(directory)
        exported = b"".join(export_lines("x", events))
        (tmp_path / "export.jsonl").write_bytes(exported)
        expected = as_bytes(fold_all(events, EMPTY))
        for source in (directory, directory / "log", tmp_path / "export.jsonl", io.BytesIO(exported)):
            replayed = replay(source)
            assert as_bytes(replayed.state) == expected
            assert (replayed.events, replayed.last_seq, replayed.warnings) == (len(events), len(events), [])

    @pytest.mark.parametrize("form", ["directory", "export"])
    def test_stops_anywhere_even_within_a_batch(self, directory: Path, form: str) -> None:
        events = events_in(directory)
        for until in range(len(events) + 1):
            shown: list[int] = []

            def each(batch: list[Event], shown: list[int] = shown) -> None:
                shown.extend(event.seq for event in batch)

            source: Any = directory if form == "directory" else io.BytesIO(b"".join(export_lines("x", events)))
            replayed = replay(source, until=until, each=each)
            assert as_bytes(replayed.state) == as_bytes(fold_all(events[:until], EMPTY))
            assert shown == list(range(1, until + 1))
            assert (replayed.events, replayed.last_seq) == (until, until)

    def test_that_cannot_reach_its_end_says_how_far_it_goes(self, directory: Path) -> None:
        with pytest.raises(InvalidArgument) as caught:
            replay(directory, until=1_000_000)
        assert str(len(events_in(directory))) in caught.value.message

    def test_changes_nothing_and_notes_a_torn_tail(self, directory: Path) -> None:
        last = sorted((directory / "log").glob("*.wlog"))[-1]
        with last.open("ab") as file:
            file.write(b"0123")
        before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
        replayed = replay(directory)
        assert len(replayed.warnings) == 1
        assert "4 bytes" in replayed.warnings[0]
        assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before


def test_a_blob_that_cannot_be_read_is_damage_and_not_missing(tmp_path: Path) -> None:
    name = sha256(b"a text").hexdigest()
    (tmp_path / LOG).mkdir()
    (tmp_path / blob_path(BLOBS, name)).mkdir(parents=True)  # whoever runs this may read every file, but no folder
    with DirectorySource(tmp_path) as source, pytest.raises(LogDamaged, match=f"{name} cannot be read"):
        source.blob(name)


def test_a_file_whose_first_line_does_not_end_is_no_export(tmp_path: Path) -> None:
    """Such as /dev/zero, of which all memory would not be enough."""
    export = tmp_path / "log.jsonl"
    header = b'{%s"workspaced":"log","version":1,"log":"a7b937df6537c7ae"}\n'
    export.write_bytes(header % b"")
    with open_source(export) as source:
        assert source.log_id == "a7b937df6537c7ae"
    export.write_bytes(header % (b" " * LINE_BYTES_MAX))
    with pytest.raises(InvalidArgument, match=r"log\.jsonl is no export"):
        open_source(export)
