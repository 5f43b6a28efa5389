"""Bodies of requests: the golden ones, what providers' own types say of them, and what holds of any."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import support
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import BaseModel, TypeAdapter
from pydantic.alias_generators import to_camel
from support import TESTS
from support import golden_bodies as write
from support.profiles import examples
from support.random_conversations import ID, talks

from workspaced_tools.prompts.assembly.assemble import assemble
from workspaced_tools.prompts.model.types import TURN_VERSION, Envelope, Turn
from workspaced_tools.prompts.providers.bodies import RenderedBody, body_hash, shape
from workspaced_tools.prompts.providers.known import SHAPES
from workspaced_tools.prompts.providers.templates import template_named

DATA = support.DATA / "bodies"


# -- golden bodies --


def test_golden_bodies_are_what_they_were() -> None:
    made = write.golden()
    assert made.keys() == {path.name for path in DATA.glob("*.json")}
    for name, text in made.items():
        assert text == (DATA / name).read_text(encoding="utf-8"), f"{name}: see tests/support/golden_bodies.py"


@pytest.mark.parametrize(("seed", "zone"), [("0", "UTC"), ("4711", "Asia/Kathmandu")])
def test_another_process_makes_the_same_bodies(seed: str, zone: str, tmp_path: Path) -> None:
    command = [sys.executable, "-B", "-m", "support.golden_bodies", str(tmp_path)]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone}, cwd=TESTS, check=True)
    for path in DATA.glob("*.json"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


# -- providers' types --


def consumed(value: Any) -> Any:
    """With what pydantic checks only when it is looked at."""
    if isinstance(value, Mapping):
        return {key: consumed(each) for key, each in value.items()}
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return value
    return [consumed(each) for each in value]


@cache
def adapter(family: str) -> TypeAdapter[Any]:
    """Of a family's requests. Its SDK takes seconds to import, which no process shall need to collect tests."""
    if family == "gemini":
        from google.genai import types

        class GenerateContent(BaseModel, extra="forbid", alias_generator=to_camel):
            contents: list[types.Content]
            system_instruction: types.Content | None = None
            tools: list[types.Tool] | None = None
            generation_config: types.GenerationConfig | None = None
            cached_content: str | None = None

        return TypeAdapter(GenerateContent)
    if family == "anthropic":
        from anthropic.types import message_create_params

        return TypeAdapter(message_create_params.MessageCreateParamsNonStreaming)
    from openai.types import chat, responses

    params = {
        "openai": chat.completion_create_params.CompletionCreateParamsNonStreaming,
        "responses": responses.response_create_params.ResponseCreateParamsNonStreaming,
    }
    return TypeAdapter(params[family])


def accepted(body: dict[str, Any], family: str) -> None:
    """By the provider's own types, and without a field that they do not know."""
    if family == "gemini":
        adapter(family).validate_json(json.dumps(body))
    else:
        assert consumed(adapter(family).validate_python(body)) == body


@pytest.mark.thorough
def test_golden_bodies_are_what_their_providers_take() -> None:
    for path in sorted(DATA.glob("*.json")):
        body, family = json.loads(path.read_text(encoding="utf-8"))["body"], path.name.split(".")[1]
        accepted(body, family)
        well_formed(body, family)


# -- what holds of any body --


def strings(value: Any) -> Iterator[str]:
    """All texts in a body; the JSON text of arguments as well as what is in it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from strings(each)
            if key == "arguments" and isinstance(each, str):
                with suppress(ValueError):  # inside an object made of a text that was none
                    yield from strings(json.loads(each))
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def breakpoints(value: Any) -> int:
    if isinstance(value, dict):
        inner = (each for key, each in value.items() if key not in {"input", "input_schema"})
        return ("cache_control" in value) + sum(map(breakpoints, inner))
    return sum(map(breakpoints, value)) if isinstance(value, list) else 0


def turns(body: dict[str, Any], family: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each turn's side, the calls that it makes, and those that it answers."""
    if family == "responses":
        yield from item_turns(body["input"])
        return
    for message in body["contents" if family == "gemini" else "messages"]:
        match family:
            case "openai":
                calls = [call["id"] for call in message.get("tool_calls", ())]
                answers = [message["tool_call_id"]] if message["role"] == "tool" else []
            case "anthropic":
                calls = [part["id"] for part in message["content"] if part["type"] == "tool_use"]
                answers = [part["tool_use_id"] for part in message["content"] if part["type"] == "tool_result"]
            case _:
                calls = [part["functionCall"]["id"] for part in message["parts"] if "functionCall" in part]
                answers = [
                    part["functionResponse"]["id"] for part in message["parts"] if "functionResponse" in part
                ]
        if message["role"] != "system":
            yield message["role"], calls, answers


