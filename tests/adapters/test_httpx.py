"""What the transports do with single requests; test_adapters.py has the frameworks' chats."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from openai import OpenAI
from support.daemon import Daemon
from support.insertions import told
from support.model_server import ModelServer

from workspaced.adapters.httpx import AsyncContextTransport, ContextTransport

QUESTION = "What is the first note?"


@pytest.fixture
def running(daemon: Any) -> Daemon:
    """A daemon whose user looks at a note."""
    made: Daemon = daemon()
    made.publish("active_note_set", note="a.md")
    return made


@pytest.mark.thorough
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
    assert len(running.events("prompt_overlaid")) == 2 and len(running.events("prompt_answered")) == 1


def test_a_chat_that_the_provider_holds_goes_on(running: Daemon) -> None:
    came: list[bytes] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        came.append(request.read())
        body = json.dumps({"id": f"resp_{len(came)}", "object": "response", "usage": None}).encode()
        return httpx2.Response(200, stream=httpx2.ByteStream(body))  # not read yet, as a provider's

    transport = ContextTransport(transport=httpx2.MockTransport(answer), socket=running.socket)
    with httpx2.Client(transport=transport) as client:
        for named in ({}, {"previous_response_id": "resp_1"}, {"previous_response_id": "resp_2"}):
            client.post("http://provider/v1/responses", json={"input": QUESTION, **named})
    assert [b"<workspace" in each for each in came] == [True, False, False]
    assert len(running.events("prompt_answered")) == 3


def test_a_refused_request_does_not_count(running: Daemon) -> None:
    came: list[bytes] = []

    def refuse(request: httpx2.Request) -> httpx2.Response:
        came.append(request.read())
        return httpx2.Response(429 if len(came) == 1 else 200, json={})

    transport = ContextTransport(transport=httpx2.MockTransport(refuse), socket=running.socket)
    body = {"messages": [{"role": "user", "content": QUESTION}]}
    with httpx2.Client(transport=transport) as client:
        client.post("http://provider/v1/messages", json=body)
        assert running.events("prompt_overlaid") == []
        client.post("http://provider/v1/messages", json=body)
    assert came[0] == came[1] and len(running.events("prompt_overlaid")) == 1


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/v1/embeddings", {}),
        ("PUT", "/v1/messages", {}),
        ("POST", "/v1/messages", {"content-encoding": "gzip"}),
        ("POST", "/v1/messages", {"authorization": "AWS4-HMAC-SHA256 Credential=..."}),
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


async def test_an_answer_is_closed_if_nobody_waits_for_it_any_more(running: Daemon) -> None:
    came, closed = asyncio.Event(), asyncio.Event()

    class Answer(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{}"

        async def aclose(self) -> None:
            closed.set()

    async def answer(_request: httpx2.Request) -> httpx2.Response:
        os.kill(running.pid, signal.SIGSTOP)  # so that it cannot take the confirmation
        came.set()
        return httpx2.Response(200, stream=Answer())

    transport = AsyncContextTransport(transport=httpx2.MockTransport(answer), socket=running.socket, timeout_s=1)
    body = {"messages": [{"role": "user", "content": QUESTION}]}
    try:
        async with httpx2.AsyncClient(transport=transport) as client:
            asked = asyncio.create_task(client.post("http://provider/v1/messages", json=body))
            await came.wait()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
    finally:
        os.kill(running.pid, signal.SIGCONT)
    assert closed.is_set()
