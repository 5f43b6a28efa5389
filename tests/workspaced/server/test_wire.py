"""Hostile bytes on the socket: each gets the right refusal, harms nobody else, and leaves the log readable."""

import json
import os
import select
import socket
import threading
import time
from contextlib import suppress
from http.client import HTTPResponse
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.daemon import ANSWER_S
from support.profiles import examples

from workspaced.limits import PARTIAL_LINE_S, REQUEST_BYTES_MAX, UNREAD_S
from workspaced_events.replay.replay import replay
from workspaced_events.schema.catalogue import CATALOGUE

HELLO = b'{"jsonrpc":"2.0","id":0,"method":"workspaced/hello","params":{}}\n'
MEGABYTE = 1024 * 1024


def publish_line(note: str, *, number: str = "1") -> bytes:
    action = {"type": "active_note_set", "data": {"note": note}}
    head = f'{{"jsonrpc":"2.0","id":{number},"method":"workspaced/publish","params":'
    return head.encode() + json.dumps({"actions": [action]}).encode() + b"}\n"


def tool_line(arguments: str) -> bytes:
    head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_current_note","arguments":'
    return (head + arguments + "}}\n").encode()


# -- lines that are no request --


@pytest.mark.fault(row=27)
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", "INVALID_JSON"),
        (b"\x00" + HELLO.strip(), "INVALID_JSON"),
        (HELLO.strip() * 2, "INVALID_JSON"),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"workspaced/hello"}', "INVALID_JSON"),
        (b"[" + HELLO.strip() + b"]", "INVALID_REQUEST"),
        (b"null", "INVALID_REQUEST"),
        (b"{}", "INVALID_REQUEST"),
        (b'{"id":1,"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"1.0","id":1,"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":1,"method":1}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":null,"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":true,"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":{},"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"workspaced/hello"}', "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/\xff"}', "UNKNOWN_METHOD"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/\\ud800"}', "UNKNOWN_METHOD"),
        (b"[" * 100_000, "INVALID_REQUEST"),
        (b"[" * 100_000 + b"]" * 100_000, "INVALID_REQUEST"),
        (HELLO.strip().replace(b"{}", b"[" * 70 + b"]" * 70), "INVALID_REQUEST"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/nothing"}', "UNKNOWN_METHOD"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/hello","params":[]}', "INVALID_ARGUMENT"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/publish","params":{"actions":{}}}', "INVALID_ARGUMENT"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/log","params":{"from":1e999}}', "INVALID_ARGUMENT"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/log","params":{"limit":10001}}', "INVALID_ARGUMENT"),
        (b'{"jsonrpc":"2.0","id":1,"method":"workspaced/state","params":{"vault":"\\udfff"}}', "INVALID_ARGUMENT"),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, bytes) else value,
)  # fmt: skip
def test_a_line_that_is_no_request_is_refused_and_the_next_is_answered(
    shared: Any, line: bytes, code: str
) -> None:
    with shared.wire() as wire:
        assert wire.refused(line + b"\n") == code
        assert wire.ask("workspaced/hello")["result"]["workspace"] == "default"


DIGITS = "9" * 5_000
HUGE = (DIGITS, f"-{DIGITS}", "9" * 20, "-1", "1e400", f"1.{DIGITS}", f'"{DIGITS}"', '"٣"')
NUMBERED = (
    ("workspaced/state", ("at", "minSeq", "vault")),
    ("workspaced/subscribe", ("since",)),
    ("workspaced/log", ("from", "limit")),
    ("workspaced/calls", ("before", "limit")),
    ("workspaced/call", ("seq",)),
    ("workspaced/unsubscribe", ("subscription",)),
    ("resources/read", ("uri",)),
)


