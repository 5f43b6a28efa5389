"""Recorded calls read out of a log: a list, one whole, the difference of two, and what they cost."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspaced_events.ids import EventId
from workspaced_events.schema.catalogue import CATALOGUE, Event, ToolCalled
from workspaced_tools.errors import NotRecorded
from workspaced_tools.ports.view import View
from workspaced_tools.prompts.model.token_estimate import (
    estimate_json_tokens,
    estimate_tokens,
)
from workspaced_tools.recording.call_diff import compared, readable_json
from workspaced_tools.recording.format import Recording
from workspaced_tools.recording.recorded_calls import (
    listed,
    recorded_call,
    texts_of,
)
from workspaced_tools.recording.usage import Usage, UsageCounter
from workspaced_tools.recording.view_recorder import ViewRecorder, recorded
from workspaced_tools.tools.registry import TOOLS
from workspaced_tools.tools.tool import payload_of, run

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = "A sentence of a long note. " * 300


class Log:
    """A log in memory, and the recording of calls into it."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.blobs: dict[str, bytes] = {}
        self.now = START

    def blob(self, name: str) -> bytes | None:
        return self.blobs.get(name)

    def append(self, data: Any) -> Event:
        name = next(name for name, entry in CATALOGUE.items() if entry.data is type(data))
        time = self.now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        seq = len(self.events) + 1
        event: Event = CATALOGUE[name].event(seq, EventId(str(seq)), time, "test", None, data)
        self.events.append(event)
        return event

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

    def usage(self) -> Usage:
        counter = UsageCounter(self.blob)
        counter.feed(self.events)
        return counter.usage()


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
    assert log.usage().used[0].repeated == 1
    log.blobs.pop(calls[0].data.arguments_sha256)
    gone = recorded_call(calls[0], log.blob)
    assert gone.arguments is None and gone.why and gone.answer() == b"{}"
    alike = log.keep(msgspec.json.encode({"query": "two" * 1_999, "limit": True}))
    other = recorded_call(log.called("search_workspace", {}, b"{}", arguments_sha256=alike), log.blob)
    assert [each.partition(":")[0] for each in compared(second, other).call] == ["query", "limit"]
    assert compared(gone, second).call == ["arguments: they differ, and are not kept"]


# -- the difference of two --


def pair(log: Log, first: Event, second: Event) -> Any:
    return compared(recorded_call(first, log.blob), recorded_call(second, log.blob))


def test_arguments_and_questions_that_differ_are_named(log: Log, look: Any) -> None:
    view = look(NOTES)
    first = log.call("get_note_by_reference", view, "one", reference="a.md")
    second = log.call("get_note_by_reference", view, "two", reference="b.md", includeContent=False)
    found = pair(log, first, second)
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


# -- statistics --


def test_calls_are_counted_by_tool_and_client(log: Log) -> None:
    for took in range(100):
        log.called("a", {"n": took}, b"x" * 40, duration_us=took)
    log.called("a", {}, b"failed", ok=False)
    log.called("a", {}, b"{}", caller="other")
    usage = log.usage()
    assert (usage.calls, usage.not_kept) == (102, 0)
    mine, other = usage.used
    assert (mine.tool, mine.caller, mine.calls, mine.failures) == ("a", "agent", 101, 1)
    assert (mine.bytes, mine.tokens) == (4_006, 1_803)
    assert (mine.p50_us, mine.p99_us) == (50, 99)
    assert (other.caller, other.calls) == ("other", 1)


def test_an_answer_that_the_client_had_counts_as_repeated(log: Log) -> None:
    for _ in range(3):
        log.called("a", {"x": 1, "y": 2}, b"x" * 40)
    log.called("a", {"y": 2, "x": 1}, b"x" * 40)
    log.called("a", {"x": 2, "y": 1}, b"x" * 40)
    log.called("a", {"x": 1, "y": 2}, b"y" * 40)
    log.called("a", {"x": 1, "y": 2}, b"x" * 40, caller="other")
    used = {each.caller: each for each in log.usage().used}
    assert (used["agent"].repeated, used["agent"].repeated_tokens) == (3, 54)
    assert used["other"].repeated == 0


# -- what would have been cheaper --


def advice(log: Log) -> dict[str, tuple[int, int]]:
    return {each.rule: (each.calls, each.example) for each in log.usage().advised}


def test_texts_that_were_given_before_need_no_content(log: Log, look: Any) -> None:
    files = {**NOTES, "c.md": "# Gamma\n"}
    log.call("get_workspace_context", look(files, active="long.md", pins=("a.md",)), includeContent=True)
    view = look(files, active="a.md", pins=("long.md",))
    log.call("get_workspace_context", view, includeContent=True, includeMetadata=False)
    (found,) = log.usage().advised
    texts = texts_of(log.blobs[log.events[1].data.result_sha256])
    assert (found.rule, found.example) == ("sameTexts", 2)
    assert found.tokens == sum(estimate_tokens(text.content) for text in texts)
    log.call("get_workspace_context", look(files, active="a.md", pins=("c.md",)), includeContent=True)
    assert advice(log) == {"sameTexts": (1, 2)}


