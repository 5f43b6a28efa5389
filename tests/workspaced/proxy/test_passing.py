"""What goes through the proxy keeps its bytes."""

import gzip
import json
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


def test_the_clients_bytes_arrive_with_the_context_in_between(looking: Any) -> None:
    before = b'{ "model":"gpt-x",  "odd" : {"pi":3.140, "big":12345678901234567890123,\n"e":1E5, "u":"\\u00e4"},'
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, before + b'"messages": [' + QUESTION + b'], "stream":false}')
    body = seen.requests[0].body
    assert answer.context == "added" and b"Alpha is red." in body
    assert without(body) == before + b'"messages": [' + QUESTION + b'], "stream":false}'
    assert seen.requests[0].header("content-length") == str(len(body))


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
    assert answer.context == "added"
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
