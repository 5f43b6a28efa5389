"""What goes through the proxy keeps its bytes."""

import gzip
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.insertions import without
from support.proxy import Proxy
from support.raw_upstream import OK, Connection, RawUpstream, Recorder

from .conftest import started

QUESTION = b'{"role": "user", "content": "What is Alpha?"}'
PROMPT = b'{"messages": [' + QUESTION + b"]}"
LENGTH = b"Content-Length: 77\r\n\r\n"
CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def looking(module_daemon: Any) -> Any:
    """One for all, who differ in their proxies."""
    return started(module_daemon)


@pytest.fixture(scope="module")
def passing(looking: Any) -> Iterator[tuple[Proxy, Recorder]]:
    """A proxy, and what its provider got."""
    seen = Recorder(b'{"a" :1}')
    with RawUpstream(seen) as url, Proxy(looking, f"{url}/base/") as proxy:
        yield proxy, seen


@pytest.mark.parametrize(
    ("base", "path", "twice"),
    [("", "/v1/v1/messages", "/v1/v1"), ("/v1", "/v1/messages?key=k", "/v1/v1"), ("/v1", "/v1beta/v10/x", "")],
)
def test_a_version_that_stands_twice_is_named_once_in_the_log_and_passes(
    looking: Any, base: str, path: str, twice: str
) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, f"{url}{base}") as proxy:
        for _ in range(2):
            proxy.request("POST", path, b'{"messages": "none"}')
    assert [each.target for each in seen.requests] == [base + path] * 2
    said = [line for line in proxy.stderr if "base URL" in line]
    assert len(said) == bool(twice)
    assert all("WARNING" in line and twice in line and "key" not in line for line in said)


@pytest.mark.parametrize(
    ("method", "path", "body", "reason"),
    [
        ("GET", "/v1/models?after=%2Fa%20b&x=1", None, "NOT_A_PROMPT"),
        ("DELETE", "/v1/files/f%C3%A4-1", None, "NOT_A_PROMPT"),
        ("POST", "/v1/embeddings", b'{"input":  "x"}', "NOT_A_PROMPT"),
        ("POST", "/v1/messages/count_tokens", b'{"messages": [ ]}', "UNREADABLE"),
        ("POST", "/v1/threads/t/messages", b'{"role": "user"}', "UNREADABLE"),
        ("POST", "/a/../b//c", b"\x00\xff", "NOT_A_PROMPT"),
        ("POST", CHAT, b'{"messages": "none"}', "UNREADABLE"),
        ("POST", "/v1/models/g:generateContent", b'{"contents": [], "cachedContent": "c"}', "UNREADABLE"),
    ],
)  # fmt: skip
def test_what_is_no_prompt_passes_unchanged(
    passing: tuple[Proxy, Recorder], method: str, path: str, body: bytes | None, reason: str
) -> None:
    proxy, seen = passing
    seen.requests.clear()
    answer = proxy.request(method, path, body, {"Authorization": "Bearer key", "X-Odd": "1"})
    assert (answer.status, answer.body, answer.context) == (200, b'{"a" :1}', "unchanged")
    assert answer.reason.startswith(reason)
    (came,) = seen.requests
    assert (came.line, came.body) == (f"{method} /base{path} HTTP/1.1", body or b"")
    assert came.header("authorization") == "Bearer key" and came.header("x-odd") == "1"
    assert proxy.token not in str(came.headers) and proxy.token not in came.line


def test_only_headers_of_the_request_go_on_and_none_of_ours_or_of_the_connection(looking: Any) -> None:
    seen = Recorder()
    sent = {
        "Connection": "keep-alive, X-Mine",
        "X-Mine": "1",
        "Keep-Alive": "timeout=5",
        "TE": "trailers",
        "x-workspaced": "on",
        "Content-Type": "application/json",
        "X-Api-Key": "secret-key",
        "Accept-Encoding": "gzip",
    }
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, PROMPT, sent)
        host = url.removeprefix("http://")
    body = seen.requests[0].body
    assert answer.context == "added" and b"Alpha is red." in body and without(body) == PROMPT
    assert seen.requests[0].header("content-length") == str(len(body))
    names = [name for name, _value in seen.requests[0].headers]
    assert sorted(names) == sorted(["host", "accept-encoding", "content-length", "content-type", "x-api-key"])
    assert seen.requests[0].header("host") == host and seen.requests[0].header("accept-encoding") == "identity"


