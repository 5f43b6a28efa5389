"""Bundles: a part of a log that replays like the whole, and what is said of one that is none."""

import io
import json
import os
import threading
import zipfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from support.golden_log import EVERY
from support.random_log import V, W, event_of
from support.stored_logs import bundled, part_of

from workspaced_events.errors import InvalidArgument, LogDamaged
from workspaced_events.ids import ConversationId, MessageId, NoteId, VaultId
from workspaced_events.projections.visits import VisitFold, VisitStream
from workspaced_events.projections.workspace_fold import FOLD_VERSION, fold_all
from workspaced_events.projections.workspace_state import EMPTY
from workspaced_events.replay import bundle, log_slice
from workspaced_events.replay.bundle import BundleSource
from workspaced_events.replay.json_lines import export_lines
from workspaced_events.replay.log_slice import LEAD_EVENTS_MAX, Slice, cut
from workspaced_events.replay.open import open_source
from workspaced_events.replay.replay import replay
from workspaced_events.replay.source import Source
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_events.schema.codec import encode_event

NOTES = tuple(NoteId(f"{name}.md") for name in ("a", "b", "folder/日記"))
TEXT = "a long selection, é\n".encode() * 300
NAME = sha256(TEXT).hexdigest()
TALK = ConversationId("talk")
STARTED = c.ConversationStarted(conversation=TALK, provider="p", model="m", context_window=9, output_reserve=1)


def log_of(*data: c.Data | tuple[VaultId, c.Data]) -> list[Event]:
    """A log that registers both vaults first."""
    opened = [c.VaultOpened(vault, vault, f"/{vault}") for vault in (V, W)]
    return [
        event_of(seq, each[1], each[0]) if isinstance(each, tuple) else event_of(seq, each)
        for seq, each in enumerate([*opened, *data], start=1)
    ]


def called(as_of: int, **fields: Any) -> c.ToolCalled:
    return c.ToolCalled("t", "agent", {}, as_of, "0" * 64, 1, 1, True, "2026-03-01T12:00:00.000000Z", **fields)


def prompt(as_of: int, talk: ConversationId = TALK) -> c.PromptAssembled:
    made: c.PromptAssembled = EVERY["prompt_assembled"].data
    return replace(made, conversation=talk, message=MessageId("m"), as_of_seq=as_of)


def whole_of(events: Sequence[Event], blobs: dict[str, bytes] | None = None) -> Slice:
    """The events of a whole log, with these blobs."""

    def blob(name: str) -> bytes | None:
        content = (blobs or {}).get(name)
        if content is not None and sha256(content).hexdigest() != name:
            raise LogDamaged("not what its name says")
        return content

    return part_of(events, blob)


def opened(content: bytes) -> Source:
    return open_source(io.BytesIO(content))


def events_of(source: Source) -> list[Event]:
    events: list[Event] = []
    source.feed(events.extend)
    return events


def visits_at_each(source: Source) -> list[Any]:
    """What is remembered of each vault after each event."""
    stream = VisitStream(start=source.start_visits())
    found = []
    for each in events_of(source):
        stream.feed((each,))
        found.append([stream.visits(vault, each.seq) for vault in (V, W)])
    return found


notes = st.sampled_from(NOTES)
anything = st.one_of(
    st.builds(c.ActiveNoteSet, notes),
    st.just(c.ActiveNoteCleared()),
    st.builds(c.NotePinned, notes),
    st.builds(c.NoteUnpinned, notes),
    st.builds(c.TemporaryTabOpened, notes, st.just("search")),
    st.builds(c.NoteDeleted, notes),
    st.builds(c.NoteArchived, notes),
    st.builds(c.NoteRenamed, from_=notes, to=notes),
    st.builds(c.SharingSet, st.sampled_from(["*", "agent"]), st.just("names")),
    st.sampled_from([c.VaultSwitched(V), c.VaultSwitched(W), c.VaultClosed(W)]),
    st.builds(c.DaemonStarted, st.just("1"), st.just(1), st.just((V, W))),
    st.just(c.DaemonStopped("SIGTERM")),
    st.builds(called, st.integers(0, 40)),
    st.just(STARTED),
    st.just(c.MessageAdded(TALK, MessageId("m"), "user", NAME)),
    st.builds(prompt, st.integers(0, 40)),
)
logs = st.lists(st.one_of(anything, st.tuples(st.sampled_from([V, W]), anything)), min_size=1, max_size=40).map(
    lambda data: log_of(*data)
)