@pytest.mark.thorough
@pytest.mark.fault(row=61)
@pytest.mark.parametrize("number", HUGE, ids=lambda text: f"{text[:4]}-{len(text)}")
def test_row_61_a_number_of_any_length_is_a_result_or_a_typed_refusal(shared: Any, number: str) -> None:
    lines = [
        f'{{"method":"{method}","params":{{"{name}":{number}}}' for method, names in NUMBERED for name in names
    ]
    lines += [
        f'{{"method":"workspaced/hello","params":{{"client":{{"name":"x","pid":{number}}}}}',
        f'{{"method":"workspaced/publish","params":{{"actions":[{{"type":"note_pinned","data":{{"note":"a.md",'
        f'"index":{number}}}}}]}}',
        f'{{"method":"workspaced/publish","params":{{"actions":[{{"type":"selection_changed","data":{{"note":'
        f'"a.md","startLine":{number},"endLine":{number}}}}}]}}',
        f'{{"method":"workspaced/context/start","params":{{"provider":"p","model":"m","contextWindow":{number},'
        '"outputReserve":1}',
        f'{{"method":"tools/call","params":{{"name":"get_workspace_context","arguments":{{"at":{number}}}}}',
        f'{{"method":"tools/call","params":{{"name":"search_workspace","arguments":{{"query":"a","limit":{number}}}}}',
    ]
    if number.startswith('"'):
        text = number[1:-1]
        lines += [
            f'{{"method":"resources/read","params":{{"uri":"workspaced://workspace/context?at={text}"}}',
            f'{{"method":"workspaced/subscribe","params":{{"since":"{log_id(shared)}:{text}"}}',
        ]
    before = len(shared.stderr)
    with shared.wire() as wire:
        wire.ask("workspaced/hello")
        for line in lines:
            wire.send(f'{line},"jsonrpc":"2.0","id":1}}\n'.encode())
            answer = wire.line()
            while answer is not None and "id" not in answer:
                answer = wire.line()
            assert answer is not None, line[:80]
            if "error" in answer:
                assert answer["error"]["data"]["code"] != "INTERNAL", line[:80]
                assert len(answer["error"]["message"]) < 1_000, line[:80]
            wire.ask("workspaced/status")
    assert not any("a method failed" in said for said in shared.stderr[before:])


def log_id(running: Any) -> str:
    with running.wire() as wire:
        clock: str = wire.ask("workspaced/hello")["result"]["clock"]
    return clock.rpartition(":")[0]


@pytest.mark.fault(row=61)
def test_row_61_since_of_5000_digits_is_a_typed_parameter_error(shared: Any) -> None:
    with shared.wire() as wire:
        wire.ask("workspaced/hello")
        for digits in (5_000, 20):  # an id comes back, or is refused
            wire.send(HELLO.replace(b'"id":0', b'"id":' + b"9" * digits))
            answer = wire.line()
            assert answer is not None
            if "error" in answer:
                assert answer["error"]["data"]["code"] == "INVALID_REQUEST"
            else:
                assert answer["id"] == int("9" * digits)
        for since in (DIGITS, f"{log_id(shared)}:{DIGITS}"):
            error = wire.ask("workspaced/subscribe", {"since": since})["error"]
            assert (error["code"], error["data"]["code"]) == (-32602, "INVALID_ARGUMENT")
            assert len(error["message"]) < 300 and error["data"]["hint"]
    done = shared.cli("watch", "--since", DIGITS)
    assert done.returncode == 2 and len(done.stderr) < 500


def test_lines_are_read_however_they_come_and_the_refusal_carries_the_id_that_can_be_read(shared: Any) -> None:
    wire = shared.wire()
    for byte in b"\n \t\r\n" + HELLO.replace(b"\n", b"\r\n"):
        wire.send(bytes([byte]))
    assert wire.line()["id"] == 0
    wire.send(b'{"jsonrpc":"2.0","id":"mine","method":7}\n')
    assert wire.line()["id"] == "mine"
    wire.send(b'{"jsonrpc":"2.0","id":{},"method":7}\n')
    assert wire.line()["id"] is None
    wire.send(
        b'{"jsonrpc":"2.0","id":1,"method":"workspaced/hello","id":2,"method":"workspaced/publish","params":{},'
        b'"params":{"actions":[{"type":"active_note_set","data":{"note":"one.md","note":"two.md"}}]}}\n'
    )
    seq = wire.line()["result"]["events"][0]["seq"]
    (event,) = wire.ask("workspaced/log", {"from": seq, "limit": 1})["result"]["events"]
    assert event["data"] == {"note": "two.md"}, "of duplicate keys one counts, and what is logged reads back"


def test_a_notification_is_never_answered_whatever_is_wrong_with_it(shared: Any) -> None:
    wire = shared.wire()
    wire.ask("workspaced/hello")
    wire.send(
        b'{"jsonrpc":"2.0","method":"workspaced/nothing"}\n'
        b'{"jsonrpc":"2.0","method":"workspaced/state","params":{"at":-1}}\n'
        b'{"jsonrpc":"2.0","method":"workspaced/state"}\n'
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"nothing"}}\n'
        b'{"jsonrpc":"2.0","id":"last","method":"workspaced/hello"}\n'
    )
    assert wire.line()["id"] == "last"


@pytest.mark.parametrize(("method", "pieces"), [("GET / HTTP/1.1", 1), ("POST /mcp HTTP/1.0", 3)])
def test_http_is_refused_in_http_and_no_line_of_its_body_is_taken(shared: Any, method: str, pieces: int) -> None:
    with shared.connect() as client:
        (before,) = client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
        body = publish_line("a.md") * 2
        sent = f"{method}\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        with shared.wire() as wire:
            for piece in range(pieces):
                wire.send(sent[piece * 5 : (piece + 1) * 5 if piece + 1 < pieces else None])
            refused = HTTPResponse(wire.socket)
            refused.begin()
            error = json.loads(refused.read())["error"]
        assert refused.status == 400
        assert error["data"]["code"] == "INVALID_REQUEST"
        assert "HTTP" in error["message"] and "workspaced mcp" in error["data"]["hint"]
        (after,) = client.publish([{"type": "active_note_set", "data": {"note": "c.md"}}])
        assert after["seq"] == before["seq"] + 1


