"""The bytes of a segment: what a line is, what breaks the chain, and that nothing broken goes unnoticed."""

import itertools
import json
import random
import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.journals import copy_of, flipped, opened, record, scanned, segments_of
from support.profiles import examples
from support.simulated_disk import SimDisk

from workspaced_events.errors import LogReadOnly
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.journal.actions import Action
from workspaced_events.log.line_format import (
    FORMAT_VERSION,
    BadLine,
    Line,
    frame_line,
    parse_header,
    parse_seal,
    segment_first,
    segment_name,
    verified_lines,
)
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import CATALOGUE_VERSION, Event


def note(number: int) -> Action:
    return Action(c.ActiveNoteSet(NoteId(f"note-{number}.md")))


def a_log(batches: int = 12, *, clean: bool = True, **options: Any) -> SimDisk:
    """A log of several segments: batches of one, two, three events in turn."""
    disk = SimDisk()
    journal = opened(disk, **{"segment_bytes_max": 1_500, **options})
    record(journal, Action(c.VaultOpened(VaultId("v"), "v", "/v")))
    for number in range(batches):
        assert isinstance(record(journal, *[note(number + each) for each in range(1 + number % 3)]), list)
    if clean:
        journal.writer.close()
    return disk


class TestALine:
    @given(st.lists(st.binary(max_size=40).map(lambda each: each.replace(b"\n", b"")), max_size=8), st.data())
    @settings(max_examples=examples(150))
    def test_any_prefix_reads_as_its_whole_lines(self, payloads: list[bytes], data: st.DataObject) -> None:
        whole, chain, ends = b"", 3, [0]
        for payload in payloads:
            line, chain = frame_line(payload, chain)
            whole += line
            ends.append(len(whole))
        cut = data.draw(st.integers(0, len(whole)))
        lines = list(verified_lines(whole[:cut], 0, 3))
        good = [line for line in lines if isinstance(line, Line)]
        assert [line.payload for line in good] == payloads[: sum(end <= cut for end in ends) - 1]
        assert any(isinstance(line, BadLine) for line in lines) == (cut not in ends)

    def test_its_checksum_is_compared_as_bytes(self) -> None:
        """An upper-case A is one flipped bit, though it is the same number."""
        payload = next(b"[%d]" % n for n in range(100) if re.search(rb"[a-f]", frame_line(b"[%d]" % n, 0)[0][:8]))
        line = frame_line(payload, 0)[0]
        assert list(verified_lines(line[:8].upper() + line[8:], 0, 0)) == [BadLine(0, "checksum")]

    @pytest.mark.parametrize("first", [1, 42, 10**19])
    def test_a_segment_is_named_by_its_first_sequence(self, first: int) -> None:
        assert segment_first(segment_name(first)) == first
        assert len(segment_name(first)) == 25

    @pytest.mark.parametrize(
        "name",
        [
            *("HEAD", "1.wlog", f"{1:020}.wlog.tmp", f"{1:021}.wlog", f"{1:020}.wlog\n", f"x{1:020}.wlog"),
            "٠" * 20 + ".wlog",
        ],
    )
    def test_other_names_are_no_segments(self, name: str) -> None:
        assert segment_first(name) is None


class TestASegment:
    def test_begins_with_a_header_that_says_what_it_continues(self) -> None:
        disk = a_log()
        chain, log_ids = 0, set()
        for name in segments_of(disk):
            data = disk.read(f"log/{name}")
            lines = [line for line in verified_lines(data, 0, chain) if isinstance(line, Line)]
            header = parse_header(lines[0].payload)
            assert header is not None
            assert (header.format, header.catalogue, header.version) == (FORMAT_VERSION, CATALOGUE_VERSION, "t")
            assert (header.first, header.chain) == (segment_first(name), f"{chain:08x}")
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", header.created)
            log_ids.add(header.log)
            chain = lines[-1].chain
        assert len(log_ids) == 1

    def test_ends_with_a_seal_of_count_last_sequence_and_digest(self) -> None:
        disk = a_log()
        names = segments_of(disk)
        assert len(names) > 3
        for name, following in itertools.pairwise(names):
            data = disk.read(f"log/{name}")
            start = data.rindex(b"\n", 0, -1) + 1
            seal = parse_seal(data[start + 9 : -1])
            first, after = segment_first(name), segment_first(following)
            assert seal is not None
            assert first is not None
            assert after is not None
            assert (seal.count, seal.last) == (after - first, after - 1)
            assert seal.blake2b == blake2b(data[:start], digest_size=32).hexdigest()

    def test_is_json_lines_to_cut(self) -> None:
        """As `cut -d' ' -f2-` does: behind the first space stands JSON, of which an array is events."""
        disk = a_log()
        lines = [line for name in segments_of(disk) for line in disk.read(f"log/{name}").splitlines()]
        parsed = [json.loads(line.partition(b" ")[2]) for line in lines]
        assert parsed[0]["segment"] == "header"
        events = [event for line in parsed if isinstance(line, list) for event in line]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert set(events[0]) == {"seq", "id", "time", "source", "vault", "type", "data"}