# -- what a part holds --


@given(logs, st.integers(1, 45))
def test_a_bundle_replays_like_the_log_it_is_a_part_of(events: list[Event], last: int) -> None:
    whole = whole_of(events)
    with opened(bundled(cut(whole, last=last))) as part:
        held = events_of(part)
        assert [encode_event(each) for each in held] == [encode_event(each) for each in events[-len(held) :]]
        assert len(held) >= min(last, len(events))
        assert part.start == fold_all(events[: -len(held)], EMPTY)
        assert replay(part).state == replay(whole).state
        assert visits_at_each(part) == visits_at_each(whole)[-len(held) :]
        assert part.log_id == whole.log_id


@given(logs, st.integers(1, 45), st.integers(1, 45))
def test_a_part_of_a_bundle_is_a_part_of_the_log(events: list[Event], more: int, fewer: int) -> None:
    whole = whole_of(events)
    with opened(bundled(cut(whole, last=max(more, fewer)))) as part:
        assert bundled(cut(part, last=min(more, fewer))) == bundled(cut(whole, last=min(more, fewer)))


@given(logs, st.integers(1, 42), st.integers(0, 41))
def test_a_part_is_bounded_by_sequences_or_by_times(events: list[Event], first: int, more: int) -> None:
    first = min(first, len(events))
    last = min(first + more, len(events))
    by_seq = cut(whole_of(events), since=first, until=last)
    by_time = cut(whole_of(events), since=events[first - 1].time, until=events[last - 1].time)
    assert by_seq.first <= first
    assert by_seq.last == last
    assert bundled(by_seq) == bundled(by_time)


def test_a_part_begins_earlier_where_a_call_rests_on_a_state_that_was_over() -> None:
    set_a, set_b = c.ActiveNoteSet(NOTES[0]), c.ActiveNoteSet(NOTES[1])
    events = log_of(set_a, set_b, set_a, set_b, set_a, called(4), set_b)  # 3 to 9; the call is 8
    assert cut(whole_of(events), last=1).first == 9
    assert cut(whole_of(events), last=2).first == 5


def test_a_call_about_a_far_past_makes_a_part_only_so_much_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LEAD_EVENTS_MAX >= 1_000
    monkeypatch.setattr(log_slice, "LEAD_EVENTS_MAX", 5)
    events = log_of(*[c.ActiveNoteSet(NOTES[n % 2]) for n in range(30)], called(3), called(29))
    assert cut(whole_of(events), last=2).first == 30


def test_a_part_begins_earlier_where_a_prompt_rests_on_a_conversation_that_was_over() -> None:
    said, rebased = (
        c.MessageAdded(TALK, MessageId("m"), "user"),
        c.ContextFolded(conversation=TALK, reason="asked", library=()),
    )
    read, other = (
        c.ArtifactRecorded("a.md", "note", NAME, 9),
        c.MessageAdded(ConversationId("x"), MessageId("m"), "user"),
    )
    events = log_of(STARTED, said, read, other, rebased, prompt(4), other)  # 3 to 9; the prompt is 8
    assert cut(whole_of(events), last=1).first == 9
    assert cut(whole_of(events), last=2).first == 7
    part = cut(whole_of(events), last=2)
    assert part.start.conversations.by_id[TALK] == fold_all(events[:4], EMPTY).conversations.by_id[TALK]


def test_a_prompt_of_a_conversation_that_did_not_change_makes_no_part_longer() -> None:
    events = log_of(c.ActiveNoteSet(NOTES[0]), *[prompt(3, ConversationId(f"talk {n}")) for n in range(20)])
    assert cut(whole_of(events), last=5).first == len(events) - 4


@pytest.mark.parametrize("bounds", [{"since": 99}, {"since": "2099"}, {"until": 0}, {"until": 99}])
def test_a_part_without_events_is_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        cut(whole_of(log_of(c.ActiveNoteCleared())), **bounds)


# -- what a bundle holds --


@pytest.fixture
def part() -> Slice:
    selected = c.SelectionChanged(NOTES[0], 1, 9, text_sha256=NAME)
    events = log_of(c.ActiveNoteSet(NOTES[0]), selected, c.NotePinned(NOTES[1]), called(5))
    return cut(whole_of(events, {NAME: TEXT}), last=3)


