"""Verifying: nothing that changed goes unnoticed, neither in what was kept nor in what would be answered now."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support import session_machine as sessions
from support.profiles import some_of
from support.random_log import event_of
from support.session_machine import verified

from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.errors import LogDamaged
from workspaced_events.ids import NoteId, VaultId
from workspaced_events.projections.workspace_fold import apply
from workspaced_events.replay.source import DirectorySource
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import Event
from workspaced_tools.replay.verify import Outcome, Verified, verify

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_workspace_context", {"includeContent": True, "maxContentLength": 100}),
    ("get_current_note", {"includeLinks": True}),
    ("get_note_by_reference", {"reference": "b", "maxContentLength": 100}),
    ("search_workspace", {"query": "zebra"}),
    ("get_navigation_history", {}),
    ("get_workspace_summary", {}),
    ("get_note_by_reference", {"reference": "x" * 9_000}),
]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    made = sessions.Session(tmp_path)
    for name in made.vaults:
        sessions.write(made.vaults[name], "a.md", sessions.TEXTS[1])
        sessions.write(made.vaults[name], "b.md", sessions.TEXTS[7])
    made.open()
    made.publish(
        {"type": "active_note_set", "data": {"note": "a.md"}}, {"type": "note_pinned", "data": {"note": "b.md"}}
    )
    yield made
    made.dispose()


@pytest.fixture
def data(session: Any) -> Path:
    """A data directory with every call once; the vault is gone."""
    for tool, arguments in CALLS:
        session.call(tool, arguments)
    session.close()
    for folder in session.vaults.values():
        shutil.rmtree(folder)
    path: Path = session.data
    return path


def blob_file(data: Path, name: str | None) -> Path:
    assert name is not None
    return data / "served" / name[:2] / name


def test_what_was_served_is_answered_again(data: Path) -> None:
    found = verified(data)
    assert [each.called.tool for each in found] == [tool for tool, _ in CALLS]
    for each in found:
        assert each.outcome is Outcome.SAME and each.served == each.answered and not each.why


# -- what is kept changed --


@pytest.mark.parametrize("which", some_of(["result_sha256", "inputs_sha256", "arguments_sha256", "text"], 1))
def test_no_flipped_bit_of_a_blob_goes_unnoticed(data: Path, which: str) -> None:
    each = verified(data)[-1 if which == "arguments_sha256" else 2]
    if which == "text":
        recording = json.loads(DirectorySource(data).blob(each.called.inputs_sha256 or "") or b"")
        name = next(note["text"] for ask in recording["asked"] if ask["ask"] == "read" for note in ask["answer"])
    else:
        name = getattr(each.called, which)
    file = blob_file(data, name)
    whole = file.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        again = next(found for found in verified(data) if found.seq == each.seq)
        if EvictableBlobStore(data).get(name) is not None:  # the bit only fills the last byte up
            assert again == each
        else:
            assert again.outcome is Outcome.DAMAGED and file.name in again.why


def test_a_blob_that_is_gone_makes_its_calls_not_recorded_and_says_why(data: Path) -> None:
    context = verified(data)[0].called
    blob_file(data, context.inputs_sha256).unlink()
    first, *others = verified(data)
    assert first.outcome is Outcome.NOT_RECORDED and "swept" in first.why and first.served is not None
    assert {each.outcome for each in others} == {Outcome.SAME}


def test_an_answer_that_is_gone_is_still_compared_by_its_hash(data: Path, monkeypatch: Any) -> None:
    for each in verified(data):
        blob_file(data, each.called.result_sha256).unlink()
    assert {(each.outcome, each.served) for each in verified(data)} == {(Outcome.SAME, None)}
    monkeypatch.setattr("workspaced_tools.replay.verify.apply", without_pins)
    assert verified(data)[0].outcome is Outcome.DIFFERENT


def test_a_damaged_log_is_not_verified_any_further(data: Path) -> None:
    [segment] = (data / "log").glob("*.wlog")
    whole = bytearray(segment.read_bytes())
    whole[len(whole) // 2] ^= 4
    segment.write_bytes(bytes(whole))
    with pytest.raises(LogDamaged):
        verified(data)


# -- what would be answered changed --


def pinned_too_early(state: Any, event: Event) -> Any:
    """A fold with a bug."""
    wrong = msgspec.structs.replace(event, time="2026-02-28T00:00:00.000000Z")
    return apply(state, wrong if isinstance(event.data, c.NotePinned) else event)


def without_pins(state: Any, event: Event) -> Any:
    """Another one: tools then read other notes."""
    return state if isinstance(event.data, c.NotePinned) else apply(state, event)


def test_another_fold_is_noticed_where_it_shows(data: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("workspaced_tools.replay.verify.apply", pinned_too_early)
    context, current, *_ = verified(data)
    assert context.outcome is Outcome.DIFFERENT and context.served is not None and context.answered is not None
    assert b"2026-02-28" not in context.served and b"2026-02-28" in context.answered
    assert current.outcome is Outcome.SAME
    monkeypatch.setattr("workspaced_tools.replay.verify.apply", without_pins)
    assert verified(data)[0].outcome is Outcome.DIFFERENT


# -- moments --


def states_pass(session: Any, batches: int, size: int) -> None:
    """So many changes of state, some of them renames."""
    for batch in range(batches):
        actions = [{"type": "active_note_set", "data": {"note": "ab"[at % 2] + ".md"}} for at in range(size - 1)]
        rename = {"type": "note_renamed", "data": {"from": f"r{batch}.md", "to": f"r{batch + 1}.md"}}
        assert session.publish(*actions, rename) is None


def test_calls_recorded_long_after_their_moment_are_made_again_at_last(session: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("workspaced_tools.replay.verify._STATES_KEPT", 3)
    with session.service.call_recorder._writing:  # the call_recorder gets to nothing
        session.call("get_workspace_context")
        session.call("get_navigation_history")
        states_pass(session, 2, 10)
    session.call("get_workspace_context")
    found = session.check()
    assert [each.outcome for each in found] == [Outcome.SAME] * 3
    in_log = sorted(found, key=lambda each: each.seq)
    assert found == [in_log[2], in_log[0], in_log[1]]


def test_a_call_whose_moment_is_not_in_the_log_is_not_recorded(session: Any, monkeypatch: Any) -> None:
    session.call("get_navigation_history")
    session.close()
    with DirectorySource(session.data) as source:
        events: list[Event] = []
        source.feed(events.extend)
        [call] = [event for event in events if isinstance(event.data, c.ToolCalled)]
        forged = msgspec.structs.replace(call.data, tail_seq=10**6)
        rename = c.NoteRenamed(NoteId("a.md"), NoteId("b.md"))
        renames = [event_of(call.seq + at, rename, VaultId("one")) for at in (1, 2)]
        events = [event for event in events if event.seq < call.seq]
        events += [msgspec.structs.replace(call, data=forged), *renames]

        class Forged(DirectorySource):
            def feed(self, sink: Callable[[list[Event]], None], progress: Any = None) -> list[str]:
                sink(events)
                return []

        monkeypatch.setattr("workspaced_tools.replay.verify._STATES_KEPT", 1)
        monkeypatch.setattr("workspaced_tools.replay.verify.Moments.visits_at", too_long_ago)
        found: list[Verified] = []
        verify(Forged(session.data), found.append)
    [each] = found
    assert each.outcome is Outcome.NOT_RECORDED and "moment" in each.why


def too_long_ago(*_args: Any) -> Any:
    from workspaced_tools.replay.verify import StateNotRetained

    raise StateNotRetained
