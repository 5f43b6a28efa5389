"""What holds of each framework's adapter: real packages, a real daemon, a model that refuses what providers do."""

import json
import logging
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.daemon import Daemon
from support.frameworks import FRAMEWORKS, PNG, SYSTEM, Chat
from support.model_server import ModelServer

pytestmark = pytest.mark.thorough

NOTE = "The first note, see [[b]]."
MARK = "active_note"
Make = Callable[..., Chat]


@pytest.fixture
def running(daemon: Any) -> Daemon:
    """A daemon whose user looks at a note."""
    made: Daemon = daemon()
    look_at(made, "a.md")
    return made


def look_at(running: Daemon, note: str) -> None:
    with running.connect() as client:
        client.publish([{"type": "active_note_set", "data": {"note": note}}])


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
    for package in framework.extras:
        pytest.importorskip(package, reason=f"the extra {request.param} is not installed")
    return lambda **options: framework(server.url, **{"socket": running.socket, **options})


def sent(server: ModelServer, at: int = -1) -> list[str]:
    """The messages or items of a request, as bytes of JSON without what stands beside them."""
    body = server.exchanges[at].body
    return [json.dumps(each) for each in body.get("messages") or body["input"]]


async def test_a_request_has_the_note_that_the_user_looks_at(chat: Make, server: ModelServer) -> None:
    made = chat()
    assert await made.ask("What is the first note?") == f"It says: {NOTE}"
    assert NOTE in sent(server)[-1]
    assert SYSTEM in json.dumps(server.exchanges[-1].body)


async def test_the_frameworks_own_history_holds_no_context(chat: Make) -> None:
    made = chat()
    await made.ask("What is the first note?")
    await made.stream("What else is in it?")
    assert MARK not in made.history and "What is the first note?" in made.history


async def test_each_turn_begins_with_the_bytes_of_the_one_before(
    chat: Make, server: ModelServer, running: Daemon
) -> None:
    made = chat()
    await made.ask("What is the first note?")
    look_at(running, "b.md")
    await made.ask("And this one?")
    await made.stream("And what was the first?")
    first, second, third = (sent(server, at) for at in range(3))
    assert second[: len(first)] == first and third[: len(second)] == second
    assert NOTE in first[-1] and NOTE not in second[-1]
    assert "The second note." in second[-1]


async def test_a_streamed_answer_is_whole(chat: Make, server: ModelServer) -> None:
    assert await chat().stream("What is the first note?") == f"It says: {NOTE}"
    assert server.exchanges[-1].body["stream"] is True


async def test_parallel_calls_keep_their_results(chat: Make, server: ModelServer) -> None:
    made = chat()
    made.seed("call_1", "call_2")
    await made.ask("What is the first note?")
    told = "".join(sent(server))
    assert NOTE in sent(server)[-1]
    assert all(told.count(name) == 2 for name in ("call_1", "call_2"))
    assert told.index("Alpha is the first.") < told.index("Beta is the second.")


async def test_other_ids_of_calls_are_the_same_chat(chat: Make, server: ModelServer) -> None:
    first, second = chat(), chat()
    for made, ids in ((first, ("call_1", "call_2")), (second, ("other_1", "other_2"))):
        made.seed(*ids)
        await made.ask("What is the first note?")
    assert [each.replace("other_", "call_") for each in sent(server, 1)] == sent(server, 0)


async def test_a_question_asked_again_is_sent_again_to_the_byte(chat: Make, server: ModelServer) -> None:
    made = chat()
    await made.ask("What is the first note?")
    await made.ask("What else?")
    made.forget()
    await made.ask("What else?")
    assert sent(server, 2) == sent(server, 1)


async def test_two_chats_that_begin_alike_stay_two(chat: Make, server: ModelServer) -> None:
    one, other = chat(), chat()
    for made in (one, other):
        await made.ask("What is the first note?")
    await one.ask("Who reads it?")
    await other.ask("Who wrote it?")
    await one.ask("And why?")
    third, fifth = sent(server, 2), sent(server, 4)
    assert fifth[: len(third)] == third
    assert "Who wrote it?" not in "".join(fifth)


async def test_an_image_reaches_the_model_with_the_context(chat: Make, server: ModelServer) -> None:
    made = chat()
    await made.ask("What is the first note?", image=True)
    assert NOTE in sent(server)[-1] and PNG in sent(server)[-1]
    await made.ask("And now?")
    assert sent(server)[: len(sent(server, 0))] == sent(server, 0)


async def test_a_history_beyond_a_line_goes_on_with_its_conversation(chat: Make, server: ModelServer) -> None:
    made = chat(context_window=2_000_000)
    for _ in range(3):
        await made.ask("Read these words.\n" * 30_000)
    await made.ask("What is the first note?")
    assert sum(NOTE in each for each in sent(server)) == 1
    assert sum("Read these words." in each for each in sent(server)) == 3
    assert sent(server)[: len(sent(server, -2))] == sent(server, -2)


async def test_without_a_daemon_the_request_is_as_it_was(
    chat: Make, server: ModelServer, running: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    made = chat()
    assert running.stop() == 0
    await made.ask("What is the first note?")
    assert "What is the first note?" in sent(server)[-1] and MARK not in "".join(sent(server))
    running.start()
    await made.ask("What is the first note, please?")
    assert NOTE in sent(server)[-1]
    running.stop()
    await made.ask("And now?")
    await made.ask("And then?")
    assert MARK not in "".join(sent(server))
    assert [each.levelno for each in ours(caplog)] == [logging.WARNING] * 2
    assert all("NO_DAEMON" in each.getMessage() for each in ours(caplog))


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [each for each in caplog.records if each.name == "workspaced.adapters"]


async def test_a_daemon_that_hangs_is_left_alone_for_a_while(
    chat: Make, server: ModelServer, running: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    made, patient = chat(timeout_s=0.2), None
    os.kill(running.pid, signal.SIGSTOP)
    try:
        await made.ask("What is the first note?")
    finally:
        os.kill(running.pid, signal.SIGCONT)
    await made.ask("And now?")
    assert MARK not in "".join(sent(server))
    assert ["TIMEOUT" in each.getMessage() for each in ours(caplog)] == [True]
    patient = chat()
    await patient.ask("What is the first note?")
    assert NOTE in sent(server)[-1]


async def test_results_whose_calls_the_server_holds_pass_unchanged(running: Daemon) -> None:
    agents = pytest.importorskip("agents", reason="the extra openai-agents is not installed")
    from agents.run import CallModelData, ModelInputData

    from workspaced.adapters.openai_agents import WorkspacedFilter

    data = ModelInputData([{"type": "function_call_output", "call_id": "c1", "output": "found"}], "Help.")
    filtered = await WorkspacedFilter(socket=running.socket)(CallModelData(data, agents.Agent("helper"), None))
    assert filtered is data


async def test_reasoning_and_calls_of_hosted_tools_reach_the_model_as_they_are(running: Daemon) -> None:
    agents = pytest.importorskip("agents", reason="the extra openai-agents is not installed")
    from agents.run import CallModelData, ModelInputData

    from workspaced.adapters.openai_agents import WorkspacedFilter

    answer = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is."}]},
    ]
    items = [
        {"role": "user", "content": "Is it?"},
        *answer,
        {"role": "user", "content": "What is the first note?"},
    ]
    given = CallModelData(ModelInputData(items, "Help."), agents.Agent("helper"), None)
    filtered = await WorkspacedFilter(socket=running.socket)(given)
    assert [each is own for each, own in zip(filtered.input[1:4], answer, strict=True)] == [True] * 3
    assert NOTE in filtered.input[-1]["content"]