class TestAnyPrefixOfWholeLines:
    def test_is_a_valid_log(self) -> None:
        """Without HEAD, which knows better."""
        disk = a_log()
        _, all_events = scanned(disk)
        names = segments_of(disk)
        for index, name in enumerate(names):
            data = disk.read(f"log/{name}")
            for end in [match.end() for match in re.finditer(rb"\n", data)]:
                part = SimDisk()
                for earlier in names[:index]:
                    part.overwrite(f"log/{earlier}", disk.read(f"log/{earlier}"))
                part.overwrite(f"log/{name}", data[:end])
                scan, events = scanned(part)
                assert (scan.damage, scan.torn) == (None, None)
                assert events == all_events[: len(events)]
                assert scan.tail.seq == len(events)


def found(disk: SimDisk, all_events: list[Event]) -> str:
    """How an opening takes a changed log: damage, torn or good; what it hands out is always a true prefix."""
    scan, events = scanned(disk)
    assert events == all_events[: len(events)]
    if scan.damage is not None:
        assert scan.damage.code == "LOG_DAMAGED"
        assert scan.damage.details["first_seq"] == len(events) + 1
        assert scan.damage.details["file"].startswith("log/")
        return "damage"
    if scan.torn is not None:
        return "torn"
    assert events == all_events, "events are missing and nothing was said"
    return "good"


@pytest.mark.fault(row=9)
class TestBitFlips:
    @pytest.mark.parametrize("head", [True, False])
    def test_each_one_in_a_segment_is_damage_and_without_head_in_a_sealed_one(self, head: bool) -> None:
        disk = a_log()
        _, events = scanned(disk)
        names = segments_of(disk)
        if not head:
            disk.discard("log/HEAD")
            names.pop()
        chance = random.Random(1)
        for _ in range(1_000):
            name = chance.choice(names)
            data = disk.read(f"log/{name}")
            bit = chance.randrange(len(data) * 8)
            disk.overwrite(f"log/{name}", flipped(data, bit))
            assert found(disk, events) == "damage", (name, bit)
            disk.overwrite(f"log/{name}", data)

    def test_each_one_in_the_last_two_records_is_noticed_even_without_head(self) -> None:
        disk = a_log(segment_bytes_max=1 << 20)
        _, events = scanned(disk)
        [name] = segments_of(disk)
        data = disk.read(f"log/{name}")
        start = [match.end() for match in re.finditer(rb"\n", data)][-3]
        for bit in range(start * 8, len(data) * 8, 3):
            for head in (True, False):
                changed = copy_of(disk, "log")
                changed.overwrite(f"log/{name}", flipped(data, bit))
                if not head:
                    changed.discard("log/HEAD")
                assert found(changed, events) in (("damage",) if head else ("damage", "torn")), (bit, head)

    def test_each_one_in_head_leaves_the_log_as_it_is(self) -> None:
        disk = a_log()
        _, events = scanned(disk)
        data = disk.read("log/HEAD")
        for bit in range(0, len(data) * 8, 7):
            disk.overwrite("log/HEAD", flipped(data, bit))
            assert found(disk, events) == "good", bit


def lines_of(disk: SimDisk, name: str) -> list[bytes]:
    return disk.read(f"log/{name}").splitlines(keepends=True)


