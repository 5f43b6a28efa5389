"""Spans of a real daemon's calls and prompts, at a receiver: live, and once from the log."""

import json
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.model_server import ModelServer
from support.otlp_receiver import Received, Receiver
from support.patience import PATIENCE_S
from support.proxy import Proxy
from support.stored_logs import as_export

from workspaced.cli import run
from workspaced.demo.morning import INSTALLED
from workspaced_events.ids import EventId
from workspaced_events.schema import catalogue as c
from workspaced_events.schema.catalogue import ENTRY_OF

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"
NOTES = {"a.md": "# Secretariat\n\nAlpha is red.\n", "b.md": "# Beta\n\nBeta is blue.\n"}
NONSENSE = [
    "nonsense",
    "",
    7,
    {"traceparent": PARENT},
    f"ff-{TRACE}-{SPAN}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"00-{'0' * 32}-{SPAN}-01",
    f"00-{TRACE}-{SPAN}-01-more",
    PARENT.upper(),
    PARENT + "\n",
    PARENT * 1_000,
]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    with made as url:
        made.url = url
        yield made


def tracing(daemon: Any, url: str, **more: Any) -> Any:
    """A daemon whose user looks at a note, and that sends its spans to `url`."""
    running = daemon(notes=NOTES, env={"WORKSPACED_TRACES": json.dumps({"otlp": url}), **more})
    running.publish("active_note_set", note="a.md")
    return running


def call(client: Any, tool: str, traceparent: Any = None, **arguments: Any) -> Any:
    meta = {"_meta": {"traceparent": traceparent}} if traceparent is not None else {}
    return client.call("tools/call", {"name": tool, "arguments": arguments, **meta})


def tell(running: Any, session: str) -> None:
    """An agent is told of the workspace without asking."""
    offered = running.call("workspaced/volunteer", {"client": "agent", "session": session, "event": "Prompt"})
    assert running.call("workspaced/volunteer/confirm", {"token": offered["token"]})["recorded"]


def recorded(running: Any, kind: str, count: int) -> None:
    """Waits until the log holds so many events of a type."""
    with running.connect() as client:
        notices = client.events(since=0, types=[kind])
        while count > 0:
            count -= len(next(notices).params["events"])


def once(running: Any, url: str, *flags: str) -> Any:
    return running.cli("traces", str(running.data), "--otlp", url, *flags)


def counts(client: Any, wanted: Any) -> dict[str, Any]:
    """The traces in the daemon's status, once they are as wanted."""
    deadline = time.monotonic() + PATIENCE_S
    while not wanted(status := client.call("workspaced/status")):
        assert time.monotonic() < deadline, status
        time.sleep(0.05)
    return dict(status)


def shape(spans: Iterable[Received]) -> list[tuple[str, str, str]]:
    """Each span's name, and whose child it is: `SPAN` is the client's."""
    spans = list(spans)
    names = {span.span_id: span.name for span in spans} | {SPAN: "client", "": ""}
    return [(span.name, names[span.parent_id], TRACE if span.trace_id == TRACE else "") for span in spans]