def test_a_text_that_stood_in_the_context_needs_no_call(log: Log, look: Any) -> None:
    view = look(NOTES, active="long.md", pins=("a.md",))
    log.call("get_workspace_context", view, includeContent=True)
    log.call("get_note_by_reference", view, reference="alpha")
    assert advice(log) == {"sameText": (1, 2)}
    (found,) = log.usage().advised
    assert found.tokens == estimate_json_tokens(log.blobs[log.events[1].data.result_sha256].decode())


def test_metadata_that_stood_before_can_be_left_out(log: Log, look: Any) -> None:
    view = look(NOTES, active="a.md")
    log.call("get_workspace_context", view)
    log.call("get_workspace_context", view, includeContent=True)
    assert advice(log) == {"sameMetadata": (1, 2)}


def test_a_longer_beginning_can_be_read_on(log: Log, look: Any) -> None:
    view = look(NOTES)
    log.call("get_note_by_reference", view, reference="long", maxContentLength=1_000)
    first = texts_of(log.blobs[log.events[0].data.result_sha256])[0].content
    log.call("get_note_by_reference", view, reference="long", maxContentLength=5_000)
    (found,) = log.usage().advised
    assert (found.rule, found.tokens) == ("readOn", estimate_tokens(first))
    log.call("get_note_by_reference", view, reference="long", offset=5_000)
    log.call("get_note_by_reference", view, "reader", reference="long", maxContentLength=1_000)
    log.call("get_note_by_reference", view, "reader", reference="long", maxContentLength=5_000, offset=1_000)
    assert advice(log) == {"readOn": (1, 2)}


def test_a_limit_beyond_what_there_was_can_be_left_out(log: Log, look: Any) -> None:
    view = look({f"{n}.md": "word\n" for n in range(12)} | {"x.md": "rare word\n"})
    log.call("search_workspace", view, query="rare", limit=50)
    assert advice(log) == {"limitInVain": (1, 1)}
    log.call("search_workspace", view, query="word", limit=50)
    log.call("search_workspace", view, query="rare", limit=5)
    log.call("search_workspace", view, query="rare")
    assert advice(log) == {"limitInVain": (1, 1)}


def test_a_length_that_was_never_reached_can_be_left_out(log: Log, look: Any) -> None:
    view = look(NOTES)
    log.call("get_note_by_reference", view, reference="alpha", maxContentLength=10_000)
    assert advice(log) == {"lengthInVain": (1, 1)}
    log.call("get_note_by_reference", view, reference="long", maxContentLength=10_000)
    log.call("get_note_by_reference", view, reference="beta", maxContentLength=500)
    assert advice(log) == {"lengthInVain": (1, 1)}


def test_calls_of_a_past_moment_and_answers_of_other_versions_are_left_alone(log: Log) -> None:
    log.called("get_workspace_context", {}, b'{"success":true,"data":{"lists":7}}')
    log.called("search_workspace", {"limit": 50, "at": 3}, b'{"success":true,"data":{"total":0}}')
    log.called("search_workspace", {"limit": 50}, b'{"success":true,"data":{"total":"none"}}')
    log.called("no_tool_of_ours", {"maxContentLength": 5}, b'{"success":true,"data":{"content":"x"}}')
    assert advice(log) == {} and log.usage().calls == 4


def test_more_is_never_saved_than_was_served(log: Log, look: Any) -> None:
    rng = random.Random(7)
    views = [look(NOTES, active=active, pins=("b.md",)) for active in NOTES]
    for _ in range(120):
        tool = rng.choice(["get_workspace_context", "get_current_note", "get_note_by_reference"])
        arguments: dict[str, Any] = {"maxContentLength": rng.choice([200, 2_000, 9_000])}
        if tool == "get_workspace_context":
            arguments["includeContent"] = rng.random() < 0.7
        elif tool == "get_note_by_reference":
            arguments["reference"] = rng.choice([*NOTES, "nothing"])
        log.call(tool, rng.choice(views), rng.choice(["one", "two"]), **arguments)
    usage = log.usage()
    assert usage.advised == sorted(usage.advised, key=lambda each: -each.tokens) and usage.advised
    for each in usage.used:
        mine = [saved for saved in usage.advised if (saved.tool, saved.caller) == (each.tool, each.caller)]
        assert each.repeated + sum(saved.calls for saved in mine) <= each.calls
        assert each.repeated_tokens + sum(saved.tokens for saved in mine) <= each.tokens