def test_a_bundle_is_a_zip_file_that_other_programs_read(part: Slice) -> None:
    with zipfile.ZipFile(io.BytesIO(bundled(part, [NAME]))) as file:
        assert file.testzip() is None
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert set(file.namelist()) == {"manifest.json", "state.json", "visits.json", "log.jsonl", f"blobs/{NAME}"}
        assert file.read("log.jsonl") == b"".join(export_lines("log-1", part.events))
        manifest = json.loads(file.read("manifest.json"))
    assert manifest == {
        "workspaced": "bundle",
        "version": 1,
        "log": "log-1",
        "first": 4,
        "last": 6,
        "created": "2026-03-02T00:00:00.000000Z",
        "redacted": False,
        "versions": {"workspaced": "0.1.0", "python": "3.11", "platform": "Linux", "fold": FOLD_VERSION},
        "missing": [],
    }


def test_blobs_are_given_back_by_their_names(part: Slice) -> None:
    with opened(bundled(part, [NAME])) as source:
        assert source.blob(NAME) == TEXT
        assert source.blob("0" * 64) is None
        assert source.blob("../manifest.json") is None


def test_blobs_that_are_gone_or_damaged_are_listed_and_no_error(part: Slice) -> None:
    blobs = {NAME: b"other", sha256(b"x").hexdigest(): b"x"}
    part = Slice("log-1", part.start, part.visits_json, part.events, whole_of(part.events, blobs).blob)
    with opened(bundled(part, [*blobs, "f" * 64])) as source:
        assert isinstance(source, BundleSource)
        assert set(source.manifest.missing) == {NAME, "f" * 64}
        assert source.blob(NAME) is None


def test_a_bundle_opens_from_a_file_and_closes_it(part: Slice, tmp_path: Path) -> None:
    path = tmp_path / "bug.wsb"
    path.write_bytes(bundled(part))
    with open_source(path) as source:
        assert isinstance(source, BundleSource)
        assert replay(source).last_seq == replay(source).last_seq == 6
        assert replay(source, until=5).state.seq == 5
        assert replay(source, until=5).state.of(V).pins != {}
    assert source._file.closed


def test_a_bundle_is_read_from_a_pipe(part: Slice, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(bundled(part),))
    writer.start()
    with open_source(pipe) as source:
        assert replay(source).last_seq == replay(source).last_seq == 6
    writer.join()


def test_a_start_folded_by_another_version_is_mentioned(part: Slice) -> None:
    def older(manifest: dict[str, Any]) -> None:
        manifest["versions"]["fold"] = FOLD_VERSION - 1

    with opened(bundled(part)) as source:
        assert source.feed(len) == []  # type: ignore[arg-type]
    with opened(remade(bundled(part), {"manifest.json": changed(older)})) as source:
        assert len(source.feed(len)) == 1  # type: ignore[arg-type]


# -- what is none --

Change = Callable[[bytes], bytes | None]