@pytest.mark.fault(row=11)
class TestLinesOutOfPlace:
    @pytest.mark.parametrize("which", [0, 1, -1], ids=["first segment", "second segment", "open segment"])
    def test_doubled_swapped_removed_or_foreign_lines_are_damage(self, which: int) -> None:
        disk = a_log(14)
        _, events = scanned(disk)
        name = segments_of(disk)[which]
        lines = lines_of(disk, name)
        foreign = lines_of(a_log(14), name)[1]
        changes: list[list[bytes]] = []
        for at in range(len(lines)):
            changes.append([*lines[:at], lines[at], *lines[at:]])
            changes.append([*lines[:at], *lines[at + 1 :]])
            changes.append([*lines[:at], foreign, *lines[at:]])
            if at:
                changes.append([*lines[: at - 1], lines[at], lines[at - 1], *lines[at + 1 :]])
        for change in changes:
            if b"".join(change[: len(lines)]) == b"".join(lines) and which == -1:
                continue  # something behind the last line: a torn tail
            disk.overwrite(f"log/{name}", b"".join(change))
            assert found(disk, events) == "damage", change

    @pytest.mark.parametrize(
        ("change", "which"),
        [*(("missing", which) for which in (0, 1, 2, -2, -1)), ("of another log", 1), ("renamed", -1)],
    )
    def test_a_segment_that_is_not_the_next_is_damage(self, change: str, which: int) -> None:
        disk = a_log()
        _, events = scanned(disk)
        name = segments_of(disk)[which]
        first = segment_first(name)
        assert first is not None
        if change == "of another log":
            disk.overwrite(f"log/{name}", a_log().read(f"log/{name}"))
        else:
            data = disk.read(f"log/{name}")
            disk.discard(f"log/{name}")
            if change == "renamed":
                disk.overwrite(f"log/{segment_name(first + 1)}", data)
        assert found(disk, events) == "damage"

    def test_damage_names_file_offset_and_sequences(self) -> None:
        disk = a_log()
        names = segments_of(disk)
        data = disk.read(f"log/{names[1]}")
        disk.overwrite(f"log/{names[1]}", flipped(data, 8 * (data.index(b"\n") + 30)))
        scan, events = scanned(disk)
        after = segment_first(names[2])
        assert after is not None
        assert scan.damage is not None
        assert scan.damage.details == {
            "file": f"log/{names[1]}",
            "offset": data.index(b"\n") + 1,
            "first_seq": len(events) + 1,
            "last_seq": after - 1,
        }


@pytest.mark.fault(row=11)
class TestStrayFiles:
    @pytest.mark.parametrize("name", ["notes.txt", "00000000000000000001.wlog.bak", "5.wlog", ".DS_Store"])
    def test_are_ignored_with_a_warning(self, name: str) -> None:
        disk = a_log()
        _, events = scanned(disk)
        disk.overwrite(f"log/{name}", b"whatever")
        assert found(disk, events) == "good"
        scan, _ = scanned(disk)
        assert [name in warning for warning in scan.warnings] == [True]
        assert disk.read(f"log/{name}") == b"whatever"


class TestCutAtALineBoundary:
    @pytest.mark.fault(row=10)
    @pytest.mark.parametrize("lines", [1, 2, 3])
    def test_below_head_is_missing_events_and_read_only(self, lines: int) -> None:
        disk = a_log(segment_bytes_max=1 << 20)
        [name] = segments_of(disk)
        whole = lines_of(disk, name)
        disk.overwrite(f"log/{name}", b"".join(whole[:-lines]))
        before = {each: disk.read(f"log/{each}") for each in disk.names("log")}
        journal = opened(disk)
        assert journal.log.damage is not None
        assert "acknowledged events are missing" in journal.log.damage.message
        assert journal.log.damage.details["last_seq"] == 25
        assert isinstance(record(journal, note(1)), LogReadOnly)
        journal.writer.close()
        assert {each: disk.read(f"log/{each}") for each in disk.names("log")} == before


@pytest.mark.fault(row=14)
class TestOtherWriters:
    def test_a_newer_format_is_refused_and_not_taken_for_a_torn_tail(self) -> None:
        disk = a_log()
        name = segments_of(disk)[-1]
        rewrite_header(disk, name, lambda header: header | {"format": FORMAT_VERSION + 1})
        scan, events = scanned(disk)
        assert scan.damage is not None
        assert f"format {FORMAT_VERSION + 1}" in scan.damage.message
        assert scan.damage.details["first_seq"] == len(events) + 1

    def test_another_header_is_refused_and_not_taken_for_a_torn_tail(self) -> None:
        """As logs had it that programs before the first version wrote."""
        disk = a_log()
        name = segments_of(disk)[0]
        rewrite_header(
            disk, name, lambda header: {"wlog": "header", **{k: header[k] for k in header if k != "segment"}}
        )
        before = disk.read(f"log/{name}")
        scan, events = scanned(disk)
        assert scan.damage is not None and events == []
        assert "another version of workspaced wrote it" in scan.damage.message and "with it" in scan.damage.hint
        assert disk.read(f"log/{name}") == before

    def test_a_newer_catalogue_is_read(self) -> None:
        disk = a_log(segment_bytes_max=1 << 20)
        _, before = scanned(disk)
        [name] = segments_of(disk)
        rewrite_header(disk, name, lambda header: header | {"catalogue": CATALOGUE_VERSION + 1, "more": 1})
        disk.discard("log/HEAD")
        scan, events = scanned(disk)
        assert (scan.damage, events) == (None, before)


def rewrite_header(disk: SimDisk, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Changes a segment's header and chains the segment's lines anew."""
    lines = lines_of(disk, name)
    header = change(json.loads(lines[0][9:]))
    line, chain = frame_line(msgspec.json.encode(header), int(header["chain"], 16))
    rewritten = [line]
    for each in lines[1:]:
        line, chain = frame_line(each[9:-1], chain)
        rewritten.append(line)
    disk.overwrite(f"log/{name}", b"".join(rewritten))
