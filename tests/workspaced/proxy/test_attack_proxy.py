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

from workspaced.overlay.usage import UsageReader

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


def test_a_reason_that_is_cut_at_a_blank_is_still_a_header(looking: Any) -> None:
    role = "odd" + " " * 400 + "role"
    with RawUpstream(Recorder()) as url, Proxy(looking, url) as proxy:
        body = json.dumps({"messages": [{"role": role, "content": "Hm?"}]})
        raw = sent_raw(proxy, f"POST /t/{proxy.token}{CHAT}", f"Content-Length: {len(body)}\r\n", body)
    assert raw.startswith(b"HTTP/1.1 200") and b"x-workspaced-reason: UNREADABLE" in raw


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


def test_a_content_type_in_any_letters_does_not_cut_the_answer(looking: Any) -> None:
    head = 'Content-Type: application/json; title="\u20ac"\r\nContent-Length: 2\r\n\r\n'
    assert answered(looking, OK + head.encode() + b"{}").endswith(b"\r\n\r\n{}")


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


@pytest.mark.parametrize(("media_type", "end"), [(b"Text/Event-Stream", b"\n"), (b"text/event-stream", b"\r")])
def test_usage_is_found_in_every_stream_that_the_standard_allows(media_type: bytes, end: bytes) -> None:
    reader = UsageReader(media_type)
    reader.feed(end.join([b'data: {"choices": []}', b"", b'data: {"usage": {"prompt_tokens": 9}}', b"", b""]))
    assert reader.told() == {"usage": {"prompt_tokens": 9}}


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


def provider_gets(looking: Any, path: str, body: Json) -> Json:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        assert proxy.request("POST", path, {"model": "m", **body}).status == 200
    sent: Json = json.loads(seen.requests[0].body)
    return sent


ASK = {"role": "user", "content": "What is Alpha?"}
MORE = {"role": "user", "content": "Sure?"}


@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
def test_an_answer_that_the_model_is_to_go_on_with_stays_the_last_message(looking: Any, path: str) -> None:
    begun = {"role": "assistant", "content": "It is"}
    messages = provider_gets(looking, path, {"max_tokens": 9, "messages": [ASK, begun]})["messages"]
    assert messages[-1]["role"] == "assistant", messages[-1]


def test_arguments_that_are_no_json_reach_the_provider_as_the_model_wrote_them(looking: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "These arguments are no JSON."}
    given = [ASK, {"role": "assistant", "tool_calls": [call]}, result]
    assert provider_gets(looking, CHAT, {"messages": given})["messages"][1]["tool_calls"] == [call]


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "signed"}


@pytest.mark.parametrize(
    ("path", "name", "reasoned", "plain"),
    [
        ("/v1/responses", "input", [REASONING], {"role": "assistant", "content": "Red."}),
        (
            "/v1/messages",
            "messages",
            [THINKING],
            {"role": "assistant", "content": [{"type": "text", "text": "Red."}]},
        ),
    ],
)
def test_reasoning_is_the_requests_own_also_if_another_chat_had_the_same_words(
    looking: Any, path: str, name: str, reasoned: list[Json], plain: Json
) -> None:
    thought = [*reasoned, plain]
    if name == "messages":
        thought = [{**plain, "content": [*reasoned, *plain["content"]]}]
    body = {"model": "m", "max_tokens": 9}
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        for answer in ([plain], thought):
            assert proxy.request("POST", path, {**body, name: [ASK, *answer, MORE]}).status == 200
    own = reasoned[0].get("encrypted_content") or reasoned[0]["signature"]
    assert [own in each.body.decode() for each in seen.requests] == [False, True]


def test_the_phase_of_an_answer_is_not_dropped_in_silence(looking: Any) -> None:
    text = {"type": "output_text", "text": "Red.", "annotations": []}
    message = {"type": "message", "role": "assistant", "phase": "commentary", "content": [text]}
    assert "phase" in json.dumps(provider_gets(looking, "/v1/responses", {"input": [ASK, message, MORE]}))


def test_signed_thinking_stays_before_the_call_that_follows_it(looking: Any) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok"}]}
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        for blocks in ([call], [THINKING, call]):
            answer = {"role": "assistant", "content": blocks}
            body = {"model": "m", "max_tokens": 9, "messages": [ASK, answer, result]}
            assert proxy.request("POST", "/v1/messages", body).status == 200
    sent = json.loads(seen.requests[-1].body)["messages"][1]["content"]
    assert [each["type"] for each in sent] == ["thinking", "tool_use"]
