"""What a hostile client or provider does to the proxy: answers come, the token stays, the recording is true."""

import json
import signal
import socket
import threading
from typing import Any

import pytest
from support.daemon import ANSWER_S
from support.proxy import Proxy
from support.raw_upstream import OK, Connection, RawUpstream, Recorder

pytestmark = pytest.mark.thorough

CHAT = "/v1/chat/completions"
PROMPT = {"messages": [{"role": "user", "content": "What is Alpha?"}]}
EVENTS = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
Json = dict[str, Any]


def sent_raw(proxy: Proxy, line: str, headers: str = "", body: str = "") -> bytes:
    """All bytes that answer a request with that very line."""
    head = f"{line} HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\nConnection: close\r\n{headers}\r\n{body}"
    with socket.create_connection(("127.0.0.1", proxy.port), ANSWER_S) as made:
        made.sendall(head.encode())
        with made.makefile("rb") as file:
            return file.read()


def answered(looking: Any, raw: bytes) -> bytes:
    """The runtime's answer to a prompt, if the provider's is `raw`."""

    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(raw)

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        body = json.dumps(PROMPT)
        length = f"Content-Length: {len(body)}\r\n"
        return sent_raw(proxy, f"POST /t/{proxy.token}{CHAT}", length, body)


# -- what comes from the client --


def test_a_body_in_chunks_passes_also_beside_a_length_that_does_not_count(looking: Any) -> None:
    seen = Recorder()
    headers = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        raw = sent_raw(proxy, f"POST /t/{proxy.token}/v1/files", headers, "5\r\nhello\r\n0\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 200") and [each.body for each in seen.requests] == [b"hello"]


def test_a_request_to_the_whole_url_is_one_to_its_path(looking: Any) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        raw = sent_raw(proxy, f"GET {proxy.url}/v1/models")
    assert raw.startswith(b"HTTP/1.1 200") and [each.target for each in seen.requests] == ["/v1/models"]


@pytest.mark.parametrize(
    ("target", "header"),
    [
        ("/t/TOKEN/v1/models", "Referer: http://127.0.0.1/t/TOKEN/ui\r\n"),
        ("http://127.0.0.1/t/TOKEN/v1/models", "x-workspaced-token: TOKEN\r\n"),
        ("//t/TOKEN/v1/models", "x-workspaced-token: TOKEN\r\n"),
        ("/t/TOKEN/t/TOKEN/v1/models", ""),
        ("/t/TOKEN/v1/models?key=TOKEN", ""),
        ("/v1/%74/TOKEN", "x-workspaced-token: TOKEN\r\n"),
    ],
)
def test_the_provider_never_sees_the_token(looking: Any, target: str, header: str) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        token = proxy.token
        sent_raw(proxy, f"GET {target.replace('TOKEN', token)}", header.replace("TOKEN", token))
    assert token not in str(seen.requests)


def test_a_connect_is_answered_without_a_failure_in_the_log(looking: Any) -> None:
    with RawUpstream(Recorder()) as url, Proxy(looking, url) as proxy:
        raw = sent_raw(proxy, "CONNECT elsewhere.example:443", f"x-workspaced-token: {proxy.token}\r\n")
    assert raw.startswith(b"HTTP/1.1 405") and proxy.stderr == []


def test_a_whole_url_of_another_machine_is_refused(looking: Any) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        raw = sent_raw(proxy, f"GET http://evil.example/t/{proxy.token}/v1/models")
        assert raw.startswith(b"HTTP/1.1 403") and b"FOREIGN_HOST" in raw
        raw = sent_raw(proxy, "OPTIONS *", f"x-workspaced-token: {proxy.token}\r\n")
        assert raw.startswith(b"HTTP/1.1 400") and b"TARGET_WRONG" in raw
    assert seen.requests == []


# -- what comes from the provider --


def test_chunks_of_an_answer_count_more_than_a_length_beside_them(looking: Any) -> None:
    raw = OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    assert b"hello" in answered(looking, raw)


@pytest.mark.parametrize("status", [b"999 Denied", b"600 More"])
def test_a_status_that_no_answer_has_is_refused_with_its_number(looking: Any, status: bytes) -> None:
    raw = answered(looking, b"HTTP/1.1 " + status + b"\r\nContent-Length: 2\r\n\r\n{}")
    assert raw.startswith(b"HTTP/1.1 502") and b"UPSTREAM_STATUS" in raw and b"status " + status[:3] in raw


# -- what is recorded --


def test_the_usage_that_passed_is_recorded_if_the_client_leaves_after_the_last_event(looking: Any) -> None:
    wire = looking.wire()
    wire.ask("workspaced/hello", {"client": {"name": "watcher", "version": "1"}})
    wire.ask("workspaced/subscribe", {"types": ["prompt_answered", "active_note_set"]})
    left = threading.Event()

    def serve(connection: Connection) -> None:
        connection.request()
        connection.send(EVENTS)
        connection.chunk(b'data: {"usage": {"prompt_tokens": 1000, "completion_tokens": 20}}\n\n')
        connection.chunk(b"data: [DONE]\n\n")
        connection.wait_until_closed()
        left.set()

    with RawUpstream(serve) as url, Proxy(looking, url) as proxy:
        with proxy.begin("POST", f"/t/{proxy.token}{CHAT}", PROMPT) as begun:
            while b"[DONE]" not in begun.response.readline():
                pass
        assert left.wait(ANSWER_S)
    with looking.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
    notice = wire.line()
    assert notice is not None and notice["params"]["events"][0]["type"] == "prompt_answered"


def inserted(looking: Any) -> list[Json]:
    with looking.connect() as client:
        found: list[Json] = client.call("workspaced/log", {"types": ["context_inserted"]})["events"]
        return found


def test_a_prompt_whose_client_left_before_it_was_sent_is_not_recorded(looking: Any) -> None:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        looking.send_signal(signal.SIGSTOP)
        try:
            with proxy.connection() as leaving:
                leaving.request("POST", f"/t/{proxy.token}{CHAT}", json.dumps(PROMPT))
                proxy.request("GET", "/v1/models")  # the proxy has read the first by now
            proxy.request("GET", "/v1/models")  # and knows that its client left
        finally:
            looking.send_signal(signal.SIGCONT)
        with looking.connect() as client:
            client.publish([{"type": "active_note_set", "data": {"note": "b.md"}}])
    assert [each.target for each in seen.requests] == ["/v1/models"] * 2
    assert inserted(looking) == []


# -- what the provider gets of a prompt --
