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
USAGE = b'{"usage": {"prompt_tokens": 1000, "completion_tokens": 20}}'
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


def test_the_clients_bytes_arrive_with_the_context_in_between(looking: Any) -> None:
    before = b'{ "model":"gpt-x",  "odd" : {"pi":3.140, "big":12345678901234567890123,\n"e":1E5, "u":"\\u00e4"},'
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, before + b'"messages": [' + QUESTION + b'], "stream":false}')
    body = seen.requests[0].body
    assert answer.context == "added" and b"Alpha is red." in body
    assert without(body) == before + b'"messages": [' + QUESTION + b'], "stream":false}'
    assert seen.requests[0].header("content-length") == str(len(body))


def test_the_second_request_begins_with_the_bytes_of_the_first(looking: Any) -> None:
    seen = Recorder()
    more = b', {"role": "assistant", "content": "Red."}, {"role": "user", "content": "Sure?"}'
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        for messages in (QUESTION, QUESTION + more):
            proxy.request("POST", CHAT, b'{"model": "gpt-x", "messages": [' + messages + b"]}")
    first, second = (each.body for each in seen.requests)
    assert second.startswith(first.removesuffix(b"]}")) and b"Alpha is red." in first


@pytest.mark.parametrize(
    ("base", "path", "twice"),
    [
        ("", "/v1/v1/messages", "/v1/v1"),
        ("/v1", "/v1/messages", "/v1/v1"),
        ("", "/v1beta/v1beta/models/g:generateContent?key=k", "/v1beta/v1beta"),
        ("", "/v1/messages", ""),
        ("/v1", "/v1beta/x", ""),
        ("", "/v1/v10/x", ""),
    ],
)
def test_a_version_that_stands_twice_is_named_in_the_log_and_passes(
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
        ("POST", CHAT, b"no json", "UNREADABLE"),
        ("POST", CHAT, b'["a list"]', "UNREADABLE"),
        ("POST", CHAT, b'{"messages": [{"role": "user", "content": "\xff"}]}', "UNREADABLE"),
        ("POST", CHAT, b'{"messages": "none"}', "UNREADABLE"),
        ("POST", CHAT, b'{"messages":' + b"[" * 5_000 + b"]" * 5_000 + b"}", "UNREADABLE"),
        ("POST", CHAT, b'{"messages": [' + QUESTION + b'], "messages": []}', "UNREADABLE"),
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
        answer = proxy.request("POST", CHAT, b'{"messages": [' + QUESTION + b"]}", sent)
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
            with proxy.begin("POST", f"/t/{proxy.token}{CHAT}", b'{"messages": [' + QUESTION + b"]}") as begun:
                assert begun.response.status == 529
                assert begun.response.headers.get_all("x-workspaced-context") == ["added"]
                assert begun.response.headers.get_all("set-cookie") == ["a=1", "b=2"]
                assert begun.response.headers["retry-after"] == "7" and begun.response.read() == b"<html>"


def test_what_is_compressed_passes_as_it_is_both_ways(looking: Any) -> None:
    packed = gzip.compress(b'{"messages": [' + QUESTION + b"]}")
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


def test_off_leaves_a_prompt_as_it_is(world: Any) -> None:
    body = {"model": "gpt-x", "messages": [{"role": "user", "content": "What is Alpha?"}]}
    answer = world.proxy.request("POST", CHAT, body, {"X-Workspaced": "off"})
    assert (answer.status, answer.context) == (200, "off") and world.bodies == [body]


def test_a_long_history_is_passed_on_and_one_that_is_too_long_streams_through(looking: Any) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        for size, context in ((10_000_000, "added"), (40_000_000, "unchanged")):
            words = json.dumps("word " * (size // 5)).encode()
            history = b'{"role": "user", "content": ' + words + b'}, {"role": "assistant", "content": "Yes."}, '
            body = b'{"messages": [' + history + QUESTION + b"]}"
            answer = proxy.request("POST", CHAT, body)
            assert (answer.status, answer.context) == (200, context), answer.reason
            assert words[1:-3] in seen.requests[-1].body
    assert answer.reason.startswith("BODY_TOO_LARGE") and seen.requests[-1].body == body


def test_a_long_body_in_chunks_of_unknown_length_passes_too(looking: Any) -> None:
    seen = Recorder()
    part, count = b"x" * 65_536, 600
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy, proxy.connection() as connection:
        connection.request("POST", f"/t/{proxy.token}{CHAT}", (part for _ in range(count)), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        answer = connection.getresponse()
        assert answer.status == 200 and answer.headers["x-workspaced-reason"].startswith("BODY_TOO_LARGE")
    assert seen.requests[0].body == part * count


@pytest.mark.thorough
def test_fifty_at_once_are_answered(looking: Any) -> None:
    seen, answers = Recorder(USAGE), list[Any]()

    def ask(at: int) -> None:
        messages = [{"role": "user", "content": f"What is number {at}?"}]
        answers.append((at, proxy.request("POST", CHAT, {"model": "gpt-x", "messages": messages})))

    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        threads = [threading.Thread(target=ask, args=(at,)) for at in range(50)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert [each.context for _at, each in answers] == ["added"] * 50
    asked = {json.loads(each.body)["messages"][-1]["content"].rpartition("number ")[2] for each in seen.requests}
    assert asked == {f"{at}?" for at in range(50)}
    done = looking.cli("replay", "--verify", str(looking.data))
    assert done.returncode == 0 and ", 0 differ, 0 are not recorded" in done.stdout


def test_a_provider_that_counts_wrongly_is_no_line_in_the_proxys_log(looking: Any) -> None:
    wire = looking.wire()
    wire.ask("workspaced/hello", {"client": {"name": "watcher", "version": "1"}})
    wire.ask("workspaced/subscribe", {"types": ["prompt_answered"]})
    counts, found = (b"1%030d" % 0, b"-7", b'"1000"'), list[Any]()
    for count in counts:
        seen = Recorder(USAGE.replace(b"1000", count))
        with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
            messages = [{"role": "user", "content": "What is Alpha?"}]
            assert proxy.request("POST", CHAT, {"messages": messages}).context == "added"
            found += wire.line()["params"]["events"]
        assert not proxy.stderr
    assert [each["data"].get("inputTokens") for each in found] == [None] * len(counts)
    assert not [each for each in found if each["data"].get("outputTokens")]


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
        proxy.begin("POST", f"/t/{proxy.token}{CHAT}", b'{"messages": [' + QUESTION + b"]}") as begun,
    ):
        assert begun.response.read1() == b"data: 1\r\n\r\nda"
        passed.set()
        assert begun.response.read() == b"ta: 2\n\n"


@pytest.mark.fault(row=66)
@pytest.mark.parametrize("head", [b"Transfer-Encoding: chunked", b"Content-Length: 99"])
def test_an_answer_that_breaks_off_breaks_off_for_the_runtime_too(looking: Any, head: bytes) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(OK + b"Content-Type: text/event-stream\r\n" + head + b"\r\n\r\n")
        connection.chunk(b"data: 1\n\n") if b"chunked" in head else connection.send(b"data: 1\n\n")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        raw = proxy.raw("POST", CHAT, b'{"messages": [' + QUESTION + b"]}")
    assert b"data: 1\n\n" in raw and not raw.endswith(b"0\r\n\r\n")
    assert b"x-workspaced-context: added" in raw


@pytest.mark.fault(row=66)
def test_a_client_that_leaves_ends_the_providers_request(looking: Any) -> None:
    left = threading.Event()

    def serve(connection: Connection) -> None:
        request = connection.request()
        if request is not None and request.target == CHAT:
            connection.send(OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.chunk(b"data: 1\n\n")
            if connection.wait_until_closed():
                left.set()
        else:
            connection.answer(b"{}")

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        with proxy.begin("POST", f"/t/{proxy.token}{CHAT}", b'{"messages": [' + QUESTION + b"]}") as begun:
            assert begun.response.read1() == b"data: 1\n\n"
        assert left.wait(60)
        assert proxy.request("POST", "/v1/embeddings", b"{}").status == 200


def test_a_client_that_leaves_before_the_answer_ends_the_providers_request(looking: Any) -> None:
    came, left = threading.Event(), threading.Event()

    def serve(connection: Connection) -> None:
        connection.request()
        came.set()
        if connection.wait_until_closed():
            left.set()

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        with proxy.connection() as connection:
            connection.request("POST", f"/t/{proxy.token}{CHAT}", b'{"messages": [' + QUESTION + b"]}")
            assert came.wait(60)
        assert left.wait(60)


# -- providers that fail --


@pytest.mark.fault(row=66)
def test_a_provider_that_cannot_be_reached_is_an_error_that_says_so(looking: Any) -> None:
    with RawUpstream(Recorder()) as url:
        pass  # nobody listens there any more
    with Proxy(looking, url) as proxy:
        answer = proxy.request("POST", CHAT, b'{"messages": [' + QUESTION + b"]}")
    assert (answer.status, answer.code) == (502, "UPSTREAM_UNREACHABLE")
    assert url in json.loads(answer.body)["error"]["message"]


def test_a_provider_that_ends_the_connection_without_an_answer_is_one_too(looking: Any) -> None:
    def serve(connection: Connection) -> None:
        connection.request()

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        assert proxy.request("POST", CHAT, b"{}").status == 502


@pytest.mark.fault(row=66)
def test_a_provider_that_is_silent_is_a_timeout(looking: Any) -> None:
    def serve(connection: Connection) -> None:
        connection.request()
        connection.wait_until_closed()

    with RawUpstream(serve) as url, Proxy(looking, url, "--timeout", "0.2") as proxy:
        answer = proxy.request("POST", CHAT, b'{"messages": [' + QUESTION + b"]}")
    assert (answer.status, answer.code) == (504, "UPSTREAM_TIMEOUT")


# -- prompts of all kinds --


BRIEF = "Be brief."
MARKED = {"type": "text", "text": BRIEF, "cache_control": {"type": "ephemeral"}}
CUSTOM = {"type": "custom", "custom": {"name": "x"}}
SERVER = {"type": "mcp", "server_label": "s"}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
PART = {"parts": [{"text": BRIEF}]}
STREAMED = "/v1beta/models/g:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {"messages": [{"role": "developer", "content": BRIEF}, "ask"], "tools": [CUSTOM]}),
        ("/v1/responses", {"input": "ask", "instructions": BRIEF, "tools": [{"type": "web_search"}]}),
        ("/v1/responses", {"input": ["ask"], "tools": [SERVER], "previous_response_id": None}),
        ("/v1/messages", {"messages": ["ask"], "system": BRIEF, "tools": [SEARCH]}),
        ("/v1/messages?beta=true", {"messages": ["ask"], "system": [MARKED]}),
        (STREAMED, {"contents": ["ask"], "system_instruction": PART, "tools": [{"googleSearch": {}}]}),
    ],
)
def test_system_prompts_and_tools_of_the_providers_own_go_with_the_context(
    looking: Any, path: str, body: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"role": "user", "content": "What is Alpha?"}
    if "contents" in body:
        asked = {"role": "user", "parts": [{"text": "What is Alpha?"}]}
    name = next(name for name in ("messages", "input", "contents") if name in body)
    if isinstance(body[name], list):
        body = {**body, name: [asked if each == "ask" else each for each in body[name]]}
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        answer = proxy.request("POST", path, body)
    assert answer.context == "added", answer.reason
    assert seen.requests[0].target == path
    assert without(seen.requests[0].body) == json.dumps(body).encode()