def test_calls_arrive_while_the_daemon_runs_and_hang_from_the_spans_of_their_clients(
    daemon: Any, receiver: Receiver
) -> None:
    running = tracing(daemon, receiver.url, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20key")
    with running.connect(name="agent") as client:
        call(client, "get_current_note", PARENT)
        call(client, "get_note_by_reference", reference="nowhere to be found")
        client.call("resources/read", {"uri": "workspace://context", "_meta": {"traceparent": PARENT}})
        client.call("prompts/get", {"name": "workspace", "_meta": {"traceparent": PARENT}})
    spans = receiver.wait_for(4)
    assert shape(spans) == [
        ("tools/call get_current_note", "client", TRACE),
        ("tools/call get_note_by_reference", "", ""),
        ("tools/call get_workspace_context", "client", TRACE),
        ("tools/call get_workspace_context", "client", TRACE),
    ]
    assert [span.is_error for span in spans] == [False, True, False, False]
    failed = spans[1]
    assert failed.kind == 2 and failed.schema_url == "https://opentelemetry.io/schemas/1.41.0"
    assert failed.end_ns > failed.start_ns and abs(time.time_ns() - failed.start_ns) < 3600 * 1e9
    assert failed.attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_note_by_reference",
        "error.type": "tool_error",
        "workspaced.client": "agent",
        "workspaced.answer.bytes": failed.attributes["workspaced.answer.bytes"],
        "workspaced.log": running.connect().server["clock"].rpartition(":")[0],
        "workspaced.seq": failed.seq,
        "workspaced.inspect": f"workspaced inspect --at {failed.seq}",
    }
    with running.connect() as client:
        recorded = client.call("workspaced/call", {"seq": failed.seq})
        assert recorded["event"]["data"]["arguments"] == {"reference": "nowhere to be found"}
        status = counts(client, lambda status: status["traces"]["sent"] == 4)
    assert status["traces"] == {"otlp": receiver.url, "sent": 4, "dropped": 0, "ignoredParents": 0}
    assert status["degraded"] == []
    assert {each["authorization"] for each in receiver.headers} == {"Bearer key"}


def test_a_prompt_through_the_proxy_has_its_tokens_and_what_was_inserted_as_a_child(
    daemon: Any, receiver: Receiver
) -> None:
    message = {"role": "user", "content": "What is red?"}
    body = {"model": "m", "max_tokens": 9, "messages": [message]}
    running = tracing(daemon, receiver.url)
    with ModelServer() as upstream, Proxy(running, upstream) as proxy:
        for count, headers in enumerate(({"traceparent": PARENT}, {"traceparent": "nonsense"}, {}), start=1):
            assert proxy.request("POST", "/v1/messages", body, headers).context == "added"
            recorded(running, "prompt_answered", count)  # or the next one may be recorded first
    spans = receiver.wait_for(4)
    with running.connect() as client:
        assert counts(client, lambda _: True)["traces"]["ignoredParents"] == 1
    inserted, chat, ignored, none = spans
    assert shape(spans) == [
        ("volunteer_context", "chat", TRACE),
        ("chat", "client", TRACE),
        ("chat", "", ""),
        ("chat", "", ""),
    ]
    assert inserted.kind == 1 and chat.kind == 3 and ignored.trace_id != none.trace_id
    assert all(each.end_ns > each.start_ns for each in (chat, ignored, none))
    assert chat.attributes["gen_ai.provider.name"] == "anthropic"
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0 < chat.attributes["gen_ai.usage.output_tokens"]
    assert chat.attributes["gen_ai.usage.cache_read.input_tokens"] == 0
    assert inserted.attributes["gen_ai.conversation.id"] == chat.attributes["gen_ai.conversation.id"]


def test_a_traceparent_of_nonsense_is_counted_and_the_call_goes_on(daemon: Any, receiver: Receiver) -> None:
    running = tracing(daemon, receiver.url)
    with running.connect() as client:
        for told in NONSENSE:
            assert call(client, "get_current_note", told)["isError"] is False
        for meta in (None, 7, [], "x", {}, {"traceparent": None}):
            given = {"name": "get_current_note", "_meta": meta}
            assert client.call("tools/call", given)["isError"] is False
        status = counts(client, lambda _: True)
        assert status["traces"]["ignoredParents"] == len(NONSENSE)
    spans = receiver.wait_for(len(NONSENSE) + 6)
    assert {span.parent_id for span in spans} == {""}
    assert len({span.trace_id for span in spans}) == len(spans)
    assert "11 times a client's traceparent was nonsense" in running.cli("status").stdout


