"""Recorded calls read out of a log: a list, one whole, and the difference of two."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_log import event_of

from workspaced_events.schema.catalogue import Event, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.recording.call_diff import compared, readable_json
from workspaced_tools.recording.format import Recording
from workspaced_tools.recording.recorded_calls import listed, recorded_call
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run

LONG = "A sentence of a long note. " * 300


class Log:
    """A log in memory, and the recording of calls into it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.blobs: dict[str, bytes] = {}

    def blob(self, name: str) -> bytes | None:
        return self.blobs.get(name)

    def append(self, data: Any) -> Event:
        self.events.append(event_of(len(self.events) + 1, data, None))
        return self.events[-1]

    def keep(self, content: bytes, name: str | None = None) -> str:
        name = name or sha256(content).hexdigest()
        self.blobs[name] = content
        return name

    def called(self, tool: str, arguments: dict[str, Any], answer: bytes, **more: Any) -> Event:
        """Records a call; its answer is kept unless `kept` is false."""
        kept = more.pop("kept", True)
        name = sha256(answer).hexdigest()
        if kept:
            self.keep(answer)
        facts = {"caller": "agent", "as_of_seq": 0, "duration_us": 1_000, "ok": True, "now": "", **more}
        return self.append(
            ToolCalled(tool=tool, arguments=arguments, result_sha256=name, bytes=len(answer), **facts)
        )

    def call(self, tool: str, view: View, caller: str = "agent", **arguments: Any) -> Event:
        """Calls a tool as the daemon does, and records it."""
        recorder = ViewRecorder(view, view.state)
        result = run(TOOLS[tool], recorder.view, arguments)
        inputs = self.keep(recorded(recorder, caller, self.keep))
        return self.called(
            tool,
            arguments,
            payload_of(result),
            caller=caller,
            as_of_seq=view.as_of_seq,
            now=view.now,
            ok=result["success"],
            inputs_sha256=inputs,
        )


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def look(make_vault: Callable[..., Any], make_state: Callable[..., Any], make_view: Callable[..., View]) -> Any:
    """look(files, active=..., pins=...) -> a View over those notes."""

    def make(files: dict[str, str], **state: Any) -> View:
        return make_view(make_vault(files), make_state(**state))

    return make


NOTES = {
    "a.md": "# Alpha\n\nThe first note.\n",
    "b.md": "# Beta\n\nSee [[a]].\n",
    "long.md": f"# Long\n\n{LONG}\n",
}


# -- one whole --


def test_what_is_not_kept_is_said_with_what_to_do(log: Log, look: Any) -> None:
    off = recorded_call(log.called("a", {}, b"{}", kept=False), log.blob)
    event = log.call("get_current_note", look(NOTES, active="a.md"))
    log.blobs.clear()
    swept = recorded_call(event, log.blob)
    for call, hint in ((off, "record = served"), (swept, "record_bytes")):
        assert call.recording is None and hint in call.why
        with pytest.raises(NotRecorded) as refused:
            call.answer()
        assert hint in refused.value.hint


def test_a_recording_of_a_newer_version_or_none_at_all_is_said(log: Log) -> None:
    for content in (msgspec.json.encode(Recording(version=99)), b"[]"):
        inputs = log.keep(content)
        call = recorded_call(log.called("a", {}, b"{}", inputs_sha256=inputs), log.blob)
        assert call.recording is None and call.why and call.answer() == b"{}"


def test_long_arguments_are_shown_with_the_call_and_left_out_of_the_list(log: Log) -> None:
    calls = []
    for word in ("one", "two", "two"):
        name = log.keep(msgspec.json.encode({"query": word * 2_000}))
        calls.append(log.called("search_workspace", {}, b"{}", arguments_sha256=name))
    first, second, third = (recorded_call(event, log.blob) for event in calls)
    assert first.arguments == {"query": "one" * 2_000}
    assert listed(calls[0], log.blob).arguments == {} and listed(calls[0], log.blob).arguments_sha256
    (line,) = compared(first, second).call
    assert line.startswith('query: "oneone') and '-> "twotwo' in line
    assert compared(second, third).call == []
    log.blobs.pop(calls[0].data.arguments_sha256)
    gone = recorded_call(calls[0], log.blob)
    assert gone.arguments is None and gone.why and gone.answer() == b"{}"
    alike = log.keep(msgspec.json.encode({"query": "two" * 1_999, "limit": True}))
    other = recorded_call(log.called("search_workspace", {}, b"{}", arguments_sha256=alike), log.blob)
    assert [each.partition(":")[0] for each in compared(second, other).call] == ["query", "limit"]
    assert compared(gone, second).call == ["arguments: they differ, and are not kept"]


# -- the difference of two --


def test_arguments_and_questions_that_differ_are_named(log: Log, look: Any) -> None:
    view = look(NOTES)
    first = log.call("get_note_by_reference", view, "one", reference="a.md")
    second = log.call("get_note_by_reference", view, "two", reference="b.md", includeContent=False)
    found = compared(recorded_call(first, log.blob), recorded_call(second, log.blob))
    assert found.call == [
        'client: "one" -> "two"',
        'reference: "a.md" -> "b.md"',
        "includeContent: not given -> false",
    ]
    assert "note a.md was read by call 1 only" in found.inputs
    assert 'resolve["b.md"] was asked by call 2 only' in found.inputs


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, JSON)
def test_readable_lines_tell_values_apart_and_lose_nothing(one: Any, two: Any) -> None:
    encoded = [msgspec.json.encode(value) for value in (one, two)]
    lines = [readable_json(each) for each in encoded]
    assert (lines[0] == lines[1]) == (encoded[0] == encoded[1])
    joined = "".join(line if line.endswith("\\n") else f"{line}\n" for line in lines[0])
    assert not any("\n" in line for line in lines[0])
    if "\\n" not in encoded[0].decode():
        assert json.loads(joined) == one