def item_turns(items: list[dict[str, Any]]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Of responses: neighbouring items of one side are a turn."""
    kinds = {"function_call": "assistant", "reasoning": "assistant", "function_call_output": "user"}
    for side, group in groupby(items, lambda item: kinds.get(item.get("type", "")) or item["role"]):
        turn = list(group)
        calls = [item["call_id"] for item in turn if item.get("type") == "function_call"]
        answers = [item["call_id"] for item in turn if item.get("type") == "function_call_output"]
        yield side, calls, answers


def well_formed(body: dict[str, Any], family: str) -> None:
    """Roles alternate, the user's first; each call is answered in the next turn, each id is used once."""
    sides: list[tuple[str, list[str], list[str]]] = []
    before = ""
    for role, calls, answers in turns(body, family):
        side = "assistant" if role in {"assistant", "model"} else "user"
        if sides and role in {"tool", "user"} and family == "openai" and before == "tool":
            sides[-1][2].extend(answers)
        else:
            sides.append((side, calls, list(answers)))
        before = role
    assert [side for side, _, _ in sides] == ["user", "assistant"] * (len(sides) // 2) + ["user"] * (
        len(sides) % 2
    )
    assert sides
    for (_, called, _), (_, _, answered) in zip(sides, [*sides[1:], ("", [], [])], strict=True):
        assert sorted(called) == sorted(answered)
    ids = [call for _, calls, _ in sides for call in calls]
    assert len(ids) == len(set(ids))
    assert not sides[0][2]
    assert breakpoints(body) <= 4
    if family == "anthropic":
        for message in body["messages"]:
            assert message["content"], "no message is empty"
            assert all(part["text"].strip() for part in message["content"] if part["type"] == "text")
            assert all(part.get("content", "found").strip() for part in message["content"])
            results = [part["type"] == "tool_result" for part in message["content"]]
            assert results == sorted(results, reverse=True)
        last = body["messages"][-1]
        if last["role"] == "assistant" and last["content"][-1]["type"] == "text":
            text = last["content"][-1]["text"]
            assert text == text.rstrip()


def holds_every_text(shaped: RenderedBody, envelope: Envelope) -> None:
    """But for thinking and white text, of which the changes tell."""
    found = "\n".join(strings(shaped.body))
    changed = "\n".join(shaped.changes)
    for message in envelope.messages:
        for block in message.content:
            text = block.text or ""
            if not text.strip():
                assert block.type != "text" or "White text" in changed, message
            elif block.type == "thinking" and (
                "Thinking is left out" in changed or "Nothing is left of" in changed
            ):
                continue
            else:
                assert text.rstrip() in found, (message, block)


@given(
    data=st.data(), family=st.sampled_from([*SHAPES]), provider=st.sampled_from(["openai", "anthropic", "google"])
)
@settings(max_examples=examples(200))
def test_providers_take_the_body_of_any_conversation(data: st.DataObject, family: str, provider: str) -> None:
    chat = data.draw(talks())
    message = data.draw(st.sampled_from(list(chat.now.messages)))
    conversation = replace(chat.now, settings=replace(chat.now.settings, provider=provider))
    envelope = assemble(conversation, Turn(TURN_VERSION, ID, message), chat.texts).envelope
    template = template_named(family, None)
    shaped = shape(envelope, conversation.settings, template, chat.texts, lambda _: None)
    accepted(shaped.body, family)
    well_formed(shaped.body, family)
    holds_every_text(shaped, envelope)
    again = shape(envelope, conversation.settings, template, chat.texts, lambda _: None)
    assert again == shaped and body_hash(again.body) == body_hash(shaped.body)


anything = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(
    system=anything,
    said=anything,
    answer=anything,
    name=anything,
    call=anything,
    arguments=anything,
    found=anything,
)
@settings(max_examples=examples(200))
def test_any_text_stays_what_it_is_in_every_body(
    system: str, said: str, answer: str, name: str, call: str, arguments: str, found: str
) -> None:
    for family in SHAPES:
        chat = write.Chat(family, [], system=system)
        chat.say(said)
        chat.thinks(answer, answer, (call, name, arguments))
        results = chat.gives((call, name, found, False))
        envelope = chat.prompt(results)
        shaped = chat.shaped(envelope, family)
        accepted(shaped.body, family)
        well_formed(shaped.body, family)
        holds_every_text(shaped, envelope)