def test_a_trace_that_its_client_does_not_sample_gets_no_spans(daemon: Any, receiver: Receiver) -> None:
    running = tracing(daemon, receiver.url)
    with running.connect() as client:
        call(client, "get_current_note", f"00-{TRACE}-{SPAN}-00")
        call(client, "get_current_note", f"cc-{TRACE}-{SPAN}-01-what-comes-later")
        (span,) = receiver.wait_for(1)
    assert (span.trace_id, span.parent_id) == (TRACE, SPAN)
    assert once(running, receiver.url).returncode == 0
    assert [each.span_id for each in receiver.wait_for(2)] == [span.span_id] * 2


def test_a_log_gives_the_same_spans_each_time_and_those_that_were_sent_live_without_texts_and_names(
    daemon: Any,
) -> None:
    live, first, second = Receiver(), Receiver(), Receiver()
    with live as url, first as url_1, second as url_2:
        running = tracing(daemon, url)
        tell(running, "my-chat-about-Alpha")
        with running.connect() as client:
            for traceparent in (None, PARENT):
                call(client, "search_workspace", traceparent, query="Alpha")
        live.wait_for(3)
        with running.connect() as client:
            call(client, "get_current_note")  # it is recorded, and sent, while the daemon ends
        assert running.stop() == 0
        live.wait_for(4)
        for each in (url_1, f"{url_2}/v1/traces"):
            assert once(running, each).stdout == f"4 spans sent to {each}\n"
    assert live.spans == first.spans == second.spans
    assert first.spans[0].name == "volunteer_context"
    sent = b"".join((*live.bodies, *first.bodies))
    for word in (b"a.md", b"Secretariat", b"Alpha", b"red", str(running.vault).encode()):
        assert word not in sent


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["gone", "503", "hangs"])
def test_the_daemon_answers_and_ends_whatever_the_receiver_does(daemon: Any, how: str) -> None:
    receiver = Receiver(int(how) if how.isdigit() else 200, hangs=how == "hangs")
    with receiver as url:
        running = tracing(daemon, url if how != "gone" else "http://127.0.0.1:9")
        with running.connect() as client:
            call(client, "get_current_note")
            if how != "gone":
                assert receiver.asked.wait(PATIENCE_S)
            assert call(client, "get_current_note")["isError"] is False
            status = counts(client, lambda status: status["traces"]["dropped"])
            assert status["traces"]["sent"] == 0
            assert status["degraded"][0].startswith("Traces: ")
        assert "Start the receiver" in running.cli("doctor").stdout
        assert running.stop() == 0


@pytest.mark.parametrize("status", [500, 401])
def test_what_a_receiver_does_not_take_once_is_counted(daemon: Any, status: int) -> None:
    running, receiver = daemon(start=False), Receiver(status)
    with receiver as url:
        done = running.cli("traces", str(INSTALLED), "--otlp", url, "--json")
        error = json.loads(done.stdout)["error"]
        assert done.returncode == 1 and error["code"] == "NOT_DELIVERED"
        lost = re.match(rf"(\d+) of (\d+) spans were not delivered to {re.escape(url)}: ", error["message"])
        assert lost and lost[1] == lost[2] and str(status) in error["message"]
    assert receiver.spans == []


def told_texts(spans: Iterable[Received]) -> list[list[str]]:
    """Which of the words that only one note has each span's texts hold."""
    texts = [" ".join(str(value) for value in span.attributes.values()) for span in spans]
    return [[word for word in ("red", "blue") if word in text] for text in texts]