def assert_alive_and_readable(running: Any) -> None:
    """A new client is served, an event is recorded, and all that was logged reads back and is known."""
    with running.connect() as client:
        (receipt,) = client.publish([{"type": "active_note_set", "data": {"note": "alive.md"}}])
        state = client.state()
        assert state["seq"] == receipt["seq"]
    seen: list[Any] = []
    result = replay(running.data, each=seen.extend)
    assert result.state.seq >= receipt["seq"] and result.state.unknown_events == 0
    assert all(event.type in CATALOGUE for event in seen)


# -- size and time --


@pytest.mark.fault(row=26)
def test_a_line_without_end_is_refused_at_the_limit_and_costs_no_memory(shared: Any) -> None:
    with shared.wire() as first:
        first.ask("workspaced/state")
    before = shared.memory_bytes()
    wire, sent, peak = shared.wire(), 0, before
    chunk = b"x" * MEGABYTE
    with suppress(BrokenPipeError, ConnectionResetError):
        while sent < 300 * MEGABYTE:
            wire.send(chunk)
            sent += len(chunk)
            peak = max(peak, shared.memory_bytes())
    assert sent < 300 * MEGABYTE, "the daemon read on"
    message = wire.line()
    assert message is not None and message["error"]["data"]["code"] == "LINE_TOO_LARGE"
    assert wire.at_end()
    assert max(peak, shared.memory_bytes()) - before < 16 * MEGABYTE


def test_a_line_of_exactly_the_limit_is_read_and_one_byte_more_is_not(shared: Any) -> None:
    for more, code in ((0, "INVALID_ARGUMENT"), (1, "LINE_TOO_LARGE")):
        head, tail = b'{"jsonrpc":"2.0","id":1,"method":"workspaced/state","params":{"vault":"', b'"}}'
        line = head + b"x" * (REQUEST_BYTES_MAX - len(head) - len(tail) + more) + tail
        with shared.wire() as wire:
            with suppress(BrokenPipeError, ConnectionResetError):
                wire.send(line + b"\n")
            message = wire.line()
            assert message is not None and (message["id"], message["error"]["data"]["code"]) == (1, code)


