"""Calls are recorded in their order by another thread, and nothing that goes wrong there reaches an answer."""

import shutil
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support import session_machine as sessions

from workspaced.calls.calls import ToolAnswer
from workspaced.limits import ARGUMENTS_INLINE_BYTES_MAX
from workspaced.recording import call_recorder as recorder_module
from workspaced.recording.call_recorder import Call, CallRecorder
from workspaced_events.blobs.evictable import EvictableBlobStore
from workspaced_events.errors import LogReadOnly
from workspaced_events.schema.catalogue import ToolCalled
from workspaced_tools.recording.format import raised
from workspaced_tools.replay.verify import Outcome
from workspaced_tools.sharing.gate import sharing_off

NOW = "2026-03-01T12:00:00.000000Z"


def call(number: int, **arguments: Any) -> Call:
    """One that was refused: the smallest there is."""
    answer = ToolAnswer(b'{"answer":%d}' % number, False, number, number + 1, NOW, raised(sharing_off("x")))
    return Call(f"tool-{number}", "agent", arguments, answer, 5)


class Blobs(EvictableBlobStore):
    """The real ones, which tell on which thread they were used."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        self.threads: set[int] = set()

    def keep(self, content: bytes, name: str | None = None) -> str:
        self.threads.add(threading.get_ident())
        return super().keep(content, name)


class Log:
    """Where events go."""

    def __init__(self) -> None:
        self.events: list[ToolCalled] = []
        self.threads: set[int] = set()

    def submit(self, called: ToolCalled) -> None:
        self.threads.add(threading.get_ident())
        self.events.append(called)


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path)


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Any]:
    made = sessions.Session(tmp_path, ("one",))
    sessions.write(made.vaults["one"], "a.md", sessions.TEXTS[1])
    yield made
    made.dispose()


# -- what is recorded --


def test_events_come_in_the_order_of_the_calls_and_name_what_is_kept(blobs: Blobs, log: Log) -> None:
    call_recorder = CallRecorder(blobs, log.submit)
    for number in range(5):
        call_recorder.record(call(number, limit=number))
    call_recorder.flush()
    assert [each.tool for each in log.events] == [f"tool-{number}" for number in range(5)]
    event = log.events[3]
    assert (event.caller, event.arguments, event.as_of_seq, event.tail_seq) == ("agent", {"limit": 3}, 3, 4)
    assert (event.ok, event.now, event.duration_us, event.bytes) == (False, NOW, 5, len(b'{"answer":3}'))
    assert blobs.get(event.result_sha256) == b'{"answer":3}'
    assert event.inputs_sha256 is not None and b"refused" in (blobs.get(event.inputs_sha256) or b"")


def test_what_an_event_names_is_kept_before_it_is_submitted(blobs: Blobs) -> None:
    missing = []

    def submit(called: ToolCalled) -> None:
        names = (called.result_sha256, called.inputs_sha256, called.arguments_sha256)
        missing.extend(name for name in names if name is None or blobs.get(name) is None)

    call_recorder = CallRecorder(blobs, submit)
    call_recorder.record(call(1, query="x" * ARGUMENTS_INLINE_BYTES_MAX))
    call_recorder.flush()
    assert missing == []


def test_what_a_sweep_may_have_removed_is_stored_again(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session.open()
    session.call("get_note_by_reference", {"reference": "a.md"})
    session.service.call_recorder.flush()
    shutil.rmtree(session.data / "served")
    monkeypatch.setattr(recorder_module, "_LAST_S", 0.0)
    session.call("get_note_by_reference", {"reference": "a.md"})
    session.service.call_recorder.flush()
    assert [each.outcome for each in session.verified()] == [Outcome.SAME] * 2


# -- on which thread --


def test_nothing_but_taking_it_is_done_on_the_thread_of_the_caller(
    blobs: Blobs, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: set[int] = set()

    def sha(content: bytes) -> Any:
        hashed.add(threading.get_ident())
        return sha256(content)

    monkeypatch.setattr(recorder_module.hashlib, "sha256", sha)
    call_recorder = CallRecorder(blobs, log.submit)
    call_recorder.start()
    for number in range(50):
        call_recorder.record(call(number))
    call_recorder._thread.join(0)
    closing = threading.Thread(target=call_recorder.close)
    closing.start()
    closing.join()
    assert len(log.events) == 50
    assert threading.get_ident() not in blobs.threads | log.threads | hashed


def test_closing_submits_what_waits(blobs: Blobs, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "CALL_RECORDER_DELAY_S", 60.0)
    call_recorder = CallRecorder(blobs, log.submit)
    call_recorder.start()
    for number in range(3):
        call_recorder.record(call(number))
    call_recorder.close()
    assert len(log.events) == 3 and not call_recorder._thread.is_alive()


# -- too much, and trouble --


def test_above_its_bounds_calls_are_recorded_without_what_they_read(
    blobs: Blobs, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "CALL_RECORDER_WAITING_MAX", 3)
    call_recorder = CallRecorder(blobs, log.submit)
    for number in range(5):
        call_recorder.record(call(number))
    assert call_recorder.skipped == 2
    assert [(each.tool, each.inputs_sha256) for each in log.events] == [("tool-3", None), ("tool-4", None)]
    call_recorder.flush()
    assert [each.tool for each in log.events[2:]] == ["tool-0", "tool-1", "tool-2"]
    assert all(each.inputs_sha256 for each in log.events[2:])
    call_recorder.record(call(5))
    call_recorder.flush()
    assert log.events[-1].inputs_sha256 is not None and call_recorder.skipped == 2


def test_a_store_that_cannot_be_written_is_a_problem_until_it_can(
    blobs: Blobs, log: Log, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "served").write_text("in the way")
    call_recorder = CallRecorder(blobs, log.submit)
    for number in range(3):
        call_recorder.record(call(number))
    call_recorder.flush()
    assert [each.inputs_sha256 for each in log.events] == [None] * 3
    assert call_recorder.problem is not None and len(caplog.records) == 1
    (tmp_path / "served").unlink()
    call_recorder.record(call(3))
    call_recorder.flush()
    assert call_recorder.problem is None and log.events[-1].inputs_sha256 is not None


def test_a_submission_that_is_refused_does_not_end_the_recorder(
    session: Any, monkeypatch: Any, caplog: Any
) -> None:
    session.open()

    def refuse(*_args: Any, **_named: Any) -> None:
        raise LogReadOnly("No more of that.")

    with monkeypatch.context() as patched:
        patched.setattr(session.service.writer, "submit", refuse)
        session.call("get_workspace_context")
        session.service.call_recorder.flush()
    session.call("get_workspace_summary")
    assert [each.called.tool for each in session.verified()] == ["get_workspace_summary"]