def remade(content: bytes, changes: dict[str, Change], more: dict[str, bytes] | None = None) -> bytes:
    """The zip file with some entries changed (None: left out) and some more."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            made = changes.get(name, bytes)(old.read(name))
            if made is not None:
                new.writestr(name, made)
        for name, each in (more or {}).items():
            new.writestr(name, each)
    return file.getvalue()


def changed(change: Callable[[Any], Any]) -> Change:
    def made(content: bytes) -> bytes:
        value = json.loads(content)
        change(value)
        return json.dumps(value).encode()

    return made


def read_whole(content: bytes) -> None:
    """Reads all that a replay would."""
    with opened(content) as source:
        source.feed(lambda _events: None)
        source.blob(NAME)


PARTS = ("manifest.json", "state.json", "visits.json", "log.jsonl")


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("content", [None, b"", b"\xff", b"null", b"[" * 100_000, b'{"workspaced":"log"}'])
def test_a_part_that_is_missing_or_nonsense_is_refused(part: Slice, name: str, content: bytes | None) -> None:
    if name == "state.json" and content is not None and content.startswith(b"{"):
        content = b'{"seq":"1"}'  # every field of a state may be left out
    with pytest.raises((InvalidArgument, LogDamaged)):
        read_whole(remade(bundled(part), {name: lambda _content: content}))


def has(field: str, value: Any) -> Change:
    return changed(lambda found: found.update({field: value}))


MISFITS: list[tuple[dict[str, Change], dict[str, bytes]]] = [
    *(({"manifest.json": has("first", first)}, {}) for first in (1, 5, 7)),
    *(({"manifest.json": has("last", last)}, {}) for last in (0, 5, 7)),
    ({"manifest.json": has("log", "another")}, {}),
    ({"state.json": has("seq", 4)}, {}),
    ({"visits.json": has("seq", 4)}, {}),
    ({"log.jsonl": lambda content: b"".join(content.splitlines(True)[:-1])}, {}),
    ({"log.jsonl": lambda content: b"".join(content.splitlines(True)[:1])}, {}),
    ({"log.jsonl": lambda content: b"".join(content.splitlines(True)[::2])}, {}),
    *(({}, {name: b"x"}) for name in ("../evil", "/etc/passwd", "blobs/../../x", "blobs/", "x\x1b")),
    *(({}, {f"blobs/{name}": b"x"}) for name in (NAME.upper(), f"{NAME}\n")),
    ({}, {"state.json": b"{}"}),
]
"""Parts that do not fit the others, entries of no bundle, and two entries of one name."""


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("changes", "more"), MISFITS)
def test_what_does_not_fit_is_refused(part: Slice, changes: dict[str, Change], more: dict[str, bytes]) -> None:
    with pytest.raises(LogDamaged):
        read_whole(remade(bundled(part), changes, more))


@pytest.mark.parametrize("changes", [{"version": 2}, {"workspaced": "log"}])
def test_a_newer_version_and_another_kind_are_named(part: Slice, changes: dict[str, Any]) -> None:
    newer = {"manifest.json": changed(lambda manifest: manifest.update(changes))}
    with pytest.raises(InvalidArgument, match="standard input"):
        opened(remade(bundled(part), newer, {"newer.json": b"{}"}))


def test_a_foreign_blob_is_found_when_it_is_read_and_named(part: Slice) -> None:
    with opened(remade(bundled(part, [NAME]), {f"blobs/{NAME}": lambda _text: b"foreign"})) as source:
        assert replay(source).last_seq == 6
        with pytest.raises(LogDamaged) as caught:
            source.blob(NAME)
    assert NAME in caught.value.message


def test_a_zip_bomb_is_refused_before_it_is_read(part: Slice, monkeypatch: pytest.MonkeyPatch) -> None:
    content = remade(bundled(part), {}, {f"blobs/{NAME}": bytes(100_000)})
    monkeypatch.setattr(bundle, "BUNDLE_ENTRY_BYTES_MAX", 50_000)
    with opened(content) as source, pytest.raises(LogDamaged):
        source.blob(NAME)
    monkeypatch.setattr(bundle, "BUNDLE_LOG_BYTES_MAX", 50)
    with pytest.raises(LogDamaged):
        opened(content)


def test_what_no_bundle_could_be_read_from_is_not_written(part: Slice, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("BUNDLE_ENTRY_BYTES_MAX", "BUNDLE_LOG_BYTES_MAX"):
        with monkeypatch.context() as patched, pytest.raises(InvalidArgument):
            patched.setattr(bundle, limit, 100)
            bundled(part, [NAME])


def test_another_compression_and_encryption_are_refused(part: Slice) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundled(part))) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(LogDamaged):
        read_whole(file.getvalue())
    encrypted = bytearray(bundled(part))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = encrypted.find(magic)
        while at >= 0:
            encrypted[at + offset] |= 1
            at = encrypted.find(magic, at + 4)
    with pytest.raises(LogDamaged):
        read_whole(bytes(encrypted))


def test_a_bundle_that_is_cut_off_anywhere_is_refused(part: Slice) -> None:
    content = bundled(part, [NAME])
    for size in [*range(0, len(content), 7), len(content) - 1]:
        with pytest.raises((LogDamaged, InvalidArgument)):
            read_whole(content[:size])


@given(st.data())
def test_a_flipped_bit_is_found_or_changes_nothing_that_is_read(data: st.DataObject) -> None:
    part = cut(whole_of(log_of(c.ActiveNoteSet(NOTES[0]), called(3)), {NAME: TEXT}))
    content = bytearray(bundled(part, [NAME]))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        with opened(bytes(content)) as source:
            assert [encode_event(each) for each in events_of(source)] == [encode_event(e) for e in part.events]
            assert source.start == part.start
            assert source.start_visits() == msgspec.json.decode(part.visits_json, type=VisitFold)
            assert source.blob(NAME) in (TEXT, None)
    except (LogDamaged, InvalidArgument):
        pass
