"""What holds of each framework: real packages, a real daemon, a model that refuses what providers do."""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.daemon import Daemon
from support.frameworks import FOUND, FRAMEWORKS, Chat
from support.insertions import told, without
from support.model_server import ModelServer

pytestmark = pytest.mark.thorough

QUESTION = "What is the first note?"
Make = Callable[..., Chat]


@pytest.fixture
def running(daemon: Any) -> Daemon:
    """A daemon whose user looks at a note."""
    made: Daemon = daemon()
    made.publish("active_note_set", note="a.md")
    return made


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("NO_PROXY", "*")
    made = ModelServer()
    with made as url:
        made.url = url  # type: ignore[attr-defined]
        yield made
    assert [each.answer for each in made.exchanges if each.status != 200] == []


@pytest.fixture(params=FRAMEWORKS)
def chat(request: pytest.FixtureRequest, server: Any, running: Daemon) -> Make:
    """Makes a chat in the framework."""
    framework = FRAMEWORKS[request.param]
    pytest.importorskip(framework.package, reason="the extra frameworks is not installed")
    return lambda **options: framework(server.url, **{"socket": running.socket, **options})


def check_bytes(server: ModelServer, *chats: Chat) -> None:
    """What the provider got is what the framework sent, but for insertions."""
    got = [without(each.raw) for each in server.exchanges]
    sent = [each for made in chats for each in made.bodies]
    if hasattr(chats[0], "handler"):  # LiteLLM has values
        assert sorted(map(canonical, got)) == sorted(map(canonical, sent))
    else:
        assert sorted(got) == sorted(sent)


def canonical(body: bytes) -> str:
    return json.dumps(json.loads(body), sort_keys=True)


def messages(server: ModelServer, at: int) -> list[str]:
    """The messages or items of a request, as JSON without what stands beside them."""
    body = server.exchanges[at].body
    found = next(body[name] for name in ("messages", "input", "contents") if name in body)
    return [json.dumps(each) for each in found]


def insertions(server: ModelServer, at: int = -1) -> list[str]:
    return told(server.exchanges[at].raw)


async def test_each_turn_begins_with_the_bytes_of_the_one_before_and_the_frameworks_history_holds_no_context(
    chat: Make, server: ModelServer, running: Daemon
) -> None:
    made = chat()
    await made.ask(QUESTION)
    running.publish("active_note_set", note="b.md")
    await made.ask("And this one?")
    text = await made.stream("And what was the first?")
    assert text.startswith("It says: ") and json.dumps(text)[1:-1] in json.dumps(server.exchanges[-1].answer)
    assert "<workspace as-of=" not in repr(made.history) and QUESTION in repr(made.history)
    assert len({each["data"]["bodyHash"] for each in running.events("prompt_overlaid")}) == 3
    first, second, third = (messages(server, at) for at in range(3))
    assert second[: len(first)] == first and third[: len(second)] == second
    assert ["looking at: a.md" in each for each in insertions(server, 0)] == [True]
    assert ["looking at: b.md" in each for each in insertions(server, 1)] == [False, True]
    assert insertions(server, 2) == insertions(server, 1), "nothing changed"
    check_bytes(server, made)


@pytest.mark.parametrize("chat", ["openai-agents"], indirect=True)
async def test_a_round_of_tools_keeps_its_insertion(chat: Make, server: ModelServer) -> None:
    made = chat()
    await made.ask("Please look for alpha.")
    assert len(server.exchanges) == 2 and FOUND in server.exchanges[1].raw.decode()
    assert messages(server, 1)[: len(messages(server, 0))] == messages(server, 0)
    await made.ask(QUESTION)
    assert messages(server, 2)[: len(messages(server, 1))] == messages(server, 1)
    check_bytes(server, made)


async def test_two_requests_at_once_stay_two_chats(chat: Make, server: ModelServer) -> None:
    one, other = chat(), chat()
    await asyncio.gather(one.ask("Who reads it?"), other.ask("Who wrote it?"))
    await asyncio.gather(one.ask("And why?"), other.ask("And why?"))
    assert [len(told(each.raw)) for each in server.exchanges] == [1] * 4
    check_bytes(server, one, other)


async def test_without_a_daemon_the_request_is_as_it_was(
    chat: Make, server: ModelServer, running: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat()
    assert running.stop() == 0
    await made.ask(QUESTION)
    assert insertions(server) == []
    running.start()
    await made.ask("What is the first note, please?")
    assert len(insertions(server)) == 1
    running.stop()
    await made.ask("And now?")
    await made.ask("And then?")
    assert insertions(server) == []
    check_bytes(server, made)
    assert [each.levelno for each in ours(caplog)] == [logging.WARNING] * 2
    assert all("NO_DAEMON" in each.getMessage() for each in ours(caplog))


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if each.name == "workspaced.adapters"]


async def test_a_daemon_that_hangs_is_left_alone_for_a_while(
    chat: Make, server: ModelServer, running: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat(timeout_s=0.2)
    os.kill(running.pid, signal.SIGSTOP)
    try:
        await made.ask(QUESTION)
    finally:
        os.kill(running.pid, signal.SIGCONT)
    await made.ask("And now?")
    assert [told(each.raw) for each in server.exchanges] == [[], []]
    assert ["TIMEOUT" in each.getMessage() for each in ours(caplog)] == [True]
    patient = chat()
    await patient.ask(QUESTION)
    assert len(insertions(server)) == 1


@pytest.mark.parametrize("chat", ["anthropic", "gemini", "openai-agents"], indirect=True)
async def test_the_providers_usage_is_recorded_when_its_answer_ended(
    chat: Make, server: ModelServer, running: Daemon
) -> None:
    made = chat()
    await made.ask(QUESTION)
    assert len(running.events("prompt_answered")) == 1
    await made.stream("And now?")
    assert len(running.events("prompt_answered")) == 2


@pytest.mark.parametrize(
    ("call", "field"), [("acompletion", "messages"), ("anthropic_messages", "messages"), ("aresponses", "input")]
)
async def test_litellms_hook_keeps_each_value_of_a_call(running: Daemon, call: str, field: str) -> None:
    pytest.importorskip("litellm", reason="the extra litellm is not installed")
    from workspaced.adapters.litellm import WorkspacedHandler

    handler = WorkspacedHandler(socket=running.socket)
    sent: list[Any] = [{"role": "user", "content": QUESTION, "weight": 1.50, "own": ["é", None]}]
    data = {"model": "any", field: sent, "metadata": {"call": object()}}
    made = await handler.async_pre_call_hook(None, None, data, call)
    put = json.dumps(made[field], ensure_ascii=False, separators=(",", ":")).encode()
    assert len(told(put)) == 1 and json.loads(without(put)) == sent
    assert {**made, field: sent} == data and data[field] is sent
    assert await handler.async_pre_call_hook(None, None, data, "aembedding") is data
    assert len(running.events("prompt_overlaid")) == 1
