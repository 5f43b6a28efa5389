"""`workspaced replay --verify`: the exit code says whether anything was compared, and whether all is whole."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.clock import system_clock
from workspaced_events.log.disk import RealDisk
from workspaced_events.replay.json_lines import import_events, read_export

Json = dict[str, Any]
CALLS: list[tuple[str, Json]] = [
    ("get_current_note", {}),
    ("search_workspace", {"query": "note"}),
    ("get_note_by_reference", {"reference": "no such note"}),
]


class Kept:
    """The data directory of a daemon that answered some calls and has ended."""

    def __init__(self, running: Any) -> None:
        self.running = running
        with running.connect("agent") as client:
            client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
            for tool, arguments in CALLS:
                client.tool(tool, arguments)
        with running.connect("quiet") as client:
            running.cli("share", "quiet", "none")
            client.tool("get_current_note")
        assert running.stop() == 0

    def copy(self, name: str) -> Path:
        made: Path = shutil.copytree(self.running.data, self.running.root / name)
        return made

    def retold(self, name: str, change: Callable[[Json], None]) -> Path:
        """A copy whose recorded calls say something else: `change` gets the line of each."""
        export, made = self.running.root / f"{name}.jsonl", self.running.root / name
        self.running.cli("log", "export", "-o", str(export), "--data-dir", str(self.running.data))
        header, *lines = map(json.loads, export.read_text().splitlines())
        for line in lines:
            if line["type"] == "tool_called":
                change(line)
        export.write_text("".join(json.dumps(line) + "\n" for line in [header, *lines]))
        made.mkdir()
        with export.open("rb") as file:
            import_events(RealDisk(made), read_export(file, export.name), version="1", now=system_clock())
        for store in ("served", "blobs"):
            if (self.running.data / store).exists():
                shutil.copytree(self.running.data / store, made / store, dirs_exist_ok=True)
        return made

    def verify(self, data: Path) -> tuple[int, str, list[Json]]:
        """Exit code, what a person reads, and what programs read."""
        person = self.running.cli("replay", str(data), "--verify")
        program = self.running.cli("replay", str(data), "--verify", "--json")
        assert person.returncode == program.returncode
        lines = [json.loads(line) for line in program.stdout.splitlines()]
        return person.returncode, person.stdout + person.stderr, lines


@pytest.fixture(scope="module")
def kept(module_daemon: Any) -> Kept:
    return Kept(module_daemon())


def blobs(data: Path) -> list[Path]:
    return sorted(path for path in (data / "served").rglob("*") if path.is_file())


def test_row_59_what_is_whole_is_made_again_and_the_exit_code_is_0(kept: Kept, module_daemon: Any) -> None:
    code, said, lines = kept.verify(kept.running.data)
    assert (code, [line["outcome"] for line in lines]) == (0, ["same"] * 4)
    assert "4 calls: 4 answer the same, 0 differ, 0 are not recorded." in said
    empty = module_daemon()
    empty.stop()
    assert kept.verify(empty.data)[0] == 0, "where nothing was asked nothing is missing"


@pytest.mark.fault(row=59)
def test_row_59_where_nothing_was_kept_nothing_was_verified_and_the_exit_code_is_3(kept: Kept) -> None:
    data = kept.copy("swept")
    shutil.rmtree(data / "served")
    code, said, lines = kept.verify(data)
    assert (code, {line["outcome"] for line in lines}) == (3, {"notRecorded"})
    assert "No call could be compared" in said


@pytest.mark.fault(row=59)
def test_row_59_an_export_holds_no_recordings_and_none_was_swept(kept: Kept) -> None:
    export = kept.running.root / "session.jsonl"
    kept.running.cli("log", "export", "-o", str(export), "--data-dir", str(kept.running.data))
    code, said, lines = kept.verify(export)
    assert (code, {line["outcome"] for line in lines}) == (3, {"notRecorded"})
    assert "swept" not in said and "not recorded (4): An export holds no recordings" in said
    assert "`workspaced bundle -o FILE`, then `workspaced replay FILE --verify`" in said
    assert all("swept" not in line["why"] for line in lines)


@pytest.mark.fault(row=59)
def test_row_59_a_blob_that_is_not_what_its_name_says_is_damaged_and_not_swept(kept: Kept) -> None:
    data = kept.copy("damaged")
    first, *rest = blobs(data)
    first.write_bytes(b"")
    code, _, lines = kept.verify(data)
    assert code == 3 and {line["outcome"] for line in lines} == {"damaged", "same"}, "one among whole ones"
    for blob in rest:
        blob.write_bytes(b"\x01other")
    code, said, lines = kept.verify(data)
    assert (code, {line["outcome"] for line in lines}) == (3, {"damaged"})
    assert "4 damaged" in said and "swept" not in said and "served/" in said


@pytest.mark.fault(row=59)
def test_row_59_what_a_call_says_of_itself_is_compared(kept: Kept) -> None:
    """Each of its fields: tests/workspaced/replay/test_forged_events.py."""
    code, said, lines = kept.verify(kept.retold("caller", lambda line: line["data"].update(caller="quiet")))
    assert (code, [line.get("differs") for line in lines]) == (1, ["caller"] * 3 + [None])
    assert "`caller`" in said


def forged(**data: Any) -> Callable[[Json], None]:
    """Changes the call of `search_workspace`; a field that is None is taken away."""

    def change(line: Json) -> None:
        if line["data"]["tool"] == "search_workspace":
            line["data"] = {name: value for name, value in {**line["data"], **data}.items() if value is not None}

    return change


@pytest.mark.fault(row=59)
@pytest.mark.parametrize(
    "data",
    [{"inputsSha256": None}, {"inputsSha256": "f" * 64}, {"tool": "search_everything"}, {"tailSeq": 10_000}],
    ids=lambda data: next(iter(data)),
)
def test_row_59_one_call_that_cannot_be_compared_among_others_is_3(kept: Kept, data: Json) -> None:
    name = f"forged-{next(iter(data))}-{next(iter(data.values()))!s:.5}"
    code, said, lines = kept.verify(kept.retold(name, forged(**data)))
    assert (code, sorted(line["outcome"] for line in lines)) == (3, ["notRecorded", "same", "same", "same"])
    assert "1 of 4 calls could not be compared, and no sweep explains it" in said


@pytest.mark.fault(row=59)
def test_row_59_an_event_of_an_unknown_type_is_3_as_it_may_be_a_call(kept: Kept) -> None:
    def rename(line: Json) -> None:
        if line["data"]["tool"] == "search_workspace":
            line["type"] = "tool_asked\x1b[2J"

    code, said, lines = kept.verify(kept.retold("unknown", rename))
    assert (code, sorted(line["outcome"] for line in lines)) == (3, ["same", "same", "same", "unknownType"])
    assert "1 tool_asked\\x1b[2J" in said


@pytest.mark.fault(row=59)
def test_row_59_what_a_sweep_removed_is_counted_and_what_nobody_removed_is_3(kept: Kept) -> None:
    data, gone = kept.copy("swept-in-part"), kept.copy("lost-in-part")
    seen: list[str] = []
    kept.retold("seen", lambda line: seen.append(line["data"]["inputsSha256"]))
    [search] = [path for path in blobs(data) if path.name == seen[1]]
    os.utime(search, (time.time(), time.time() - 60))
    size = sum(path.stat().st_size for path in blobs(data))
    assert EvictableBlobStore(data).sweep(size - 1, 14).removed == 1 and not search.exists()
    code, said, lines = kept.verify(data)
    assert (code, sorted(line["outcome"] for line in lines)) == (0, ["notRecorded", "same", "same", "same"])
    assert "4 calls: 3 answer the same, 0 differ, 1 are not recorded." in said and "It was swept" in said
    bundle = kept.running.root / "swept.wsb"
    assert kept.running.cli("bundle", "-o", str(bundle), "--data-dir", str(data)).returncode == 0
    assert kept.verify(bundle)[0] == 0
    (gone / search.relative_to(data)).unlink()
    code, said, lines = kept.verify(gone)
    assert (code, sorted(line["outcome"] for line in lines)) == (3, ["notRecorded", "same", "same", "same"])


@pytest.mark.fault(row=59)
def test_row_59_calls_of_another_version_of_the_answers_are_counted_and_not_compared(kept: Kept) -> None:
    code, said, lines = kept.verify(kept.retold("newer", lambda line: line["data"].update(answerVersion=99)))
    assert (code, {line["outcome"] for line in lines}) == (3, {"otherVersion"})
    assert "4 of another version" in said and "No call could be compared" in said

    code, said, lines = kept.verify(kept.retold("mixed", forged(answerVersion=99)))
    assert (code, sorted(line["outcome"] for line in lines)) == (0, ["otherVersion", "same", "same", "same"])


def test_salvage_makes_a_log_of_what_a_damaged_one_still_holds(daemon: Any) -> None:
    running = daemon()
    for name in "abcd":
        running.publish("active_note_set", note=f"{name}.md")
    running.stop()
    (segment,) = (running.data / "log").glob("*.wlog")
    content = segment.read_bytes()
    place = content.index(b'"c.md"') + 1
    segment.write_bytes(content[:place] + b"C" + content[place + 1 :])
    assert running.cli("log", "verify", "--data-dir", str(running.data)).returncode == 4

    saved = running.cli("log", "salvage", "--data-dir", str(running.data), "--to", "saved")
    assert saved.returncode == 0, saved.stderr
    assert segment.read_bytes()[place : place + 1] == b"C"
    state = json.loads(running.cli("replay", "saved", "--json").stdout)
    assert state["activeNote"]["id"] == "b.md"
    assert b"d.md" in next((running.root / "saved").rglob("after-damage.jsonl")).read_bytes()
    assert running.cli("log", "salvage", "--data-dir", str(running.data), "--to", "saved").returncode == 2