@pytest.mark.fault(row=28)
@pytest.mark.thorough
def test_a_line_not_completed_and_answers_not_read_end_the_connection_in_time(shared: Any) -> None:
    shared.wire().ask("tools/list")  # the first is made on a thread: until then nothing would wait to be read
    deaf = shared.wire()
    deaf.socket.settimeout(0.2)
    unread = 2_000
    with suppress(TimeoutError):
        deaf.send(HELLO + b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n' * unread)
    wire = shared.wire()
    idle = shared.wire()
    before = time.monotonic()
    wire.send(HELLO[:-2])
    message = wire.line()
    assert message is not None and (message["id"], message["error"]["data"]["code"]) == (0, "INVALID_REQUEST")
    assert wire.at_end()
    assert time.monotonic() - before > PARTIAL_LINE_S - 1
    assert idle.ask("workspaced/hello")["result"], "who is merely idle is left alone"
    ended = select.poll()
    ended.register(deaf.socket, 0)  # nothing but its end: to read would be to listen again
    assert ended.poll((UNREAD_S + ANSWER_S) * 1_000), "a client that did not read was kept"
    answers = 0
    with suppress(json.JSONDecodeError):
        while deaf.line() is not None:
            answers += 1
    assert answers < unread


def test_clients_that_vanish_in_mid_request_leave_nothing_behind(shared: Any) -> None:
    with shared.connect() as watcher:
        base = watcher.call("workspaced/status")["queues"]["connections"]
        files = len(os.listdir(f"/proc/{shared.pid}/fd"))
        for number in range(60):
            wire = shared.wire()
            wire.send(HELLO + publish_line("gone.md") + tool_line("{}") + publish_line("gone.md")[: number + 1])
            if number % 3 == 0:
                wire.socket.shutdown(socket.SHUT_WR)
            wire.close()
        deadline = time.monotonic() + ANSWER_S
        while (
            watcher.call("workspaced/status")["queues"]["connections"] > base
            or len(os.listdir(f"/proc/{shared.pid}/fd")) > files
        ):
            assert time.monotonic() < deadline, "connections are left"
    assert_alive_and_readable(shared)


def test_idle_hostile_and_deaf_clients_do_not_keep_an_honest_one_waiting(shared: Any) -> None:
    stop = threading.Event()
    idle, deaf = [shared.wire() for _ in range(200)], shared.wire()
    deaf.socket.settimeout(0.2)
    before = shared.memory_bytes()
    with suppress(TimeoutError, BrokenPipeError):
        deaf.send(HELLO + b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}\n' * 2_000)
    assert shared.memory_bytes() - before < 16 * MEGABYTE

    def attack(line: bytes) -> None:
        while not stop.is_set():
            with suppress(OSError), shared.wire() as wire:
                wire.send(line * 20)
                wire.line()

    lines = [b"[" * 50_000 + b"\n", b"x" * 200_000 + b"\n", b'{"jsonrpc":"2.0","id":1,"method":"no"}\n']
    attackers = [threading.Thread(target=attack, args=(line,)) for line in lines]
    for each in attackers:
        each.start()
    try:
        assert shared.call("workspaced/status")["queues"]["connections"] >= 201
        for number in range(20):
            shared.publish("active_note_set", note=f"n{number}.md")
    finally:
        stop.set()
        for wire in (*idle, deaf):
            wire.close()
        for each in attackers:
            each.join()


# -- anything at all --

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
WORKSPACED = ("hello", "publish", "state", "subscribe", "unsubscribe", "snapshot", "log", "status")
METHODS = st.sampled_from(
    [*(f"workspaced/{name}" for name in WORKSPACED), "tools/list", "tools/call", "initialize", ""]
)
FIELDS = ["note", "notes", "source", "tabId", "tabIds", "vaultId", "index", "from", "to", "title"]
VALUES = st.sampled_from(["a.md", "b.md", "search", "tab-1", "../x.md", "vault", 0, -1, 1e9, None]) | JSON
ACTIONS = st.fixed_dictionaries(
    {"type": st.sampled_from(sorted(CATALOGUE)) | st.text(max_size=8)},
    optional={
        "data": JSON | st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4),
        "id": st.text(max_size=6) | JSON,
        "vault": st.sampled_from(["vault", "none"]) | JSON,
    },
)
ASKED = ["since", "types", "at", "vault", "from", "limit", "source", "active", "pins", "tabs"]
PARAMS = (
    JSON
    | st.fixed_dictionaries({"actions": st.lists(ACTIONS, max_size=4)}, optional={"source": JSON})
    | st.fixed_dictionaries({"name": st.sampled_from(["get_current_note", "x"]), "arguments": JSON})
    | st.dictionaries(
        st.sampled_from(ASKED), JSON | st.sampled_from(["vault", "a.md", ["a.md", "b.md"], [{"note": "a.md"}], 1])
    )
)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON, "method": METHODS | JSON},
    optional={"id": st.integers() | JSON, "params": PARAMS},
).map(lambda value: json.dumps(value).encode(errors="surrogatepass"))
MANGLED = st.builds(
    lambda line, at, junk: line[: at % (len(line) + 1)] + junk + line[at % (len(line) + 1) :],
    REQUESTS,
    st.integers(0, 10_000),
    st.binary(max_size=4),
)
LINES = REQUESTS | MANGLED | st.binary(max_size=200)


@pytest.mark.fault(row=27)
@settings(max_examples=examples(100))
@given(lines=st.lists(LINES, min_size=1, max_size=8), cut=st.integers(1, 400))
@example(lines=[b'{"jsonrpc":"2.0","id":1,"method":"workspaced/publish","params":{"actions":[{"type":"note_pinned",'
                b'"data":{"note":"\\udcff.md"}}]}}'], cut=7)  # fmt: skip
@example(
    lines=[b'{"jsonrpc":"2.0","id":1,"method":"workspaced/hello","params":{"client":{"name":"\xff"}}}'], cut=3
)
def test_after_any_garbage_a_new_client_is_served_and_the_log_reads_back(
    shared: Any, lines: list[bytes], cut: int
) -> None:
    data = b"".join(line.replace(b"\n", b" ").replace(b"shutdown", b"shutdxwn") + b"\n" for line in lines)
    marker = b'{"jsonrpc":"2.0","id":"the-end","method":"workspaced/status","params":{}}\n'
    with shared.wire() as wire:
        wire.send(data[:cut])
        wire.send(data[cut:] + marker)
        while (message := wire.line()) is not None:
            assert message["jsonrpc"] == "2.0"
            if "error" in message:
                assert message["error"]["data"]["code"] != "INTERNAL", message
            if message.get("id") == "the-end":
                break
        assert message is not None, "the daemon closed the connection"
        assert "result" in message
    wire = shared.wire()
    assert wire.ask("workspaced/hello")["result"]["clock"]
    wire.close()


def test_and_after_all_of_it_the_log_is_whole(shared: Any) -> None:
    assert_alive_and_readable(shared)
    done = shared.cli("log", "verify", "--data-dir", str(shared.data))
    assert done.returncode == 0, done.stderr