def test_headers_and_status_of_an_answer_are_the_providers(looking: Any) -> None:
    def serve(connection: Connection) -> None:
        while connection.request() is not None:
            connection.send(b"HTTP/1.1 529 Overloaded\r\nRetry-After: 7\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n")
            connection.send(
                b"X-Workspaced-Context: forged\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
            )

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        for _ in range(2):
            with proxy.begin("POST", f"/t/{proxy.token}{CHAT}", PROMPT) as begun:
                assert begun.response.status == 529
                assert begun.response.headers.get_all("x-workspaced-context") == ["added"]
                assert begun.response.headers.get_all("set-cookie") == ["a=1", "b=2"]
                assert begun.response.headers["retry-after"] == "7" and begun.response.read() == b"<html>"


def test_what_is_compressed_passes_as_it_is_both_ways(looking: Any) -> None:
    packed = gzip.compress(PROMPT)
    requests = []

    def serve(connection: Connection) -> None:
        requests.append(connection.request())
        head = b"Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        connection.send(OK + head % len(packed) + packed)

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, packed, {"Content-Encoding": "gzip"})
    assert answer.reason.startswith("COMPRESSED") and requests[0].body == packed
    assert answer.body == packed and answer.headers["content-encoding"] == "gzip"


def test_an_answer_without_a_body_has_none(looking: Any) -> None:
    def serve(connection: Connection) -> None:
        while (request := connection.request()) is not None:
            connection.send(b"HTTP/1.1 204 None\r\n\r\n" if "DELETE" in request.line else OK + LENGTH)

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        head, gone = proxy.request("HEAD", "/v1/models"), proxy.request("DELETE", "/v1/files/1")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "77")
    assert (gone.status, gone.body) == (204, b"") and "content-length" not in gone.headers


def test_a_client_that_asks_whether_to_go_on_is_told(looking: Any) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        head = f"POST /t/{proxy.token}{CHAT} HTTP/1.1\r\nHost: localhost:{proxy.port}\r\nExpect: 100-continue\r\n"
        with socket.create_connection(("127.0.0.1", proxy.port), 30) as made, made.makefile("rb") as file:
            made.sendall(f"{head}Connection: close\r\nContent-Length: 2\r\n\r\n".encode())
            assert file.readline().startswith(b"HTTP/1.1 100") and file.readline() == b"\r\n"
            made.sendall(b"{}")
            assert file.readline().startswith(b"HTTP/1.1 200")
    assert seen.requests[0].body == b"{}" and seen.requests[0].header("expect") is None


def test_a_redirect_is_the_runtimes_matter(looking: Any) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("GET", "/v1/models")
    assert (answer.status, answer.headers["location"]) == (307, "http://127.0.0.1:1/x")


def test_off_leaves_a_prompt_as_it_is(passing: tuple[Proxy, Recorder]) -> None:
    proxy, seen = passing
    seen.requests.clear()
    body = b'{"model": "gpt-x", "messages": [' + QUESTION + b"]}"
    answer = proxy.request("POST", CHAT, body, {"X-Workspaced": "off"})
    assert (answer.status, answer.context) == (200, "off") and seen.requests[0].body == body