@pytest.mark.thorough
def test_texts_leave_where_the_user_wants_them_but_for_notes_that_are_withheld_or_forgotten(daemon: Any) -> None:
    def again() -> list[list[str]]:
        receiver = Receiver()
        with receiver as url:
            assert once(running, url, "--texts").returncode == 0
        return told_texts(receiver.spans)

    live = Receiver()
    with live as url:
        running = tracing(daemon, url, WORKSPACED_TRACES=json.dumps({"otlp": url, "texts": True}))
        with running.connect(name="agent") as client:
            client.publish([{"type": "note_pinned", "data": {"note": "b.md"}}])
            recorded(running, "note_shown", 2)
            call(client, "get_current_note")
            call(client, "get_note_by_reference", reference="b.md")
            call(client, "get_note_by_reference", reference="the blue secret")
            spans = live.wait_for(3)
            assert told_texts(spans) == [["red"], ["blue"], []]
            assert json.loads(spans[1].attributes["gen_ai.tool.call.arguments"]) == {"reference": "b.md"}
            assert json.loads(spans[1].attributes["gen_ai.tool.call.result"])["success"] is True
            assert again() == [["red"], ["blue"], []]
            running.add({"b.md": "---\nworkspaced: private\n---\nBeta is blue.\n"})
            call(client, "get_workspace_context", includeContent=True)
            assert told_texts(live.wait_for(4)) == [["red"], ["blue"], [], ["red"]]
    assert again() == [["red"], [], [], ["red"]]
    assert running.stop() == 0
    (running.vault / ".workspacedignore").write_text("a.md\n")
    assert again() == [[], [], [], []]
    (running.vault / ".workspacedignore").unlink()
    assert again() == [["red"], [], [], ["red"]]
    assert running.cli("forget", "a.md", "--data-dir", str(running.data), "--yes").returncode == 0
    assert again() == [[]]


def test_a_prompt_that_is_not_answered_in_time_has_no_length_and_a_late_answer_is_a_span_of_its_own(
    daemon: Any, tmp_path: Path
) -> None:
    def at(minute: int) -> str:
        return f"2026-03-01T12:{minute:02}:00.000000Z"

    def sent(name: str) -> Any:
        return c.PromptOverlaid("proxy", name, "0" * 64)

    def answered(name: str) -> Any:
        return c.PromptAnswered("proxy", name, "0" * 64, 9, 4, 2)

    told = [
        (0, sent("late-1")),
        (5, sent("soon-1")),
        (5, sent("never-1")),
        (11, answered("late-1")),
        (11, answered("soon-1")),
    ]
    events = [
        ENTRY_OF[type(data)].event(seq, EventId(f"id-{seq}"), at(minute), "proxy", None, data)
        for seq, (minute, data) in enumerate(told, start=1)
    ]
    export, receiver = as_export(tmp_path / "export.jsonl", events), Receiver()
    with receiver as url:
        assert daemon(start=False).cli("traces", str(export), "--otlp", url).returncode == 0
    lengths = [(each.seq, (each.end_ns - each.start_ns) // 60e9) for each in receiver.spans]
    assert lengths == [(1, 0), (2, 6), (3, 0), (4, 0)]
    assert ["gen_ai.usage.input_tokens" in each.attributes for each in receiver.spans] == [
        False,
        True,
        False,
        True,
    ]


def test_a_url_that_is_no_receivers_is_refused_and_so_is_the_command_without_the_extra(
    daemon: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for url in ("localhost:4318", "ftp://h/", "http://", "http://h:x", "http://me:key@h", "h"):
        assert run(["traces", "nothing.wsb", "--otlp", url]) == 2, url
        said = capfd.readouterr().err
        assert "[INVALID_ARGUMENT]" in said and "Expected" in said
    running = daemon(start=False)
    settings = {"WORKSPACED_TRACES": json.dumps({"otlp": "http://me:key@h"})}
    served = running.cli("serve", "--vault", str(running.vault), env=settings)
    assert served.returncode == 2 and "'traces.otlp'" in served.stderr
    monkeypatch.setattr("workspaced.settings.settings.find_spec", lambda _package: None)
    assert run(["traces", "nothing.wsb", "--otlp", "http://h"]) == 1
    assert "[PACKAGE_MISSING]" in capfd.readouterr().err


def test_agents_are_not_told_where_traces_go(daemon: Any, receiver: Receiver) -> None:
    running = tracing(daemon, receiver.url)
    wire = running.wire()
    wire.ask(
        "initialize",
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
    )
    assert "traces" not in wire.ask("workspaced/status")["result"]
