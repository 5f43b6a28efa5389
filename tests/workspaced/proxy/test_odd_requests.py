"""Requests that are hostile or broken: each goes on as it came or takes its text, and the next one is served."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import ANSWER_S
from support.insertions import told, without
from support.proxy import Proxy
from support.raw_upstream import RawUpstream, Recorder

from .conftest import started

CHAT = "/v1/chat/completions"
ASK = b'{"role":"user","content":"What is Alpha?"}'


def chat(*messages: bytes, rest: bytes = b"") -> bytes:
    return b'{"messages":[' + b",".join([*messages, ASK]) + b"]" + rest + b"}"


DEEP = b"[" * 200_000 + b"]" * 200_000
MIB = 1 << 20
CASES: dict[str, tuple[bytes, str]] = {
    "escapes": (chat(b'{"role":"assistant","content":"' + b"\\u00e9" * MIB + b'"}'), "added"),
    "backslashes": (chat(b'{"role":"assistant","content":"' + b"\\\\" * (3 * MIB) + b'"}'), "added"),
    "cut emojis": (chat(b'{"role":"assistant","content":"' + b"\\ud83d" * MIB + b'"}'), "added"),
    "blanks": (chat(b" " * (7 * MIB) + b'{"role":"assistant","content":"yo"}'), "added"),
    "16 MiB of escapes": (chat(b'{"role":"user","content":"' + b"\\u00e9" * (16 * MIB // 6) + b'"}'), "added"),
    "deep beside the messages": (chat(rest=b',"x":' + DEEP), "UNREADABLE"),
    "deep in a message": (chat(b'{"role":"user","content":' + DEEP + b"}"), "UNREADABLE"),
    "100,000 messages": (chat(*[b'{"role":"user","content":"a"}'] * 100_000), "LINE_TOO_LARGE"),
    "100,000 parts": (chat(b'{"role":"user","content":[' + b",".join([b"{}"] * 100_000) + b"]}"), "added"),
    "a name twice": (chat(rest=b',"messages":[]'), "UNREADABLE"),
    "an escaped name twice": (chat(rest=b',"m\\u0065ssages":[]'), "UNREADABLE"),
    "content twice": (b'{"messages":[{"role":"user","content":"a","content":"b"}]}', "UNREADABLE"),
    "role twice": (b'{"messages":[{"role":"user","content":"a","role":"tool"}]}', "UNREADABLE"),
    "no words of the user": (b'{"messages":[{"role":"system","content":"s"}]}', "UNREADABLE"),
    "nothing": (b"", "UNREADABLE"),
    "no UTF-8": (b'{"messages":[{"role":"user","content":"\xff"}]}', "UNREADABLE"),
    "UTF-16": (chat().decode().encode("utf-16"), "UNREADABLE"),
    "empty tools": (chat(rest=b',"tools":[ ]'), "added"),
    "content as a number": (b'{"messages":[{"role":"user","content":1e400}]}', "UNREADABLE"),
}


@pytest.fixture(scope="module")
def before(module_daemon: Any) -> Iterator[tuple[Proxy, Recorder]]:
    seen = Recorder()
    with RawUpstream(seen) as url, Proxy(started(module_daemon), url) as proxy:
        yield proxy, seen


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on_as_it_came_or_with_its_text_and_the_next_is_served(
    before: tuple[Proxy, Recorder], name: str
) -> None:
    proxy, seen = before
    raw, outcome = CASES[name]
    seen.requests.clear()
    begun = time.monotonic()
    answer = proxy.request("POST", CHAT, raw)
    assert time.monotonic() - begun < 10
    assert (answer.context if outcome == "added" else answer.reason).startswith(outcome), answer.reason
    (came,) = seen.requests
    assert without(came.body) == raw and bool(told(came.body)) == (outcome == "added")
    assert proxy.request("POST", CHAT, chat()).context == "added"


def test_log_status_and_doctor_count_them_by_their_reasons(looking: Any) -> None:
    with RawUpstream(Recorder()) as url, Proxy(looking, url) as proxy:
        for _ in range(11):
            proxy.request("POST", CHAT, b"no JSON")
        proxy.request("POST", CHAT, gzip.compress(chat()), {"Content-Encoding": "gzip"})
        proxy.request("GET", "/v1/models")
        proxy.request("POST", CHAT, chat())
    counted = [line.partition("so far: ")[2].split(":")[0] for line in proxy.stderr]
    assert counted == ["1, the last for UNREADABLE", "10, the last for UNREADABLE", "1, the last for COMPRESSED"]
    assert looking.call("workspaced/status")["unchanged"] == {"UNREADABLE": 11, "COMPRESSED": 1}
    assert "requests to a provider: 11 UNREADABLE, 1 COMPRESSED" in looking.cli("status").stdout
    found = json.loads(looking.cli("doctor", "--json").stdout)
    (told_of,) = [each for each in found if each["about"] == "requests"]
    assert told_of["level"] == "warning" and "11 UNREADABLE, 1 COMPRESSED" in told_of["says"]


def test_requests_in_one_go_are_answered_in_their_order(before: tuple[Proxy, Recorder]) -> None:
    proxy, seen = before
    seen.requests.clear()
    sent = b""
    for number in range(3):
        body = chat(b'{"role":"assistant","content":"%d"}' % number)
        head = f"POST /t/{proxy.token}{CHAT} HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\n"
        head += f"Content-Length: {len(body)}\r\n"
        sent += head.encode() + (b"Connection: close\r\n" if number == 2 else b"") + b"\r\n" + body
    with socket.create_connection(("127.0.0.1", proxy.port), ANSWER_S) as made, made.makefile("rb") as file:
        made.sendall(sent)
        assert file.read().count(b"x-workspaced-context: added") == 3
    assert [json.loads(each.body)["messages"][0]["content"] for each in seen.requests] == ["0", "1", "2"]


def test_two_requests_of_one_turn_at_once_are_told_the_same(looking: Any) -> None:
    seen, at_once = Recorder(), threading.Barrier(4)

    def ask() -> None:
        at_once.wait()
        assert proxy.request("POST", CHAT, chat()).context == "added"

    with RawUpstream(seen) as url, Proxy(looking, url) as proxy:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    found = looking.events("context_inserted", "prompt_overlaid")
    assert len({each.body for each in seen.requests}) == 1
    assert [each["type"] for each in found] == ["context_inserted", *["prompt_overlaid"] * 4]
