"""What the transport does with requests that a synchronous client sends."""

import json
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from support.daemon import Daemon
from support.insertions import told
from support.model_server import ModelServer

from workspaced.adapters.httpx import ContextTransport

QUESTION = "What is the first note?"


@pytest.fixture
def running(daemon: Any) -> Daemon:
    """A daemon whose user looks at a note."""
    made: Daemon = daemon()
    with made.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": "a.md"}}])
    return made


def recorded(running: Daemon, kind: str) -> list[dict[str, Any]]:
    with running.connect() as client:
        events = client.call("workspaced/log", {})["events"]
    return [each["data"] for each in events if each["type"] == kind]


def test_a_chat_grows_and_its_usage_is_recorded(running: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    server = ModelServer()
    http = httpx2.Client(transport=ContextTransport(socket=running.socket))
    with server as url, OpenAI(base_url=f"{url}/v1", api_key="none", http_client=http) as client:
        given: list[Any] = [{"role": "user", "content": QUESTION}]
        done = client.chat.completions.create(model="any", messages=given)
        given += [
            {"role": "assistant", "content": done.choices[0].message.content},
            {"role": "user", "content": "And now?"},
        ]
        pieces = list(client.chat.completions.create(model="any", messages=given, stream=True))
    assert len(pieces) > 1
    assert [len(told(each.raw)) for each in server.exchanges] == [1, 1]
    first, second = (each.body["messages"] for each in server.exchanges)
    assert second[:1] == first
    assert len(recorded(running, "prompt_overlaid")) == 2 and len(recorded(running, "prompt_answered")) == 1


def test_a_refused_request_does_not_count(running: Daemon) -> None:
    came: list[bytes] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        came.append(request.read())
        return httpx2.Response(429 if len(came) == 1 else 200, json={})

    transport = ContextTransport(transport=httpx2.MockTransport(refuse), socket=running.socket)
    body = {"messages": [{"role": "user", "content": QUESTION}]}
    with httpx2.Client(transport=transport) as client:
        client.post("http://provider/v1/messages", json=body)
        assert recorded(running, "prompt_overlaid") == []
        client.post("http://provider/v1/messages", json=body)
    assert came[0] == came[1] and len(recorded(running, "prompt_overlaid")) == 1


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/v1/embeddings", {}),
        ("PUT", "/v1/messages", {}),
        ("POST", "/v1/messages", {"content-encoding": "gzip"}),
    ],
)
def test_what_holds_no_chat_that_can_be_read_passes(
    running: Daemon, method: str, path: str, headers: dict[str, str]
) -> None:
    came: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        came.append(request)
        return httpx2.Response(200, json={})

    body = json.dumps({"messages": [{"role": "user", "content": QUESTION}]}).encode()
    transport = ContextTransport(transport=httpx2.MockTransport(answer), socket=running.socket)
    with httpx2.Client(transport=transport) as client:
        client.request(method, f"http://provider{path}", content=body, headers=headers)
    assert came[0].read() == body and came[0].headers["accept-encoding"] != "identity"
