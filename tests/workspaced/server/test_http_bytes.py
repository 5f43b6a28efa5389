"""Hostile and odd bytes of HTTP on the daemon's socket: each gets a status, harms nobody else, costs little."""

import re
import socket
import subprocess
import sys
from contextlib import closing, suppress
from time import monotonic
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import short_limits
from support.http_socket import HttpWire, modern, modern_post, post, read
from support.profiles import examples

from workspaced.limits import HTTP_HEAD_BYTES_MAX, REQUEST_BYTES_MAX

MEGABYTE = 1024 * 1024
GROWTH_BYTES_MAX = 24 * MEGABYTE
LIST = modern_post("tools/list")


class Raw:
    """A bare connection."""

    def __init__(self, daemon: Any) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(daemon.socket))

    def send(self, data: bytes) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before it was read
            self.socket.sendall(data)

    def rest(self) -> bytes:
        """All that comes until the daemon closes."""
        came = bytearray()
        with suppress(ConnectionResetError):
            while data := self.socket.recv(65_536):
                came += data
        return bytes(came)

    def close(self) -> None:
        self.socket.close()


def said(daemon: Any, *pieces: bytes, half_close: bool = True) -> bytes:
    """What the daemon sends back for these bytes, until it closes."""
    with closing(Raw(daemon)) as raw:
        for piece in pieces:
            raw.send(piece)
        if half_close:
            with suppress(OSError):
                raw.socket.shutdown(socket.SHUT_WR)
        return raw.rest()


