"""The providers' own SDKs through the proxy, unchanged: with another base URL, and nothing else."""

import json
from collections.abc import Callable
from typing import Any

import pytest

ALPHA, BETA = "It says: | Alpha is red.", "And is Beta blue?"
Json = dict[str, Any]


# The SDKs are imported by those who use them: together they take seconds of every process that collects tests.


def openai(world: Any) -> Any:
    from openai import OpenAI

    return OpenAI(base_url=f"{world.proxy.url}/v1", api_key="secret-key", max_retries=0)


def anthropic(world: Any) -> Any:
    from anthropic import Anthropic

    return Anthropic(base_url=world.proxy.url, api_key="secret-key", max_retries=0)


def chat(world: Any, messages: list[Any], **more: Any) -> Any:
    with openai(world) as sdk:
        return sdk.chat.completions.create(model="gpt-x", messages=messages, **more)


def by_streamed_chat(world: Any, messages: list[Json]) -> str:
    options = {"include_usage": True}
    with openai(world) as sdk:
        stream = sdk.chat.completions.create(model="gpt-x", messages=messages, stream=True, stream_options=options)
        return "".join(each.choices[0].delta.content or "" for each in stream if each.choices)


def by_responses(world: Any, messages: list[Json]) -> str:
    with openai(world) as sdk:
        return str(sdk.responses.create(model="gpt-x", input=messages).output_text)


def by_streamed_messages(world: Any, messages: list[Json]) -> str:
    with (
        anthropic(world) as sdk,
        sdk.messages.stream(model="claude-x", max_tokens=99, messages=messages) as stream,
    ):
        return "".join(stream.text_stream)


def by_gemini(world: Any, messages: list[Json]) -> str:
    from google import genai

    sdk = genai.Client(api_key="secret-key", http_options={"base_url": world.proxy.url})
    roles = {"user": "user", "assistant": "model"}
    contents = [{"role": roles[each["role"]], "parts": [{"text": each["content"]}]} for each in messages]
    return str(sdk.models.generate_content(model="gemini-x", contents=contents).text)


ASK: list[Callable[[Any, list[Json]], str]] = [by_streamed_chat, by_responses, by_streamed_messages, by_gemini]


def prompt_of(body: Json) -> list[str]:
    """The messages, each as JSON."""
    messages = next(body[name] for name in ("messages", "input", "contents") if name in body)
    return [json.dumps(each) for each in messages]


@pytest.mark.parametrize("ask", ASK)
def test_its_answers_come_from_the_note_and_its_second_turn_begins_with_the_first(
    world: Any, ask: Callable[[Any, list[Json]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    wire = world.daemon.wire()
    wire.ask("workspaced/hello", {"client": {"name": "watcher", "version": "1"}})
    wire.ask("workspaced/subscribe", {"types": ["prompt_answered"]})
    messages = [{"role": "user", "content": "What is Alpha?"}]
    answer = ask(world, messages)
    assert answer == ALPHA
    messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": BETA}]
    ask(world, messages)
    first, second = map(prompt_of, world.bodies)
    assert "Alpha is red." in first[-1] and second[: len(first)] == first and len(second) == 3
    reported: list[Json] = []
    while len(reported) < 2:  # after the answers
        notice = wire.line()
        assert notice is not None
        reported += notice["params"]["events"]
    assert all(each["data"]["inputTokens"] > 10 and each["data"]["outputTokens"] > 1 for each in reported)
    assert len({each["data"]["bodyHash"] for each in reported}) == 2
    done = world.daemon.cli("replay", "--verify", str(world.daemon.data))
    assert done.returncode == 0 and "1 call: 1 answer the same" in done.stdout + done.stderr


def test_a_round_of_parallel_calls_goes_through(world: Any) -> None:
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": f'{{"at":{at}}}'}}
        for at in range(2)
    ]
    results = [{"role": "tool", "tool_call_id": each["id"], "content": "Found."} for each in calls]
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
    question = {"role": "user", "content": "What is Alpha?"}
    chat(world, [question], tools=[tool])
    chat(world, [question, {"role": "assistant", "tool_calls": calls}, *results], tools=[tool])
    first, second = world.bodies
    assert prompt_of(second)[:1] == prompt_of(first) and "looking at: a.md" in prompt_of(first)[0]
    assert second["messages"][1]["tool_calls"] == calls and second["tools"] == [tool]
    assert second["messages"][2:] == results