@pytest.mark.parametrize("chunked", [False, True])
def test_a_history_that_is_too_long_streams_through(passing: tuple[Proxy, Recorder], chunked: bool) -> None:
    proxy, seen = passing
    seen.requests.clear()
    part, count = b"x" * 65_536, 600
    body = (part for _ in range(count)) if chunked else part * count
    headers = {"Transfer-Encoding": "chunked"} if chunked else {}
    with proxy.connection() as connection:
        connection.request("POST", f"/t/{proxy.token}{CHAT}", body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["x-workspaced-reason"].startswith("BODY_TOO_LARGE")
    assert seen.requests[0].body == part * count


# -- streams --


def test_chunks_pass_as_they_come_and_the_answer_ends_when_theirs_does(looking: Any) -> None:
    passed = threading.Event()

    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        connection.chunk(b"data: 1\r\n\r\nda")
        passed.wait()
        connection.chunk(b"ta: 2\n\n")
        connection.send(b"0\r\n\r\n")

    with (
        RawUpstream(serve) as url,
        Proxy(looking, url) as proxy,
        proxy.begin("POST", f"/t/{proxy.token}{CHAT}", PROMPT) as begun,
    ):
        assert begun.response.read1() == b"data: 1\r\n\r\nda"
        passed.set()
        assert begun.response.read() == b"ta: 2\n\n"


@pytest.mark.thorough
def test_chunks_count_more_than_a_length_beside_them_both_ways(looking: Any) -> None:
    came = []

    def serve(connection: Connection) -> None:
        came.append(connection.request())
        connection.send(OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        headers = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"
        raw = proxy.raw(f"POST /t/{proxy.token}/v1/files", headers, b"5\r\nhello\r\n0\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 200") and b"hello" in raw and [each.body for each in came] == [b"hello"]


@pytest.mark.thorough
@pytest.mark.parametrize("status", [b"999 Denied", b"600 More"])
def test_a_status_that_no_answer_has_is_refused_with_its_number(looking: Any, status: bytes) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, PROMPT)
    assert (answer.status, answer.code) == (502, "UPSTREAM_STATUS") and b"status " + status[:3] in answer.body


@pytest.mark.fault(row=66)
@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked", b"Content-Length: 99"])
def test_an_answer_that_breaks_off_breaks_off_for_the_runtime_too(looking: Any, head: bytes) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(OK + b"Content-Type: text/event-stream\r\n" + head + b"\r\n\r\n")
        connection.chunk(b"data: 1\n\n") if b"chunked" in head else connection.send(b"data: 1\n\n")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        raw = proxy.raw(f"POST /t/{proxy.token}{CHAT}", f"Content-Length: {len(PROMPT)}\r\n", PROMPT)
    assert b"data: 1\n\n" in raw and not raw.endswith(b"0\r\n\r\n")
    assert b"x-workspaced-context: added" in raw


@pytest.mark.fault(row=66)
@pytest.mark.parametrize("has_begun", [True, False])
def test_a_client_that_leaves_ends_the_providers_request(looking: Any, has_begun: bool) -> None:
    came, left = threading.Event(), threading.Event()

    def serve(connection: Connection) -> None:
        request = connection.request()
        if request is not None and request.target == CHAT:
            if has_begun:
                connection.send(OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                connection.chunk(b"data: 1\n\n")
            came.set()
            if connection.wait_until_closed():
                left.set()
        else:
            connection.answer(b"{}")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        with proxy.connection() as connection:
            connection.request("POST", f"/t/{proxy.token}{CHAT}", PROMPT)
            assert came.wait(60)
            assert not has_begun or connection.getresponse().read1() == b"data: 1\n\n"
        assert left.wait(60)
        assert proxy.request("POST", "/v1/embeddings", b"{}").status == 200


# -- providers that fail --


@pytest.mark.fault(row=66)
def test_a_provider_that_cannot_be_reached_is_an_error_that_says_so(looking: Any) -> None:
    with RawUpstream(Recorder()) as url:
        pass  # nobody listens there any more
    with Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, PROMPT)
    assert (answer.status, answer.code) == (502, "UPSTREAM_UNREACHABLE")
    assert url in json.loads(answer.body)["error"]["message"]
    with RawUpstream(lambda connection: connection.request() and None) as url, Proxy(looking, url) as proxy:
        assert proxy.request("POST", CHAT, b"{}").status == 502  # without an answer it is one, too


@pytest.mark.fault(row=66)
def test_a_provider_that_is_silent_is_a_timeout(looking: Any) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.wait_until_closed()

    with RawUpstream(serve) as url, Proxy(looking, url, "--timeout", "0.2") as proxy:
        answer = proxy.request("POST", CHAT, PROMPT)
    assert (answer.status, answer.code) == (504, "UPSTREAM_TIMEOUT")