def statuses(answer: bytes) -> list[int]:
    """The statuses of all responses in it."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) [^\r\n]*\r\nDate: ", answer)]


def test_pipelined_requests_are_answered_in_their_order(shared: Any) -> None:
    answer = said(shared, b"".join(modern_post("tools/list", number=number) for number in range(40)))
    assert statuses(answer) == [200] * 40
    places = [answer.index(b'{"id":%d,' % number) for number in range(40)]
    assert places == sorted(places)


def test_a_request_may_come_byte_by_byte(shared: Any) -> None:
    assert statuses(said(shared, *(LIST[at : at + 1] for at in range(len(LIST))))) == [200]


def test_bodies_may_come_in_chunks_and_after_a_go_ahead(shared: Any) -> None:
    head, body = LIST.split(b"\r\n\r\n", 1)
    head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length"))
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(body[at : at + 10]), body[at : at + 10]) for at in range(0, len(body), 10)
    )
    chunked = head + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
    assert statuses(said(shared, chunked + LIST)) == [200, 200]
    with closing(Raw(shared)) as raw:
        raw.send(head + b"\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert raw.socket.recv(100).startswith(b"HTTP/1.1 100 ")
        raw.send(body)
        assert statuses(raw.rest()) == [200]


def test_http_1_0_is_answered_and_closed(shared: Any) -> None:
    old = LIST.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"Host: localhost\r\n", b"")
    answer = said(shared, old, half_close=False)
    assert statuses(answer) == [200] and b"Connection: close" in answer


def test_a_client_that_wants_to_upgrade_is_answered_in_http_1_1(shared: Any) -> None:
    asked = modern_post(
        "tools/list", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAAA"
    )
    assert statuses(said(shared, asked + LIST)) == [200, 200]


GET = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
MALFORMED = {
    "no host": (b"GET /mcp HTTP/1.1\r\n\r\n", 400),
    "no version": (b"GET /mcp\r\n\r\n", 400),
    "another version": (GET.replace(b"1.1", b"2.0") + b"\r\n", 400),
    "a target that is no URL": (GET.replace(b"/mcp", b"http://[") + b"Connection: close\r\n\r\n", 404),
    "garbage": (b"GET \x00\xff\r\n\r\n", 400),
    "a line of 1 MB": (GET.replace(b"mcp", b"a" * MEGABYTE) + b"\r\n", 431),
    "a header of 1 MB": (GET + b"X: " + b"a" * MEGABYTE + b"\r\n\r\n", 431),
    "10,000 headers": (GET + b"X: y\r\n" * 10_000 + b"\r\n", 431),
    "a head just too long": (GET + b"X: " + b"a" * HTTP_HEAD_BYTES_MAX + b"\r\n\r\n", 431),
    "a folded header of NUL": (GET + b"X: a\r\n \x00\r\n\r\n", 400),
    "a body that is too long": (POST + b"Content-Length: 1048577\r\n\r\n", 413),
    "a length of 20 digits": (POST + b"Content-Length: " + b"9" * 20 + b"\r\n\r\n", 413),
    "a length of 4,000 digits": (POST + b"Content-Length: " + b"9" * 4_000 + b"\r\n\r\n", 400),
    "a negative length": (POST + b"Content-Length: -1\r\n\r\n", 400),
    "two lengths": (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    "an unknown coding": (POST + b"Transfer-Encoding: gzip\r\n\r\n", 501),
    "a chunk that is none": (CHUNKED + b"z\r\n", 400),
    "a chunk of 10^60": (CHUNKED + b"f" * 50, 400),
    "half a body": (LIST[:-5], 400),
    "half a head": (LIST[:60], 400),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_request_gets_a_status_and_the_end(shared: Any, name: str) -> None:
    data, status = MALFORMED[name]
    assert statuses(said(shared, data)) == [status]
    with closing(HttpWire(shared.socket)) as http:
        assert http.modern("tools/list")[0] == 200


def test_a_chunked_body_is_bounded_as_it_comes(shared: Any) -> None:
    head = post(b"").split(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n" % 65_536 + b"a" * 65_536 + b"\r\n"
    before = shared.memory_bytes()
    assert statuses(said(shared, head, *[chunk] * 64)) == [413]
    assert shared.memory_bytes() - before < GROWTH_BYTES_MAX


def test_a_body_of_the_greatest_length_is_read(shared: Any) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"a" * (REQUEST_BYTES_MAX - 58) + b'"}}'
    answer = said(shared, post(body))
    assert statuses(answer) == [400] and b"Mcp-Session-Id is missing" in answer
    assert statuses(said(shared, post(body + b" " * 2))) == [413]


def test_a_client_that_closes_its_side_still_gets_its_answer(shared: Any) -> None:
    waits = modern_post("tools/call", name="get_current_note", arguments={"at": 10**6})
    assert statuses(said(shared, waits + waits)) == [200, 200]


def test_lines_are_still_lines_on_the_same_socket(shared: Any) -> None:
    for line in (b"P\n", b"POSTER\n", b"GE", b"  {}\n"):
        answer = said(shared, line + b'\n{"jsonrpc":"2.0","id":1,"method":"workspaced/hello"}\n')
        assert b'"id":1' in answer and not answer.startswith(b"HTTP"), line


def test_a_daemon_hears_no_http_and_loads_no_parser_of_it() -> None:
    program = "import sys, workspaced.daemon.lifecycle, workspaced.server.opening; assert 'h11' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@settings(max_examples=examples(300))
@given(data=st.data())
def test_no_bytes_leave_a_trace_or_the_daemon_without_an_answer(shared: Any, data: st.DataObject) -> None:
    begun = bytearray(LIST)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(5, len(begun)))
        begun[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    assert statuses(said(shared, bytes(begun)))
    with closing(HttpWire(shared.socket)) as http:
        assert http.modern("tools/list")[0] == 200


# -- time and memory --


@pytest.fixture(scope="module")
def hurried(module_daemon: Any) -> Any:
    """A daemon that waits half a second for what others get ten for."""
    made = module_daemon(start=False)
    limits = ("PARTIAL_LINE_S=0.5", "UNREAD_S=0.5", "STREAM_COMMENT_S=0.1")
    made.wrapper = (sys.executable, short_limits.__file__, *limits, "--")
    return made.start()


@pytest.mark.parametrize("begun", [b"POS", LIST[:20], LIST[:-1]], ids=["method", "head", "body"])
def test_row_28_a_request_that_is_not_completed_ends_the_connection_in_time(hurried: Any, begun: bytes) -> None:
    expected = [] if begun == b"POS" else [408]
    assert statuses(said(hurried, begun, half_close=False)) == expected


def test_row_28_each_request_has_the_time_of_its_own(hurried: Any) -> None:
    begun, rest = LIST[:20], LIST[20:]

    def seen() -> set[int]:
        answers = bytearray()
        with closing(Raw(hurried)) as raw, suppress(ConnectionError):
            raw.send(begun)
            end = monotonic() + 1.5
            while monotonic() < end:
                raw.send(rest + begun)  # so the daemon never waits for the first byte of a request
                answers += raw.socket.recv(MEGABYTE)
        return set(statuses(bytes(answers)))

    assert any(seen() == {200} for _ in range(20)), "a busy machine may leave half a second between two"


def test_a_connection_without_a_request_stays(hurried: Any) -> None:
    with closing(HttpWire(hurried.socket)) as http:
        listening = http.ask("POST", *modern("subscriptions/listen", notifications={}))
        comments = 0
        while comments < 10:  # a second of nothing else
            line = listening.readline()
            assert line, "the connection ended"
            comments += line == b":\n"


def test_a_client_that_does_not_read_is_dropped_and_costs_no_memory(hurried: Any) -> None:
    before = hurried.memory_bytes()
    with closing(Raw(hurried)) as raw:
        raw.socket.settimeout(60)
        for _ in range(100):
            raw.send(LIST * 200)
        raw.socket.setblocking(True)
        assert len(raw.rest()) < 4 * MEGABYTE
    assert hurried.memory_bytes() - before < GROWTH_BYTES_MAX
    with closing(HttpWire(hurried.socket)) as http:
        assert http.modern("tools/list")[0] == 200


def test_a_client_that_sends_ahead_of_an_open_stream_is_not_read(shared: Any) -> None:
    ahead = 64 * 1024
    with closing(Raw(shared)) as raw:
        raw.send(modern_post("subscriptions/listen", notifications={}))
        assert raw.socket.recv(65_536).startswith(b"HTTP/1.1 200 OK")
        raw.socket.settimeout(0.3)
        sent = 0
        with suppress(TimeoutError):
            while sent < 16 * MEGABYTE:
                sent += raw.socket.send(b"x" * ahead)
        assert sent < 2 * MEGABYTE
    with closing(HttpWire(shared.socket)) as http:
        assert http.modern("tools/list")[0] == 200


@pytest.mark.thorough
def test_row_45_memory_is_flat_over_ten_thousand_requests(daemon: Any) -> None:
    running = daemon()
    with closing(HttpWire(running.socket)) as http:
        for count in (2_000, 10_000):
            before = running.memory_bytes()
            for number in range(count):
                assert read(http.ask("POST", *modern("resources/list", number)))[0] == 200
        assert running.memory_bytes() - before < MEGABYTE
